package esign

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"countersign/internal/proxy"
	"countersign/internal/proxy/proxytest"
	"countersign/internal/tunnel/ngroktest"
)

// behind is a client whose way to https://example.com leads through a proxy, to the service given.
func behind(t *testing.T, service *httptest.Server, trusted *x509.CertPool, o proxytest.Options) (*Client, *proxytest.Proxy) {
	t.Helper()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	o.Hosts = map[string]string{"example.com:443": service.Listener.Addr().String()}
	p, err := proxytest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	at := p.URL()
	at.User = nil
	network := &proxy.Finder{Ask: func(context.Context, *url.URL) (proxy.Answer, error) {
		return proxy.Answer{Ways: []*url.URL{at}, Source: proxy.System}, nil
	}}
	client := NewHTTPClientOver(network.DialContext)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	t.Cleanup(client.CloseIdleConnections)
	return NewClient(Config{AuthURL: "https://example.com", BaseURL: "https://example.com", ClientID: "c", HTTP: client}, &tokens{}), p
}

// tlsService is a service that knows the organization alone.
func tlsService(t *testing.T) (*httptest.Server, *x509.CertPool) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"o-1"}`) }))
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, pool
}

func TestTheServiceIsReachedThroughTheProxyOfTheOffice(t *testing.T) {
	s, pool := tlsService(t)
	client, p := behind(t, s, pool, proxytest.Options{})
	if _, err := client.Status(context.Background(), "p"); Message(err).ID() == "service.service-unreachable" || !slices.Equal(p.Connected(), []string{"example.com:443"}) {
		t.Errorf("%v, through %v", err, p.Connected())
	}
}

func TestAProxyThatOpensTLSIsTrustedWhenTheComputerTrustsIt(t *testing.T) {
	s, pool := tlsService(t)
	inspection, err := ngroktest.NewAuthority("Office inspection")
	if err != nil {
		t.Fatal(err)
	}
	opening := proxytest.Options{Certificate: func(host string) (tls.Certificate, error) { return inspection.Issue(host) }, Upstream: &tls.Config{RootCAs: pool}}
	trusting, _ := behind(t, s, inspection.Pool(), opening)
	if err := trusting.cfg.Answers(context.Background()); err != nil {
		t.Errorf("with its certificate installed: %v", err)
	}
	distrusting, _ := behind(t, s, pool, opening)
	_, err = distrusting.Status(context.Background(), "p")
	for _, want := range []string{"Office inspection", "example.com"} {
		if text := Message(err).String(); !strings.Contains(text, want) {
			t.Errorf("people read %q, without %q", text, want)
		}
	}
}

func TestWhatTheProxySaysReachesPeople(t *testing.T) {
	s, pool := tlsService(t)
	for want, o := range map[string]proxytest.Options{
		"network.proxy-wants-sign-in": {User: "u", Password: "proxySECRET"},
		"network.proxy-blocks":        {Status: http.StatusForbidden},
		"network.network-wants-browser":       {Status: http.StatusNetworkAuthenticationRequired},
	} {
		client, _ := behind(t, s, pool, o)
		_, err := client.Status(context.Background(), "p")
		if got := Message(err); got.ID() != want || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("people read %q, want %q (%v)", got, want, err)
		}
		if answerLost(err) {
			t.Errorf("%s: what never went out is taken for a lost answer", want)
		}
	}
}
