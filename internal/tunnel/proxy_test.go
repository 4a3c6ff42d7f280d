package tunnel_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/internal/proxy"
	"countersign/internal/proxy/proxytest"
	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
)

const (
	proxyPassword = "proxySECRET"
	byName        = "connect.ngrok.test:443" // the edge's, which only the proxy knows
)

// splice copies both ways until either side ends.
func splice(a, b net.Conn) {
	go func() {
		_, _ = io.Copy(a, b)
		a.Close()
	}()
	_, _ = io.Copy(b, a)
	b.Close()
}

func startProxy(t *testing.T, o proxytest.Options) *proxytest.Proxy {
	t.Helper()
	p, err := proxytest.Start(o)
	must(t, err)
	t.Cleanup(p.Close)
	return p
}

// networkOf is a network whose system names one proxy.
func networkOf(at *url.URL) *proxy.Finder {
	return &proxy.Finder{Ask: func(context.Context, *url.URL) (proxy.Answer, error) {
		return proxy.Answer{Ways: []*url.URL{at}, Source: proxy.System}, nil
	}}
}

func noEnvironment(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
}

// socksProxy is a SOCKS 5 proxy (RFC 1928) without a password, which leads names to one address.
func socksProxy(t *testing.T, to string, used *atomic.Int32) *url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				head := make([]byte, 2)
				_, _ = io.ReadFull(conn, head)
				_, _ = io.ReadFull(conn, make([]byte, head[1]))
				_, _ = conn.Write([]byte{5, 0})
				request := make([]byte, 5) // version, connect, 0, a name, its length
				if _, err := io.ReadFull(conn, request); err != nil || request[3] != 3 {
					return
				}
				_, _ = io.ReadFull(conn, make([]byte, int(request[4])+2))
				there, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				used.Add(1)
				_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
				splice(conn, there)
			}()
		}
	}()
	return &url.URL{Scheme: "socks5", Host: listener.Addr().String()}
}

func TestTheWayLeadsThroughTheProxy(t *testing.T) {
	noEnvironment(t)
	for name, from := range map[string]func(*testing.T, *ngroktest.Edge) (at *url.URL, used func() int){
		"http": func(t *testing.T, e *ngroktest.Edge) (*url.URL, func() int) {
			p := startProxy(t, proxytest.Options{User: "user", Password: proxyPassword, Hosts: map[string]string{byName: e.ConnectAddr()}})
			return p.URL(), func() int { return len(p.Connected()) }
		},
		"socks5": func(t *testing.T, e *ngroktest.Edge) (*url.URL, func() int) {
			var used atomic.Int32
			return socksProxy(t, e.ConnectAddr(), &used), func() int { return int(used.Load()) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			at, used := from(t, e)
			config := through(e)
			config.ConnectURL, config.Dial = byName, networkOf(at).DialContext
			r := run(t, tunnel.Ngrok(config), hello)
			r.up()
			fetch(t, e.Client(), public+"/")
			e.KillSessions()
			r.until("the loss", func(s tunnel.State) bool { return s.Phase != tunnel.Up })
			r.up()
			if used() != 2 {
				t.Errorf("the proxy was used %d times", used())
			}
		})
	}
}

func TestAProxyThatSaysNoIsNamedAndItsPasswordIsNot(t *testing.T) {
	noEnvironment(t)
	e := startEdge(t, ngroktest.Options{})
	at := startProxy(t, proxytest.Options{User: "user", Password: proxyPassword}).URL()
	at.User = url.UserPassword("user", "wrong"+proxyPassword)
	var log journal
	config := through(e)
	config.Log = log.logger()
	config.ConnectURL, config.Dial = byName, networkOf(at).DialContext
	r := run(t, tunnel.Ngrok(config), hello)
	wrong := r.wrong(tunnel.Network)
	if !strings.Contains(wrong.Message().String(), at.Host) {
		t.Errorf("sentence %q does not name the proxy", wrong.Message().String())
	}
	if text := wrong.Error(); !strings.Contains(text, "407") || strings.Contains(text+log.String(), proxyPassword) {
		t.Errorf("error %q, log %s", text, log.String())
	}
}

func TestAProxyThatOpensTLSIsToldWhatToLeaveAlone(t *testing.T) {
	noEnvironment(t)
	e := startEdge(t, ngroktest.Options{})
	office, err := ngroktest.NewAuthority("Office inspection")
	must(t, err)
	at := startProxy(t, proxytest.Options{Hosts: map[string]string{byName: e.ConnectAddr()},
		Certificate: func(host string) (tls.Certificate, error) { return office.Issue(host) },
		Upstream:    &tls.Config{RootCAs: e.Authority().Pool(), MinVersion: tls.VersionTLS12}}).URL()
	config := through(e)
	config.ConnectURL, config.Dial = byName, networkOf(at).DialContext
	wrong := run(t, tunnel.Ngrok(config), hello).wrong(tunnel.Certificate)
	for _, want := range []string{byName, "Office inspection"} {
		if text := wrong.Message().String(); !strings.Contains(text, want) {
			t.Errorf("people read %q, without %q", text, want)
		}
	}

	// With the network's certificate among those that are trusted, it goes on as if nothing were there.
	trusting := through(e)
	trusting.ConnectURL, trusting.Dial, trusting.CAs = byName, networkOf(at).DialContext, office.Pool()
	r := run(t, tunnel.Ngrok(trusting), hello)
	r.up()
	fetch(t, e.Client(), public+"/")
}
