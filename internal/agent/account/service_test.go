package account

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"countersign/assets"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // what runs beside others mostly waits
	goleak.VerifyTestMain(m)
}

// ring is a keyring that can be locked.
type ring struct {
	secret.Keeper
	mu     sync.Mutex
	locked bool
	reason secret.Reason // why; Locked when it is empty
	late   bool          // somebody else makes the key in this moment
	prompt chan struct{} // closed when a person answers its question, if it asks one
}

func (r *ring) turn(locked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = locked
}

func (r *ring) Load(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, &secret.UnavailableError{Reason: cmp.Or(r.reason, secret.Locked), Answered: r.prompt}
	}
	if r.late {
		return secret.Key{}, secret.ErrAbsent
	}
	return r.Keeper.Load(ctx)
}

func (r *ring) Create(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key, err := r.Keeper.Create(ctx); err != nil || !r.late {
		return key, err
	}
	r.late = false
	return secret.Key{}, secret.ErrPresent
}

// registration is an Endpoint that notes what becomes of it.
type registration struct {
	mu    sync.Mutex
	held  bool
	steps []string

	registered, lost bool // there is one; it cannot be read
}

func (e *registration) note(step string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steps = append(e.steps, step)
}

func (e *registration) noted() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.steps)
}

func (e *registration) Open(issuer.Name)                     { e.note("open") }
func (e *registration) Move(issuer.Name)                     { e.note("move") }
func (e *registration) Forget(*store.Tx) error               { e.note("forget"); return nil }
func (e *registration) MayBeRegistered() bool                { return e.registered }
func (e *registration) OutOfReach(issuer.Name) (bool, error) { return e.lost, nil }
func (e *registration) AtService() (address, id string, err error) {
	return "https://office.test/webhook", "e1", nil
}

func (e *registration) Change(ctx context.Context) (context.Context, func(), error) {
	done, err := e.TakeOver(ctx)
	return ctx, done, err
}

func (e *registration) TakeOver(context.Context) (done func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held {
		return nil, errors.New("two changes at once")
	}
	e.held = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.held = false
	}, nil
}

func (e *registration) End(i issuer.Name) (map[string][]byte, func(*store.Tx) error, func(), error) {
	return map[string][]byte{issuer.Endpoint.Of(i): nil}, func(*store.Tx) error { e.note("commit"); return nil },
		func() { e.note("ended") }, nil
}

// testService is an account with a signing service as its counterpart.
type testService struct {
	*Service
	service  *sandbox.Server
	keyring  *ring
	endpoint *registration
	settings office.Settings
	signedUp int
	changed  atomic.Int64
}

// returnTo is where a sign-in may return that is not on this computer.
const returnTo = "https://office.test/signed-in"

func newService(t *testing.T) *testService {
	t.Helper()
	x := &testService{keyring: &ring{Keeper: secret.Memory()}}
	x.endpoint = &registration{}
	client := sandbox.DemoClient()
	client.Redirects = append(client.Redirects, returnTo)
	var err error
	if x.service, err = sandbox.Start(sandbox.Options{AutoConsent: true, KeyBits: 1024, Clients: []sandbox.Client{client}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.service.Close() })
	x.settings = office.DefaultSettings()
	x.settings.AuthURL, x.settings.BaseURL, x.settings.ClientID = x.service.URL(), x.service.URL(), client.ID
	x.settings.Tunnel, x.settings.Redirect, x.settings.SaveTo = office.TunnelNone, office.RedirectLoopback, t.TempDir()
	x.Service = New(looptest.Base(t, func() {}), Deps{
		Keeper: x.keyring, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		Words: message.English, Message: message.For,
		Address:  func(context.Context) (string, bool) { return "", false },
		Changed:  func() { x.changed.Add(1) },
		SignedUp: func() { x.signedUp++ },
		Unlocked: func() {},
		Returned: func() {},
		Failed:   func(error) {},
	})
	x.Service.Endpoint = x.endpoint
	noErr(t, x.Load())
	t.Cleanup(x.Close)
	return x
}

