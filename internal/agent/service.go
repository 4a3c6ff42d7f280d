package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docSettings names the document with the Settings; docAccount the one with the account.
const (
	docSettings = "settings"
	docAccount  = "account"
)

// service is the signing service as the current settings describe it.
type service struct {
	config  esign.Config
	session *esign.Session
	client  *esign.Client
	vault   refreshVault // the session's
}

// account is who is signed in, as the store keeps it.
type account struct {
	Account
	Subject  string    `json:"subject"`
	Scopes   []string  `json:"scopes"`
	SignedIn bool      `json:"signed_in"`
	Since    time.Time `json:"since,omitzero"` // the first sign-in; packages finished before it are not fetched
	Lapsed   bool      `json:"lapsed"`         // signed in once, and the service ended it
	Fleeting bool      `json:"fleeting"`       // without offline_access: the sign-in ends with the program
}

func (x account) may(scope string) bool { return slices.Contains(x.Scopes, scope) }

// resumed is the account as a new run finds it: a sign-in without offline_access lived in memory and ended with the
// last one.
func (x account) resumed() account {
	if x.SignedIn && x.Fleeting {
		x.SignedIn, x.Lapsed = false, true
	}
	return x
}

// connect makes the service anew from the settings and the client secret, once the keys are unlocked.
func (a *Agent) connect() {
	retire := func() {}
	err := a.current.Change(func(o current) (current, error) {
		var err error
		o.service, retire, err = a.newService(o, o.settings, nil)
		return o, err
	})
	if err != nil {
		a.Log.Error("read the client secret", "err", err)
	} else {
		retire()
	}
	a.tellSignedOut()
}

// newService is the service that the settings next describe; nil while they describe none. clientSecret is nil for the
// kept one. The session goes on where the same client asks the same server. Otherwise retire, to be called once the new
// service is in use, closes the one before, and its successor does not begin before that has ended.
func (a *Agent) newService(before current, next office.Settings, clientSecret []byte) (_ *service, retire func(), err error) {
	if clientSecret == nil {
		if clientSecret, err = a.keys.Get(issuer.ClientSecret.Of(issuer.Of(next))); err != nil {
			return nil, nil, err
		}
	}
	config := issuer.Config(next)
	config.ClientSecret, config.HTTP, config.Now, config.Log = string(clientSecret), a.p.HTTP, a.Now, a.Log
	old := before.service
	if old != nil && sameClient(old.config, config) {
		if !serviceChanged(before.settings, next) {
			return old, func() {}, nil
		}
		return &service{config, old.session, esign.NewClient(config, renewing{old.session, a.rings.session}), old.vault}, func() {}, nil
	}
	over := make(chan struct{})
	retire = func() {
		a.closing.Go(func() {
			defer close(over)
			if old != nil {
				closeSession(old.session)
			}
		})
	}
	if !next.Configured() {
		return nil, retire, nil
	}
	vault := refreshVault{a.keys, issuer.Refresh.Of(issuer.Of(next)), a.p.Crash, over}
	session := esign.NewSession(config, vault)
	return &service{config, session, esign.NewClient(config, renewing{session, a.rings.session}), vault}, retire, nil
}

// sameClient reports whether both ask the same server as the same client.
func sameClient(a, b esign.Config) bool {
	return a.Issuer() == b.Issuer() && a.AuthURL == b.AuthURL && a.BaseURL == b.BaseURL && a.ClientSecret == b.ClientSecret
}

// closeLimit is how long a renewal under way may take to finish when it is no longer wanted: its answer may hold the
// only refresh token, but nothing may hold up the end of the program for five seconds.
const closeLimit = 3 * time.Second

// closeSession ends a session that nobody is given any more. What it is just doing may take as long as the network.
func closeSession(s *esign.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	s.Close(ctx)
}

// tellSignedOut keeps the health issue about the sign-in in step with the account.
func (a *Agent) tellSignedOut() {
	a.telling.Lock()
	defer a.telling.Unlock()
	o := a.current.Get()
	switch {
	case o.service == nil || o.signedIn():
		a.Health.Clear(health.SignedOut)
	case o.account.Lapsed && o.account.Fleeting:
		a.Health.Set(health.SignInLapsed, message.SignInLapsedForScope())
	case o.account.Lapsed, o.account.SignedIn: // the latter as long as the lapse is not on disk
		a.Health.Set(health.SignInLapsed, message.SignInLapsed())
	default:
		a.Health.Set(health.SignedOut, message.NotSignedIn())
	}
}

// checkSetUp says in health what is missing before anything can work.
func (a *Agent) checkSetUp() {
	a.telling.Lock()
	defer a.telling.Unlock()
	s := a.Settings()
	if bad := s.Check(); len(bad) > 0 {
		text := message.NotSetUp()
		if s.Configured() {
			text = bad[0].Text
		}
		a.Health.Set(health.NotSetUp, text)
		return
	}
	a.Health.Clear(health.NotSetUp)
}

// online returns the API client when somebody is signed in.
func (a *Agent) online() (*esign.Client, bool) {
	return a.onlineIn(a.current.Get())
}

func (a *Agent) onlineIn(o current) (*esign.Client, bool) {
	if o.service == nil || !o.signedIn() || a.keys.Locked() {
		return nil, false
	}
	return o.service.client, true
}

// isSignedIn is whether somebody is signed in, though the keys may be locked for now.
func (a *Agent) isSignedIn() bool { return a.current.Get().signedIn() }

// renewing is the session as the client's source of tokens. It marks what went wrong while renewing the sign-in, so
// that it is not taken for the service's word about a package, and rings when the service has ended it.
type renewing struct {
	*esign.Session
	ended chan<- struct{}
}

