package tunnel_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"countersign/internal/proxy"
	"countersign/internal/proxy/proxytest"
	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
)

func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	type seen struct {
		host, uri, forwarded, proto string
		length                      int64
		sum                         [32]byte
	}
	got := make(chan seen, 1)
	r := run(t, tunnel.Ngrok(through(e)), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Host, r.RequestURI, r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"),
			r.ContentLength, sha256.Sum256(body)}
	}))
	if url := r.up().URL; url != public {
		t.Fatalf("URL %q, want %q", url, public)
	}

	megabyte := make([]byte, 1<<20)
	_, _ = rand.Read(megabyte)
	for name, test := range map[string]struct {
		body   []byte
		length int64
	}{
		"empty":    {nil, 0},
		"small":    {[]byte("{\"a\": 1}\r\n \x00"), 12},
		"megabyte": {megabyte, 1 << 20},
		"chunked":  {megabyte[:300_000], -1},
	} {
		t.Run(name, func(t *testing.T) {
			request, _ := http.NewRequest(http.MethodPost, public+"/events/a%2Fb?x=1&y=%20;z", bytes.NewReader(test.body))
			if test.length < 0 {
				request.Body, request.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(test.body))), -1
			}
			request.Header.Set("X-Forwarded-For", "203.0.113.7")
			response := must(e.Client().Do(request))
			response.Body.Close()
			s := <-got
			if s.host != domain || s.uri != "/events/a%2Fb?x=1&y=%20;z" || s.sum != sha256.Sum256(test.body) {
				t.Errorf("arrived as %+v", s)
			}
			expect(t, s.length, test.length, "length %d, want %d", test.length)
			if s.forwarded != "203.0.113.7, 127.0.0.1" || s.proto != "https" {
				t.Errorf("forwarded %q proto %q", s.forwarded, s.proto)
			}
		})
	}
}

func TestAPastedAddressAndOneWithAPortAreDomains(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	for domain, want := range map[string]string{" " + public + "/": public, e.PublicAddr(): "https://" + e.PublicAddr()} {
		config := through(e)
		config.Domain = domain
		r := run(t, tunnel.Ngrok(config), hello)
		if url := r.up().URL; url != want {
			t.Fatalf("URL %q", url)
		}
		fetch(t, e.Client(), want+"/")
		r.stop()
	}
	// The addresses were given back, not left to time out.
	if counts := e.Counts(); counts.Unbinds != 2 {
		t.Errorf("%+v", counts)
	}
}

func TestAKilledSessionComesBackWithTheSameURL(t *testing.T) {
	for chosen, want := range map[string]string{domain: public, "": "https://calm-otter.ngrok.test"} { // without one, the account's own is used
		e := startEdge(t, ngroktest.Options{Assigned: "calm-otter.ngrok.test"})
		config := through(e)
		config.Domain = chosen
		r := run(t, tunnel.Ngrok(config), hello)
		r.up()
		for range 3 {
			e.KillSessions()
			s := r.until("the loss", func(s tunnel.State) bool { return s.Phase != tunnel.Up })
			if s.Phase != tunnel.Connecting || s.URL != want || kindOf(s.Err) != tunnel.Network {
				t.Fatalf("a loss was reported as %+v", s)
			}
			if s := r.up(); s.URL != want || s.Err != nil {
				t.Fatalf("back as %+v", s)
			}
			if body := fetch(t, e.Client(), want+"/"); body != "hello" {
				t.Fatalf("body %q", body)
			}
		}
	}
}

func TestATokenRevokedWhileRunningEnds(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	r := run(t, tunnel.Ngrok(through(e)), hello)
	r.up()
	e.RejectAuth("ERR_NGROK_300")
	e.KillSessions()
	if err := r.end(); kindOf(err) != tunnel.Token {
		t.Fatalf("ended with %v", err)
	}
}

