package account

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

// DocSettings names the document with the settings, and Doc the one with the Record of who is signed in.
const (
	DocSettings = "settings"
	Doc         = "account"
)

// DocOf names the document with the Record of an issuer that is not in use.
func DocOf(i issuer.Name) string { return Doc + "@" + string(i) }

// service is the signing service as the current settings describe it.
type service struct {
	config  esign.Config
	session *esign.Session
	client  *esign.Client
	vault   refreshVault // the session's
}

// Account is who is signed in; empty strings where the service did not say.
type Account struct {
	Email          string `json:"email"`
	OrganizationID string `json:"organization_id"`
	MemberID       string `json:"member_id"`
}

// Record is who is signed in, as the store keeps it.
type Record struct {
	Account
	Subject  string    `json:"subject"`
	Scopes   []string  `json:"scopes"`
	SignedIn bool      `json:"signed_in"`
	Since    time.Time `json:"since,omitzero"` // the first sign-in; packages finished before it are not fetched
	Lapsed   bool      `json:"lapsed"`         // signed in once, and the service ended it
	Fleeting bool      `json:"fleeting"`       // without offline_access: the sign-in ends with the program
}

// May reports whether the account has that scope.
func (x Record) May(scope string) bool { return slices.Contains(x.Scopes, scope) }

// resumed is the account as a new run finds it: a sign-in without offline_access lived in memory and ended with the
// last one.
func (x Record) resumed() Record {
	if x.SignedIn && x.Fleeting {
		x.SignedIn, x.Lapsed = false, true
	}
	return x
}

// errNothing ends a change that turned out to be none.
var errNothing = errors.New("there is nothing to change")

// connect makes the service anew from the settings and the client secret, once the keys are unlocked.
func (r *Room) connect() {
	retire := func() {}
	err := r.current.Change(func(o Current) (Current, error) {
		var err error
		o.service, retire, err = r.newService(o, o.Settings, nil)
		return o, err
	})
	if err != nil {
		r.Log.Error("read the client secret", "err", err)
	} else {
		retire()
	}
	r.tellSignedOut()
}

// newService is the service that the settings next describe; nil while they describe none. clientSecret is nil for the
// kept one. The session goes on where the same client asks the same server. Otherwise retire, to be called once the new
// service is in use, closes the one before, and its successor does not begin before that has ended.
func (r *Room) newService(before Current, next office.Settings, clientSecret []byte) (_ *service, retire func(), err error) {
	if clientSecret == nil {
		if clientSecret, err = r.keys.Get(issuer.ClientSecret.Of(issuer.Of(next))); err != nil {
			return nil, nil, err
		}
	}
	config := issuer.Config(next)
	config.ClientSecret, config.HTTP, config.Now, config.Log = string(clientSecret), r.HTTP, r.Now, r.Log
	old := before.service
	if old != nil && sameClient(old.config, config) {
		if !serviceChanged(before.Settings, next) {
			return old, func() {}, nil
		}
		return &service{config, old.session, esign.NewClient(config, renewing{old.session, r.wakeSession}), old.vault}, func() {}, nil
	}
	over := make(chan struct{})
	retire = func() {
		r.closing.Go(func() {
			defer close(over)
			if old != nil {
				closeSession(old.session)
			}
		})
	}
	if !next.Configured() {
		return nil, retire, nil
	}
	vault := refreshVault{r.keys, issuer.Refresh.Of(issuer.Of(next)), r.Crash, over}
	session := esign.NewSession(config, vault)
	return &service{config, session, esign.NewClient(config, renewing{session, r.wakeSession}), vault}, retire, nil
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
func (r *Room) tellSignedOut() {
	r.telling.Lock()
	defer r.telling.Unlock()
	o := r.current.Get()
	switch {
	case o.service == nil || o.SignedIn():
		r.Health.Clear(health.SignedOut)
	case o.Account.Lapsed && o.Account.Fleeting:
		r.Health.Set(health.SignInLapsed, message.SignInLapsedForScope())
	case o.Account.Lapsed, o.Account.SignedIn: // the latter as long as the lapse is not on disk
		r.Health.Set(health.SignInLapsed, message.SignInLapsed())
	default:
		r.Health.Set(health.SignedOut, message.NotSignedIn())
	}
}

// checkSetUp says in health what is missing before anything can work.
func (r *Room) checkSetUp() {
	r.telling.Lock()
	defer r.telling.Unlock()
	s := r.Settings()
	if bad := s.Check(); len(bad) > 0 {
		text := message.NotSetUp()
		if s.Configured() {
			text = bad[0].Text
		}
		r.Health.Set(health.NotSetUp, text)
		return
	}
	r.Health.Clear(health.NotSetUp)
}

// Online returns the API client when somebody is signed in.
func (r *Room) Online() (*esign.Client, bool) {
	return r.OnlineIn(r.current.Get())
}

func (r *Room) OnlineIn(o Current) (*esign.Client, bool) {
	if o.service == nil || !o.SignedIn() || r.keys.Locked() {
		return nil, false
	}
	return o.service.client, true
}

// SignedIn is whether somebody is signed in, though the keys may be locked for now.
func (r *Room) SignedIn() bool { return r.current.Get().SignedIn() }

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

// Note draws the general consequences of a failed call (of a successful one for nil): a lapsed sign-in, a
// service that is out of reach or wants to be left alone. It returns err unchanged.
func (r *Room) Note(ctx context.Context, err error) error {
	var e *esign.Error
	var renewal *loop.RenewalError
	switch {
	case err == nil:
		r.serviceAnswers()
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
	case errors.Is(err, esign.ErrSignedOut):
		loop.Wake(r.wakeSession) // not here: whoever calls may hold what a lapse waits for
	case !errors.As(err, &e), e.Kind == esign.Interrupted, e.Kind == esign.Invalid: // the service was not asked
	case e.Kind == esign.NotKept: // the keyring's or the disk's trouble, which has its own issue
	case e.Kind == esign.BadClient:
		r.Health.Set(health.ClientRefused, esign.Message(err))
	case e.Kind == esign.Network, e.Kind == esign.Server, e.Kind == esign.TooMany, e.Kind == esign.BadAnswer:
		r.Breaker.Open(r.Now(), e.RetryAfter)
		r.Health.Set(health.ServiceFails, esign.Message(err))
	case errors.As(err, &renewal):
		r.Health.Set(health.ServiceFails, message.Then(message.NotRenewed(), esign.Message(err)))
	default:
		r.serviceAnswers()
	}
	return err
}

// serviceAnswers ends what was told about a service that did not. Whatever was put off meanwhile need not wait longer.
func (r *Room) serviceAnswers() {
	r.Suspects.Answered()
	r.Health.Clear(health.ClientRefused)
	if r.Health.Clear(health.ServiceFails) {
		r.Returned()
	}
}

// Lapse records that the service has ended the sign-in. Events keep being received and stored. One call that was
// refused with a token that is otherwise good does not end it.
func (r *Room) Lapse(ctx context.Context) {
	if svc := r.current.Get().service; svc != nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, err := svc.session.Access(ctx); !errors.Is(err, esign.ErrSignedOut) {
			return
		}
	}
	err := r.current.Change(func(o Current) (Current, error) {
		if !o.Account.SignedIn || o.SignedIn() { // somebody signed out, or in, meanwhile
			return o, errNothing
		}
		lost, err := r.keys.lost(issuer.Refresh.Of(issuer.Of(o.Settings)))
		if err != nil {
			return o, err
		}
		if lost {
			return o, errNothing // the key may come back, and with it the sign-in
		}
		o.Account.SignedIn, o.Account.Lapsed = false, true
		return o, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
	})
	r.tellSignedOut()
	r.Signal(office.StatusChanged)
	switch {
	case err == nil:
		r.Changed()
		r.Record(office.Activity{Kind: "signed_out", Text: message.SignInExpired()})
	case !errors.Is(err, errNothing):
		r.Log.Error("record the lapsed sign-in", "err", err)
	}
}

