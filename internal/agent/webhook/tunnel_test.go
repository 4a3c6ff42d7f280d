package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/tunnel"
)

// An address is opened for a moment, and what is sent there has to arrive here.
func TestThePublicAddressIsTriedWithoutBeingUsed(t *testing.T) {
	x := newService(t)
	free := must(net.Listen("tcp", "127.0.0.1:0"))
	listen := free.Addr().String()
	free.Close()
	squatter := must(net.Listen("tcp", "127.0.0.1:0"))
	defer squatter.Close()
	serves := func(h http.Handler) string { // as an office's own proxy does
		s := httptest.NewTLSServer(h)
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		t.Cleanup(transport.CloseIdleConnections)
		x.HTTP = &http.Client{Transport: transport}
		return s.URL
	}
	forward := func(prefix string) http.Handler {
		quiet := &http.Transport{DisableKeepAlives: true}
		return &httputil.ReverseProxy{Transport: quiet, Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: listen})
			p.Out.URL.Path = strings.TrimPrefix(p.In.URL.Path, prefix)
		}}
	}
	external := func(h http.Handler, path, at string) office.Settings {
		s := x.settings
		s.PublicURL, s.Listen = serves(h)+path, at
		return s
	}
	ngrok := x.settings
	ngrok.Tunnel, ngrok.NgrokDomain = office.TunnelNgrok, "office.ngrok.app"
	unset := x.settings
	unset.PublicURL = ""
	for name, c := range map[string]struct {
		settings func() office.Settings
		says     message.Message // "" where it works
		field    string          // that is wrong
	}{
		"it arrives":            {func() office.Settings { return external(forward(""), "", listen) }, message.Message{}, ""},
		"below a path":          {func() office.Settings { return external(forward(""), "/hooks", listen) }, message.Message{}, ""},
		"somebody else answers": {func() office.Settings { return external(http.NotFoundHandler(), "", listen) }, message.PublicAddressOther(), ""},
		"nobody answers": {func() office.Settings {
			s := external(http.NotFoundHandler(), "", listen)
			s.PublicURL = "https://" + listen
			return s
		}, message.PublicAddressSilent(), ""},
		"a port that is taken": {func() office.Settings { return external(forward(""), "", squatter.Addr().String()) }, message.Message{}, office.FieldListen},
		"no address":           {func() office.Settings { return unset }, message.Message{}, office.FieldPublicURL},
		"no token":             {func() office.Settings { return ngrok }, message.TokenMissing(), ""},
		"none":                 {func() office.Settings { s := x.settings; s.Tunnel = office.TunnelNone; return s }, message.Message{}, ""},
	} {
		s := c.settings()
		got, err := x.Test(t.Context(), s, office.Secrets{})
		var wrong *office.ConfigError
		errors.As(err, &wrong)
		switch {
		case c.field != "":
			if wrong == nil || wrong.Fields[0].Field != c.field {
				t.Errorf("%s: %v", name, err)
			}
		case !c.says.IsZero():
			if m, _ := message.Of(err); m != c.says {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || s.Tunnel != office.TunnelNone && got != s.PublicURL || s.Tunnel == office.TunnelNone && got != "":
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	x.settings.Listen = listen
	if got, err := x.Test(t.Context(), x.settings, office.Secrets{}); err != nil || got != "https://office.test" {
		t.Errorf("the one that is open: %q, %v", got, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := x.Test(stopped, external(forward(""), "", listen), office.Secrets{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// A browser asks for "/" where an address has no path.
func TestWhatArrivesGoesWhereItBelongs(t *testing.T) {
	x := newService(t)
	x.Callback = func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "signed in") }
	for _, c := range []struct {
		public, redirect string
		paths            map[string]string
	}{
		{"", "", map[string]string{"/webhook": "event", "/webhook/": "event", "/oauth/callback": "signed in", "/": "", "/webhook/x": "", "/hooks": ""}},
		{"/hooks", "", map[string]string{"/hooks": "event", "/hooks/oauth/callback": "signed in", "/oauth/callback": "signed in", "/webhook": ""}},
		{"", "https://office.test", map[string]string{"/": "signed in", "/other": "", "/oauth/callback": "signed in"}},
		{"", "https://office.test?a=b", map[string]string{"/": "signed in"}},
		{"", "https://office.test/back", map[string]string{"/": "", "/back": "signed in"}},
	} {
		x.settings.PublicURL, x.settings.RedirectURI = "https://office.test"+c.public, c.redirect
		for path, want := range c.paths {
			w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
			req.URL.Path = path
			x.serve(w, req)
			got := w.Body.String()
			switch w.Code {
			case http.StatusMethodNotAllowed: // an event is posted
				got = "event"
			case http.StatusNotFound:
				got = ""
			}
			if got != want {
				t.Errorf("%+v, %s: %d, %q", c, path, w.Code, got)
			}
		}
	}
}

// The service signs and sends to the address as it has registered it, which may be written differently from what it was asked to.
func TestTheAddressIsServedAsTheServiceHasRegisteredIt(t *testing.T) {
	x := newService(t)
	x.settings.PublicURL = "https://office.test/Hooks/Sign"
	x.up(x.settings.PublicURL)
	x.says = "https://office.test/hooks/sign/"
	x.register(t)
	expect(t, len(x.Health.List()), 0, "%d problems")
	expect(t, x.deliver("a", x.says, "s1"), http.StatusOK, "as registered: %d")
	expect(t, x.deliver("b", x.settings.PublicURL, "s1"), http.StatusUnauthorized, "as asked for: %d")
	former := x.says
	x.settings.PublicURL, x.says = "https://office.test/other", "https://office.test/sent/here"
	x.up(x.settings.PublicURL)
	x.register(t)
	expect(t, x.deliver("c", x.says, "s2"), http.StatusOK, "another path than asked for: %d")
	expect(t, x.deliver("d", former, "s1"), http.StatusOK, "still on its way: %d")
	x.later(previousLife)
	expect(t, x.deliver("e", former, "s1"), http.StatusNotFound, "too late: %d")
}

// Trouble that passes is told once it has lasted, through all the attempts; trouble that only people can end at once.
func TestThatTheAddressIsClosedIsToldInItsTime(t *testing.T) {
	for _, c := range []struct {
		err    error
		after  time.Duration // it is told
		says   string
		health health.State
	}{
		{&tunnel.Error{Kind: tunnel.Network}, tunnelGrace, message.TryingAgain().String(), health.AddressClosed},
		{&tunnel.Error{Kind: tunnel.DomainInUse, Address: "a.test"}, tunnelInUseGrace, "a.test", health.AddressClosed},
		{errNoAuthtoken, 0, message.TokenMissingLate().String(), health.AddressRefused},
		{message.Error(message.CertificateFileUnusable(), nil), 0, message.CertificateFileUnusable().String(), health.AddressRefused},
		{errors.New("strange"), 0, message.NotOpened().String(), health.AddressRefused},
	} {
		x := newService(t)
		x.register(t)
		swept, since := x.sweeps(), x.Address().Since
		x.later(time.Minute)
		down := func() { x.setState(tunnel.State{Err: c.err}, "down") }
		down()
		if !x.Deaf() || x.Trouble() == nil || x.Address().State != "down" || !x.Address().Since.After(since.Time) {
			t.Errorf("%v: %+v, %v", c.err, x.Address(), x.Trouble())
		}
		if c.after > 0 {
			x.later(c.after - time.Second)
			if down(); x.Health.Has(c.health) {
				t.Errorf("%v: told too early", c.err)
			}
			x.later(time.Second)
			x.setState(tunnel.State{}, "connecting") // which has no reason of its own
		}
		told := x.Health.List()
		if len(told) != 1 || !x.Health.Has(c.health) || !strings.Contains(told[0].Text(), c.says) {
			t.Errorf("%v: told %+v, want %q", c.err, told, c.says)
		}
		x.up("https://office.test")
		if x.Deaf() || x.Health.Has(health.AddressClosed) || x.Trouble() != nil || x.sweeps() != swept+1 {
			t.Errorf("%v: open again: %+v, %d sweeps", c.err, x.Health.List(), x.sweeps()-swept)
		}
		if x.up("https://office.test"); x.sweeps() != swept+1 {
			t.Errorf("%v: it is said to be back though it was there", c.err)
		}
	}
}

// listener is a port that nobody connects to.
type listener struct{ closed chan struct{} }

func (l listener) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l listener) Close() error              { close(l.closed); return nil }
func (l listener) Addr() net.Addr            { return &net.TCPAddr{} }

func TestTheAddressFollowsTheSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.Base.Now = time.Now
		opened, taken, dialed := 0, false, ""
		x.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = address
			return nil, errors.New("no route")
		}
		x.OpenPort = func(context.Context, string, string) (net.Listener, error) {
			if opened++; taken {
				return nil, errors.New("it is not for us")
			}
			return listener{make(chan struct{})}, nil
		}
		choose := func(change func(s *office.Settings)) {
			x.mu.Lock()
			change(&x.settings)
			x.mu.Unlock()
			x.Wake()
			synctest.Wait()
		}
		is := func(when, state, url string, times int, trouble error) {
			t.Helper()
			synctest.Wait()
			a := x.Address()
			if a.State != state || a.URL != url || opened != times || (x.Trouble() != nil) != (trouble != nil) || !errors.Is(x.Trouble(), trouble) {
				t.Errorf("%s: %+v, opened %d times, %v", when, a, opened, x.Trouble())
			}
		}
		choose(func(s *office.Settings) { s.Tunnel = office.TunnelNone })
		stop := looptest.Run(t, x.RunTunnel)
		is("none", "off", "", 0, nil)
		choose(func(s *office.Settings) { s.Tunnel = office.TunnelExternal })
		is("it is chosen", "up", "https://office.test", 1, nil)
		choose(func(s *office.Settings) { s.Language = "de" })
		is("something else has changed", "up", "https://office.test", 1, nil)
		for n, change := range []func(s *office.Settings){
			func(s *office.Settings) { s.PublicURL = "https://another.test" }, func(s *office.Settings) { s.Listen = "127.0.0.1:9" },
			func(s *office.Settings) { s.NgrokDomain = "a.test" }, func(s *office.Settings) { s.NgrokConnectURL = "a.test:1" },
			func(s *office.Settings) { s.NgrokCA = "a.pem" },
		} {
			choose(change)
			is("the settings of the address have changed", "up", "https://another.test", n+2, nil)
		}
		x.Reopen()
		is("somebody asks", "up", "https://another.test", 7, nil)
		taken = true
		x.Reopen()
		synctest.Wait()
		is("it cannot be opened", "down", "", 8, x.Trouble())
		if x.Trouble() == nil || !x.Health.Has(health.AddressRefused) {
			t.Errorf("health: %+v", x.Health.List())
		}
		taken = false
		time.Sleep(tunnelLook - time.Second)
		is("it may be by now", "down", "", 8, x.Trouble())
		time.Sleep(time.Second)
		is("it is", "up", "https://another.test", 9, nil)
		choose(func(s *office.Settings) { s.Tunnel = office.TunnelLoopback })
		is("there is no certificate", "down", "", 9, errNoCertificate)
		choose(func(s *office.Settings) { s.Tunnel = office.TunnelNgrok; s.NgrokCA = "" })
		is("there is no token", "down", "", 9, errNoAuthtoken)
		x.vault.locked.Store(true)
		x.Wake()
		is("the key is out of reach", "down", "", 9, secret.ErrUnavailable)
		x.vault.locked.Store(false)
		noErr(t, x.vault.Put(map[string][]byte{issuer.NgrokToken.Of(issuer.Ngrok(x.settings)): []byte("t0ken")}))
		time.Sleep(tunnelLook)
		synctest.Wait()
		expect(t, dialed, "a.test:1", "with a token it asks %q")
		choose(func(s *office.Settings) { s.NgrokConnectURL = "another.test:443" })
		is("another server is not given the token", "down", "", 9, errNoAuthtoken)
		choose(func(s *office.Settings) { s.Tunnel = office.TunnelExternal })
		is("back again", "up", "https://another.test", 10, nil)
		stop()
		is("it has ended", "off", "", 10, nil)
		time.Sleep(time.Minute) // ngrok's SDK looks whether it is to end when its next attempt is due
	})
}

