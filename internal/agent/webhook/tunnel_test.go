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
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/tunnel"
)

// An address is opened for a moment, and what is sent there has to arrive here.
func TestThePublicAddressIsTriedWithoutBeingUsed(t *testing.T) {
	x := newService(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	listen := free.Addr().String()
	free.Close()
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
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

func TestWhatArrivesGoesWhereItBelongs(t *testing.T) {
	x := newService(t)
	x.Callback = func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "signed in") }
	for public, paths := range map[string]map[string]string{
		"https://office.test":       {"/webhook": "event", "/oauth/callback": "signed in", "/": "", "/webhook/x": "", "/hooks": ""},
		"https://office.test/hooks": {"/hooks": "event", "/hooks/oauth/callback": "signed in", "/oauth/callback": "signed in", "/webhook": ""},
	} {
		x.settings.PublicURL = public
		for path, want := range paths {
			w := httptest.NewRecorder()
			x.serve(w, httptest.NewRequest(http.MethodGet, path, nil))
			got := w.Body.String()
			switch w.Code {
			case http.StatusMethodNotAllowed: // an event is posted
				got = "event"
			case http.StatusNotFound:
				got = ""
			}
			if got != want {
				t.Errorf("%s%s: %d, %q", public, path, w.Code, got)
			}
		}
	}
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
		swept, since := x.sweeps(), x.Address().Since
		x.later(time.Minute)
		down := func() { x.setState(tunnel.State{Err: c.err}, "down") }
		down()
		if x.Trouble() == nil || x.Address().State != "down" || !x.Address().Since.After(since.Time) {
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
		if x.Health.Has(health.AddressClosed) || x.Trouble() != nil || x.sweeps() != swept+1 {
			t.Errorf("%v: open again: %+v, %d sweeps", c.err, x.Health.List(), x.sweeps()-swept)
		}
		if x.up("https://office.test"); x.sweeps() != swept+1 {
			t.Errorf("%v: it is said to be back though it was there", c.err)
		}
	}
}
