package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/desk"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
	"countersign/internal/policy"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
	"countersign/internal/tunnel/ngroktest"
)

// ruledBy is an agent whose administrator decides what the pointer holds.
func ruledBy(t *testing.T, decided *atomic.Pointer[policy.Policy]) *Agent {
	t.Helper()
	return openWith(t, Params{Policy: func() policy.Policy { return *decided.Load() }})
}

func fixing(saveTo string) *policy.Policy {
	return &policy.Policy{From: "here", Fixed: map[string]any{"auth_url": "https://sign.example.com", "base_url": "https://sign.example.com",
		"client_id": "office", "tunnel": "none", "redirect": "localhost", "save_to": saveTo}}
}

func TestAnAdministratorSetsAnOfficeUpAndNobodyChangesIt(t *testing.T) {
	folder, then := filepath.Join(t.TempDir(), "Signed"), filepath.Join(t.TempDir(), "B")
	var decided atomic.Pointer[policy.Policy]
	rules := fixing(folder)
	rules.Fixed["tomato"] = true
	decided.Store(rules)
	a := ruledBy(t, &decided)
	if s := a.Settings(); s.SaveTo != folder || !a.Fixed("save_to") || a.Fixed("theme") {
		t.Errorf("%+v", s)
	}
	s := a.Settings()
	s.Theme = "dark"
	if err := a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"}); err != nil {
		t.Fatalf("the rest is the office's own: %v", err)
	}
	s.SaveTo = t.TempDir()
	err := a.Configure(t.Context(), s, office.Secrets{})
	if c, ok := errors.AsType[*ConfigError](err); !ok || len(c.Fields) != 1 || c.Fields[0].Field != office.FieldSaveTo || Message(err) != message.FixedSetting("save_to") {
		t.Errorf("%v", err)
	}
	if !a.saysOfPolicy(message.Then(message.PolicyWrong("here"), message.PolicyUnusable("tomato"))) {
		t.Errorf("what cannot be used is not said: %+v", a.Health.List())
	}
	decided.Store(fixing(then))
	if err := a.Configure(t.Context(), a.Settings(), office.Secrets{}); Message(err) != message.FixedSetting("save_to") {
		t.Errorf("settings of before were taken: %v", err)
	}
	if s := a.Settings(); s.SaveTo != then {
		t.Errorf("saved in %s", s.SaveTo)
	}
}

// saysOfPolicy reports whether people are told that of the administrator's decisions.
func (a *Agent) saysOfPolicy(said message.Message) bool {
	return slices.ContainsFunc(must(a.Status()).Health, func(i Issue) bool { return i.ID == "policy" && i.Message == said })
}

func TestTheProgramAndItsCommandsWorkUnderWhatTheAdministratorHasDecidedByNow(t *testing.T) {
	for name, parts := range map[string][]Component{"the program": nil, "a command": {ComponentOutbox}} {
		t.Run(name, func(t *testing.T) {
			var decided atomic.Pointer[policy.Policy]
			now := filepath.Join(t.TempDir(), "B")
			decided.Store(fixing(filepath.Join(t.TempDir(), "A")))
			a := ruledBy(t, &decided)
			noErr(t, a.obey(t.Context()))
			decided.Store(fixing(now))
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); a.Run(ctx, parts...) }()
			waitFor(t, a, "it works with what was decided last", func() bool { return a.account.Settings().SaveTo == now })
			stop()
			<-done
		})
	}
}

func TestDecisionsThatCannotBePutToUseAreToldUntilTheyAre(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	inTheWay := filepath.Join(t.TempDir(), "share")
	noErr(t, os.WriteFile(inTheWay, nil, 0o600))
	decided.Store(fixing(filepath.Join(inTheWay, "Signed")))
	a := ruledBy(t, &decided)
	told := func() bool {
		return slices.ContainsFunc(a.Health.List(), func(i Issue) bool { return i.ID == "policy" && strings.Contains(i.Text(), "not in use yet") })
	}
	if err := a.obey(t.Context()); err == nil || !told() {
		t.Errorf("%v; health says %+v", err, a.Health.List())
	}
	noErr(t, os.Remove(inTheWay))
	noErr(t, a.obey(t.Context()))
	if told() {
		t.Error("it is still said once they are in use")
	}
}

