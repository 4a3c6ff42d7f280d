package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// SignOut ends the sign-in here, in one commit, then deletes the endpoint and revokes the tokens at the service. If the service is
// unreachable or slow, the sign-in still ends here; the error then says what is left, and it is retried.
func (r *Service) SignOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var left []message.Message
	var pending string
	err := r.current.Change(func(o Current) (next Current, err error) {
		if o.SignedIn() {
			if left, err = r.lostSecrets(o); err != nil {
				return o, err
			}
		}
		was := o
		o.Account = o.Account.ended()
		pending, err = r.leave(ctx, was, true, map[string][]byte{},
			func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
		return o, err
	})
	if err != nil {
		return fmt.Errorf("forget the sign-in: %w", err)
	}
	r.tellSignedOut()
	r.Record(office.Activity{Kind: office.ActivitySignedOut, Text: message.SignedOut()})
	r.Signal(office.StatusChanged)
	if pending != "" {
		ctx, cancel := context.WithTimeout(ctx, signOutLimit)
		defer cancel()
		unsaid, _ := r.revokePending(ctx, pending, true)
		left = append(left, unsaid...)
		loop.Wake(r.wakeRevocations)
	}
	if len(left) > 0 {
		return message.Error(message.Then(append([]message.Message{message.SignedOutHere()}, left...)...), nil)
	}
	return nil
}

// signOutLimit is how long a person who signs out waits for the service to be told.
const signOutLimit = 5 * time.Second

// HandOver ends the sign-in here in one commit with also, so that another computer can sign in and register instead. revoke tells
// the service at once if it is reachable; otherwise RunRevocations does.
func (r *Service) HandOver(ctx context.Context, also func(*store.Tx) error) (revoke func(context.Context), err error) {
	var pending string
	err = r.current.Change(func(o Current) (Current, error) {
		was := o
		o.Account = o.Account.ended()
		pending, err = r.leave(ctx, was, false, map[string][]byte{}, func(tx *store.Tx) error { tx.PutDoc(Doc, o.Account); return also(tx) })
		return o, err
	})
	return func(ctx context.Context) {
		if pending != "" {
			_, _ = r.revokePending(ctx, pending, false) // what is left is retried
		}
	}, err
}

