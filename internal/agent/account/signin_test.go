package account

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

func (x *testService) owed(t *testing.T) int {
	t.Helper()
	list := must(x.pendingNow())
	return len(list)
}

// asked is how often the service was asked for a route that ends so.
func (x *testService) asked(route string) (n int) {
	for _, r := range x.service.Requests() {
		if strings.HasSuffix(r.Route, route) {
			n++
		}
	}
	return n
}

func (x *testService) set(t *testing.T, change func(s *office.Settings)) {
	t.Helper()
	change(&x.settings)
	noErr(t, configure(t, x.Service, func(s *office.Settings) { *s = x.settings }))
}

// again is a program that starts with the same data and the same keyring.
func (x *testService) again(t *testing.T) *Service {
	t.Helper()
	next := New(x.Base, x.Deps)
	next.Endpoint = x.endpoint
	noErr(t, next.Load())
	t.Cleanup(next.Close)
	next.Begin(t.Context())
	return next
}

// says reports whether health says m under that state.
func (x *Service) says(s health.State, m message.Message) bool {
	return slices.ContainsFunc(x.Health.List(), func(i health.Issue) bool { return i.ID == s.ID && i.Message == m })
}

// runRevocations runs the loop until that is so.
func (x *testService) runRevocations(t *testing.T, until func() bool) {
	t.Helper()
	defer looptest.Run(t, x.RunRevocations)()
	for end := time.Now().Add(20 * time.Second); !until(); time.Sleep(time.Millisecond) {
		if x.Wake(); time.Now().After(end) {
			t.Fatal("never")
		}
	}
}