func keepNothing(*store.Tx, office.Settings, bool) error { return nil }

// setUp has it use its signing service.
func (x *testService) setUp(t *testing.T) {
	t.Helper()
	x.Begin(t.Context())
	must(x.Configure(t.Context(), x.settings, office.Secrets{ClientSecret: sandbox.DemoClient().Secret}, keepNothing))
}

func TestASecretIsTriedBeforeAnybodySignsIn(t *testing.T) {
	x := newService(t)
	x.setUp(t)
	for secret, accepted := range map[string]bool{sandbox.DemoClient().Secret: true, "": true, "another": false} { // none is the kept one
		typed := x.settings
		typed.ClientID += " "
		err := x.TestClient(t.Context(), typed, secret)
		var config *office.ConfigError
		if (err == nil) != accepted || !accepted && (!errors.As(err, &config) || config.Fields[0].Field != office.FieldClientSecret) {
			t.Errorf("%q: %v", secret, err)
		}
	}
	x.service.Close()
	if err := x.TestClient(t.Context(), x.settings, "another"); err != nil {
		t.Errorf("a service that is not there says nothing of the secret: %v", err)
	}
}

// tryToSignIn signs in as a browser does, once what comes before it is done.
func (x *testService) tryToSignIn(t *testing.T, before ...func()) error {
	var browser sync.WaitGroup
	defer browser.Wait()
	return x.SignIn(t.Context(), SignInOptions{}, func(address string) error {
		for _, do := range before {
			do()
		}
		browser.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if resp, err := client.Get(address); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
		return nil
	})
}

// signedIn is one that is set up, and somebody signed in.
func signedIn(t *testing.T) *testService {
	t.Helper()
	x := newService(t)
	x.setUp(t)
	x.signIn(t)
	return x
}

func (x *testService) signIn(t *testing.T) {
	t.Helper()
	noErr(t, x.tryToSignIn(t))
}

func TestTheEndpointEndsInTheCommitThatEndsTheSignIn(t *testing.T) {
	x := newService(t)
	x.setUp(t)
	x.pause() // as where the loops end and begin again
	x.signIn(t)
	if _, online := x.Online(); !online || x.signedUp != 1 || x.Current().Account.Email == "" {
		t.Fatalf("signed in: %+v, told %d times", x.Current().Account, x.signedUp)
	}
	i := issuer.Of(x.settings)
	noErr(t, x.Vault().Put(map[string][]byte{issuer.Endpoint.Of(i): []byte("{}")}))
	x.pause()
	x.SignOut(t.Context()) // the service knows no such endpoint, and says so
	if got := x.endpoint.noted(); !slices.Equal(got[len(got)-2:], []string{"commit", "ended"}) {
		t.Errorf("the endpoint: %q", got)
	}
	for _, name := range []string{issuer.Endpoint.Of(i), issuer.Refresh.Of(i)} {
		if there, err := x.Vault().Has(name); there || err != nil {
			t.Errorf("%s is still there, %v", name, err)
		}
	}
	if x.SignedIn() || x.Current().Account.Since.IsZero() || x.Current().Account.Email != "" {
		t.Errorf("after signing out: %+v", x.Current().Account)
	}
}

// The service takes a refresh token back with the answer that brings the next one (interface.md, token rules): who loses it has to sign in anew.
func TestARefreshTokenIsKeptBeforeTheRenewedAccessTokenIsUsed(t *testing.T) {
	x := signedIn(t)
	kept := func() string {
		token := must(x.keys.Get(issuer.Refresh.Of(issuer.Of(x.settings))))
		return string(token)
	}
	before := kept()
	noErr(t, x.service.ExpireAccessTokens())
	client, _ := x.Online()
	must(client.List(t.Context(), esign.ListQuery{}))
	if now := kept(); now == "" || now == before {
		t.Error("the token that was renewed is not the one that is kept")
	}
	noErr(t, x.service.ExpireAccessTokens())
	x.Data.Store.Fault = func() error { return looptest.ErrFault }
	var failed *esign.Error
	if _, err := client.List(t.Context(), esign.ListQuery{}); !errors.As(err, &failed) || failed.Kind != esign.NotKept {
		t.Errorf("it cannot be kept: %v", err)
	}
	x.Data.Store.Fault = nil
	must(client.List(t.Context(), esign.ListQuery{}))
}

