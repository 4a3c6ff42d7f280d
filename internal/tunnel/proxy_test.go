package tunnel_test

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
)

const proxyPassword = "proxySECRET"

// splice copies both ways until either side ends.
func splice(a, b net.Conn) {
	go func() {
		_, _ = io.Copy(a, b)
		a.Close()
	}()
	_, _ = io.Copy(b, a)
	b.Close()
}

// connectProxy is an HTTP proxy that wants a password.
func connectProxy(t *testing.T, used *atomic.Int32) *url.URL {
	t.Helper()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+proxyPassword))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			there.Close()
			return
		}
		used.Add(1)
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
		splice(here, there)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	must(t, err)
	return u
}

// socksProxy is a SOCKS 5 proxy (RFC 1928) without a password, for names and IPv4 addresses.
func socksProxy(t *testing.T, used *atomic.Int32) *url.URL {
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
				request := make([]byte, 10) // version, connect, 0, IPv4, address, port
				if _, err := io.ReadFull(conn, request); err != nil || request[3] != 1 {
					return
				}
				there, err := net.DialTCP("tcp", nil, &net.TCPAddr{
					IP: request[4:8], Port: int(binary.BigEndian.Uint16(request[8:])),
				})
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
	for name, proxy := range map[string]func(*testing.T, *atomic.Int32) *url.URL{
		"http":   connectProxy,
		"socks5": socksProxy,
	} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			var used atomic.Int32
			at := proxy(t, &used)
			if name == "http" {
				at.User = url.UserPassword("user", proxyPassword)
			}
			config := through(e)
			config.Proxy = func(hostport string) (*url.URL, error) {
				if hostport != e.ConnectAddr() {
					t.Errorf("asked for the proxy to %q", hostport)
				}
				return at, nil
			}
			r := run(t, tunnel.Ngrok(config), hello)
			r.up()
			fetch(t, e.Client(), public+"/")
			e.KillSessions()
			r.until("the loss", func(s tunnel.State) bool { return s.Phase != tunnel.Up })
			r.up()
			if used.Load() != 2 {
				t.Errorf("the proxy was used %d times", used.Load())
			}
		})
	}
}

func TestAProxyThatSaysNoIsNamedAndItsPasswordIsNot(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	var used atomic.Int32
	at := connectProxy(t, &used)
	at.User = url.UserPassword("user", "wrong"+proxyPassword)
	var log journal
	config := through(e)
	config.Log = log.logger()
	config.Proxy = func(string) (*url.URL, error) { return at, nil }
	r := run(t, tunnel.Ngrok(config), hello)
	wrong := r.wrong(tunnel.Network)
	if !strings.Contains(wrong.Message().String(), at.Host) {
		t.Errorf("sentence %q does not name the proxy", wrong.Message().String())
	}
	if text := wrong.Error(); !strings.Contains(text, "407") || strings.Contains(text+log.String(), proxyPassword) {
		t.Errorf("error %q, log %s", text, log.String())
	}
}

func TestTheProxyComesFromTheEnvironment(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	var used atomic.Int32
	// A name the proxy resolves for us: addresses of this computer never go through a proxy of the environment.
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	at := connectProxy(t, &used)
	at.User = url.UserPassword("user", proxyPassword)
	for _, name := range []string{"HTTPS_PROXY", "ALL_PROXY"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, at.String())
			config := through(e)
			config.ConnectURL = "ngrok.invalid:443"
			r := run(t, tunnel.Ngrok(config), hello)
			if wrong := r.wrong(tunnel.Network); !strings.Contains(wrong.Error(), "502") {
				t.Errorf("reported %v, so the proxy was not asked", wrong)
			}
		})
	}
}
