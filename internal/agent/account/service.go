// Package account knows who is signed in: it holds the keys, the session with the service and the settings that define the service,
// signs in and out, and notifies a service that was left.
//
//	service.go  Current: settings, account and service at one moment, of which others get a copy; new settings in one
//	            commit, since when there is an office, and health issues of the sign-in and the secrets
//	session.go  the session with the signing service, the office's secrets, sealed, and the key that opens them
//	signin.go   signing in, the ways back from the browser, and testing a service before it is used
//	signout.go  signing out, and what a signing service that was left still has to be told
//
// It promises that memory follows the commit: settings, sign-in and secrets change together and never halfway; that a refresh token
// has one owner and is on disk before it is used; that one issuer's secrets are never shown to another; that an unavailable key
// changes nothing.
//
// It must not know packages (except whether there are any), files and events, nor how the endpoint is registered: it ends that
// registration together with the sign-in (Endpoint), and reports when the keys are unlocked or the service changes.
//
// Lock order; never the other way round: unlocking, held while the keyring is read; the turn of current (Kept.Change), held from
// reading it to the commit, possibly waiting a few seconds for the service; a change of the endpoint; the pending revocations'
// mutex; the vault's, held while the store commits. telling is held from reading current to updating health; do not acquire it with
// the vault's or the pending revocations' mutex held. mu guards memory only briefly. Note, which records how a call went, never
// changes current, because its caller may hold the turn.
package account

import (
	"cmp"
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
	// Open activates i's stored registration once the keys are unlocked.
	Open(i issuer.Name)
	// Move activates i's stored registration instead of another issuer's, once that is committed with Forget.
	Move(i issuer.Name)
	// Forget records that the registration is certain, and that no event was missed.
	Forget(tx *store.Tx) error

	// Change waits until no other change of the registration is in progress. done ends this one; a TakeOver cancels its context.
	Change(ctx context.Context) (_ context.Context, done func(), err error)
	// TakeOver is Change without waiting for a hanging service.
	TakeOver(ctx context.Context) (done func(), err error)
	// End prepares to end the registration at i: commit values and also along with the end of the sign-in, then call ended, all
	// while holding TakeOver.
	End(i issuer.Name) (values map[string][]byte, also func(*store.Tx) error, ended func(), err error)
	// AtService returns the registration to delete at the service; empty for none.
	AtService() (address, id string, err error)

	// MayBeRegistered reports whether there is a registration, or one was requested whose answer is not stored.
	MayBeRegistered() bool
	// OutOfReach reports whether there is a registration at i that can be read no more.
	OutOfReach(i issuer.Name) (bool, error)
}

// Deps are what a Service needs from outside. The functions must not wait for it.
type Deps struct {
	Keeper  secret.Keeper                   // stores the key
	HTTP    *http.Client                    // for the service
	Words   func() *message.Printer         // in the current language
	Message func(err error) message.Message // what to tell people of err

	Address  func(ctx context.Context) (url string, open bool) // waits until the public address is open
	Changed  func()                                            // settings, sign-in or a secret changed on disk
	SignedUp func()                                            // somebody has signed in: waiting work may continue
	Unlocked func()                                            // the keys have been unlocked without a request
	Returned func()                                            // the service answers again
	Failed   func(err error)                                   // called with the error, possibly nil, of each call to the service
}

// Service is the office's account. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	Endpoint Endpoint // set before anything else is called

	keys    *Vault
	current data.Kept[Current]
	pending pendingRevocations
	closing sync.WaitGroup // sessions replaced by new settings

	wakeRevocations, wakeSession, wokeUp chan struct{}

	parked atomic.Bool // another computer has, or may have, the office: the service is not called

	unlocking sync.Mutex // held while reading the keyring
	telling   sync.Mutex // held from reading current to updating health

	mu    sync.Mutex // guards what follows
	login *login     // the sign-in waiting for its answer
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
		tx.GetDoc(DocSettings, &here.Settings)
		tx.GetDoc(Doc, &here.Account)
		return here, nil
	})
	if err != nil {
		return err
	}
	here.Settings, here.Account = here.Settings.Normal(), here.Account.resumed()
	r.current.Set(here)
	return nil
}

// Begin unlocks the keys, sets the service up and reports what is missing. An unreadable keyring is not an error.
func (r *Service) Begin(ctx context.Context) {
	r.Unlock(ctx)
	r.checkSetUp()
	r.tellScopes()
	r.MendSince(0)
}

// Close ends the session and waits for those that were replaced.
func (r *Service) Close() {
	if svc := r.current.Get().service; svc != nil {
		closeSession(svc.session)
	}
	r.closing.Wait()
}

// Wake makes the loop check at once whether a service that was left has to be told something.
func (r *Service) Wake() { loop.Wake(r.wakeRevocations) }

// Vault keeps sealed values for other packages.
func (r *Service) Vault() *Vault { return r.keys }

// Current returns a copy of what is set up and who is signed in. After waiting for anything, get it again.
func (r *Service) Current() Current { return r.current.Get() }

// Current is what is set up and who is signed in, at one moment.
type Current struct {
	Settings office.Settings
	Account  Record
	service  *service // the service defined by the settings; nil if there is none or its client secret is unavailable
}

// SignedIn reports whether somebody is signed in and the service has not ended that, even while the keys are locked.
func (o Current) SignedIn() bool {
	return o.Account.SignedIn && !(o.service != nil && o.service.session.Ended())
}

// Caller identifies the account of the client: one caller cannot use what another has uploaded.
func (o Current) Caller() string { return string(issuer.Of(o.Settings)) + "/" + o.Account.Subject }