func TestLoopsThatBeginAgainBeginAnotherSession(t *testing.T) {
	x := signedIn(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	noErr(t, x.RunSession(ctx))
	if _, online := x.Online(); online {
		t.Error("a session outlives its loop")
	}
	looptest.Run(t, x.RunSession)
	x.wakeSession <- struct{}{} // the loop has begun when it is taken
	x.wakeSession <- struct{}{}
	client, online := x.Online()
	if !online {
		t.Fatal("the service cannot be asked")
	}
	must(client.List(t.Context(), esign.ListQuery{}))
}

func TestATokenHasOneOwner(t *testing.T) {
	x := signedIn(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	changed := x.changed.Load()
	noErr(t, x.keys.Put(map[string][]byte{"another": {1}}))
	expect(t, x.changed.Load(), changed+1, "told of %d changes, want %d", changed+1)
	vault := refreshVault{x.keys, issuer.Refresh.Of(issuer.Of(x.settings)), x.Crash, make(chan struct{})} // the session before has not ended
	token, err := vault.Refresh(stopped)
	if wrong := vault.SetRefresh(stopped, "another"); token != "" || !errors.Is(err, context.Canceled) || !errors.Is(wrong, context.Canceled) {
		t.Errorf("%q, %v, %v", token, err, wrong)
	}
}

func TestNobodyIsAskedWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, service := leavingSignedIn(t)
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Hour)
		defer stop()
		noErr(t, x.RunSession(ctx))
		expect(t, service.asked.Load(), 0, "asked %d times in five hours")
	})
}

