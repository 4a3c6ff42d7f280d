package tunnel_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/tunnel"
)

// freeAddr is an address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

func selfSigned(t *testing.T) (tls.Certificate, *http.Client) {
	t.Helper()
	certPEM, keyPEM, err := tunnel.SelfSigned(time.Now())
	noErr(t, err)
	pair := must(tls.X509KeyPair(certPEM, keyPEM))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true,
	}}
	return pair, client
}

func TestEachLocalTunnelServesAtTheAddressThatItReports(t *testing.T) {
	pair, client := selfSigned(t)
	at := freeAddr(t)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+r.RequestURI) })
	for name, c := range map[string]struct {
		tunnel tunnel.Tunnel
		url    string // or its beginning
		local  string // where that leads
	}{
		"external":             {tunnel.External(tunnel.ExternalConfig{PublicURL: "https://sign.office.example", Listen: at}), "https://sign.office.example", "http://" + at},
		"external, with slash": {tunnel.External(tunnel.ExternalConfig{PublicURL: "https://sign.office.example/", Listen: at}), "https://sign.office.example/", "http://" + at},
		"loopback":             {tunnel.Loopback(tunnel.LoopbackConfig{Certificate: pair}), "https://localhost:", ""},
		"plain":                {tunnel.Plain(""), "http://127.0.0.1:", ""},
		"plain by name":        {tunnel.Plain("localhost:0"), "http://127.0.0.1:", ""},
		"plain by address":     {tunnel.Plain("127.0.0.1:0"), "http://127.0.0.1:", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.tunnel, echo)
			url := r.up().URL
			if !strings.HasPrefix(url, c.url) || c.local != "" && url != c.url {
				t.Errorf("URL %q, want %q", url, c.url)
			}
			there := cmp.Or(c.local, url)
			_, host, _ := strings.Cut(there, "//")
			expect(t, fetch(t, client, there+"/kept/path?x=1"), host+"/kept/path?x=1", "arrived as %q")
		})
	}
}

func TestExternalWaitsForAPortInUse(t *testing.T) {
	squatter := must(net.Listen("tcp", "127.0.0.1:0"))
	at := squatter.Addr().String()
	r := run(t, tunnel.External(tunnel.ExternalConfig{PublicURL: "https://sign.office.example", Listen: at}), hello)
	wrong := r.wrong(tunnel.Listen)
	if !wrong.Temporary() || wrong.Message() != message.PortInUse(at) {
		t.Errorf("reported %v: %s", wrong, wrong.Message().String())
	}
	squatter.Close()
	r.up()
}

func TestSettingsThatCannotWorkEndAtOnce(t *testing.T) {
	pair, _ := selfSigned(t)
	squatter := must(net.Listen("tcp", "127.0.0.1:0"))
	defer squatter.Close()
	taken := squatter.Addr().String()
	for name, test := range map[string]struct {
		tunnel tunnel.Tunnel
		kind   tunnel.Kind
	}{
		"no public URL":  {tunnel.External(tunnel.ExternalConfig{Listen: "127.0.0.1:0"}), tunnel.Setting},
		"no scheme":      {tunnel.External(tunnel.ExternalConfig{PublicURL: "office.example", Listen: "127.0.0.1:0"}), tunnel.Setting},
		"another scheme": {tunnel.External(tunnel.ExternalConfig{PublicURL: "ftp://office.example", Listen: "127.0.0.1:0"}), tunnel.Setting},
		"no port":        {tunnel.External(tunnel.ExternalConfig{PublicURL: "https://office.example", Listen: "nonsense"}), tunnel.Listen},
		"port too large": {tunnel.External(tunnel.ExternalConfig{PublicURL: "https://office.example", Listen: "127.0.0.1:70000"}), tunnel.Listen},
		"port lost": {tunnel.External(tunnel.ExternalConfig{PublicURL: "https://office.example", Open: func(context.Context, string, string) (net.Listener, error) {
			l := must(net.Listen("tcp", "127.0.0.1:0"))
			return l, l.Close()
		}}), tunnel.Listen},
		"loopback to everyone": {tunnel.Loopback(tunnel.LoopbackConfig{Listen: "0.0.0.0:0", Certificate: pair}), tunnel.Listen},
		"loopback any":         {tunnel.Loopback(tunnel.LoopbackConfig{Listen: ":0", Certificate: pair}), tunnel.Listen},
		"no certificate":       {tunnel.Loopback(tunnel.LoopbackConfig{}), tunnel.Certificate},
		"plain to everyone":    {tunnel.Plain("0.0.0.0:0"), tunnel.Listen},
		"loopback port taken":  {tunnel.Loopback(tunnel.LoopbackConfig{Listen: taken, Certificate: pair}), tunnel.Listen},
		"plain port taken":     {tunnel.Plain(taken), tunnel.Listen},
	} {
		t.Run(name, func(t *testing.T) {
			var wrong *tunnel.Error
			if err := run(t, test.tunnel, hello).end(); !errors.As(err, &wrong) || wrong.Kind != test.kind {
				t.Fatalf("ended with %v", err)
			}
			sentenceIsFit(t, wrong)
		})
	}
}

