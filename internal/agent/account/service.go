// Package account knows who is signed in: it keeps the keys, the session with the service and the settings that say which
// service that is, signs in and out, and tells a service that was left.
//
//	service.go  Current: settings, account and service of one moment, which others get as a copy; other settings in one
//	            commit, since when there is an office, and what health says of the sign-in and of the secrets
//	session.go  the session with the signing service, the office's secrets, sealed, and the key that opens them
//	signin.go   signing in, the ways back from the browser, and trying a service before it is used
//	signout.go  signing out, and what a signing service that was left is still to be told
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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
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
	r.pending.saying, r.pending.access = make(chan struct{}, 1), map[string]esign.Tokens{}
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

// Current is what is set up and who is signed in, all of one moment.
type Current struct {
	Settings office.Settings
	Account  Record
	service  *service // as settings describe it; nil while there is none, or its client secret is out of reach
}

// SignedIn reports whether somebody is signed in and the service has not ended it, though the keys may be locked.
func (o Current) SignedIn() bool {
	return o.Account.SignedIn && !(o.service != nil && o.service.session.Ended())
}

// Caller names whom the client calls as: what one caller has uploaded, another one cannot use.
func (o Current) Caller() string { return string(issuer.Of(o.Settings)) + "/" + o.Account.Subject }

// Sender names as whom packages are sent: the member of an organization; empty when the service has not said who it is.
func (o Current) Sender() string {
	x := o.Account
	if x.OrganizationID == "" && x.MemberID == "" && x.Subject == "" {
		return ""
	}
	if x.MemberID != "" {
		return issuer.Home(o.Settings) + " " + x.OrganizationID + " " + x.MemberID
	}
	return issuer.Home(o.Settings) + " " + x.OrganizationID + " " + x.Subject
}

// Online returns the API client when somebody is signed in.
func (r *Service) Online() (*esign.Client, bool) {
	return r.OnlineIn(r.current.Get())
}

// OnlineIn is Online for what was current at another moment.
func (r *Service) OnlineIn(o Current) (*esign.Client, bool) {
	if o.service == nil || r.parked.Load() || !o.SignedIn() || r.keys.Locked() {
		return nil, false
	}
	return o.service.client, true
}

func (r *Service) SignedIn() bool { return r.current.Get().SignedIn() }

func (r *Service) Settings() office.Settings { return r.current.Get().Settings }

const (
	DocSettings = "settings"
	Doc         = "account"
)

// DocOf names the document with the Record of an issuer that is not in use.
func DocOf(i issuer.Name) string { return Doc + "@" + string(i) }

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

func (x Record) May(scope string) bool { return slices.Contains(x.Scopes, scope) }

// resumed is the account as a new run finds it: a sign-in without offline_access lived in memory and ended with the
// last one.
func (x Record) resumed() Record {
	if x.SignedIn && x.Fleeting {
		x.SignedIn, x.Lapsed = false, true
	}
	return x
}

// ended is what stays known of an account that nobody is signed in to.
func (x Record) ended() Record {
	return Record{Account: Account{OrganizationID: x.OrganizationID}, Since: x.Since}
}