func TestWhatIsNotCommittedChangesNothing(t *testing.T) {
	x := signedIn(t)
	was, before, changed := x.Current(), len(x.endpoint.noted()), x.changed.Load()
	next := x.settings
	next.ClientID = "another"
	refused := errors.New("the disk is full")
	_, err := x.Configure(t.Context(), next, office.Secrets{ClientSecret: "another"}, func(_ *store.Tx, old office.Settings, moved bool) error {
		if !moved || old.ClientID != x.settings.ClientID {
			t.Errorf("keeps the move from %q, moved %v", old.ClientID, moved)
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("said: %v", err)
	}
	if is := x.Current(); !reflect.DeepEqual(is.Settings, was.Settings) || !reflect.DeepEqual(is.Account, was.Account) || is.service != was.service {
		t.Errorf("is %+v, was %+v", is, was)
	}
	if got := x.endpoint.noted()[before:]; slices.Contains(got, "ended") || slices.Contains(got, "move") || x.changed.Load() != changed {
		t.Errorf("the endpoint: %q", got)
	}
	if _, online := x.Online(); !online {
		t.Error("the sign-in is gone")
	}
}

func TestTheEndpointFollowsOnceTheServiceHasChanged(t *testing.T) {
	x := signedIn(t)
	before := len(x.endpoint.noted())
	next := x.settings
	next.ClientID = "another"
	moved, err := x.Configure(t.Context(), next, office.Secrets{ClientSecret: "another"}, keepNothing)
	if err != nil || !moved {
		t.Fatalf("moved: %v, %v", moved, err)
	}
	if got := x.endpoint.noted()[before:]; !slices.Equal(got, []string{"forget", "commit", "ended", "move"}) && !slices.Equal(got, []string{"commit", "forget", "ended", "move"}) {
		t.Errorf("the endpoint: %q", got)
	}
	if x.SignedIn() || x.Settings().ClientID != "another" {
		t.Errorf("is %+v", x.Current())
	}
	list, err := x.pendingNow()
	if err != nil || len(list) != 1 || list[0].Endpoint == "" || list[0].Refresh == "" {
		t.Errorf("owed to the service that was left: %d, %v", len(list), err)
	}
}

func TestAKeyringThatIsLockedChangesNothingAndOpensLater(t *testing.T) {
	x := newService(t)
	x.keyring.locked, x.keyring.late = true, true
	x.Begin(t.Context())
	if !x.Health.Has(health.KeyringLocked) || len(x.endpoint.noted()) > 0 {
		t.Errorf("health %+v, the endpoint: %q", x.Health.List(), x.endpoint.noted())
	}
	_, err := x.Configure(t.Context(), x.settings, office.Secrets{ClientSecret: "secret"}, keepNothing)
	if !errors.Is(err, ErrLocked) || x.Settings().ClientID != "" {
		t.Errorf("said: %v", err)
	}
	if _, err := x.Vault().Get("anything"); !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	x.keyring.turn(false)
	if !x.Unlock(t.Context()) || x.Health.Has(health.KeyringLocked) || !slices.Equal(x.endpoint.noted(), []string{"open"}) || x.changed.Load() == 0 {
		t.Errorf("health %+v, the endpoint: %q", x.Health.List(), x.endpoint.noted())
	}
	if !x.Unlock(t.Context()) || len(x.endpoint.noted()) != 1 {
		t.Error("it is opened twice")
	}
	x.setUp(t)
	x.signIn(t)
}

// Nobody has to come back and press a button.
func TestAKeyringThatIsUnlockedIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		then   func(*testService)
		within time.Duration
	}{
		"by itself after a while":           {func(*testService) {}, 15 * time.Minute},
		"once its own question is answered": {func(x *testService) { close(x.keyring.prompt) }, time.Second},
		"as the computer wakes up":          {func(x *testService) { x.WokeUp() }, time.Second},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := &testService{keyring: &ring{Keeper: secret.Memory(), locked: true, prompt: make(chan struct{})}}
			unlocked := make(chan struct{})
			x.Service = New(looptest.Base(t, func() {}), Deps{Keeper: x.keyring, Changed: func() {}, Unlocked: func() { close(unlocked) }})
			x.Service.Endpoint = &registration{}
			x.Begin(t.Context())
			looptest.Run(t, x.RunKeys)
			time.Sleep(20 * time.Minute) // it is tried more and more rarely
			x.keyring.turn(false)
			began := time.Now()
			c.then(x)
			<-unlocked
			if took := time.Since(began); took > c.within || x.Vault().Locked() {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// What was finished before the first sign-in is not fetched: nothing may be taken for that because a clock was fast then.
func TestTheMomentOfTheFirstSignInIsPutRightWithTheClock(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		since time.Time
		by    time.Duration
		want  time.Time
	}{
		{now.Add(-time.Hour), -48 * time.Hour, now.Add(-time.Hour)},            // by a clock that was right
		{now.Add(47 * time.Hour), -48 * time.Hour, now.Add(-time.Hour)},        // while it runs
		{now.Add(47 * time.Hour), 0, now.Add(-sinceUnsure)},                    // while it was off
		{now.Add(90 * 24 * time.Hour), -48 * time.Hour, now.Add(-sinceUnsure)}, // by another one still
		{now.Add(loop.ClockSlack / 2), 0, now.Add(loop.ClockSlack / 2)},        // as time servers do
	} {
		r := New(looptest.Base(t, func() {}), Deps{Changed: func() {}})
		r.Now = func() time.Time { return now }
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(Doc, Record{Since: c.since}) }))
		noErr(t, r.Load())
		r.MendSince(c.by)
		again := New(r.Base, r.Deps)
		noErr(t, again.Load())
		if is := r.Current().Account.Since; !is.Equal(c.want) || !again.Current().Account.Since.Equal(c.want) {
			t.Errorf("%v, set back by %v: %v, want %v", c.since, c.by, is, c.want)
		}
	}
}