// Sender identifies the sender of packages: the member of an organization; empty if the service has not supplied it, or nobody has
// signed in since the last one signed out.
func (o Current) Sender() string {
	x := o.Account
	member := cmp.Or(x.MemberID, x.Subject)
	if member == "" && (x.OrganizationID == "" || !x.SignedIn && !x.Lapsed) {
		return ""
	}
	return issuer.Home(o.Settings) + " " + x.OrganizationID + " " + member
}

// Online returns the API client if somebody is signed in.
func (r *Service) Online() (*esign.Client, bool) {
	return r.OnlineIn(r.current.Get())
}

// OnlineIn is Online for an earlier Current.
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

// Account is who is signed in; fields are empty if the service did not supply them.
type Account struct {
	Email          string `json:"email"`
	OrganizationID string `json:"organization_id"`
	MemberID       string `json:"member_id"`
}

// Record is who is signed in, as stored.
type Record struct {
	Account
	Subject  string    `json:"subject"`
	Scopes   []string  `json:"scopes"`
	SignedIn bool      `json:"signed_in"`
	Since    time.Time `json:"since,omitzero"` // first sign-in; packages finished before are not fetched
	Lapsed   bool      `json:"lapsed"`         // was signed in until the service ended it
	Fleeting bool      `json:"fleeting"`       // without offline_access: the sign-in ends with the program
}

func (x Record) May(scope string) bool { return slices.Contains(x.Scopes, scope) }

// resumed returns the account for a new run: a sign-in without offline_access existed only in memory and ended with the last run.
func (x Record) resumed() Record {
	if x.SignedIn && x.Fleeting {
		x.SignedIn, x.Lapsed = false, true
	}
	return x
}

// ended returns what remains known of an account after its sign-in has ended.
func (x Record) ended() Record {
	return Record{Account: Account{OrganizationID: x.OrganizationID}, Since: x.Since}
}

// tellSignedOut updates the health issue about the sign-in, and ends those that end with it.
func (r *Service) tellSignedOut() {
	r.telling.Lock()
	defer r.telling.Unlock()
	o := r.current.Get()
	switch {
	case r.parked.Load(), o.service == nil, o.SignedIn(): // parked: nobody can sign in while another computer has the office
		r.Health.Clear(health.SignedOut)
		return
	case o.Account.Lapsed && o.Account.Fleeting:
		r.Health.Set(health.SignInLapsed, message.SignInLapsedForScope())
	case o.Account.Lapsed, o.Account.SignedIn: // SignedIn until the lapse is on disk
		r.Health.Set(health.SignInLapsed, message.SignInLapsed())
	default:
		r.Health.Set(health.SignedOut, message.NotSignedIn())
	}
	r.Health.End(health.WithSignIn)
}

// checkSetUp reports to health what is missing before anything can work.
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

// tellReplaced updates the health issue about values that are lost; it leaves the issue unchanged if they cannot be
// read.
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

// tellOtherSecret reports to health that the client secret must be entered again because the stored one belongs to another service.
// A client that is signed in needs none, or has got it.
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

// sinceUnsure is how far back a first sign-in is assumed to lie if its time was recorded by a wrong clock.
const sinceUnsure = 90 * 24 * time.Hour

// MendSince corrects a first sign-in in the future: packages finished before it are not fetched, and none may wrongly count as such.
// by is how far the clock was set back, 0 if unknown.
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

// Configure stores the validated settings s and any given secrets, in one commit with keep, and calls the service accordingly. keep
// gets the previous settings, and whether s moves to another service, or to another client of the same one.
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
			after.Account = o.Account.resumed() // without offline_access, only that session had the token
		}
		return after, r.keys.Put(values, func(tx *store.Tx) error {
			if ended {
				tx.PutDoc(Doc, after.Account)
			}
			if err := keep(tx, o.Settings, false); err != nil {
				return err
			}
			return tx.PutDoc(DocSettings, s)
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

// Unkept returns those secrets that are not stored for s yet. Callers that pass the same secrets at every start cause no resealing
// and no restart.
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

// leaveLimit is how long a call in progress may delay a change of the service.
const leaveLimit = 5 * time.Second

// moveOn changes to another service, or to another client of the same one, in one commit: the old sign-in is ended, and its service
// is told when possible. What is known of the old account is kept for its return.
func (r *Service) moveOn(ctx context.Context, o, next Current, values map[string][]byte, keep func(*store.Tx) error) (Current, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	left, found := o.Account.ended(), Record{}
	_, err := r.leave(ctx, o, true, values, func(tx *store.Tx) error {
		found = Record{}
		tx.GetDoc(DocOf(issuer.Of(next.Settings)), &found)
		if issuer.Home(o.Settings) == issuer.Home(next.Settings) && found.Since.IsZero() {
			found = left // the same packages, for another client
		}
		tx.PutDoc(DocOf(issuer.Of(o.Settings)), left)
		tx.PutDoc(Doc, found)
		r.Endpoint.Forget(tx)
		if err := keep(tx); err != nil {
			return err
		}
		return tx.PutDoc(DocSettings, next.Settings)
	})
	if err != nil {
		return o, err
	}
	next.Account = found
	r.Endpoint.Move(issuer.Of(next.Settings))
	loop.Wake(r.wakeRevocations)
	return next, nil
}

// FirstRun is the progress of the first run: what was entered, and where. Only the wizard interprets it.
type FirstRun struct {
	Step     string          `json:"step"`
	Settings office.Settings `json:"settings"`
	Secrets  office.Secrets  `json:"secrets"`
	Given    bool            `json:"given,omitempty"` // a code or a file answered for the office
}

// KeepFirstRun stores it, including secrets, sealed like any secret. Configure deletes it. While there is no key, nothing is stored.
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

// FirstRun returns what was stored; kept is false if there is nothing, or the key is unavailable, which health reports.
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
