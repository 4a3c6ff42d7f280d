package tunnel_test

import (
	"strings"
	"testing"

	"countersign/internal/tunnel"
)

func TestEveryKindOfErrorHasItsOwnSentence(t *testing.T) {
	kinds := []tunnel.Kind{
		tunnel.Token, tunnel.DomainInUse, tunnel.DomainNotYours, tunnel.Quota, tunnel.Network, tunnel.Certificate,
		tunnel.Listen, tunnel.Stopped, tunnel.Refused, tunnel.Setting,
	}
	seen := make(map[string]tunnel.Kind)
	for _, kind := range kinds {
		for _, address := range []string{"", "office.ngrok.test"} {
			e := &tunnel.Error{Kind: kind, Address: address}
			if kind == tunnel.Listen && address == "" {
				continue // there always is one
			}
			sentenceIsFit(t, e)
			if strings.Contains(e.Message().String(), "Settings") || strings.Contains(e.Message().String(), "Trying again") {
				t.Errorf("%s: the first run has no Settings, and a test tries once: %s", kind, e.Message().String())
			}
			if other, ok := seen[e.Message().String()]; ok && other != kind {
				t.Errorf("%s and %s say the same: %s", kind, other, e.Message().String())
			}
			seen[e.Message().String()] = kind
		}
	}
	// Codes help whoever looks them up, where the sentence alone does not say enough.
	for _, kind := range []tunnel.Kind{tunnel.Quota, tunnel.Stopped, tunnel.Refused} {
		if e := (&tunnel.Error{Kind: kind, Code: "ERR_NGROK_1"}); !strings.Contains(e.Message().String(), "the code ERR_NGROK_1 in ") {
			t.Errorf("%q does not name the code", e.Message().String())
		}
	}
}