// How long it takes until an address is registered that the service does not take.
func TestARegistrationThatFailsIsTriedAgainMoreAndMoreRarely(t *testing.T) {
	for status, most := range map[int]time.Duration{http.StatusInternalServerError: 5 * time.Minute, http.StatusBadRequest: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			x := newService(t)
			x.Base.Now = time.Now
			for range 400 {
				x.fail = append(x.fail, status)
			}
			<-x.wakeEndpoint // for the address that is open
			looptest.Run(t, x.RunEndpoint)
			synctest.Wait()
			expect(t, x.registrations(), 1, "tried %d times at once")
			time.Sleep(x.Pace.Retry)
			synctest.Wait()
			expect(t, x.registrations(), 2, "tried %d times after the first pause")
			time.Sleep(12 * time.Hour)
			x.mu.Lock()
			before := len(x.asked)
			x.mu.Unlock()
			time.Sleep(10 * most)
			synctest.Wait()
			expect(t, x.registrations()-before, 10, "tried %[1]d times in ten pauses of %[2]v", most)
			x.mu.Lock()
			x.fail = nil
			x.mu.Unlock()
			time.Sleep(most)
			synctest.Wait()
			if x.Deaf() {
				t.Error("it is not registered")
			}
			before = x.registrations()
			time.Sleep(24 * time.Hour)
			expect(t, x.registrations(), before, "registered %d times, %d before")
		})
	}
}