func TestASignInEndsWithWhatItBeganWith(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(x *testService, ctx context.Context) error
		want      error
	}{
		"settings": {func(x *testService, ctx context.Context) error {
			x.settings.ClientID = "another"
			_, err := x.Configure(ctx, x.settings, office.Secrets{ClientSecret: "another"}, keepNothing)
			return err
		}, errMovedOn},
		"another sign-in": {func(x *testService, ctx context.Context) error {
			nobody := errors.New("closed")
			if err := x.SignIn(ctx, SignInOptions{}, func(string) error { return nobody }); !errors.Is(err, nobody) {
				return err
			}
			return nil
		}, errOtherLogin},
	} {
		t.Run(name, func(t *testing.T) {
			x := newService(t)
			x.setUp(t)
			err := x.SignIn(t.Context(), SignInOptions{}, func(string) error { return c.meanwhile(x, t.Context()) })
			if !errors.Is(err, c.want) || x.SignedIn() {
				t.Errorf("said: %v", err)
			}
		})
	}
	x := newService(t)
	if err := x.tryToSignIn(t); !errors.Is(err, errNotSetUp) {
		t.Errorf("without settings: %v", err)
	}
	x.setUp(t)
	if err := x.tryToSignIn(t, x.pause); !errors.Is(err, errMovedOn) || x.SignedIn() {
		t.Errorf("while the loops end: %v", err)
	}
	x.Resume()
	if err := x.tryToSignIn(t, func() { x.Park(true) }); message.For(err) != message.MovingNow() || x.SignedIn() {
		t.Errorf("while the office leaves: %v", err)
	}
	x.Park(false)
	ctx, stop := context.WithCancel(t.Context())
	if err := x.SignIn(ctx, SignInOptions{}, func(string) error { stop(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestThePastedAddressSignsIn(t *testing.T) {
	x := newService(t)
	x.settings.Redirect, x.settings.RedirectURI = office.RedirectPaste, returnTo
	x.setUp(t)
	var end string
	err := x.SignIn(t.Context(), SignInOptions{}, func(address string) error {
		if err := x.Paste("what is this"); message.For(err) != message.WrongAddress() {
			t.Errorf("nonsense: %v", err)
		}
		alone := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := alone.Get(address)
		if err != nil {
			return err
		}
		resp.Body.Close()
		end = resp.Header.Get("Location")
		if err := x.Paste(strings.Replace(end, "state=", "state=x", 1)); !errors.Is(err, errNoLogin) {
			t.Errorf("another sign-in's: %v", err)
		}
		go x.Paste(end)
		return nil
	})
	if err != nil || !x.SignedIn() {
		t.Errorf("said: %v", err)
	}
	if err := x.Paste(end); !errors.Is(err, errNoLogin) {
		t.Errorf("once it is over: %v", err)
	}
}

func TestTheWayBackIsTheOneThatTheSettingsChose(t *testing.T) {
	x := newService(t)
	x.setUp(t)
	for name, c := range map[string]struct {
		redirect office.RedirectKind
		tunnel   office.TunnelKind
		uri      string
		open     bool
		want     string
	}{
		"through the tunnel":     {"", office.TunnelNgrok, "", true, "https://office.test" + office.CallbackPath},
		"another address of it":  {"", office.TunnelNgrok, returnTo, true, returnTo},
		"through the own proxy":  {"", office.TunnelExternal, "", true, "https://proxy.test/cs" + office.CallbackPath},
		"pasted, nothing open":   {office.RedirectPaste, office.TunnelNgrok, returnTo, false, returnTo},
		"pasted, of the tunnel":  {office.RedirectPaste, office.TunnelNgrok, "", true, "https://office.test" + office.CallbackPath},
		"nothing open":           {"", office.TunnelNgrok, "", false, ""},
		"this computer":          {office.RedirectLoopback, "", "", false, "http://127.0.0.1:"},
		"this computer, by name": {office.RedirectLocalhost, "", "", false, "https://localhost:" + office.LocalhostPort + office.CallbackPath},
	} {
		var s office.Settings
		s.Redirect, s.Tunnel, s.RedirectURI, s.PublicURL = c.redirect, c.tunnel, c.uri, "https://proxy.test/cs"
		x.Address = func(context.Context) (string, bool) { return "https://office.test", c.open }
		back, err := x.openRedirect(t.Context(), s)
		switch {
		case errors.Is(err, syscall.EADDRINUSE): // by another program on the one port that is registered
		case c.want == "":
			if want := message.Then(message.ReturnClosed(), message.CheckConnection()); message.For(err) != want {
				t.Errorf("%s: %v", name, err)
			}
			x.Health.Set(health.AddressRefused, message.EnterAuthtoken())
			if _, err = x.openRedirect(t.Context(), s); message.For(err) != message.Then(message.ReturnClosed(), message.EnterAuthtoken()) {
				t.Errorf("%s, and what to do is known: %v", name, err)
			}
		case err != nil || !strings.HasPrefix(back.uri, c.want):
			t.Errorf("%s: %q, %v", name, back.uri, err)
		default:
			back.close()
		}
	}
	x.Address = func(context.Context) (string, bool) { return "", false }
	x.set(t, func(s *office.Settings) { s.Redirect = office.RedirectTunnel })
	if err := x.tryToSignIn(t); !strings.HasPrefix(message.For(err).String(), message.ReturnClosed().String()) {
		t.Errorf("signed in without a way back: %v", err)
	}
}

// The browser warns once of the certificate, not each time.
func TestTheCertificateForLocalhostStaysAsLongAsItIsInForce(t *testing.T) {
	x := newService(t)
	x.setUp(t)
	at := func(now time.Time) tls.Certificate {
		x.Now = func() time.Time { return now }
		c := must(x.Certificate())
		if now.Before(c.Leaf.NotBefore) || !now.Add(24*time.Hour).Before(c.Leaf.NotAfter) || c.Leaf.VerifyHostname("localhost") != nil {
			t.Errorf("at %v it is in force from %v to %v", now, c.Leaf.NotBefore, c.Leaf.NotAfter)
		}
		return c
	}
	first := at(time.Now())
	for when, same := range map[time.Time]bool{
		time.Now(): true, first.Leaf.NotAfter.Add(-24*time.Hour - 1): true, first.Leaf.NotAfter.Add(-24 * time.Hour): false,
		first.Leaf.NotBefore: true, first.Leaf.NotBefore.Add(-1): false,
	} {
		kept := must(x.keys.Get(sealedLocalhost))
		if got := at(when); got.Leaf.Equal(first.Leaf) != same {
			t.Errorf("at %v it is the same: %v", when, !same)
		}
		noErr(t, x.keys.Put(map[string][]byte{sealedLocalhost: kept}))
	}
	x.keyring.turn(true)
	if _, err := x.locked().Certificate(); !errors.Is(err, ErrLocked) {
		t.Errorf("without the key: %v", err)
	}
}

// locked is a program that starts anew, and whose keyring is locked.
func (x *testService) locked() *Service {
	next := New(x.Base, x.Deps)
	next.Endpoint = x.endpoint
	return next
}

func TestWhoSendsIsTheMemberWhateverTheClientIsCalled(t *testing.T) {
	of := func(client string, a Account, subject string) Current {
		s := office.DefaultSettings()
		s.AuthURL, s.BaseURL, s.ClientID = "https://sign.test", "https://sign.test", client
		return Current{Settings: s, Account: Record{Account: a, Subject: subject, SignedIn: true}}
	}
	member, other, subject := Account{OrganizationID: "o", MemberID: "m"}, Account{OrganizationID: "o", MemberID: "n"}, Account{OrganizationID: "o"}
	for _, c := range []struct {
		a, b                   Current
		sameSender, sameCaller bool
	}{
		{of("a", member, "s"), of("b", member, "s"), true, false},
		{of("a", member, "s"), of("a", member, "t"), true, false},
		{of("a", member, "s"), of("a", other, "s"), false, true},
		{of("a", subject, "s"), of("a", subject, "s"), true, true},
		{of("a", subject, "s"), of("a", subject, "t"), false, false},
		{of("a", subject, ""), of("a", Account{}, "s"), false, false},
	} {
		if c.a.Sender() == "" || (c.a.Sender() == c.b.Sender()) != c.sameSender || (c.a.Caller() == c.b.Caller()) != c.sameCaller {
			t.Errorf("%q and %q, %q and %q", c.a.Sender(), c.b.Sender(), c.a.Caller(), c.b.Caller())
		}
	}
	expect(t, of("a", Account{}, "").Sender(), "", "who sends, where the service has not said: %q")
	left := of("a", member, "s")
	left.Account = left.Account.ended()
	expect(t, left.Sender(), "", "who sends once the member has signed out: %q")
}

func TestAnotherOrganizationSignsInWhereNoPackagesAre(t *testing.T) {
	x := signedIn(t)
	was := x.Current().Account
	for _, c := range []struct {
		before string
		here   bool // there are packages
		want   error
	}{{"another", false, nil}, {was.OrganizationID, true, nil}, {"another", true, message.Error(message.OtherOrganization(), nil)}, {"", true, nil}} {
		before := was
		before.OrganizationID = c.before
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			var err error
			if c.here {
				err = tx.PutPackage(office.Package{ID: "p"})
			}
			return errors.Join(err, tx.PutDoc(Doc, before))
		}))
		noErr(t, x.Reload(t.Context()))
		owed := x.owed(t)
		if err := x.tryToSignIn(t); message.For(err) != message.For(c.want) || (x.owed(t) > owed) != (err != nil) {
			t.Errorf("after %q, packages: %v: %v; revoked: %d", c.before, c.here, err, x.owed(t)-owed)
		}
	}
	x.Data.Store.Fault = func() error { return looptest.ErrFault }
	if err := x.checkAccount(Record{Account: Account{OrganizationID: "o"}}, esign.Account{OrganizationID: "another"}); !errors.Is(err, looptest.ErrFault) {
		t.Errorf("what cannot be read: %v", err)
	}
	x.Data.Store.Fault = nil
}