// tellSignedOut keeps the health issue about the sign-in in step with the account.
func (r *Service) tellSignedOut() {
	r.telling.Lock()
	defer r.telling.Unlock()
	o := r.current.Get()
	switch {
	case r.parked.Load(), o.service == nil, o.SignedIn(): // nobody can sign in where another computer has the office
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
func (r *Service) checkSetUp() {
	r.telling.Lock()
	defer r.telling.Unlock()
	var missing message.Message
	if s := r.Settings(); !s.Configured() {
		missing = message.NotSetUp()
	} else if bad := s.Check(); len(bad) > 0 {
		missing = bad[0].Text
	}
	r.Health.Update(health.NotSetUp, missing)
}

// tellReplaced keeps the health issue about values in step that only a key which is gone can open; as it is when they cannot
// be read.
func (r *Service) tellReplaced() {
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
		lost, err := r.keys.lost(x.name)
		if err != nil {
			return
		}
		if lost {
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
func (r *Service) tellOtherSecret(o Current) {
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

// sinceUnsure is how far back a first sign-in may lie whose moment was noted by a clock that was wrong.
const sinceUnsure = 90 * 24 * time.Hour

// MendSince puts the moment of the first sign-in right when it lies ahead: what was finished before it is not fetched,
// and nothing may be taken for that. by is how far the clock was set back, 0 when that is not known.
func (r *Service) MendSince(by time.Duration) {
	err := r.current.Change(func(o Current) (Current, error) {
		now, acc := r.Now(), &o.Account
		if !acc.Since.After(now.Add(loop.ClockSlack)) {
			return o, errNothing
		}
		if since := acc.Since.Add(by); by != 0 && !since.After(now) {
			acc.Since = since
		} else {
			acc.Since = now.Add(-sinceUnsure)
		}
		return o, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
	})
	if err == nil {
		r.Changed()
	} else if !errors.Is(err, errNothing) {
		r.Log.Error("record since when somebody is signed in", "err", err)
	}
}

// Configure keeps the settings s, which are checked, and whichever secrets are given, in one commit together with what keep
// records, and has the service be asked as they say. keep gets the settings before, and whether s moves on to another
// service, or to another client of the same one.
func (r *Service) Configure(ctx context.Context, s office.Settings, secrets office.Secrets, keep func(tx *store.Tx, before office.Settings, moved bool) error) (moved bool, err error) {
	values := map[string][]byte{sealedFirstRun: nil}
	if secrets.ClientSecret != "" {
		values[issuer.ClientSecret.Of(issuer.Of(s))] = []byte(secrets.ClientSecret)
	}
	if secrets.NgrokAuthtoken != "" {
		values[issuer.NgrokToken.Of(issuer.Ngrok(s))] = []byte(secrets.NgrokAuthtoken)
	}
	if secrets.DeskKey != "" {
		values[issuer.DeskKey.Of(issuer.Desks)] = []byte(secrets.DeskKey)
	}
	if r.keys.Locked() && !r.Unlock(ctx) {
		return false, fmt.Errorf("keep the settings: %w", r.keys.reason())
	}
	var before, after Current
	var retire func()
	err = r.current.Change(func(o Current) (_ Current, err error) {
		before, after = o, o
		if after.service, retire, err = r.newService(o, s, values[issuer.ClientSecret.Of(issuer.Of(s))]); err != nil {
			return o, err
		}
		after.Settings = s
		if issuer.Of(s) != issuer.Of(o.Settings) {
			return r.moveOn(ctx, o, after, values, func(tx *store.Tx) error { return keep(tx, o.Settings, true) })
		}
		ended := o.service != nil && after.service != nil && after.service.session != o.service.session
		if ended {
			after.Account = o.Account.resumed() // without offline_access that session had the only token
		}
		return after, r.keys.Put(values, func(tx *store.Tx) error {
			if ended {
				if err := tx.PutDoc(Doc, after.Account); err != nil {
					return err
				}
			}
			return errors.Join(keep(tx, o.Settings, false), tx.PutDoc(DocSettings, s))
		})
	})
	if err != nil {
		return false, fmt.Errorf("keep the settings: %w", err)
	}
	retire()
	r.tellReplaced()
	r.checkSetUp()
	r.tellSignedOut()
	if after.service != before.service {
		r.Breaker.Close()
		if after.service == nil || before.service == nil || !sameClient(after.service.config, before.service.config) {
			r.replaceLogin(nil, errMovedOn)
		}
	}
	if moved = issuer.Of(s) != issuer.Of(before.Settings); moved {
		r.Health.End(health.WithService)
	}
	return moved, nil
}

// Unkept are those of secrets that are not kept for s already, such as whoever starts the program with the same ones each time hands
// over: nothing is sealed anew, and nothing begins anew, for their sake.
func (r *Service) Unkept(s office.Settings, secrets office.Secrets) office.Secrets {
	for name, given := range map[string]*string{
		issuer.ClientSecret.Of(issuer.Of(s)): &secrets.ClientSecret, issuer.NgrokToken.Of(issuer.Ngrok(s)): &secrets.NgrokAuthtoken,
		issuer.DeskKey.Of(issuer.Desks): &secrets.DeskKey,
	} {
		if kept, err := r.keys.Get(name); err == nil && string(kept) == *given {
			*given = ""
		}
	}
	return secrets
}

// leaveLimit bounds how long a call under way may hold up a change of the service.
const leaveLimit = 5 * time.Second

// moveOn goes over to another service, or to another client of the same one, in one commit: the sign-in before is ended,
// and its service is told so when it can be. What is known of the account there waits for it to come back.
func (r *Service) moveOn(ctx context.Context, o, next Current, values map[string][]byte, keep func(*store.Tx) error) (Current, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	left, found := o.Account.ended(), Record{}
	_, err := r.leave(ctx, o, true, values, func(tx *store.Tx) error {
		found = Record{}
		if _, err := tx.GetDoc(DocOf(issuer.Of(next.Settings)), &found); err != nil {
			return err
		}
		if issuer.Home(o.Settings) == issuer.Home(next.Settings) && found.Since.IsZero() {
			found = left // the same packages, asked for by another client
		}
		return errors.Join(
			tx.PutDoc(DocOf(issuer.Of(o.Settings)), left), tx.PutDoc(Doc, found),
			r.Endpoint.Forget(tx), keep(tx), tx.PutDoc(DocSettings, next.Settings))
	})
	if err != nil {
		return o, err
	}
	next.Account = found
	r.Endpoint.Move(issuer.Of(next.Settings))
	loop.Wake(r.wakeRevocations)
	return next, nil
}

// FirstRun is how far the first run has come: what was entered, and where. It is for the wizard to make sense of.
type FirstRun struct {
	Step     string          `json:"step"`
	Settings office.Settings `json:"settings"`
	Secrets  office.Secrets  `json:"secrets"`
}

// KeepFirstRun keeps it, secrets and all, sealed as every secret is. Configure forgets it. While the key is not there,
// nothing is kept.
func (r *Service) KeepFirstRun(f FirstRun) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := r.keys.Put(map[string][]byte{sealedFirstRun: b}); err != nil {
		return fmt.Errorf("keep what was entered: %w", err)
	}
	return nil
}

// FirstRun is what was kept; kept is false when there is nothing, or nothing while the key is out of reach, which health
// says.
func (r *Service) FirstRun() (f FirstRun, kept bool, err error) {
	b, err := r.keys.Get(sealedFirstRun)
	switch {
	case errors.Is(err, ErrLocked):
		return f, false, nil
	case err != nil || b == nil:
		return f, false, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return FirstRun{}, false, fmt.Errorf("read what was entered: %w", err)
	}
	return f, true, nil
}