func TestWhatIsFixedStaysSoWhileItsPlaceCannotBeRead(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	folder := filepath.Join(t.TempDir(), "A")
	decided.Store(fixing(folder))
	a := ruledBy(t, &decided)
	noErr(t, a.obey(t.Context()))
	unread := fixing(folder) // which package policy goes by meanwhile
	unread.Wrong, unread.Fixed["tomato"] = message.PolicyNoJSON("here"), true
	decided.Store(unread)
	s := a.Settings()
	s.SaveTo = t.TempDir()
	if err := a.Configure(t.Context(), s, office.Secrets{}); Message(err) != message.FixedSetting("save_to") || !a.Fixed("save_to") {
		t.Errorf("what was fixed could be changed: %v", err)
	}
	if !a.saysOfPolicy(message.Then(message.PolicyWrong("here"), unread.Wrong, message.PolicyUnusable("tomato"))) {
		t.Errorf("health says %+v", a.Health.List())
	}
	decided.Store(&policy.Policy{})
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	if a.Fixed("save_to") || a.Health.Has(health.PolicyWrong) {
		t.Error("it is gone, and counts")
	}
}

func found(all []office.FieldError, field string) (f office.FieldError) {
	if i := slices.IndexFunc(all, func(f office.FieldError) bool { return f.Field == field }); i >= 0 {
		f = all[i]
	}
	return f
}

func TestWhatIsWrongWithASettingIsToldAndNotKept(t *testing.T) {
	a, folder := openWith(t, Params{}), t.TempDir()
	for _, c := range settingstest.Cases(folder) {
		t.Run(c.Name(), func(t *testing.T) {
			s := c.With(folder)
			var config *ConfigError
			err := a.Configure(t.Context(), s, office.Secrets{})
			if c.Wrong() {
				if !errors.As(err, &config) || found(config.Fields, c.Field) != found(s.Check(), c.Field) {
					t.Errorf("Configure says %v", err)
				}
				if strings.Contains(Message(err).String(), settingstest.Secret) {
					t.Errorf("a password is repeated: %s", Message(err).String())
				}
				return
			}
			if err != nil || c.Is(a.Settings()) != c.Kept {
				t.Errorf("%v, kept is %q, want %q", err, c.Is(a.Settings()), c.Kept)
			}
			// What is accepted here is accepted by those it is handed to.
			k := a.Settings()
			err = esign.Config{AuthURL: k.AuthURL, BaseURL: k.BaseURL, ClientID: k.ClientID, Scopes: k.Scopes}.Validate()
			if err != nil {
				t.Errorf("kept and then refused: %v", err)
			}
		})
	}
}

func TestSecretsArePastedWithALineEnd(t *testing.T) {
	a := openWith(t, Params{})
	s := settingstest.Case{}.Settings(t.TempDir())
	noErr(t, a.Configure(t.Context(), s, office.Secrets{ClientSecret: " s3cret\r\n", NgrokAuthtoken: "t0ken\n"}))
	err := a.Configure(t.Context(), s, office.Secrets{ClientSecret: "s3\ncret", NgrokAuthtoken: "t0\x00ken"})
	var config *ConfigError
	if !errors.As(err, &config) || found(config.Fields, office.FieldClientSecret).Code != office.CodeCharacters ||
		found(config.Fields, office.FieldNgrokToken).Code != office.CodeCharacters {
		t.Errorf("said: %v", err)
	}
	if err != nil && (strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "t0")) {
		t.Errorf("a secret is repeated: %v", err)
	}
}