func TestThePackagesTellTheOrganizationOfAnAccountThatWasNotNamed(t *testing.T) {
	x := newService(t)
	stored := []office.Package{
		{ID: "unsaid"},
		{ID: "elsewhere", Source: office.Source{OrganizationID: "theirs"}, Home: office.Home{Service: "another service"}},
		{ID: "ours", Source: office.Source{OrganizationID: "OURS"}},
	}
	next := esign.Account{OrganizationID: "theirs"}
	for _, want := range []message.Message{{}, {}, message.OtherOrganization()} {
		noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(stored[0]) }))
		expect(t, message.For(x.checkAccount(Record{}, next)), want, "told %v with "+stored[0].ID)
		stored = stored[1:]
	}
	for _, own := range []esign.Account{{}, {OrganizationID: "ours"}} {
		noErr(t, x.checkAccount(Record{}, own))
	}
}

func TestNobodyUnknownSignsInInPlaceOfSomebodyKnown(t *testing.T) {
	x := newService(t)
	x.settings.Scopes = []string{"profile", "offline_access", "organization"} // without openid there is no id_token
	x.setUp(t)
	x.signIn(t)
	was := x.Current().Account
	x.service.Inject(sandbox.Fault{Path: "/connect/userinfo", Status: 503, Times: 1})
	x.signIn(t)
	expect(t, x.Current().Account.Account, was.Account, "signed in as %+v where the service failed once")
	x.service.Inject(sandbox.Fault{Path: "/connect/userinfo", Status: 503})
	if err := x.tryToSignIn(t); message.For(err) != message.SignInAnonymous() || x.owed(t) != 1 || x.Current().Account.Account != was.Account {
		t.Errorf("%v; revoked: %d; signed in as %+v", err, x.owed(t), x.Current().Account)
	}
	for _, c := range []struct {
		before Record
		want   message.Message
	}{
		{Record{}, message.Message{}}, // the service has not said it of anybody
		{Record{Account: Account{Email: "o@example.com"}}, message.Message{}},
		{Record{Account: Account{OrganizationID: "o"}}, message.SignInAnonymous()},
		{Record{Account: Account{MemberID: "m"}}, message.SignInAnonymous()},
		{Record{Subject: "s"}, message.SignInAnonymous()},
	} {
		expect(t, message.For(x.checkAccount(c.before, esign.Account{})), c.want, "told %v after %+v", c.before)
	}
}

func TestANarrowerGrantIsToldUntilAWiderOneIsThere(t *testing.T) {
	x := newService(t)
	x.settings.Scopes = []string{"profile", "openid"}
	x.setUp(t)
	x.signIn(t)
	if !x.Health.Has(health.SignInShort) || !x.Health.Has(health.MayNotSend) || !x.Current().Account.Fleeting {
		t.Errorf("health: %+v", x.Health.List())
	}
	next := x.again(t)
	if next.SignedIn() || !x.says(health.SignInLapsed, message.SignInLapsedForScope()) {
		t.Errorf("after a restart, health: %+v", x.Health.List())
	}
	x.signIn(t)
	x.SignOut(t.Context()) // there is no endpoint to delete, which it says
	if expect(t, x.owed(t), 0, "%d owed"); x.asked("/connect/revoke") == 0 {
		t.Error("nobody has revoked the short sign-in")
	}
	x.set(t, func(s *office.Settings) { s.Scopes = []string{"profile", "openid", "offline_access"} })
	x.signIn(t)
	for when, do := range map[string]func(){"restart": func() { x.again(t) }, "restoring": func() { noErr(t, x.Reload(t.Context())) }} {
		x.Health.Clear(health.MayNotSend)
		do()
		expect(t, x.Health.Has(health.MayNotSend), true, "told after a %[2]s: %[1]v", when)
	}
	for _, scope := range []string{"organization", "member"} {
		x.set(t, func(s *office.Settings) { s.Scopes = []string{"profile", "openid", "offline_access", scope} })
		x.signIn(t)
		if list := x.Health.List(); len(list) > 0 {
			t.Errorf("with %s, health: %+v", scope, list)
		}
		if !x.again(t).SignedIn() {
			t.Error("it is over after a restart")
		}
	}
	x.set(t, func(s *office.Settings) { s.Scopes = []string{"profile", "openid"} })
	x.signIn(t)
	_, err := x.Configure(t.Context(), x.settings, office.Secrets{ClientSecret: "another"}, keepNothing)
	if noErr(t, err); x.SignedIn() || !x.Current().Account.Lapsed || !x.again(t).Current().Account.Lapsed {
		t.Error("a short sign-in outlives its session")
	}
}