// leave ends o's sign-in in one commit with values and also. From then on the service has yet to be told, under the returned id; ""
// if there is nothing to tell. With endpoint, the registered public address is deleted there; otherwise the next one to register
// replaces it. Events still on their way stay valid a little longer.
func (r *Service) leave(ctx context.Context, o Current, endpoint bool, values map[string][]byte, also ...func(*store.Tx) error) (pending string, err error) {
	i := issuer.Of(o.Settings)
	values[issuer.Refresh.Of(i)] = nil
	if o.service == nil && o.SignedIn() { // its session ended with the loops
		var retire func()
		if o.service, retire, err = r.newService(o, o.Settings, nil); err == nil {
			retire()
		}
	}
	if o.service == nil {
		return "", r.keys.Put(values, also...)
	}
	done, err := r.Endpoint.TakeOver(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if !o.SignedIn() {
		return "", r.keys.Put(values, also...)
	}
	ending, forget, ended, err := r.Endpoint.End(i)
	if err != nil {
		return "", err
	}
	maps.Copy(values, ending)
	also = append(also, forget)
	err = o.service.session.Leave(ctx, func(t esign.Tokens) error {
		f := r.newRevocation(o.service, t)
		if endpoint {
			var err error
			if f.Endpoint, f.EndpointID, err = r.Endpoint.AtService(); err != nil {
				return err
			}
		}
		err := r.keepPending(f, t, values, also...)
		if err == nil && (t.Refresh != "" || t.Access != "") {
			pending = f.ID
		}
		return err
	})
	if err == nil {
		ended()
	}
	return pending, err
}

// lostSecrets names what cannot be revoked at the service because it is lost here.
func (r *Service) lostSecrets(o Current) (left []message.Message, err error) {
	i := issuer.Of(o.Settings)
	if token, err := r.keys.Get(issuer.Refresh.Of(i)); !o.Account.Fleeting && (err != nil || token == nil) {
		left = append(left, message.NotRevokedForKey())
	}
	gone, err := r.Endpoint.OutOfReach(i)
	if gone {
		left = append(left, message.EndpointNotDeletedForKey())
	}
	return left, err
}

// pendingRevocation is what a service that this office has left still has to be told: to delete the endpoint and revoke the sign-in.
// It is stored from the commit that ended the sign-in here, with everything needed to tell it.
type pendingRevocation struct {
	ID           string    `json:"id"`
	AuthURL      string    `json:"auth_url"`
	BaseURL      string    `json:"base_url"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Refresh      string    `json:"refresh,omitempty"`
	Endpoint     string    `json:"endpoint,omitempty"` // address to delete
	EndpointID   string    `json:"endpoint_id,omitempty"`
	Since        time.Time `json:"since"`
	Next         time.Time `json:"next"` // next try
	Tries        int       `json:"tries,omitempty"`
}

// How long, and at least how often, to retry telling a service that does not answer (a computer that was off for weeks has not
// tried); the longest pause between two tries; and how many tries keep the sign-in, without which the endpoint cannot be deleted.
const (
	revocationLimit = 7 * 24 * time.Hour
	revocationTries = 20
	revocationPause = 6 * time.Hour
	revocationHolds = 5
)

// pendingRevocations are those not told yet, each sealed in the store separately. Safe for concurrent use.
type pendingRevocations struct {
	saying chan struct{} // holds one value while one is being told

	mu     sync.Mutex              // held while one is read, changed and committed
	access map[string]esign.Tokens // access tokens by id, in memory only
}

func sealedIn(id string) string { return string(sealedRevocation) + "@" + id }

// keepPending commits that f has to be told, together with values and also; if there is nothing to tell, only those.
func (r *Service) keepPending(f pendingRevocation, t esign.Tokens, values map[string][]byte, also ...func(*store.Tx) error) error {
	r.pending.mu.Lock()
	defer r.pending.mu.Unlock()
	pending := f.Refresh != "" || t.Access != ""
	if pending {
		b, err := json.Marshal(f)
		if err != nil {
			return err
		}
		values[sealedIn(f.ID)] = b
	}
	err := r.keys.Put(values, also...)
	if err == nil && pending {
		r.pending.access[f.ID] = t
	}
	return err
}

func (r *Service) newRevocation(svc *service, t esign.Tokens) pendingRevocation {
	c := svc.config
	return pendingRevocation{
		ID: uuid.NewString(), AuthURL: c.AuthURL, BaseURL: c.BaseURL, ClientID: c.ClientID, ClientSecret: c.ClientSecret,
		Refresh: t.Refresh, Since: r.Now(), Next: r.Now(),
	}
}

// discard schedules the revocation of tokens from svc that will not be used.
func (r *Service) discard(svc *service, t esign.Tokens) {
	if err := r.keepPending(r.newRevocation(svc, t), t, map[string][]byte{}); err != nil {
		r.Log.Warn("revoke a sign-in that is not used", "err", err)
	}
	loop.Wake(r.wakeRevocations)
}

// revocation returns the one sealed under a name. A damaged one is dropped.
func (r *Service) revocation(name string) (f pendingRevocation, known bool, err error) {
	b, err := r.keys.Get(name)
	if err != nil || b == nil {
		return f, false, err
	}
	if err = json.Unmarshal(b, &f); err != nil {
		r.Log.Error("read what is pending to a service that was left", "err", err)
	}
	return f, err == nil, nil
}

// pendingNow returns those due now.
func (r *Service) pendingNow() (list []pendingRevocation, err error) {
	names, err := r.keys.of(sealedRevocation)
	for _, name := range names {
		f, known, unread := r.revocation(name)
		if err = errors.Join(err, unread); known {
			list = append(list, f)
		}
	}
	return list, err
}

// amend commits a change of one, or its end if keep is false.
func (r *Service) amend(id string, change func(*pendingRevocation) (keep bool)) error {
	r.pending.mu.Lock()
	defer r.pending.mu.Unlock()
	f, known, err := r.revocation(sealedIn(id))
	if err != nil || !known {
		return err
	}
	var b []byte
	keep := change(&f)
	if keep {
		if b, err = json.Marshal(f); err != nil {
			return err
		}
	}
	if err := r.keys.Put(map[string][]byte{sealedIn(id): b}); err != nil {
		return err
	}
	if !keep {
		delete(r.pending.access, id)
	}
	return nil
}

// RunRevocations tells those due, at growing intervals if a service does not answer, and not while the outcome cannot be recorded.
func (r *Service) RunRevocations(ctx context.Context) error {
	var unnoted loop.Retries
	return loop.Repeat(ctx, r.wakeRevocations, func(ctx context.Context) (pause time.Duration, _ error) {
		list, err := r.pendingNow()
		if err != nil && !errors.Is(err, ErrLocked) {
			return 0, err
		}
		pause = time.Hour
		for _, f := range list {
			left := max(r.Due(loop.MaxWait(revocationPause)).Left(f.Next), unnoted.Left(f.ID, r.Now()))
			if left > 0 {
				pause = min(pause, left)
				continue
			}
			if _, noted := r.revokePending(ctx, f.ID, f.Tries < revocationHolds); noted {
				unnoted.Worked(f.ID)
			} else {
				unnoted.Failed(f.ID, r.Now(), func(tries int) time.Duration { return r.Backoff(tries, 30*r.Pace.Retry, revocationPause) })
			}
			pause = 0
		}
		return pause, nil
	})
}

// revokePending tells one service, and returns what it could not tell and whether that is recorded. hold keeps the sign-in for
// another try while the endpoint cannot be deleted.
func (r *Service) revokePending(ctx context.Context, id string, hold bool) (left []message.Message, noted bool) {
	unsaid := []message.Message{message.EndpointNotDeleted(), message.NotRevoked()}
	select {
	case r.pending.saying <- struct{}{}:
		defer func() { <-r.pending.saying }()
	case <-ctx.Done():
		return unsaid, false
	}
	f, known, err := r.revocation(sealedIn(id))
	if err != nil {
		return unsaid, false
	}
	if !known {
		return nil, true
	}
	config := esign.Config{
		AuthURL: f.AuthURL, BaseURL: f.BaseURL, ClientID: f.ClientID, ClientSecret: f.ClientSecret,
		HTTP: r.HTTP, Now: r.Now, Log: r.Log,
	}
	session := esign.NewSession(config, revocationVault{r, id})
	defer closeSession(session)
	r.pending.mu.Lock()
	t := r.pending.access[id]
	r.pending.mu.Unlock()
	if t.Access != "" {
		if err := session.Adopt(ctx, t, func(string) error { return nil }); err != nil {
			return unsaid, false
		}
	}
	again := false
	if f.Endpoint != "" {
		err := r.deleteEndpoint(ctx, esign.NewClient(config, session), config, f)
		if err != nil {
			r.Log.Warn("delete the endpoint", "err", err)
			left = append(left, endpointLeft(err))
			again = tellAgain(err)
		}
		if !again {
			f.Endpoint = ""
		}
	}
	if again && hold {
		left = unsaid
	} else if err := session.Revoke(ctx); err != nil {
		r.Log.Warn("revoke the sign-in", "err", err)
		left = append(left, unsaid[1])
		again = tellAgain(err)
	} else {
		again = false
	}
	if ctx.Err() == nil && r.Now().Sub(f.Since) > revocationLimit && f.Tries >= revocationTries {
		again = false
	}
	err = r.amend(id, func(x *pendingRevocation) bool {
		x.Endpoint, x.Tries = f.Endpoint, x.Tries+1
		x.Next = r.Now().Add(r.Backoff(x.Tries, 30*r.Pace.Retry, revocationPause))
		return again || ctx.Err() != nil
	})
	if err != nil {
		r.Log.Warn("note what a service was told", "err", err)
	}
	return left, err == nil
}

// tellAgain reports whether a failure may succeed another time.
func tellAgain(err error) bool {
	var e *esign.Error
	var others *othersEndpointError
	return !errors.As(err, &others) && !errors.Is(err, esign.ErrSignedOut) && (!errors.As(err, &e) || e.Temporary() || e.Kind == esign.NotKept || e.Kind == esign.Interrupted)
}

// deleteEndpoint deletes an endpoint of config's client unless it has been registered again meanwhile, which replaced it. Whether
// another computer has registered since cannot be asked; if the answer shows that one had, the error is an *othersEndpointError.
func (r *Service) deleteEndpoint(ctx context.Context, client *esign.Client, config esign.Config, f pendingRevocation) error {
	ctx, done, err := r.Endpoint.Change(ctx)
	if err != nil {
		return err
	}
	defer done()
	if r.Endpoint.MayBeRegistered() && string(issuer.Of(r.Settings())) == config.Issuer() {
		return nil
	}
	deleted, err := client.DeleteEndpoint(ctx, f.Endpoint)
	if err == nil && differ(deleted.URL, f.Endpoint) && differ(deleted.ID, f.EndpointID) {
		return &othersEndpointError{deleted}
	}
	return err
}

// differ reports whether both are known and different.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// othersEndpointError is a deletion that hit another computer's registration.
type othersEndpointError struct{ deleted esign.Endpoint }

func (e *othersEndpointError) Error() string {
	return fmt.Sprint("deleted another computer's endpoint: ", e.deleted)
}

// endpointLeft says what remains at the service of an endpoint that was not properly deleted.
func endpointLeft(err error) message.Message {
	if _, others := errors.AsType[*othersEndpointError](err); others {
		return message.EventsElsewhereOff()
	}
	return message.EndpointNotDeleted()
}

// revocationVault is the esign.Vault of a sign-in that has ended here.
type revocationVault struct {
	r  *Service
	id string
}

func (v revocationVault) Refresh(context.Context) (string, error) {
	f, _, err := v.r.revocation(sealedIn(v.id))
	return f.Refresh, err
}

func (v revocationVault) SetRefresh(_ context.Context, token string) error {
	return v.r.amend(v.id, func(f *pendingRevocation) bool { f.Refresh = token; return true })
}

// What moves from one state to another:

// BackupKey returns the key to seal backups with; an error while the keys are locked.
func (r *Service) BackupKey() ([32]byte, error) {
	r.keys.mu.Lock()
	defer r.keys.mu.Unlock()
	if r.keys.box == nil {
		return [32]byte{}, r.keys.lockedError()
	}
	return r.keys.backup, nil
}

// BackupPurpose is the purpose for which the backup key is derived.
const BackupPurpose = "backup"

// passing reports whether a sealed value is short-lived: tomorrow there is a newer one, and presenting today's then looks like
// theft, or is based on something no longer true.
func passing(name string) bool {
	kind, _, _ := strings.Cut(name, "@")
	return slices.Contains([]string{string(issuer.Refresh), string(issuer.Endpoint), string(issuer.FormerEndpoints), string(sealedRevocation)}, kind)
}

func ReplaceSealed(tx *store.Tx, sealed map[string][]byte) {
	names, _ := tx.SealedNames()
	for _, name := range names {
		tx.PutSealed(name, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(sealed)) {
		tx.PutSealed(name, sealed[name])
	}
}

func ForgetPassing(tx *store.Tx) {
	names, _ := tx.SealedNames()
	for _, name := range names {
		if passing(name) {
			tx.PutSealed(name, nil)
		}
	}
}

// Expire records, in a state from elsewhere, that nobody is signed in any more.
func Expire(tx *store.Tx) {
	var acc Record
	if tx.GetDoc(Doc, &acc); acc.SignedIn {
		acc.SignedIn, acc.Lapsed = false, true
		tx.PutDoc(Doc, acc)
	}
}

// Reload loads a replaced state and starts a new session. Call it while no loop runs.
func (r *Service) Reload(ctx context.Context) error {
	r.pause()
	r.keys.mu.Lock()
	r.keys.opened = map[string][]byte{}
	r.keys.mu.Unlock()
	if err := r.Load(); err != nil {
		return err
	}
	if r.keys.Locked() {
		r.Begin(ctx)
		return nil
	}
	r.tellReplaced()
	r.Endpoint.Open(issuer.Of(r.Settings()))
	r.connect()
	r.checkSetUp()
	r.tellScopes()
	return nil
}

// Park prevents calls to the service and sign-ins, or allows them again.
func (r *Service) Park(on bool) {
	r.parked.Store(on)
	r.tellSignedOut()
}

// pause ends the session. Reload and Resume start a new one.
func (r *Service) pause() {
	svc := r.current.Get().service
	if svc == nil {
		return
	}
	closeSession(svc.session)
	_ = r.current.Change(func(o Current) (Current, error) {
		o.service = nil
		return o, nil
	})
}