// late is a tunnel that does not come up with the first try.
type late struct{ tunnel.Tunnel }

func (l late) Run(ctx context.Context, h http.Handler, report func(tunnel.State)) error {
	report(tunnel.State{Phase: tunnel.Down, Err: &tunnel.Error{Kind: tunnel.Network}})
	if ctx.Err() != nil {
		return nil
	}
	return l.Tunnel.Run(ctx, h, report)
}

// Whoever signs in with a command opens it for as long as that takes, and is told at once that another program has its port.
func TestATunnelIsOpenedForAWhileAndWaitsForNoPort(t *testing.T) {
	at, end, err := tunnel.Open(t.Context(), tunnel.Plain(""), hello)
	noErr(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	expect(t, fetch(t, client, at+"/"), "hello", "body %q")
	end()
	if _, err := client.Get(at + "/"); err == nil {
		t.Error("it is still open")
	}
	_, end, err = tunnel.Open(t.Context(), late{tunnel.Plain("")}, hello)
	noErr(t, err)
	end()
	squatter := must(net.Listen("tcp", "127.0.0.1:0"))
	defer squatter.Close()
	_, _, err = tunnel.Open(t.Context(), tunnel.External(tunnel.ExternalConfig{PublicURL: "https://sign.office.example", Listen: squatter.Addr().String()}), hello)
	expect(t, kindOf(err), tunnel.Listen, "a port that another program has: %s")
}

func TestHeadersAreBounded(t *testing.T) {
	r := run(t, tunnel.Plain(""), hello)
	at := strings.TrimPrefix(r.up().URL, "http://")
	conn := must(net.Dial("tcp", at))
	defer conn.Close()
	go fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Large: %s\r\n\r\n", strings.Repeat("x", 64<<10))
	response := must(http.ReadResponse(bufio.NewReader(conn), nil))
	response.Body.Close()
	expect(t, response.StatusCode, http.StatusRequestHeaderFieldsTooLarge, "status %d")
}

func TestRunEndsWhenTheContextHasAlreadyEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tun := range map[string]tunnel.Tunnel{
		"plain": tunnel.Plain(""),
		"ngrok": tunnel.Ngrok(tunnel.NgrokConfig{Authtoken: token, ConnectURL: freeAddr(t)}),
	} {
		expect(t, tun.Run(ctx, hello, func(tunnel.State) {}), nil, name+": %v")
	}
}

func TestASelfSignedCertificateFitsItsHosts(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	certPEM, keyPEM, err := tunnel.SelfSigned(now, "sign.office.example", "192.0.2.7")
	noErr(t, err)
	pair := must(tls.X509KeyPair(certPEM, keyPEM))
	leaf := pair.Leaf
	for host, fits := range map[string]bool{"sign.office.example": true, "192.0.2.7": true, "localhost": false} {
		expect(t, leaf.VerifyHostname(host) == nil, fits, "it is for %[2]s: %[1]v", host)
	}
	expect(t, leaf.IsCA, false, "it could sign other certificates: %v")
	if leaf.NotBefore.After(now) || leaf.NotAfter.Before(now.AddDate(0, 11, 0)) || leaf.NotAfter.After(now.AddDate(0, 13, 0)) {
		t.Errorf("valid from %v to %v", leaf.NotBefore, leaf.NotAfter)
	}
}