func TestASignInThatTheServiceEndsIsTold(t *testing.T) {
	x := signedIn(t)
	changes := make(chan struct{}, 9)
	var failed error
	x.Changed, x.Failed = func() { changes <- struct{}{} }, func(err error) { failed = err }
	client, _ := x.Online()
	noErr(t, x.service.ExpireAccessTokens())
	noErr(t, x.service.RevokeRefreshTokens())
	_, err := client.List(t.Context(), esign.ListQuery{})
	if got := x.Note(t.Context(), err); got != err || failed != err || !x.SignedOut(err) || x.SignedIn() {
		t.Errorf("said: %v, and signed in: %v", got, x.SignedIn())
	}
	x.Data.Store.Fault = func() error { return looptest.ErrFault }
	x.lapse(t.Context())
	expect(t, x.Current().Account.Lapsed, false, "lapsed, though that is not on disk: %v")
	x.Data.Store.Fault = nil
	looptest.Run(t, x.RunSession)
	<-changes // it is on disk
	expect(t, x.again(t).Current().Account.Lapsed, true, "lapsed after a restart: %v")
	lines, err := x.Activity(1)
	if noErr(t, err); len(lines) != 1 || lines[0].Text != message.SignInExpired() || !x.says(health.SignInLapsed, message.SignInLapsed()) {
		t.Errorf("told %+v, health: %+v", lines, x.Health.List())
	}
	x.signIn(t)
	if x.SignedOut(err) || x.SignedOut(nil) || x.Health.Has(health.SignInLapsed) {
		t.Errorf("signed in again, health: %+v", x.Health.List())
	}
}

// Nobody asks the service any more, so it would be said for ever.
func TestThatTheServiceFailsIsNotToldOnceTheSignInIsOver(t *testing.T) {
	for name, ends := range map[string]func(*testService){
		"somebody signs out": func(x *testService) { noErr(t, x.SignOut(t.Context())) },
		"it expires": func(x *testService) {
			noErr(t, x.service.ExpireAccessTokens())
			noErr(t, x.service.RevokeRefreshTokens())
			client, _ := x.Online()
			_, err := client.List(t.Context(), esign.ListQuery{})
			_ = x.Note(t.Context(), err)
			x.lapse(t.Context())
		},
	} {
		x := signedIn(t)
		for _, kind := range []esign.Kind{esign.TooMany, esign.Network} {
			_ = x.Note(t.Context(), &esign.Error{Kind: kind})
			expect(t, x.Health.Has(health.ServiceFails), true, "told before "+name+": %v")
		}
		ends(x)
		expect(t, x.Health.Has(health.ServiceFails), false, "told after "+name+": %v")
		_ = x.Note(t.Context(), &esign.Error{Kind: esign.Network}) // of a call that was under way
		expect(t, x.Health.Has(health.ServiceFails), false, "told of a late answer after "+name+": %v")
	}
}

func TestOneRefusedCallEndsNoSignIn(t *testing.T) {
	x := signedIn(t)
	refused := &esign.Error{Kind: esign.SignedOut}
	if x.SignedOut(x.Note(t.Context(), refused)) {
		t.Error("the sign-in is over")
	}
	x.lapse(t.Context())
	if !x.SignedIn() || x.Health.Has(health.SignInLapsed) || !x.again(t).SignedIn() {
		t.Errorf("health: %+v", x.Health.List())
	}
	x.keyring.Keeper = secret.Memory()
	next := x.again(t) // without the key there is no token; it may come back, and with it the sign-in
	if next.lapse(t.Context()); next.Current().Account.Lapsed {
		t.Error("it has lapsed with the key")
	}

	x = newService(t)
	x.settings.Scopes = []string{"profile", "openid", "organization"} // nothing to renew it with
	x.setUp(t)
	x.signIn(t)
	client, _ := x.Online()
	x.service.Inject(sandbox.Fault{Path: "/packages/*", Status: 401})
	_, err := client.List(t.Context(), esign.ListQuery{})
	if x.SignedOut(x.Note(t.Context(), err)) || message.For(err) != message.NotAllowed() {
		t.Errorf("one refused call ends a short sign-in: %v", err)
	}
	x.service.Heal(0)
	noErr(t, x.service.ExpireAccessTokens())
	if _, err = client.List(t.Context(), esign.ListQuery{}); !x.SignedOut(err) {
		t.Errorf("everything is refused: %v", err)
	}
}