// An address without a path is one too (RFC 3986, 6.2.3), and what means something to a router is a path like any other.
func TestTheBrowserReturnsToWhateverAddressIsRegistered(t *testing.T) {
	for path, strange := range map[string]string{
		"": "/favicon.ico", "/": "/favicon.ico", "/back": "/", "/back/": "/back/x", "/{where}": "/there", "/a/{b": "/a/", "/a//b": "/a/b", "/b%20%7B": "/b",
	} {
		t.Run("https://localhost"+path, func(t *testing.T) {
			x := newService(t)
			free := must(net.Listen("tcp", "127.0.0.1:0"))
			host := free.Addr().String()
			free.Close()
			s := office.Settings{Redirect: office.RedirectLoopback, RedirectURI: "http://" + host + path}
			back := must(x.openRedirect(t.Context(), s))
			defer back.close()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			for address, want := range map[string]int{back.uri + "?state=x&code=y": http.StatusBadRequest, "http://" + host + strange: http.StatusNotFound} {
				resp := must(client.Get(address))
				page, err := io.ReadAll(resp.Body)
				noErr(t, errors.Join(err, resp.Body.Close()))
				if resp.StatusCode != want || strings.Contains(string(page), "<html") != (want == http.StatusBadRequest) {
					t.Errorf("%s: %s, want %d", address, resp.Status, want)
				}
			}
		})
	}
}

func TestTheBrowserIsToldInTheLanguageOfTheWindow(t *testing.T) {
	x := newService(t)
	x.settings.Language = "de"
	x.setUp(t)
	german := must(message.NewPrinter("de"))
	x.Words = func() *message.Printer { return german }
	w := httptest.NewRecorder()
	x.ServeCallback(w, httptest.NewRequest(http.MethodGet, "/oauth/callback?state=other", nil))
	for _, want := range []string{`<html lang="de">`, german.Text(message.SignInFailed()), german.Text(message.NotExpected()), german.Text(message.BackToCountersign())} {
		if page := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(page, want) {
			t.Errorf("%d, and the page lacks %q:\n%s", w.Code, want, page)
		}
	}
	for name, want := range map[string]string{ // its address holds what is for us alone
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Security-Policy": assets.ReturnPolicy, "Content-Type": "text/html; charset=utf-8",
	} {
		expect(t, w.Header().Get(name), want, name+": %q")
	}
	w = httptest.NewRecorder()
	x.ServeCallback(w, httptest.NewRequest(http.MethodPost, "/oauth/callback?state=other", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet || strings.Contains(w.Body.String(), "<html") {
		t.Errorf("posted: %d %q", w.Code, w.Header())
	}
}

func TestSecretsThatAreKeptAlreadyAreNone(t *testing.T) {
	x := newService(t)
	given := office.Secrets{ClientSecret: "secret", NgrokAuthtoken: "token"}
	x.keyring.turn(true)
	if got := x.Unkept(x.settings, given); got != given {
		t.Errorf("with a keyring that is locked: %+v", got)
	}
	x.keyring.turn(false)
	x.setUp(t)
	must(x.Configure(t.Context(), x.settings, given, keepNothing))
	other := x.settings
	other.ClientID, other.NgrokConnectURL = "another", "ngrok.test:443"
	for _, c := range []struct {
		s           office.Settings
		given, want office.Secrets
	}{
		{x.settings, given, office.Secrets{}}, {x.settings, office.Secrets{}, office.Secrets{}}, {other, given, given},
		{x.settings, office.Secrets{ClientSecret: "new", NgrokAuthtoken: "token"}, office.Secrets{ClientSecret: "new"}},
	} {
		if got := x.Unkept(c.s, c.given); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.given, got, c.want)
		}
	}
}
