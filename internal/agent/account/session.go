package account

import (
	"context"
	"errors"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// service is the signing service as the current settings describe it.
type service struct {
	config  esign.Config
	session *esign.Session
	client  *esign.Client
	vault   refreshVault // the session's
}

// errNothing ends a change that turned out to be none.
var errNothing = errors.New("there is nothing to change")

// connect makes the service anew from the settings and the client secret, once the keys are unlocked.
func (r *Service) connect() {
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
func (r *Service) newService(before Current, next office.Settings, clientSecret []byte) (_ *service, retire func(), err error) {
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
func (r *Service) Note(ctx context.Context, err error) error {
	var e *esign.Error
	var renewal *loop.RenewalError
	if ctx.Err() == nil {
		r.Failed(err)
	}
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
func (r *Service) serviceAnswers() {
	r.Suspects.Answered()
	r.Health.Clear(health.ClientRefused)
	r.Health.Clear(health.NetworkAsks)
	if r.Health.Clear(health.ServiceFails) {
		r.Returned()
	}
}

// lapse records that the service has ended the sign-in. Events keep being received and stored. One call that was
// refused with a token that is otherwise good does not end it.
func (r *Service) lapse(ctx context.Context) {
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
func (r *Service) SignedOut(err error) bool {
	if !errors.Is(err, esign.ErrSignedOut) {
		return false
	}
	_, online := r.Online()
	return !online
}

// RunSession records that the service has ended the sign-in. With ctx it ends the session, so that a renewal that hangs
// ends while the other parts do.
func (r *Service) RunSession(ctx context.Context) error {
	for loop.Wait(ctx, time.Hour, r.wakeSession) {
		if o := r.current.Get(); o.Account.SignedIn && !o.SignedIn() {
			r.lapse(ctx)
		}
	}
	if svc := r.current.Get().service; svc != nil {
		closeSession(svc.session)
	}
	return nil
}