func TestWhatAnAnswerSaysOfTheServiceIsTold(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	none := health.State{}
	const hour = time.Hour
	for _, c := range []struct {
		err    error
		state  health.State // it is told as; none for a good answer
		rest   bool         // nobody is asked for a while
		notAsk bool         // nothing is known of the service
	}{
		{err: nil, state: none},
		{err: &esign.Error{Kind: esign.NotFound}, state: none},
		{err: &esign.Error{Kind: esign.BadClient}, state: health.ClientRefused},
		{err: &esign.Error{Kind: esign.TooMany, RetryAfter: hour}, state: health.ServiceBusy, rest: true},
		{err: &esign.Error{Kind: esign.Network, RetryAfter: hour}, state: health.ServiceFails, rest: true},
		{err: &esign.Error{Kind: esign.Server, RetryAfter: hour}, state: health.ServiceFails, rest: true},
		{err: &esign.Error{Kind: esign.BadAnswer, RetryAfter: hour}, state: health.ServiceFails, rest: true},
		{err: &loop.RenewalError{Err: &esign.Error{Kind: esign.NotFound}}, state: health.ServiceFails},
		{err: &esign.Error{Kind: esign.NotKept}, notAsk: true},
		{err: &esign.Error{Kind: esign.Invalid}, notAsk: true},
		{err: &esign.Error{Kind: esign.Interrupted}, notAsk: true},
		{err: errors.New("ours"), notAsk: true},
		{err: fmt.Errorf("asked: %w", context.Canceled), notAsk: true},
	} {
		for name, before := range map[string]health.State{"well": none, "failing": health.ServiceFails} {
			returned, failed := 0, 0
			x := New(looptest.Base(t, func() {}), Deps{Returned: func() { returned++ }, Failed: func(error) { failed++ }})
			if before != none {
				x.Health.Set(before, message.NotRenewed())
				x.Health.Set(health.ClientRefused, message.NotRenewed())
				x.Health.Set(health.NetworkAsks, message.NotRenewed())
			}
			was := x.Health.List()
			_ = x.Note(stopped, c.err)
			if failed > 0 || c.err != nil && len(x.Health.List()) != len(was) {
				t.Errorf("%v, once nobody wants to know: %+v", c.err, x.Health.List())
			}
			if c.err == nil {
				continue
			}
			_ = x.Note(t.Context(), c.err)
			list := x.Health.List()
			switch {
			case failed != 1, x.Breaker.Left(x.Now()) > 0 != c.rest:
				t.Errorf("%v, %s: failed %d times, left alone for %v", c.err, name, failed, x.Breaker.Left(x.Now()))
			case c.notAsk && (len(list) != len(was) || returned > 0):
				t.Errorf("%v, %s: health: %+v", c.err, name, list)
			case c.state == none && !c.notAsk && (len(list) > 0 || returned > 0 != (before != none)):
				t.Errorf("%v, %s: returned %d times, health: %+v", c.err, name, returned, list)
			case c.state != none && !x.says(c.state, esign.Message(c.err)) && !x.says(c.state, message.Then(message.NotRenewed(), esign.Message(c.err))):
				t.Errorf("%v, %s: health: %+v", c.err, name, list)
			}
		}
	}
}

// Calls may be under way when the service asks for a pause.
func TestAPauseIsToldUntilItIsOver(t *testing.T) {
	for _, kind := range []esign.Kind{esign.TooMany, esign.Server} {
		returned, now := 0, time.Now()
		base := looptest.Base(t, func() {})
		base.Now = func() time.Time { return now }
		x := New(base, Deps{Returned: func() { returned++ }, Failed: func(error) {}})
		_ = x.Note(t.Context(), &esign.Error{Kind: kind, RetryAfter: 3 * time.Hour})
		_ = x.Note(t.Context(), nil)
		if list := x.Health.List(); len(list) != 1 || list[0].Message != message.ServicePauses(3) || returned > 0 {
			t.Errorf("%s: returned %d times, health: %+v", kind, returned, list)
		}
		now = now.Add(3 * time.Hour)
		_ = x.Note(t.Context(), nil)
		if list := x.Health.List(); len(list) > 0 || returned != 1 {
			t.Errorf("%s, when it is over: returned %d times, health: %+v", kind, returned, list)
		}
	}
}

// What cannot be opened any more is asked for, and what another service was given is not taken for it.
func TestSecretsThatAreOutOfReachAreAskedFor(t *testing.T) {
	x := signedIn(t)
	x.set(t, func(s *office.Settings) { s.Tunnel, s.NgrokDomain = office.TunnelNgrok, "office.ngrok.test" })
	_, err := x.Configure(t.Context(), x.settings, office.Secrets{NgrokAuthtoken: "t0ken"}, keepNothing)
	noErr(t, err)
	before := x.keyring.Keeper
	x.keyring.Keeper = secret.Memory()
	next := x.again(t)
	if !x.says(health.KeyReplaced, message.Then(message.KeyReplaced(), message.EnterClientSecret(), message.EnterAuthtoken(), message.SignIn())) {
		t.Errorf("health: %+v", x.Health.List())
	}
	if secret, token, err := next.HasSecrets(); secret || token || err != nil {
		t.Errorf("has %v, %v, %v", secret, token, err)
	}
	next.Endpoint.(*registration).lost = true
	err = next.SignOut(t.Context())
	if want := message.Then(message.SignedOutHere(), message.NotRevokedForKey(), message.EndpointNotDeletedForKey()); message.For(err) != want {
		t.Errorf("signed out: %v", err)
	}
	x.keyring.Keeper = before
	next = x.again(t)
	if secret, token, err := next.HasSecrets(); !secret || !token || err != nil || x.Health.Has(health.KeyReplaced) {
		t.Errorf("the key is back: %v, %v, %v; health: %+v", secret, token, err, x.Health.List())
	}
	x.keyring.Keeper = secret.Memory()
	next = x.again(t)
	expect(t, x.Health.Has(health.KeyReplaced), true, "told that the key is gone again: %v")
	must(next.Configure(t.Context(), x.settings, office.Secrets{ClientSecret: "entered", NgrokAuthtoken: "anew"}, keepNothing))
	expect(t, x.Health.Has(health.KeyReplaced), false, "told that the key is gone once all was entered anew: %v")
	other := x.settings
	other.ClientID = "another"
	for _, c := range []struct {
		s      office.Settings
		secret string
		asked  bool
	}{{other, "", true}, {x.settings, "", false}, {other, "another", false}} {
		_, err = next.Configure(t.Context(), c.s, office.Secrets{ClientSecret: c.secret}, keepNothing)
		if noErr(t, err); x.Health.Has(health.SecretElsewhere) != c.asked {
			t.Errorf("%s with %q: health: %+v", c.s.ClientID, c.secret, x.Health.List())
		}
		x.Data.Store.Fault = func() error { return looptest.ErrFault }
		if next.tellReplaced(); x.Health.Has(health.SecretElsewhere) != c.asked {
			t.Errorf("%s with %q, which cannot be read now: health: %+v", c.s.ClientID, c.secret, x.Health.List())
		}
		x.Data.Store.Fault = nil
	}
}