// Whoever signs out does not wait for a service that hangs, nor does whoever gives up.
func TestOneChangeOfTheRegistrationAtATime(t *testing.T) {
	x := newService(t)
	under, done, err := x.Change(t.Context())
	noErr(t, err)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := x.Change(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("a second one: %v", err)
	}
	if err := x.Register(stopped, true); !errors.Is(err, context.Canceled) || x.registrations() > 0 {
		t.Errorf("a second registration: %v", err)
	}
	go func() { <-under.Done(); done() }()
	done = must(x.TakeOver(t.Context()))
	done()
	noErr(t, x.Register(t.Context(), false))
}

func TestWhatCannotBeRegisteredIsSaid(t *testing.T) {
	x := newService(t)
	now := x.Current()
	x.Service.Deps.Current = func() Current { return now }
	now.MayRegister = false
	if err := x.Register(t.Context(), false); err != nil || !x.Health.Has(health.EndpointForbidden) || x.registrations() > 0 {
		t.Errorf("without the scope: %v, health: %+v", err, x.Health.List())
	}
	now.MayRegister, now.Client = true, nil
	noErr(t, x.Register(t.Context(), false))
	if err := x.Register(t.Context(), true); message.For(err) != message.EndpointNeeds() {
		t.Errorf("nobody is signed in: %v", err)
	}
	now.Settings = office.DefaultSettings()
	now.Settings.Tunnel = office.TunnelNone
	if err := x.Register(t.Context(), false); err != nil || x.Health.Has(health.NoAddress) {
		t.Errorf("before anything is set up: %v, health: %+v", err, x.Health.List())
	}
}

