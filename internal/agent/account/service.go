// Package account knows who is signed in: it keeps the keys, the session with the service and the settings that say which
// service that is, signs in and out, and tells a service that was left.
//
//	vault.go, keys.go  the office's secrets, sealed, and the key that opens them
//	record.go          who is signed in, as it is kept
//	current.go         Current: settings, account and service of one moment, which others get as a copy
//	session.go         the session with the service, and what a failed call means for it
//	tell.go            what health says of the sign-in and of the secrets
//	configure.go       other settings, and with them perhaps another service, in one commit
//	signin.go          signing in; redirect.go has the ways back from the browser
//	signout.go         signing out
//	revocations.go     what a service that was left is still to be told
//	since.go           since when: what was finished before the first sign-in is not fetched
//	firstrun.go        what was entered so far on the first run
//	trial.go           tries a service before it is used
//
// It promises that memory follows the commit: settings, sign-in and secrets change together and never halfway; that a
// refresh token has one owner and is on disk before it is used; that what one issuer gave out is never shown to another;
// that a key which is out of reach changes nothing.
//
// It must not know packages (but whether there are any), files and events, nor how the endpoint is registered: it ends that
// registration together with the sign-in (Endpoint), and says when the keys are open or the service is another one.
//
// Who may call what while holding what. In this order, and never the other way round: unlocking, held while the keyring is
// asked; the turn of current (Kept.Change), held from reading it to the commit, which may wait for the service for a few
// seconds; a change of the endpoint; the pending revocations' mutex; the vault's, which is held while the store commits. telling is
// held from reading current to saying in health what follows; nobody calls it with the vault's or the pending revocations' mutex held. mu guards
// memory for a moment. Nothing here changes current while it is told how a call went (Note): whoever calls may hold the turn.
package account

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"countersign/internal/agent/data"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// Endpoint is the registration with the service, which ends together with the sign-in.
type Endpoint interface {
	// Open has what is kept of i count, once the keys are open.
	Open(i issuer.Name)
	// Move has what is kept of i count in place of what another issuer gave out, once that is committed with Forget.
	Move(i issuer.Name)
	// Forget records that nothing is unsure about the registration, and nothing missed.
	Forget(tx *store.Tx) error

	// Change waits until no other change of the registration is under way. done ends this one; a TakeOver ends its context.
	Change(ctx context.Context) (_ context.Context, done func(), err error)
	// TakeOver is Change that does not wait for a service that hangs.
	TakeOver(ctx context.Context) (done func(), err error)
	// End is the end of the registration at i: values and also are to be committed with the end of the sign-in, and then
	// ended is to be called, all while TakeOver is held.
	End(i issuer.Name) (values map[string][]byte, also func(*store.Tx) error, ended func(), err error)
	// AtService is the registration to delete at the service; empty for none.
	AtService() (address, id string, err error)

	// MayBeRegistered reports whether there is a registration, or one was sent whose answer is not kept.
	MayBeRegistered() bool
	// OutOfReach reports whether there is a registration at i that cannot be read, because its key is gone.
	OutOfReach(i issuer.Name) (bool, error)
}

// Deps are what a Service needs from outside. The functions must not wait for it.
type Deps struct {
	Keeper  secret.Keeper                   // where the key is
	HTTP    *http.Client                    // for the service
	Words   func() *message.Printer         // in the language in use
	Message func(err error) message.Message // what people are told of err

	Address  func(ctx context.Context) (url string, open bool) // waits until the public address is open
	Changed  func()                                            // settings, sign-in or a secret changed on disk
	SignedUp func()                                            // somebody signed in: whatever waited for that may go on
	Unlocked func()                                            // the keys are open, and nobody had asked for it
	Returned func()                                            // the service answers again
	Failed   func(err error)                                   // a call of the service ended so; it may be nil
	Crash    func(point string)
}

// Service is the office's account. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	Endpoint Endpoint // set before anything else is called

	keys    *Vault
	current data.Kept[Current]
	pending pendingRevocations
	closing sync.WaitGroup // sessions that settings have replaced

	wakeRevocations, wakeSession, wokeUp chan struct{}

	parked atomic.Bool // another computer has the office, or may have: nobody calls the service

	unlocking sync.Mutex // held by whoever asks the keyring
	telling   sync.Mutex // held from reading the current to saying in health what follows

	mu    sync.Mutex // guards what follows
	login *login     // the sign-in that waits for its answer
}

// New makes a Service. It reads nothing; Load does.
func New(tools loop.Base, p Deps) *Service {
	r := &Service{Base: tools, Deps: p, wakeRevocations: make(chan struct{}, 1), wakeSession: make(chan struct{}, 1), wokeUp: make(chan struct{}, 1)}
	r.keys = &Vault{st: tools.Data, keeper: p.Keeper, changed: p.Changed}
	r.pending.saying = make(chan struct{}, 1)
	return r
}

// Load reads the settings and who is signed in. The keys follow with Begin.
func (r *Service) Load() error {
	here, err := data.Read(r.Data, "the settings", func(tx *store.Tx) (here Current, err error) {
		_, err1 := tx.GetDoc(DocSettings, &here.Settings)
		_, err2 := tx.GetDoc(Doc, &here.Account)
		return here, errors.Join(err1, err2)
	})
	if err != nil {
		return err
	}
	here.Settings, here.Account = here.Settings.Normal(), here.Account.resumed()
	r.current.Set(here)
	return nil
}

// Begin opens the keys, sets the service up and says what is missing. A keyring that cannot be read now is not an error.
func (r *Service) Begin(ctx context.Context) {
	r.Unlock(ctx)
	r.checkSetUp()
	r.MendSince(0)
}

// Close ends the session and waits for those that were replaced.
func (r *Service) Close() {
	if svc := r.current.Get().service; svc != nil {
		closeSession(svc.session)
	}
	r.closing.Wait()
}

// Wake has the loop look at once whether there is something to say to a service that was left.
func (r *Service) Wake() { loop.Wake(r.wakeRevocations) }

// Vault keeps sealed values for others.
func (r *Service) Vault() *Vault { return r.keys }

// Current is what is set up and who is signed in. It is a copy: after waiting for anything, it is got again.
func (r *Service) Current() Current { return r.current.Get() }