// The command that takes an invitation says right away what other settings could mend.
func TestANewInvitationEndsWhatWasSaidOfTheOneBefore(t *testing.T) {
	a := openWith(t, Params{})
	s := settingstest.Case{Around: string(office.TunnelOffice)}.Settings(t.TempDir())
	seed, _, err := desk.NewKey()
	noErr(t, err)
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	for name, given := range map[string]office.Secrets{"another key": {DeskKey: seed}, "another address": {}, "nothing new": {}} {
		if name == "another address" {
			s.Office = "nats://10.0.0.2:7422"
		}
		a.Health.Set(health.DeskUnwelcome, message.DeskUnwelcome())
		noErr(t, a.Configure(t.Context(), s, given))
		if says := a.Health.Has(health.DeskUnwelcome); says != (name == "nothing new") {
			t.Errorf("%s: asks for an invitation: %v", name, says)
		}
	}
}

func TestANewFolderIsMadeAndTried(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, home)
	}
	usual := must(locations.Default())
	a, dir := openWith(t, Params{}), t.TempDir()
	s := settingstest.Case{}.Settings(filepath.Join(dir, "a", "b"))
	noErr(t, a.Data.Update(func(tx *store.Tx) error { // once a share was mounted there
		return tx.PutDoc("mounts", map[string][]string{"known": {s.SaveTo}})
	}))
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	noErr(t, a.saves.FolderAway(s.SaveTo))
	if left, err := os.ReadDir(s.SaveTo); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	wrong := s
	var config *ConfigError
	for _, within := range []string{usual, filepath.Join(usual, "Signed"), a.p.DataDir, locations.Outbox(a.p.DataDir)} {
		wrong.SaveTo = within
		if err := a.Configure(t.Context(), wrong, office.Secrets{}); !errors.As(err, &config) || config.Fields[0].Text != message.FolderHoldsData() {
			t.Errorf("beside the program's own data: %v", err)
		}
	}
	// A drive that is away for a while keeps nobody from changing something else.
	noErr(t, os.RemoveAll(filepath.Join(dir, "a")))
	s.Notify = office.NotifyNone
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	if _, err := os.Stat(s.SaveTo); err == nil {
		t.Error("a folder that is away was made anew")
	}
}

// While the administrator's decisions change all the time, a person and a command each change a setting of their own.
func TestChangesAtTheSameInstantKeepEachOther(t *testing.T) {
	dir := t.TempDir()
	var reads atomic.Int64
	a := openWith(t, Params{Policy: func() policy.Policy { return *fixing(filepath.Join(dir, fmt.Sprint(reads.Add(1)%2))) }})
	noErr(t, a.obey(t.Context()))
	over := make(chan struct{})
	var ruling, changing sync.WaitGroup
	ruling.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				noErr(t, a.obey(t.Context()))
			}
		}
	})
	change := func(set func(*office.Settings, int), is func(office.Settings, int) bool) {
		for i := range 50 {
			_, err := a.ChangeSettings(t.Context(), func(s office.Settings) office.Settings {
				if i > 0 && !is(s, i-1) {
					t.Errorf("change %d was lost", i-1)
				}
				set(&s, i)
				return s
			}, office.Secrets{})
			if err != nil {
				t.Error(err)
			}
		}
	}
	changing.Go(func() {
		change(func(s *office.Settings, i int) { s.DueDays = i + 1 }, func(s office.Settings, i int) bool { return s.DueDays == i+1 })
	})
	changing.Go(func() {
		change(func(s *office.Settings, i int) { s.Index = i%2 == 0 }, func(s office.Settings, i int) bool { return s.Index == (i%2 == 0) })
	})
	changing.Wait()
	close(over)
	ruling.Wait()
}

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

func TestWithoutAPublicAddressNoEventIsSaidToBeOnItsWay(t *testing.T) {
	a := openSignedIn(t, Params{}, "https://sign.example.com", nil)
	expect(t, result(checks(a.steps(t.Context())), message.StepEvent()).Found, message.NoEventReported(), "of events it says %v")
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