func TestWhatIsKeptOfARegistrationThatCannotBeRead(t *testing.T) {
	x := newService(t)
	i := issuer.Of(x.settings)
	x.fail = []int{http.StatusTooManyRequests}
	refused := x.Register(t.Context(), true)
	if address, _, err := x.AtService(); refused == nil || address != "" || err != nil {
		t.Errorf("a sign-out would delete %q, which was never registered: %v, %v", address, refused, err)
	}
	if gone, err := x.OutOfReach(i); gone || err != nil {
		t.Errorf("none: %v, %v", gone, err)
	}
	x.register(t)
	if gone, err := x.OutOfReach(i); gone || err != nil {
		t.Errorf("one that can be read: %v, %v", gone, err)
	}
	x.vault.lost.Store(true)
	if gone, err := x.OutOfReach(i); !gone || err != nil {
		t.Errorf("one whose key is gone: %v, %v", gone, err)
	}
	x.vault.lost.Store(false)
	x.vault.Kept[issuer.Endpoint.Of(i)] = []byte("{")
	if x.Open(i); !x.MayBeRegistered() {
		t.Error("what was read before is forgotten over what cannot be read")
	}
	delete(x.vault.Kept, issuer.Endpoint.Of(i))
	x.Missed("p", x.Now())
	if x.Move(i); x.MayBeRegistered() || len(x.missed) > 0 {
		t.Errorf("the next one's: %+v", x.registered())
	}
}

// The service may have taken a registration whose answer was cut short.
func TestARegistrationWithoutAnAnswerIsDeletedToo(t *testing.T) {
	x := newService(t)
	x.register(t)
	x.up("https://another.test")
	x.fail = []int{0}
	if x.Register(t.Context(), false) == nil {
		t.Fatal("the answer was not lost")
	}
	if address, id, err := x.AtService(); address != "https://another.test/webhook" || id != "" || err != nil || !x.MayBeRegistered() {
		t.Errorf("to be deleted: %q %q, %v", address, id, err)
	}
}
