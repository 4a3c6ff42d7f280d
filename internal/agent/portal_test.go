package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

// captive is a network that shows a page of its own to everybody, while it is closed.
type captive struct {
	http.RoundTripper
	closed atomic.Bool
	page   http.HandlerFunc
}

func (c *captive) RoundTrip(r *http.Request) (*http.Response, error) {
	if !c.closed.Load() {
		return c.RoundTripper.RoundTrip(r)
	}
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	w := httptest.NewRecorder()
	c.page(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func newCaptive(page http.HandlerFunc) *captive {
	return &captive{RoundTripper: &http.Transport{DisableKeepAlives: true}, page: page}
}

// newOfficeBehind is an office in such a network, which is not closed yet.
func newOfficeBehind(t *testing.T, page http.HandlerFunc) (*testOffice, *captive) {
	t.Helper()
	network := newCaptive(page)
	o := newOfficeWith(t, func(p *Params) {
		quick(p)
		p.HTTP = &http.Client{Transport: network}
	}, sandbox.Options{})
	return o, network
}

var portals = map[string]http.HandlerFunc{
	"a page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html><body>Welcome to the hotel</body></html>")
	},
	"a way to a page": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://login.network.test/welcome", http.StatusFound)
	},
	"a demand": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNetworkAuthenticationRequired)
		io.WriteString(w, "<html>Sign in first</html>")
	},
}

func TestASignInPageOfTheNetworkIsNamedAndTakenForNothing(t *testing.T) {
	for name, page := range portals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, network := newOfficeBehind(t, page)
			id := o.send()
			network.closed.Store(true)
			signAll(o, id)
			noErr(t, o.CheckNow())
			o.eventually("the network's page is named", func() bool { return o.issue("network") != nil })
			if i := o.issue("network"); i.Action != ActNetwork || !strings.Contains(i.Text(), "browser") {
				t.Errorf("health says %q, with %q", i.Text(), i.Action)
			}
			if at := o.NetworkPage(); name == "a way to a page" && at != "http://login.network.test/welcome" || !strings.HasPrefix(at, "http://") {
				t.Errorf("the browser would open %q", at)
			}
			if s := o.Status(); !s.SignedIn || s.Saves.Done > 0 || len(o.files()) > 0 {
				t.Errorf("the page was taken for an answer: %+v, %q", s, o.files())
			}
			err := o.TestService(context.Background(), o.Settings())
			if m, _ := message.Of(err); m.ID() != "network.network-wants-browser" {
				t.Errorf("the trial says %v", err)
			}
			network.closed.Store(false)
			o.eventually("the network is free by itself", func() bool { return o.issue("network") == nil })
			o.eventually("the document is saved without anybody asking", func() bool { return saved(o, id) })
		})
	}
}

// What such a page leaves unsaid must not become the service's addresses: the browser would be sent to more of it.
func TestASignInDoesNotTakeThePageOfTheNetworkForTheService(t *testing.T) {
	for name, page := range portals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, network := newOfficeBehind(t, page)
			noErr(t, o.SignOut(context.Background()))
			network.closed.Store(true)
			err := o.SignIn(context.Background(), SignInOptions{}, func(address string) error {
				return errors.New("the browser is sent to " + address)
			})
			if m, _ := message.Of(err); m != message.NetworkWantsBrowser() {
				t.Errorf("the sign-in says %v", err)
			}
			o.eventually("the network's page is named", func() bool { return o.issue("network") != nil })
			network.closed.Store(false)
			o.eventually("the network is free by itself", func() bool { return o.issue("network") == nil })
		})
	}
}

func TestADocumentWaitsWhileTheNetworkBlocksTheService(t *testing.T) {
	o, network := newOfficeBehind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<html><body>This site is blocked</body></html>")
	})
	network.closed.Store(true)
	type result struct {
		state office.SendState
		err   error
	}
	sent := make(chan result, 1)
	go func() {
		state, err := o.Send(context.Background(), o.draft(), nil)
		sent <- result{state, err}
	}()
	o.eventually("people are told", func() bool { return o.issue("service") != nil })
	select {
	case r := <-sent:
		t.Errorf("it waits for nobody: %+v, %v", r.state, r.err)
	default:
		network.closed.Store(false)
		if r := <-sent; r.err != nil || r.state.State != office.DraftSent {
			t.Errorf("once the network is free: %+v, %v", r.state, r.err)
		}
	}
}

func TestAServiceThatFailsIsNotTakenForTheNetwork(t *testing.T) {
	for name, page := range map[string]http.HandlerFunc{
		"its own page for what is not there": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "<html>not found</html>")
		},
		"its gateway": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>bad gateway</html>")
		},
		"a way to itself": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/maintenance", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			network := newCaptive(page)
			network.closed.Store(true)
			p := Params{HTTP: &http.Client{Transport: network}}
			a := openWith(t, p)
			s := office.DefaultSettings()
			s.AuthURL, s.BaseURL = "https://sign.test", "https://sign.test"
			if at, asks := a.network.Asks(context.Background(), s); asks {
				t.Errorf("it was taken for a sign-in page of the network at %q", at)
			}
		})
	}
}

// openWith is an agent that nobody has set up.
func openWith(t *testing.T, p Params) *Agent {
	t.Helper()
	o := &testOffice{t: t, data: t.TempDir(), adjust: func(q *Params) { q.HTTP = p.HTTP; q.Network = p.Network }}
	o.keeper = secret.Memory()
	o.open()
	t.Cleanup(func() { o.stop() })
	return o.Agent
}
