package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
	"countersign/internal/tunnel/ngroktest"
)

// openWith is an agent that nobody has set up, until the end of the test.
func openWith(t *testing.T, p Params) *Agent {
	t.Helper()
	p.DataDir, p.Keeper, p.Version = t.TempDir(), cmp.Or[secret.Keeper](p.Keeper, secret.Memory()), "test"
	a := must(Open(t.Context(), p))
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
	o.sendSigned()
	var shown int
	steps := o.TryEverything(t.Context(), func([]office.Check) { shown++ })
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
	edge := must(ngroktest.Start(ngroktest.Options{}))
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

// calls counts the requests the service got for a route.
func calls(s *sandbox.Server, route string) (n int) {
	for _, r := range s.Requests() {
		if r.Route == route {
			n++
		}
	}
	return n
}

// owed is what services that were left are still to be told.
func (o *testOffice) owed() (list []struct{ Endpoint, Refresh string }, err error) {
	var names []string
	err = o.Data.Store.View(func(tx *store.Tx) (err error) { names, err = tx.SealedNames(); return err })
	for _, name := range names {
		var x struct{ Endpoint, Refresh string }
		if b, unread := o.account.Vault().Get(name); strings.HasPrefix(name, "revocation@") {
			err = errors.Join(err, unread, json.Unmarshal(b, &x))
			list = append(list, x)
		}
	}
	return list, err
}

// The service in use cannot tell what became of a draft for another one, so nobody is checking.
func TestWhatBecameOfADraftForAnotherServiceIsNotSaidToBeChecked(t *testing.T) {
	a := openSignedIn(t, Params{}, "https://sign.test", nil)
	defer a.Close()
	noErr(t, a.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "d", Name: "Offer", State: office.DraftUnknown})
	}))
	for _, c := range []struct {
		url  string
		says message.Message
	}{{"https://another.test", message.OutcomeUnknownElsewhere("Offer")}, {"https://sign.test", message.OutcomeUnknown("Offer")}} {
		s := a.Settings()
		s.AuthURL, s.BaseURL = c.url, c.url
		noErr(t, a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"}))
		if !slices.ContainsFunc(a.Health.List(), func(i Issue) bool { return i.ID == health.OutcomeUnknown.ID && i.Message == c.says }) {
			t.Errorf("at %s it says %+v", c.url, a.Health.List())
		}
	}
}

// An endpoint is registered for the account that is signed in, not for the client (interface.md, "POST /events/endpoints/set").
func TestAnotherAccountThatSignsInGetsAnEndpointOfItsOwn(t *testing.T) {
	other := sandbox.User{Email: "bo@example.com", Admin: true, OrganizationID: "11111111-1111-4111-8111-111111111111"}
	o := newOfficeWith(t, quick, sandbox.Options{Users: append(sandbox.DemoUsers(), other)})
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, func(address string) error { return visit(address + "&login_hint=" + other.Email) }))
	o.eventually("both are registered", func() bool { return len(o.service.EndpointURLs()) == 2 })
}

// Whoever stores a sealed value holds the key until that is committed. What is asked within a commit must not wait for it.
func TestNothingThatIsAskedWithinACommitWaitsForTheKey(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	done := make(chan error, 1)
	asked := false
	go func() {
		done <- o.account.Vault().Put(map[string][]byte{"a value": []byte("x")}, func(*store.Tx) error {
			o.webhook.Deaf()
			o.webhook.ListeningSince()
			o.Settings()
			asked = true
			return nil
		})
	}()
	select {
	case err := <-done:
		if err != nil || !asked {
			t.Errorf("asked: %t, %v", asked, err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("they wait for each other")
	}
}