// Access is esign.Session.Access.
func (r renewing) Access(ctx context.Context) (string, error) {
	access, err := r.Session.Access(ctx)
	if errors.Is(err, esign.ErrSignedOut) {
		loop.Wake(r.ended)
	}
	if err != nil {
		return "", &loop.RenewalError{Err: err}
	}
	return access, nil
}

// noteServiceError draws the general consequences of a failed call (of a successful one for nil): a lapsed sign-in, a
// service that is out of reach or wants to be left alone. It returns err unchanged.
func (a *Agent) noteServiceError(ctx context.Context, err error) error {
	var e *esign.Error
	var renewal *loop.RenewalError
	switch {
	case err == nil:
		a.serviceAnswers()
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
	case errors.Is(err, esign.ErrSignedOut):
		loop.Wake(a.rings.session) // not here: whoever calls may hold what a lapse waits for
	case !errors.As(err, &e), e.Kind == esign.Interrupted, e.Kind == esign.Invalid: // the service was not asked
	case e.Kind == esign.NotKept: // the keyring's or the disk's trouble, which has its own issue
	case e.Kind == esign.BadClient:
		a.Health.Set(health.ClientRefused, esign.Message(err))
	case e.Kind == esign.Network, e.Kind == esign.Server, e.Kind == esign.TooMany, e.Kind == esign.BadAnswer:
		a.rest.Open(a.Now(), e.RetryAfter)
		a.Health.Set(health.ServiceFails, esign.Message(err))
	case errors.As(err, &renewal):
		a.Health.Set(health.ServiceFails, message.Then(message.NotRenewed(), esign.Message(err)))
	default:
		a.serviceAnswers()
	}
	return err
}

// serviceAnswers ends what was told about a service that did not. Whatever was put off meanwhile need not wait longer.
func (a *Agent) serviceAnswers() {
	a.Suspects.Answered()
	a.Health.Clear(health.ClientRefused)
	if a.Health.Clear(health.ServiceFails) {
		a.reconcileSoon(sweepReturn)
	}
}

// lapse records that the service has ended the sign-in. Events keep being received and stored. One call that was
// refused with a token that is otherwise good does not end it.
func (a *Agent) lapse(ctx context.Context) {
	if svc := a.current.Get().service; svc != nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, err := svc.session.Access(ctx); !errors.Is(err, esign.ErrSignedOut) {
			return
		}
	}
	err := a.current.Change(func(o current) (current, error) {
		if !o.account.SignedIn || o.signedIn() { // somebody signed out, or in, meanwhile
			return o, errUnchanged
		}
		if a.keys.lost(issuer.Refresh.Of(issuer.Of(o.settings))) {
			return o, errUnchanged // the key may come back, and with it the sign-in
		}
		o.account.SignedIn, o.account.Lapsed = false, true
		return o, a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docAccount, o.account) })
	})
	a.tellSignedOut()
	a.Signal(office.StatusChanged)
	switch {
	case err == nil:
		a.keepPrecious()
		a.Record(office.Activity{Kind: "signed_out", Text: message.SignInExpired()})
	case !errors.Is(err, errUnchanged):
		a.Log.Error("record the lapsed sign-in", "err", err)
	}
}

// signedOut reports whether err means that nobody is signed in any more. A service that refuses one object with a
// token it accepts elsewhere is not such a case.
func (a *Agent) signedOut(err error) bool {
	if !errors.Is(err, esign.ErrSignedOut) {
		return false
	}
	_, online := a.online()
	return !online
}

// tellReplaced keeps the health issue about values in step that only a key which is gone can open.
func (a *Agent) tellReplaced() {
	o := a.current.Get()
	i := issuer.Of(o.settings)
	a.tellOtherSecret(o)
	todo := []message.Message{message.KeyReplaced()}
	for _, x := range []struct {
		name string
		do   message.Message
	}{
		{issuer.ClientSecret.Of(i), message.EnterClientSecret()},
		{issuer.NgrokToken.Of(issuer.Ngrok(o.settings)), message.EnterAuthtoken()},
		{issuer.Refresh.Of(i), message.SignIn()},
	} {
		kind, _, _ := strings.Cut(x.name, "@") // as an earlier version sealed it
		if a.keys.lost(x.name) || a.keys.lost(kind) {
			todo = append(todo, x.do)
		}
	}
	if len(todo) == 1 {
		a.Health.Clear(health.KeyReplaced)
		return
	}
	a.Health.Set(health.KeyReplaced, message.Then(todo...))
}

// tellOtherSecret says in health that the client secret is to be entered again, because the one that is kept belongs to
// another service. A client that signs in has none, or has been given it.
func (a *Agent) tellOtherSecret(o current) {
	own := issuer.ClientSecret.Of(issuer.Of(o.settings))
	others := slices.DeleteFunc(a.keys.of(issuer.ClientSecret), func(name string) bool { return name == own })
	if o.signedIn() || a.keys.Has(own) || len(others) == 0 || !o.settings.Configured() {
		a.Health.Clear(health.SecretElsewhere)
		return
	}
	a.Health.Set(health.SecretElsewhere, message.SecretElsewhere())
}

// Settings returns the current settings.
func (a *Agent) Settings() office.Settings { return a.current.Get().settings }

// HasSecrets reports which secrets are kept, never what they are.
func (a *Agent) HasSecrets() (clientSecret, ngrokAuthtoken bool) {
	s := a.Settings()
	c, _ := a.keys.Get(issuer.ClientSecret.Of(issuer.Of(s)))
	n, _ := a.keys.Get(issuer.NgrokToken.Of(issuer.Ngrok(s)))
	return len(c) > 0, len(n) > 0
}
