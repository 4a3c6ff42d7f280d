package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/tunnel/ngroktest"
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

// portal is a page of the network.
func portal(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://login.network.test/welcome", http.StatusFound)
}

func TestASignInPageOfTheNetworkIsNamedAndTakenForNothing(t *testing.T) {
	o, network := newOfficeBehind(t, portal)
	id := o.send()
	network.closed.Store(true)
	signAll(o, id)
	noErr(t, o.CheckNow())
	o.eventually("the network's page is named", func() bool { return o.issue("network") != nil })
	if i := o.issue("network"); i.Action != ActNetwork || !strings.Contains(i.Text(), "browser") {
		t.Errorf("health says %q, with %q", i.Text(), i.Action)
	}
	expect(t, o.NetworkPage(), "http://login.network.test/welcome", "the browser would open %q")
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
}

// What such a page leaves unsaid must not become the service's addresses: the browser would be sent to more of it.
func TestASignInDoesNotTakeThePageOfTheNetworkForTheService(t *testing.T) {
	o, network := newOfficeBehind(t, portal)
	noErr(t, o.SignOut(context.Background()))
	network.closed.Store(true)
	err := o.SignIn(context.Background(), SignInOptions{}, func(address string) error {
		return errors.New("the browser is sent to " + address)
	})
	if m, _ := message.Of(err); m != message.NetworkWantsBrowser() {
		t.Errorf("the sign-in says %v", err)
	}
	o.eventually("the network's page is named", func() bool { return o.issue("network") != nil })
}

// openWith is an agent that nobody has set up, until the end of the test.
func openWith(t *testing.T, p Params) *Agent {
	t.Helper()
	p.DataDir, p.Keeper, p.Version = t.TempDir(), cmp.Or[secret.Keeper](p.Keeper, secret.Memory()), "test"
	a, err := Open(t.Context(), p)
	noErr(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

func result(steps []office.Check, step message.Message) office.Check {
	if i := slices.IndexFunc(steps, func(c office.Check) bool { return c.Step == step }); i >= 0 {
		return steps[i]
	}
	return office.Check{}
}

func TestEveryStepOfTheConnectionIsTried(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	var shown int
	steps := o.TryConnection(t.Context(), func([]office.Check) { shown++ })
	for _, c := range steps {
		if c.Result != office.CheckFine {
			t.Errorf("%s: %s %s", c.Step, c.Result, c.Found)
		}
	}
	for step, want := range map[message.Message]message.Message{
		message.StepProxy():    message.WayHere(),
		message.StepService():  message.Answers(),
		message.StepSignIn():   message.SignedInNowAs(o.Status().Account.Email),
		message.StepAddress():  message.AddressOpen(o.Status().Tunnel.URL),
		message.StepEndpoint(): message.Registered(o.Status().Endpoint.URL),
		message.StepEvent():    message.EventArrived(),
	} {
		if got := result(steps, step); got.Found != want {
			t.Errorf("%s: %q, want %q", step, got.Found, want)
		}
	}
	if hosts := o.Hosts(); len(hosts) > 0 {
		t.Errorf("the network is to let %q through", hosts)
	}
	if shown < 4 {
		t.Errorf("shown %d times", shown)
	}

	o.service.Close()
	if got := result(o.TryConnection(t.Context(), nil), message.StepService()); got.Result != office.CheckWrong {
		t.Errorf("a service that is gone: %+v", got)
	}
}

func TestTheWayToNgrokIsTriedStepByStep(t *testing.T) {
	edge, err := ngroktest.Start(ngroktest.Options{})
	noErr(t, err)
	defer edge.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	noErr(t, os.WriteFile(ca, edge.Authority().PEM(), 0o600))
	a := openWith(t, Params{})
	s := office.DefaultSettings()
	s.Tunnel, s.NgrokConnectURL, s.NgrokCA = office.TunnelNgrok, edge.ConnectAddr(), ca
	works := []office.CheckResult{office.CheckFine, office.CheckFine, office.CheckFine, office.CheckFine}
	expect(t, resultsOf(a.TryNgrok(t.Context(), s, nil)), works, "all works: %v")
	edge.ShowWrongCertificate(true)
	steps := a.TryNgrok(t.Context(), s, nil)
	if got := resultsOf(steps); !slices.Equal(got, []office.CheckResult{office.CheckFine, office.CheckFine, office.CheckWrong, office.CheckUnknown}) {
		t.Errorf("a network that opens TLS: %v", got)
	}
	if text := steps[2].Found.String(); !strings.Contains(text, "Nobody trusts this") || !strings.Contains(text, edge.ConnectAddr()) {
		t.Errorf("people read %q", text)
	}
	expect(t, edge.Counts().Sessions, 0, "%d sessions were begun")
}

func resultsOf(steps []office.Check) (list []office.CheckResult) {
	for _, c := range steps {
		list = append(list, c.Result)
	}
	return list
}

func TestDiagnosticsTellOfTheConnectionAndOfNoSecret(t *testing.T) {
	t.Setenv("NO_PROXY", "")
	t.Setenv("HTTPS_PROXY", "http://user:proxySECRET@127.0.0.1:1")
	a := openWith(t, Params{})
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.invalid", "https://sign.invalid", "c"
	s.Tunnel, s.Redirect, s.SaveTo = office.TunnelNgrok, office.RedirectTunnel, t.TempDir()
	s.NgrokDomain = "office.ngrok.test"
	noErr(t, a.Configure(t.Context(), s, office.Secrets{ClientSecret: "clientSECRET", NgrokAuthtoken: "tokenSECRET"}))
	text := a.Diagnostics(context.Background())
	for _, want := range []string{"[x] Network: Through 127.0.0.1:1 (HTTPS_PROXY", "[!] Signing service", "[!] ngrok: connection", "[ ] ngrok: tunnel", "127.0.0.1:1 does not answer"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "SECRET") {
		t.Errorf("it holds a secret:\n%s", text)
	}
}
