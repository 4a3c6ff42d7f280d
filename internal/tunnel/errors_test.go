package tunnel_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"countersign/internal/proxy/proxytest"
	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
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
			if want := strings.TrimSpace("tunnel: " + string(kind) + " " + address); e.Error() != want {
				t.Errorf("the log says %q, want %q", e.Error(), want)
			}
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

func TestTheDiagnosisNamesTheStepThatFails(t *testing.T) {
	noEnvironment(t)
	e := startEdge(t, ngroktest.Options{})
	office := must(ngroktest.NewAuthority("Office inspection"))
	proxied := func(o proxytest.Options) func(*tunnel.NgrokConfig) {
		o.Hosts = map[string]string{byName: e.ConnectAddr()}
		at := startProxy(t, o).URL()
		return func(c *tunnel.NgrokConfig) { c.ConnectURL, c.Dial = byName, networkOf(at).DialContext }
	}
	hangingUp := must(net.Listen("tcp", "127.0.0.1:0"))
	defer hangingUp.Close()
	go func() {
		for {
			conn, err := hangingUp.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for _, c := range []struct {
		name    string
		set     func(*tunnel.NgrokConfig)
		byProxy bool
		failed  tunnel.Step
		want    string
	}{
		{"all works", func(*tunnel.NgrokConfig) {}, false, "", ""},
		{"all works through a proxy", proxied(proxytest.Options{}), true, "", ""},
		{"the name is not known", func(c *tunnel.NgrokConfig) { c.ConnectURL = "ngrok.invalid:443" }, false, tunnel.StepName, "ngrok.invalid"},
		{"nobody listens", func(c *tunnel.NgrokConfig) { c.ConnectURL = freeAddr(t) }, false, tunnel.StepConnect, "block"},
		{"the proxy says no", proxied(proxytest.Options{Status: 403}), true, tunnel.StepConnect, "proxy"},
		{"the network hangs up", func(c *tunnel.NgrokConfig) { c.ConnectURL = hangingUp.Addr().String() }, false, tunnel.StepTLS, "cuts off"},
		{"the network opens TLS", proxied(proxytest.Options{Certificate: func(host string) (tls.Certificate, error) { return office.Issue(host) }}),
			true, tunnel.StepTLS, "Office inspection"},
		{"what answers is not ngrok", func(c *tunnel.NgrokConfig) { c.ConnectURL, c.CAs = e.PublicAddr(), e.Authority().Pool() }, false, tunnel.StepTunnel, "cuts off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := through(e)
			config.Authtoken = ""
			c.set(&config)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			began := time.Now()
			got := tunnel.Diagnose(ctx, config, c.byProxy)
			if got.Failed != c.failed {
				t.Fatalf("failed at %q after %v: %v", got.Failed, time.Since(began), got.Err)
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