func TestWhatOnlyAPersonCanMendEnds(t *testing.T) {
	tests := map[string]struct {
		prepare func(*ngroktest.Edge, *tunnel.NgrokConfig)
		kind    tunnel.Kind
		names   string
	}{
		"no token":       {func(_ *ngroktest.Edge, c *tunnel.NgrokConfig) { c.Authtoken = "" }, tunnel.Token, "authtoken"},
		"wrong token":    {func(e *ngroktest.Edge, _ *tunnel.NgrokConfig) { e.RejectAuth("ERR_NGROK_107") }, tunnel.Token, "ngrok does not accept the authtoken."},
		"foreign domain": {func(e *ngroktest.Edge, _ *tunnel.NgrokConfig) { e.RejectBind("ERR_NGROK_320") }, tunnel.DomainNotYours, domain},
		"broken domain":  {func(_ *ngroktest.Edge, c *tunnel.NgrokConfig) { c.Domain = "https:// office" }, tunnel.Setting, "office"},
		"domain and path": {func(_ *ngroktest.Edge, c *tunnel.NgrokConfig) { c.Domain = domain + "/events" }, tunnel.Setting,
			"/events"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			config := through(e)
			test.prepare(e, &config)
			r := run(t, tunnel.Ngrok(config), hello)
			err := r.end()
			var wrong *tunnel.Error
			if !errors.As(err, &wrong) || wrong.Kind != test.kind || wrong.Temporary() {
				t.Fatalf("ended with %v", err)
			}
			sentenceIsFit(t, wrong)
			if !strings.Contains(wrong.Message().String(), test.names) {
				t.Errorf("sentence %q does not name %q", wrong.Message().String(), test.names)
			}
			if auths := e.Counts().Auths; name == "wrong token" && (auths != 2 || wrong.Code != "ERR_NGROK_107") {
				t.Errorf("%d auths, code %s", auths, wrong.Code)
			}
		})
	}
}

func TestADomainInUseIsReportedAtOnceAndTakenWhenFree(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	e.HoldDomain(domain, -1)
	r := run(t, tunnel.Ngrok(through(e)), hello)
	wrong := r.wrong(tunnel.DomainInUse)
	if !wrong.Temporary() || wrong.Code != "ERR_NGROK_334" || !strings.Contains(wrong.Message().String(), domain) {
		t.Errorf("reported %v: %s", wrong, wrong.Message().String())
	}
	e.FreeDomain(domain)
	r.up()
	e.HoldDomain(domain, 4) // during a loss, for longer than one agent is kept
	e.KillSessions()
	r.wrong(tunnel.DomainInUse)
	expect(t, r.up().URL, public, "URL %q")
}

func TestLimitsAndUnknownRefusalsAreTriedAgain(t *testing.T) {
	for code, kind := range map[string]tunnel.Kind{
		"ERR_NGROK_725": tunnel.Quota, "ERR_NGROK_108": tunnel.Quota, "ERR_NGROK_9999": tunnel.Refused,
	} {
		t.Run(code, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			e.RejectAuth(code)
			r := run(t, tunnel.Ngrok(through(e)), hello)
			if wrong := r.wrong(kind); wrong.Code != code || !wrong.Temporary() {
				t.Errorf("reported %v", wrong)
			}
			e.RejectAuth("")
			r.up()
		})
	}
}

func TestASilentNetworkIsNoticed(t *testing.T) {
	if racing {
		t.Skip("short heartbeats")
	}
	e := startEdge(t, ngroktest.Options{})
	config := through(e)
	config.HeartbeatInterval, config.HeartbeatTolerance = 300*time.Millisecond, 500*time.Millisecond
	r := run(t, tunnel.Ngrok(config), hello)
	r.up()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	noErr(t, e.Wait(ctx, func(c ngroktest.Counts) bool { return c.Heartbeats > 1 }))
	e.Silence()
	began := time.Now()
	s := r.until("the loss", func(s tunnel.State) bool { return s.Phase != tunnel.Up })
	if kindOf(s.Err) != tunnel.Network || time.Since(began) > 10*time.Second {
		t.Errorf("after %v it reported %+v", time.Since(began), s)
	}
	e.Speak()
	r.up()
	fetch(t, e.Client(), public+"/")
}

