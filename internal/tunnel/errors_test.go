package tunnel_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"countersign/internal/proxy/proxytest"
	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
)

func TestEveryKindOfErrorHasItsOwnSentence(t *testing.T) {
	seen := make(map[string]tunnel.Kind)
	for _, kind := range []tunnel.Kind{tunnel.Token, tunnel.DomainInUse, tunnel.DomainNotYours, tunnel.Quota, tunnel.Network, tunnel.Certificate,
		tunnel.Listen, tunnel.Stopped, tunnel.Refused, tunnel.Setting} {
		for _, address := range []string{"", "office.ngrok.test"} {
			if kind == tunnel.Listen && address == "" {
				continue // there always is one
			}
			e := &tunnel.Error{Kind: kind, Address: address}
			sentenceIsFit(t, e)
			expect(t, e.Error(), strings.TrimSpace("tunnel: "+string(kind)+" "+address), "the log says %q")
			said := e.Message().String()
			if strings.Contains(said, "Settings") || strings.Contains(said, "Trying again") {
				t.Errorf("%s: the first run has no Settings, and a test tries once: %s", kind, said)
			}
			if other, ok := seen[said]; ok && other != kind {
				t.Errorf("%s and %s say the same: %s", kind, other, said)
			}
			seen[said] = kind
			e.Code = "ERR_NGROK_1" // helps whoever looks it up, where the sentence alone does not say enough
			named := kind == tunnel.Quota || kind == tunnel.Stopped || kind == tunnel.Refused
			expect(t, strings.Contains(e.Message().String(), "the code ERR_NGROK_1 in "), named, "%[2]s names the code: %[1]v", kind)
		}
	}
}

func TestTheDiagnosisNamesTheStepThatFails(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	office := must(ngroktest.NewAuthority("Office inspection"))
	by := func(o proxytest.Options) func(*tunnel.NgrokConfig) { _, set := proxied(t, e, o); return set }
	for _, c := range []struct {
		name    string
		set     func(*tunnel.NgrokConfig)
		byProxy bool
		failed  tunnel.Step
		want    string
	}{
		{"all works", func(*tunnel.NgrokConfig) {}, false, "", ""},
		{"all works through a proxy", by(proxytest.Options{}), true, "", ""},
		{"the name is not known", func(c *tunnel.NgrokConfig) { c.ConnectURL = "ngrok.invalid:443" }, false, tunnel.StepName, "ngrok.invalid"},
		{"nobody listens", func(c *tunnel.NgrokConfig) { c.ConnectURL = freeAddr(t) }, false, tunnel.StepConnect, "block"},
		{"the proxy says no", by(proxytest.Options{Status: 403}), true, tunnel.StepConnect, "proxy"},
		{"the network hangs up", by(proxytest.Options{Certificate: func(string) (tls.Certificate, error) { return tls.Certificate{}, errors.New("no") }}),
			true, tunnel.StepTLS, "cuts off"},
		{"the network opens TLS", by(proxytest.Options{Certificate: func(host string) (tls.Certificate, error) { return office.Issue(host) }}),
			true, tunnel.StepTLS, "Office inspection"},
		{"what answers is not ngrok", func(c *tunnel.NgrokConfig) { c.ConnectURL, c.CAs = e.PublicAddr(), e.Authority().Pool() }, false, tunnel.StepTunnel, "cuts off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := through(e)
			config.Authtoken = ""
			c.set(&config)
			got := tunnel.Diagnose(t.Context(), config, c.byProxy)
			if got.Failed != c.failed {
				t.Fatalf("failed at %q: %v", got.Failed, got.Err)
			}
			if c.failed == "" {
				return
			}
			sentenceIsFit(t, got.Err)
			if text := got.Err.Message().String(); !strings.Contains(text, c.want) {
				t.Errorf("people read %q, without %q", text, c.want)
			}
		})
	}
}