// spoil damages a sealed value on disk.
func (x *Service) spoil(name string) error {
	return x.Data.Update(func(tx *store.Tx) error {
		b, err := tx.Sealed(name)
		b[len(b)-1] ^= 1
		return errors.Join(err, tx.PutSealed(name, b))
	})
}

func TestASecretThatIsDamagedIsAskedFor(t *testing.T) {
	for kind, do := range map[issuer.Sealed]message.Message{issuer.ClientSecret: message.EnterClientSecret(), issuer.Refresh: message.SignIn()} {
		x := signedIn(t)
		noErr(t, x.spoil(kind.Of(issuer.Of(x.settings))))
		x.Service = x.again(t)
		if !x.says(health.KeyReplaced, message.Then(message.KeyReplaced(), do)) {
			t.Errorf("%s: health: %+v", kind, x.Health.List())
		}
		must(x.Configure(t.Context(), x.settings, office.Secrets{ClientSecret: sandbox.DemoClient().Secret}, keepNothing))
		if x.signIn(t); x.Health.Has(health.KeyReplaced) || !x.again(t).SignedIn() {
			t.Errorf("%s: entered again; health: %+v", kind, x.Health.List())
		}
		noErr(t, x.spoil(issuer.Refresh.Of(issuer.Of(x.settings))))
		x.Service = x.again(t)
		if want := message.Then(message.SignedOutHere(), message.NotRevokedForKey()); message.For(x.SignOut(t.Context())) != want || x.SignedIn() {
			t.Errorf("%s: signed in after signing out: %v", kind, x.SignedIn())
		}
	}
}

func TestHandingOverEndsTheSignInAndLeavesTheRegistration(t *testing.T) {
	x := signedIn(t)
	refused := errors.New("the disk is full")
	if _, err := x.HandOver(t.Context(), func(*store.Tx) error { return refused }); !errors.Is(err, refused) || !x.SignedIn() || !x.again(t).SignedIn() {
		t.Errorf("said: %v, signed in: %v", err, x.SignedIn())
	}
	revoke, err := x.HandOver(t.Context(), func(tx *store.Tx) error { return tx.PutDoc("moved", 1) })
	if noErr(t, err); x.SignedIn() || x.again(t).SignedIn() || x.owed(t) != 1 {
		t.Errorf("it is %+v", x.Current().Account)
	}
	renewed := x.asked("/connect/token")
	revoke(t.Context())
	revoked := x.asked("/connect/revoke")
	if x.owed(t) != 0 || revoked == 0 || x.asked("/connect/token") != renewed || x.asked("/endpoints/set") != 0 {
		t.Errorf("%d are owed, revoked %d times, deleted %d times", x.owed(t), revoked, x.asked("/endpoints/set"))
	}
	revoke = must(x.HandOver(t.Context(), func(*store.Tx) error { return nil }))
	revoke(t.Context())
	expect(t, x.asked("/connect/revoke"), revoked, "revoked %d times, and nobody was signed in after %d", revoked)
	x.signIn(t)
	must(x.HandOver(t.Context(), func(*store.Tx) error { return nil }))
	x.runRevocations(t, func() bool { return x.owed(t) == 0 })
	expect(t, x.asked("/connect/revoke"), 2*revoked, "revoked %d times, want %d", 2*revoked)
}