func TestAnAddressStoppedByNgrokIsOpenedAgain(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	r := run(t, tunnel.Ngrok(through(e)), hello)
	r.up()
	noErr(t, e.StopTunnel(domain, "Stopped from the dashboard.", "ERR_NGROK_9040"))
	if wrong := r.wrong(tunnel.Stopped); wrong.Address != domain || wrong.Code != "ERR_NGROK_9040" {
		t.Errorf("reported %v", wrong)
	}
	r.up()
	fetch(t, e.Client(), public+"/")
	// One address is bound, not the stopped one beside its successor.
	if counts := e.Counts(); counts.Bound != 1 || counts.Sessions != 1 {
		t.Errorf("after the stop %+v", counts)
	}
}

func TestAnAbsentServerIsWaitedFor(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	noErr(t, e.Refuse())
	r := run(t, tunnel.Ngrok(through(e)), hello)
	wrong := r.wrong(tunnel.Network)
	if !wrong.Temporary() || !strings.Contains(wrong.Message().String(), e.ConnectAddr()) {
		t.Errorf("reported %v: %s", wrong, wrong.Message().String())
	}
	noErr(t, e.Return())
	r.up()

	// The same after a loss: down while it is away, back with the same address.
	noErr(t, e.Refuse())
	e.KillSessions()
	s := r.until("down", func(s tunnel.State) bool { return s.Phase == tunnel.Down })
	if kindOf(s.Err) != tunnel.Network || s.URL != public {
		t.Errorf("reported %+v", s)
	}
	noErr(t, e.Return())
	r.up()
	fetch(t, e.Client(), public+"/")
}

func TestANetworkThatOpensConnectionsIsNamed(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	ngrokAlone := through(e) // without CAs of ours
	ngrokAlone.CAs = nil
	run(t, tunnel.Ngrok(ngrokAlone), hello).wrong(tunnel.Certificate)
	e.ShowWrongCertificate(true)
	r := run(t, tunnel.Ngrok(through(e)), hello)
	if wrong := r.wrong(tunnel.Certificate); !wrong.Temporary() {
		t.Errorf("reported %v", wrong)
	}
	e.ShowWrongCertificate(false)
	r.up()
}

// run's cleanup checks that Run returns nil within 5 s; these tests bring a tunnel into a state and leave it there.
func TestCancelEndsItInTimeWhateverItIsDoing(t *testing.T) {
	connections := func(n int) func(ngroktest.Counts) bool {
		return func(c ngroktest.Counts) bool { return c.Connections >= n }
	}
	tests := map[string]func(t *testing.T, e *ngroktest.Edge, start func() *running){
		"before anything": func(_ *testing.T, _ *ngroktest.Edge, start func() *running) { start() },
		"waiting for a server": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			_ = e.Refuse()
			start().wrong(tunnel.Network)
		},
		"silent server": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			e.Silence()
			start()
			await(t, e, connections(1))
		},
		"refused": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			e.RejectAuth("ERR_NGROK_103")
			start().wrong(tunnel.Refused)
		},
		"domain in use": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			e.HoldDomain(domain, -1)
			start().wrong(tunnel.DomainInUse)
			await(t, e, func(c ngroktest.Counts) bool { return c.Binds >= 3 })
		},
		"wrong certificate": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			e.ShowWrongCertificate(true)
			start().wrong(tunnel.Certificate)
			await(t, e, connections(3))
		},
		"up": func(_ *testing.T, _ *ngroktest.Edge, start func() *running) { start().up() },
		"up and silent": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			start().up()
			e.Silence()
		},
		"lost": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			r := start()
			r.up()
			_ = e.Refuse()
			e.KillSessions()
			r.wrong(tunnel.Network)
		},
		"lost and refused": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			r := start()
			r.up()
			e.RejectAuth("ERR_NGROK_103")
			e.KillSessions()
			r.wrong(tunnel.Refused)
			await(t, e, connections(3))
		},
		"stopped": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			r := start()
			r.up()
			_ = e.StopTunnel(domain, "Stopped.", "")
			r.wrong(tunnel.Stopped)
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEdge(t, ngroktest.Options{})
			prepare(t, e, func() *running { return run(t, tunnel.Ngrok(through(e)), hello) })
		})
	}
}

