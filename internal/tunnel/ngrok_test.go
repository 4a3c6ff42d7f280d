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
	expect(t, r.up().URL, public, "URL %q")

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
			want := seen{domain, "/events/a%2Fb?x=1&y=%20;z", "203.0.113.7, 127.0.0.1", "https", test.length, sha256.Sum256(test.body)}
			expect(t, <-got, want, "arrived as %+v, want %+v", want)
		})
	}
}

func TestAPastedAddressAndOneWithAPortAreDomains(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	for domain, want := range map[string]string{" " + public + "/": public, e.PublicAddr(): "https://" + e.PublicAddr()} {
		config := through(e)
		config.Domain = domain
		r := run(t, tunnel.Ngrok(config), hello)
		expect(t, r.up().URL, want, "URL %q")
		fetch(t, e.Client(), want+"/")
		r.stop()
	}
	expect(t, e.Counts().Unbinds, 2, "%d addresses were given back, not left to time out")
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
			expect(t, fetch(t, e.Client(), want+"/"), "hello", "body %q")
		}
	}
}

func TestWhatOnlyAPersonCanMendEnds(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*ngroktest.Edge, *tunnel.NgrokConfig)
		kind    tunnel.Kind
		names   string
	}{
		"no token":            {func(_ *ngroktest.Edge, c *tunnel.NgrokConfig) { c.Authtoken = "" }, tunnel.Token, "authtoken"},
		"wrong token":         {func(e *ngroktest.Edge, _ *tunnel.NgrokConfig) { e.RejectAuth("ERR_NGROK_107") }, tunnel.Token, "ngrok does not accept the authtoken."},
		"token revoked later": {func(*ngroktest.Edge, *tunnel.NgrokConfig) {}, tunnel.Token, "ngrok does not accept the authtoken."},
		"foreign domain":      {func(e *ngroktest.Edge, _ *tunnel.NgrokConfig) { e.RejectBind("ERR_NGROK_320") }, tunnel.DomainNotYours, domain},
		"broken domain":       {func(_ *ngroktest.Edge, c *tunnel.NgrokConfig) { c.Domain = "https:// office" }, tunnel.Setting, "office"},
		"domain and path": {func(_ *ngroktest.Edge, c *tunnel.NgrokConfig) { c.Domain = domain + "/events" }, tunnel.Setting,
			"/events"},
	} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			config := through(e)
			test.prepare(e, &config)
			r := run(t, tunnel.Ngrok(config), hello)
			switch name {
			case "token revoked later":
				r.up()
				e.RejectAuth("ERR_NGROK_300")
				e.KillSessions()
			case "wrong token":
				expect(t, r.wrong(tunnel.Token).Temporary(), true, "the first refusal is not yet believed: %v")
			}
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
	expect(t, s.URL, public, "down, of %q")
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
	lose := func(s scene, refuse func()) *running {
		r := s.start()
		r.up()
		refuse()
		s.edge.KillSessions()
		return r
	}
	for name, prepare := range map[string]func(scene){
		"waiting for a server": func(s scene) { _ = s.edge.Refuse(); s.start().wrong(tunnel.Network) },
		"silent server":        func(s scene) { s.edge.Silence(); s.start(); s.await(connections(1)) },
		"refused":              func(s scene) { s.edge.RejectAuth("ERR_NGROK_103"); s.start().wrong(tunnel.Refused) },
		"domain in use": func(s scene) {
			s.edge.HoldDomain(domain, -1)
			s.start().wrong(tunnel.DomainInUse)
			s.await(func(c ngroktest.Counts) bool { return c.Binds >= 3 })
		},
		"wrong certificate": func(s scene) {
			s.edge.ShowWrongCertificate(true)
			s.start().wrong(tunnel.Certificate)
			s.await(connections(3))
		},
		"up":            func(s scene) { s.start().up() },
		"up and silent": func(s scene) { s.start().up(); s.edge.Silence() },
		"lost":          func(s scene) { lose(s, func() { _ = s.edge.Refuse() }).wrong(tunnel.Network) },
		"lost and refused": func(s scene) {
			lose(s, func() { s.edge.RejectAuth("ERR_NGROK_103") }).wrong(tunnel.Refused)
			s.await(connections(3))
		},
		"stopped": func(s scene) {
			r := s.start()
			r.up()
			_ = s.edge.StopTunnel(domain, "Stopped.", "")
			r.wrong(tunnel.Stopped)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare(scene{t, startEdge(t, ngroktest.Options{})})
		})
	}
}

// scene is an edge, and perhaps a tunnel through it.
type scene struct {
	t    *testing.T
	edge *ngroktest.Edge
}

func (s scene) start() *running { return run(s.t, tunnel.Ngrok(through(s.edge)), hello) }

func (s scene) await(enough func(ngroktest.Counts) bool) {
	s.t.Helper()
	for until := time.Now().Add(patience); !enough(s.edge.Counts()); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatalf("still %+v", s.edge.Counts())
		}
	}
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
		defer close(answer)
		answer <- fetch(t, e.Client(), public+"/")
	}()
	<-arrived
	r.cancel()
	time.AfterFunc(2*time.Second, func() { close(finish) }) // longer than a session takes to end
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

// proxied puts a proxy before the edge: the only one that the system names, and that knows the edge's name.
func proxied(t *testing.T, e *ngroktest.Edge, o proxytest.Options) (p *proxytest.Proxy, set func(*tunnel.NgrokConfig)) {
	t.Helper()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	o.Hosts = map[string]string{byName: e.ConnectAddr()}
	p = must(proxytest.Start(o))
	t.Cleanup(p.Close)
	system := &proxy.Finder{Ask: func(context.Context, *url.URL) (proxy.Answer, error) {
		return proxy.Answer{Ways: []*url.URL{p.URL()}, Source: proxy.System}, nil
	}}
	return p, func(c *tunnel.NgrokConfig) { c.ConnectURL, c.Dial = byName, system.DialContext }
}

func TestTheWayLeadsThroughTheProxy(t *testing.T) {
	for name, o := range map[string]proxytest.Options{"http": {User: "user", Password: proxyPassword}, "socks5": {SOCKS: true}} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, ngroktest.Options{})
			config := through(e)
			p, set := proxied(t, e, o)
			set(&config)
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
	e := startEdge(t, ngroktest.Options{})
	config := through(e)
	p, set := proxied(t, e, proxytest.Options{User: "user", Password: proxyPassword, Status: http.StatusProxyAuthRequired})
	set(&config)
	wrong := run(t, tunnel.Ngrok(config), hello).wrong(tunnel.Network)
	if said := wrong.Message().String(); !strings.Contains(said, p.URL().Host) {
		t.Errorf("sentence %q does not name the proxy", said)
	}
	if text := wrong.Error(); !strings.Contains(text, "407") || strings.Contains(text, proxyPassword) {
		t.Errorf("error %q", text)
	}
}

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