func TestSigningOutDeletesWhatIsRegisteredHereAlone(t *testing.T) {
	for name, c := range map[string]struct {
		registered, inUse bool // another computer; here, anew
		want              message.Message
		calls             int
	}{
		"another computer's": {true, false, message.Then(message.SignedOutHere(), message.EventsElsewhereOff()), 1},
		"registered anew":    {false, true, message.Message{}, 0},
	} {
		x := signedIn(t)
		if c.registered {
			noErr(t, x.service.ReplaceEndpoint("https://another.test/webhook"))
		}
		x.endpoint.registered = c.inUse
		if err := x.SignOut(t.Context()); message.For(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		expect(t, x.asked("/endpoints/set"), c.calls, "%d deletions: "+name)
	}
}

// Without the sign-in the registration cannot be deleted.
func TestASignInOutlivesItsRegistrationForAWhile(t *testing.T) {
	x := signedIn(t)
	x.Pace.Retry = time.Microsecond
	x.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", Status: http.StatusServiceUnavailable})
	x.moveOnTo(t, "another")
	x.runRevocations(t, func() bool { return x.asked("/connect/revoke") > 0 })
	expect(t, x.asked("/endpoints/set"), revocationHolds+1, "it was to be deleted %d times, want %d", revocationHolds+1)
}

func TestOneFailureLeavesNoRegistrationBehind(t *testing.T) {
	x := signedIn(t)
	x.Pace.Retry = time.Microsecond
	x.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", Status: http.StatusInternalServerError, Times: 1})
	if err := x.SignOut(t.Context()); !strings.Contains(message.For(err).String(), "could not be deleted") || x.SignedIn() {
		t.Errorf("signed in: %v, told: %v", x.SignedIn(), err)
	}
	x.runRevocations(t, func() bool { return x.owed(t) == 0 })
	if set, revoked := x.asked("/endpoints/set"), x.asked("/connect/revoke"); set != 2 || revoked == 0 {
		t.Errorf("asked %d times to delete it, and %d times to revoke the sign-in", set, revoked)
	}
}

// moveOnTo has another client be used.
func (x *testService) moveOnTo(t *testing.T, client string) {
	t.Helper()
	next := x.settings
	next.ClientID = client
	must(x.Configure(t.Context(), next, office.Secrets{ClientSecret: "another"}, keepNothing))
}

func TestWhoComesBackToAClientFindsSinceWhenThereIsAnOffice(t *testing.T) {
	x := signedIn(t)
	since, began := x.Current().Account.Since, time.Now()
	x.service.Inject(sandbox.Fault{DelayMS: 60_000}) // a service that hangs holds up nobody who leaves it
	x.moveOnTo(t, "another")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if a := x.Current().Account; a.SignedIn || a.Email != "" || !a.Since.Equal(since) {
		t.Errorf("another client of the same service: %+v", a)
	}
	x.set(t, func(s *office.Settings) { s.AuthURL, s.BaseURL = "https://sign.test", "https://sign.test" })
	expect(t, x.Current().Account.Since.IsZero(), true, "another service, and nobody has signed in there: %v")
	x.set(t, func(s *office.Settings) { s.AuthURL, s.BaseURL = x.service.URL(), x.service.URL() })
	if a := x.Current().Account; !a.Since.Equal(since) || x.Settings().BaseURL != x.service.URL() {
		t.Errorf("back again: %+v", a)
	}
	if again := x.again(t).Current(); !again.Account.Since.Equal(since) || again.Settings.BaseURL != x.service.URL() {
		t.Errorf("after a restart: %+v", again)
	}
}

func TestAnotherSecretBeginsAnotherSessionAndOtherScopesDoNot(t *testing.T) {
	x := signedIn(t)
	token := func() string {
		access := must(x.current.Get().service.session.Access(t.Context()))
		return access
	}
	first := token()
	x.set(t, func(s *office.Settings) { s.Scopes = append(slices.Clone(s.Scopes), "member") })
	x.set(t, func(s *office.Settings) { s.SignatureHeader = "X-Another" })
	expect(t, token(), first, "the access token is %q, was %q", first)
	x.Breaker.Open(x.Now(), time.Hour)
	noErr(t, x.service.ExpireAccessTokens())
	for _, s := range []string{"another", sandbox.DemoClient().Secret} {
		must(x.Configure(t.Context(), x.settings, office.Secrets{ClientSecret: s}, keepNothing))
	}
	if token() == first || !x.SignedIn() || x.Breaker.Left(x.Now()) > 0 {
		t.Errorf("with another secret: left alone for %v", x.Breaker.Left(x.Now()))
	}
}

func TestWhatWasEnteredOutlivesTheProgramSealedAndGoesWithTheFirstSettings(t *testing.T) {
	x := newService(t)
	locked := x.locked()
	if _, kept, err := locked.FirstRun(); kept || err != nil || !errors.Is(locked.KeepFirstRun(FirstRun{Step: "address"}), ErrLocked) {
		t.Errorf("without a key it is kept: %v, %v", kept, err)
	}
	x.Begin(t.Context())
	if _, kept, err := x.FirstRun(); kept || err != nil {
		t.Errorf("nothing was entered yet: %v, %v", kept, err)
	}
	entered := FirstRun{Step: "address", Settings: x.settings, Secrets: office.Secrets{ClientSecret: "cl13nt-s3cret", NgrokAuthtoken: "t0ken-s3cret"}}
	noErr(t, x.KeepFirstRun(entered))
	got, kept, err := x.again(t).FirstRun()
	if !kept || err != nil || got.Step != "address" || got.Secrets != entered.Secrets || got.Settings.AuthURL != entered.Settings.AuthURL {
		t.Errorf("kept %v, %v: %+v", kept, err, got)
	}
	noErr(t, x.keys.Put(map[string][]byte{sealedFirstRun: []byte("{")}))
	if _, kept, err := x.FirstRun(); kept || err == nil {
		t.Errorf("damaged, kept: %v", kept)
	}
	x.setUp(t)
	if _, kept, err := x.FirstRun(); kept || err != nil {
		t.Errorf("what was entered is kept beside the settings: %v", err)
	}
}

func TestTheKeyForBackupsFollowsFromTheOneInTheKeyring(t *testing.T) {
	x := newService(t)
	if _, err := x.locked().BackupKey(); !errors.Is(err, ErrLocked) {
		t.Errorf("without a key: %v", err)
	}
	x.Begin(t.Context())
	key := must(x.BackupKey())
	same := must(x.again(t).BackupKey())
	x.keyring.Keeper = secret.Memory()
	other := must(x.again(t).BackupKey())
	if key != same || key == other || key == [32]byte{} {
		t.Errorf("%x, after a restart %x, with another key %x", key, same, other)
	}
}

func TestNobodyCallsTheServiceWhereAnotherComputerHasTheOffice(t *testing.T) {
	x := signedIn(t)
	x.Park(true)
	if _, online := x.Online(); online {
		t.Error("the service can be asked")
	}
	noErr(t, x.SignOut(t.Context()))
	expect(t, x.Health.Has(health.SignedOut), false, "somebody is to sign in: %v")
	x.Park(false)
	expect(t, x.Health.Has(health.SignedOut), true, "somebody is to sign in, once it is here again: %v")
}

func TestAStateInPlaceOfTheOneBeforeIsFollowed(t *testing.T) {
	x := signedIn(t)
	mine := issuer.Refresh.Of(issuer.Of(x.settings))
	must(x.keys.Get(mine))
	opened := len(x.endpoint.noted())
	noErr(t, x.Data.Update(func(tx *store.Tx) error { ReplaceSealed(tx, nil); return nil }))
	noErr(t, x.Reload(t.Context()))
	client, _ := x.Online()
	if _, err := client.List(t.Context(), esign.ListQuery{}); !x.SignedOut(err) {
		t.Errorf("with the tokens of the one before: %v", err)
	}
	if b, err := x.keys.Get(mine); b != nil || err != nil || len(x.endpoint.noted()) != opened+1 {
		t.Errorf("%q, %v, the endpoint: %q", b, err, x.endpoint.noted())
	}
	next := x.locked()
	noErr(t, next.Reload(t.Context()))
	t.Cleanup(next.Close)
	expect(t, next.keys.Locked(), false, "locked, though the key can be read: %v")
}

func TestAPresetIsTheServiceInAllThatItSays(t *testing.T) {
	x := newService(t)
	list := x.Presets()
	if len(list) < 2 || list[0].AuthURL != "" {
		t.Fatalf("there are %+v", list)
	}
	p := list[1]
	for name, c := range map[string]struct {
		change func(s *office.Settings)
		want   bool
	}{
		"as it is":          {func(*office.Settings) {}, true},
		"with the prefix":   {func(s *office.Settings) { s.BaseURL += "/api/v1" }, true},
		"another sign-in":   {func(s *office.Settings) { s.AuthURL = "https://sign.test" }, false},
		"another service":   {func(s *office.Settings) { s.BaseURL = "https://sign.test" }, false},
		"another signature": {func(s *office.Settings) { s.SignatureHeader = "X-Another" }, false},
	} {
		s := office.DefaultSettings()
		s.AuthURL, s.BaseURL, s.SignatureHeader = p.AuthURL, p.BaseURL, p.SignatureHeader
		c.change(&s)
		expect(t, p.Matches(s), c.want, "it is %v: "+name)
	}
}

func TestWhatIsWrongAtAnAddressIsNamed(t *testing.T) {
	distrusted := &tls.CertificateVerificationError{Err: errors.New("signed by nobody")}
	refused := &proxy.Error{Proxy: "proxy.test:3128", Status: http.StatusForbidden}
	for _, c := range []struct {
		err  error
		want message.Message
	}{
		{&url.Error{Op: "Get", Err: refused}, refused.Message()},
		{&url.Error{Op: "Get", Err: distrusted}, message.SignInAddressDistrusted()},
		{&esign.Error{Kind: esign.Server}, message.SignInAddressAiling()},
		{&esign.Error{Kind: esign.TooMany}, message.SignInAddressAiling()},
		{&esign.Error{Kind: esign.NotFound}, message.SignInAddressOther()},
		{errNoService, message.SignInAddressOther()},
		{&esign.Error{Kind: esign.Network}, message.SignInAddressSilent()},
		{errors.New("no route"), message.SignInAddressSilent()},
	} {
		expect(t, signInMessages.of(c.err).String(), c.want.String(), "%[3]v is told as %[1]q, want %[2]q", c.want.String(), c.err)
	}
}

func TestUnlockIsOfferedOnlyWhereThereIsSomethingToUnlock(t *testing.T) {
	for reason, want := range map[secret.Reason]health.State{
		secret.Locked: health.KeyringLocked, secret.Refused: health.KeyringLocked,
		secret.NoBus: health.KeyOutOfReach, secret.NoService: health.KeyOutOfReach, secret.TimedOut: health.KeyOutOfReach,
		secret.Malformed: health.KeyOutOfReach, secret.Unreadable: health.KeyOutOfReach, secret.TooOpen: health.KeyOutOfReach,
		secret.NotKept: health.KeyOutOfReach, secret.Conflict: health.KeyOutOfReach,
	} {
		x := newService(t)
		x.keyring.turn(true)
		x.keyring.reason = reason
		x.Begin(t.Context())
		said := x.LockedError()
		if list := x.Health.List(); list[0].Action != want.Action || !x.says(want, KeyMessage(said)) || KeyMessage(said) == message.KeyringStillLocked() {
			t.Errorf("%s: health: %+v", reason, list)
		}
		if x.Unlock(t.Context()) || !errors.Is(x.tryToSignIn(t), ErrLocked) {
			t.Errorf("%s: pressed in vain, and it is taken for done", reason)
		}
		x.keyring.turn(false)
		if !x.Unlock(t.Context()) || x.Health.Has(want) {
			t.Errorf("%s: it is there again, but health is %+v", reason, x.Health.List())
		}
	}
	expect(t, KeyMessage(ErrLocked), message.KeyringStillLocked(), "before it was asked: %v")
}