func await(t *testing.T, e *ngroktest.Edge, enough func(ngroktest.Counts) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	noErr(t, e.Wait(ctx, enough))
}

func TestAnAnswerUnderWayIsFinished(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	arrived, finish := make(chan struct{}), make(chan struct{})
	r := run(t, tunnel.Ngrok(through(e)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-finish
		_, _ = io.WriteString(w, "done")
	}))
	r.up()
	answer := make(chan string, 1)
	go func() {
		response, err := e.Client().Get(public + "/")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answer <- string(body)
	}()
	<-arrived
	r.cancel()
	close(finish)
	r.stop()
	expect(t, <-answer, "done", "the client got %q")
}

func TestAClientThatLeavesALargeAnswerHarmsNobody(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	large := strings.Repeat("x", 4<<20)
	begun := make(chan struct{}, 8)
	mux := http.NewServeMux()
	mux.Handle("/hello", hello)
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		_, _ = io.WriteString(w, large)
	})
	r := run(t, tunnel.Ngrok(through(e)), mux)
	r.up()
	for range 8 {
		conn := must(tls.Dial("tcp", e.PublicAddr(), &tls.Config{RootCAs: e.Authority().Pool(), ServerName: domain}))
		_, _ = io.WriteString(conn, "GET /large HTTP/1.1\r\nHost: "+domain+"\r\n\r\n")
		<-begun
		_, _ = io.ReadFull(conn, make([]byte, 1000))
		conn.NetConn().(*net.TCPConn).SetLinger(0)
		conn.NetConn().Close()
	}
	expect(t, fetch(t, e.Client(), public+"/hello"), "hello", "body %q")
	go func() { <-begun }()
	if body := fetch(t, e.Client(), public+"/large"); body != large {
		t.Errorf("%d bytes of the large answer", len(body))
	}
	r.stop()
}

const (
	proxyPassword = "proxySECRET"
	byName        = "connect.ngrok.test:443" // the edge's, which only the proxy knows
)

func startProxy(t *testing.T, o proxytest.Options) *proxytest.Proxy {
	t.Helper()
	p := must(proxytest.Start(o))
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

func TestTheWayLeadsThroughTheProxy(t *testing.T) {
	noEnvironment(t)
	for name, o := range map[string]proxytest.Options{"http": {User: "user", Password: proxyPassword}, "socks5": {SOCKS: true}} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			o.Hosts = map[string]string{byName: e.ConnectAddr()}
			p := startProxy(t, o)
			config := through(e)
			config.ConnectURL, config.Dial = byName, networkOf(p.URL()).DialContext
			r := run(t, tunnel.Ngrok(config), hello)
			r.up()
			fetch(t, e.Client(), public+"/")
			e.KillSessions()
			r.until("the loss", func(s tunnel.State) bool { return s.Phase != tunnel.Up })
			r.up()
			expect(t, p.Connected(), []string{byName, byName}, "the proxy connected to %q")
		})
	}
}

func TestAProxyThatSaysNoIsNamedAndItsPasswordIsNot(t *testing.T) {
	noEnvironment(t)
	e := startEdge(t, ngroktest.Options{})
	at := startProxy(t, proxytest.Options{User: "user", Password: proxyPassword}).URL()
	at.User = url.UserPassword("user", "wrong"+proxyPassword)
	config := through(e)
	config.ConnectURL, config.Dial = byName, networkOf(at).DialContext
	r := run(t, tunnel.Ngrok(config), hello)
	wrong := r.wrong(tunnel.Network)
	if !strings.Contains(wrong.Message().String(), at.Host) {
		t.Errorf("sentence %q does not name the proxy", wrong.Message().String())
	}
	if text := wrong.Error(); !strings.Contains(text, "407") || strings.Contains(text, proxyPassword) {
		t.Errorf("error %q", text)
	}
}