// SignedOut reports whether err means that nobody is signed in any more. A service that refuses one object with a
// token it accepts elsewhere is not such a case.
func (r *Room) SignedOut(err error) bool {
	if !errors.Is(err, esign.ErrSignedOut) {
		return false
	}
	_, online := r.Online()
	return !online
}

// RunSession records that the service has ended the sign-in. With ctx it ends the session, so that a renewal that hangs
// ends while the other parts do.
func (r *Room) RunSession(ctx context.Context) error {
	for loop.Wait(ctx, time.Hour, r.wakeSession) {
		if o := r.current.Get(); o.Account.SignedIn && !o.SignedIn() {
			r.Lapse(ctx)
		}
	}
	if svc := r.current.Get().service; svc != nil {
		closeSession(svc.session)
	}
	return nil
}

// tellReplaced keeps the health issue about values in step that only a key which is gone can open; as it is when they cannot
// be read.
func (r *Room) tellReplaced() {
	o := r.current.Get()
	i := issuer.Of(o.Settings)
	r.tellOtherSecret(o)
	todo := []message.Message{message.KeyReplaced()}
	for _, x := range []struct {
		name string
		do   message.Message
	}{
		{issuer.ClientSecret.Of(i), message.EnterClientSecret()},
		{issuer.NgrokToken.Of(issuer.Ngrok(o.Settings)), message.EnterAuthtoken()},
		{issuer.Refresh.Of(i), message.SignIn()},
	} {
		kind, _, _ := strings.Cut(x.name, "@") // as an earlier version sealed it
		now, err1 := r.keys.lost(x.name)
		before, err2 := r.keys.lost(kind)
		if errors.Join(err1, err2) != nil {
			return
		}
		if now || before {
			todo = append(todo, x.do)
		}
	}
	if len(todo) == 1 {
		r.Health.Clear(health.KeyReplaced)
		return
	}
	r.Health.Set(health.KeyReplaced, message.Then(todo...))
}

// tellOtherSecret says in health that the client secret is to be entered again, because the one that is kept belongs to
// another service. A client that signs in has none, or has been given it.
func (r *Room) tellOtherSecret(o Current) {
	own := issuer.ClientSecret.Of(issuer.Of(o.Settings))
	kept, err := r.keys.of(issuer.ClientSecret)
	if err != nil {
		return
	}
	if o.SignedIn() || slices.Contains(kept, own) || len(kept) == 0 || !o.Settings.Configured() {
		r.Health.Clear(health.SecretElsewhere)
		return
	}
	r.Health.Set(health.SecretElsewhere, message.SecretElsewhere())
}

// Settings returns the current settings.
func (r *Room) Settings() office.Settings { return r.current.Get().Settings }

// HasSecrets reports which secrets are kept, never what they are. One whose key is gone is not.
func (r *Room) HasSecrets() (clientSecret, ngrokAuthtoken bool, err error) {
	s := r.Settings()
	clientSecret, err1 := r.keys.holds(issuer.ClientSecret.Of(issuer.Of(s)))
	ngrokAuthtoken, err2 := r.keys.holds(issuer.NgrokToken.Of(issuer.Ngrok(s)))
	return clientSecret, ngrokAuthtoken, errors.Join(err1, err2)
}
