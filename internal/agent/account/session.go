package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// service is the signing service as defined by the current settings.
type service struct {
	config  esign.Config
	session *esign.Session
	client  *esign.Client
	vault   refreshVault // the session's vault
}

var errNothing = errors.New("there is nothing to change")

// connect remakes the service from the settings and the client secret, once the keys are unlocked.
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

// newService returns the service defined by next; nil if there is none. clientSecret is nil for the stored one. The session
// continues if the same client calls the same server. Otherwise call retire once the new service is in use: it closes the old
// session, and the new one does not begin before the old one has ended.
func (r *Service) newService(before Current, next office.Settings, clientSecret []byte) (_ *service, retire func(), err error) {
	if clientSecret == nil {
		if clientSecret, err = r.keys.Get(issuer.ClientSecret.Of(issuer.Of(next))); err != nil {
			return nil, nil, err
		}
	}
	config := issuer.Config(next)
	config.ClientSecret, config.HTTP, config.Now, config.Served, config.Log = string(clientSecret), r.HTTP, r.Now, r.served, r.Log
	old := before.service
	if old != nil && sameClient(old.config, config) {
		if slices.Equal(before.Settings.Scopes, next.Scopes) {
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

// sameClient reports whether both configure the same client of the same server.
func sameClient(a, b esign.Config) bool {
	return a.Issuer() == b.Issuer() && a.ClientSecret == b.ClientSecret
}

// closeLimit is how long an unwanted renewal in progress may take to finish: its answer may hold the only refresh token, but nothing
// may delay the end of the program for five seconds.
const closeLimit = 3 * time.Second

// closeSession ends a session that is no longer given out. Its current work may take as long as the network.
func closeSession(s *esign.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	s.Close(ctx)
}

// renewing is the session as the client's token source. It marks errors of renewing the sign-in, so that they are not mistaken for
// answers about a package, and signals that the service has ended the sign-in.
type renewing struct {
	*esign.Session
	ended chan<- struct{}
}

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

// Note handles the general consequences of a call's error (nil for success): a lapsed sign-in, or a service that is unreachable or
// asks for a pause. It returns err unchanged.
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
		loop.Wake(r.wakeSession) // not here: the caller may hold a lock that a lapse needs
	case !errors.As(err, &e), e.Kind == esign.Interrupted, e.Kind == esign.Invalid: // the service was not called
	case e.Kind == esign.NotKept: // a keyring or disk problem with its own issue
	case e.Kind == esign.BadClient:
		r.Health.Set(health.ClientRefused, esign.Message(err))
	case e.Kind == esign.TooMany:
		r.Breaker.Open(r.Now(), e.RetryAfter)
		r.Health.Set(health.ServiceBusy, esign.Message(err))
	case e.Kind == esign.Network, e.Kind == esign.Server, e.Kind == esign.BadAnswer:
		r.Breaker.Open(r.Now(), e.RetryAfter)
		r.Health.Set(health.ServiceFails, esign.Message(err))
	case errors.As(err, &renewal):
		r.Health.Set(health.ServiceFails, message.Then(message.NotRenewed(), esign.Message(err)))
	default:
		r.serviceAnswers()
	}
	if err != nil && r.Health.Has(health.SignedOut) { // the call was under way when the sign-in ended
		r.Health.End(health.WithSignIn)
	}
	return err
}

// serviceAnswers clears the issues about an unavailable service. What was postponed meanwhile need not wait longer.
func (r *Service) serviceAnswers() {
	r.Asked.Answered()
	r.Health.Clear(health.ClientRefused)
	r.Health.Clear(health.NetworkAsks)
	// An answer to a call that was under way when the service asked for a pause does not end the pause.
	if r.Breaker.Left(r.Now()) == 0 && r.Health.Clear(health.ServiceFails) {
		r.Returned()
	}
}

// lapse records that the service has ended the sign-in. Events are still received and stored. A single call refused with an
// otherwise valid token does not end it.
func (r *Service) lapse(ctx context.Context) {
	if svc := r.current.Get().service; svc != nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, err := svc.session.Access(ctx); !errors.Is(err, esign.ErrSignedOut) {
			return
		}
	}
	err := r.current.Change(func(o Current) (Current, error) {
		if !o.Account.SignedIn || o.SignedIn() { // somebody has signed out or in meanwhile
			return o, errNothing
		}
		lost, err := r.keys.lost(issuer.Refresh.Of(issuer.Of(o.Settings)))
		if err != nil {
			return o, err
		}
		if lost {
			return o, errNothing // the key may return, and the sign-in with it
		}
		o.Account.SignedIn, o.Account.Lapsed = false, true
		return o, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
	})
	r.tellSignedOut()
	r.Signal(office.StatusChanged)
	switch {
	case err == nil:
		r.Record(office.Activity{Kind: office.ActivitySignedOut, Text: message.SignInExpired()})
		r.Changed()
	case !errors.Is(err, errNothing):
		r.Log.Error("record the lapsed sign-in", "err", err)
	}
}

// SignedOut reports whether err means that nobody is signed in any more. It does not if the service refuses one object with a token
// that it accepts elsewhere.
func (r *Service) SignedOut(err error) bool {
	if !errors.Is(err, esign.ErrSignedOut) {
		return false
	}
	_, online := r.Online()
	return !online
}

// Resume starts a session if the last one ended with the loops.
func (r *Service) Resume() {
	if r.current.Get().service == nil && !r.keys.Locked() {
		r.connect()
	}
}

// RunSession records that the service has ended the sign-in. It ends the session with ctx, so that a hanging renewal ends along with
// the other parts, and starts a new one when run again.
func (r *Service) RunSession(ctx context.Context) error {
	r.Resume()
	for loop.Wait(ctx, time.Hour, r.wakeSession) {
		if o := r.current.Get(); o.Account.SignedIn && !o.SignedIn() {
			r.lapse(ctx)
		}
	}
	r.pause()
	return nil
}

// Names of sealed values without an issuer.
const (
	sealedLocalhost = "localhost-certificate"
	sealedFirstRun  = "first-run" // JSON of FirstRun, until there are settings
)

// sealedRevocation is the kind of values, each with its own id, with what a service that was left still has to be told, as JSON.
const sealedRevocation issuer.Sealed = "revocation"

// DocKeyID is the document with the fingerprint of the key that sealed the values.
const DocKeyID = "key-id"

// ErrLocked means that the key cannot be read now; the values exist and must be left alone.
var ErrLocked = message.Error(message.KeyringStillLocked(), secret.ErrUnavailable)

// Vault keeps the office's secrets sealed in the store. The key is in the OS keyring (or a key file) and has three states: present,
// absent (a new one is made) and unavailable (every get and put returns ErrLocked, and nothing is touched). Safe for concurrent use.
type Vault struct {
	st      *data.Data
	keeper  secret.Keeper
	changed func() // called after every commit

	mu     sync.Mutex
	box    *secret.Box
	backup [32]byte          // derived from the key, see BackupKey
	why    error             // why box is nil
	opened map[string][]byte // decrypted values, so that an event needs neither AES nor a transaction
}

// unlock loads the key, or makes one if there is certainly none. Values sealed with another key stay: if that key returns, they can
// be used again.
func (v *Vault) unlock(ctx context.Context) error {
	key, err := v.keeper.Load(ctx)
	if errors.Is(err, secret.ErrAbsent) {
		key, err = v.keeper.Create(ctx)
	}
	if errors.Is(err, secret.ErrPresent) { // another process has just made one
		key, err = v.keeper.Load(ctx)
	}
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.why = err
		return err
	}
	box, err := secret.NewBox(key)
	if err != nil {
		return err
	}
	backup, err := key.Derive(BackupPurpose)
	if err != nil {
		return err
	}
	known, _, err := data.Doc[string](v.st, DocKeyID)
	if err != nil {
		return err
	}
	if id := key.ID(); known != id {
		if err := v.st.Update(func(tx *store.Tx) error { return tx.PutDoc(DocKeyID, id) }); err != nil {
			return err
		}
		v.changed()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.box, v.backup, v.opened = box, backup, map[string][]byte{}
	return nil
}

// lost reports whether the value exists but can be opened no more: its key is gone, or it is damaged.
func (v *Vault) lost(name string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.box == nil {
		return false, nil
	}
	b, err := v.sealed(name)
	if err != nil || b == nil {
		return false, err
	}
	_, err = v.box.Open(name, b)
	return err != nil, nil
}

// sealed returns the value as stored, nil if there is none.
func (v *Vault) sealed(name string) ([]byte, error) {
	return data.Read(v.st, "what is sealed as "+name, func(tx *store.Tx) ([]byte, error) { return tx.Sealed(name) })
}

// lockedError says why there is no key. The caller holds mu.
func (v *Vault) lockedError() error {
	if v.why == nil {
		return ErrLocked
	}
	return fmt.Errorf("%w: %w", v.why, ErrLocked) // what people are told comes first
}

// reason is lockedError for callers that do not hold mu.
func (v *Vault) reason() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lockedError()
}

// Locked reports whether unlock has not succeeded yet.
func (v *Vault) Locked() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.box == nil
}

// Get returns a value, or nil if there is none or it is lost, which tellReplaced tells of those that people entered.
func (v *Vault) Get(name string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.box == nil {
		return nil, v.lockedError()
	}
	if plain, ok := v.opened[name]; ok {
		return plain, nil
	}
	sealed, err := v.sealed(name)
	if err != nil || sealed == nil {
		return nil, err
	}
	plain, err := v.box.Open(name, sealed)
	if err != nil {
		return nil, nil
	}
	v.opened[name] = plain
	return plain, nil
}

// of returns the names of all sealed values of a kind, whoever issued them; of all kinds if empty.
func (v *Vault) of(kind issuer.Sealed) ([]string, error) {
	names, err := data.Read(v.st, "what is sealed", (*store.Tx).SealedNames)
	return slices.DeleteFunc(names, func(name string) bool { return kind != "" && !strings.HasPrefix(name, kind.Of("")) }), err
}

// Has reports whether there is a sealed value of that name, whether or not it can be opened.
func (v *Vault) Has(name string) (bool, error) {
	b, err := v.sealed(name)
	return b != nil, err
}

// holds is Has, leaving out values that are known to be lost.
func (v *Vault) holds(name string) (bool, error) {
	there, err1 := v.Has(name)
	lost, err2 := v.lost(name)
	return there && !lost, errors.Join(err1, err2)
}

// Put seals values (nil deletes one) and commits them together with also. They are on disk when it returns without an error.
func (v *Vault) Put(values map[string][]byte, also ...func(*store.Tx) error) error {
	err := v.commit(values, also)
	if err == nil {
		v.changed()
	}
	return err
}

func (v *Vault) commit(values map[string][]byte, also []func(*store.Tx) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.box == nil {
		return v.lockedError()
	}
	sealed := make(map[string][]byte, len(values))
	for name, plain := range values {
		if plain == nil {
			sealed[name] = nil
			continue
		}
		b, err := v.box.Seal(name, plain)
		if err != nil {
			return fmt.Errorf("seal %s: %w", name, err)
		}
		sealed[name] = b
	}
	err := v.st.UpdateFrozen(func(tx *store.Tx) error { // revocations are recorded even after the office has moved away
		for name, b := range sealed {
			tx.PutSealed(name, b)
		}
		for _, f := range also {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, plain := range values {
		if plain == nil {
			delete(v.opened, name)
		} else {
			v.opened[name] = plain
		}
	}
	return nil
}

// refreshVault is this office's esign.Vault.
type refreshVault struct {
	v     *Vault
	name  string // name of the sealed token
	crash func(point string)
	free  <-chan struct{} // closed once the previous session has ended: the token has one owner
}

// wait returns once the token has no other owner.
func (r refreshVault) wait(ctx context.Context) error {
	select {
	case <-r.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r refreshVault) Refresh(ctx context.Context) (string, error) {
	if err := r.wait(ctx); err != nil {
		return "", err
	}
	b, err := r.v.Get(r.name)
	return string(b), err
}

func (r refreshVault) SetRefresh(ctx context.Context, token string) error {
	if err := r.wait(ctx); err != nil {
		return err
	}
	if token == "" {
		return r.v.Put(map[string][]byte{r.name: nil})
	}
	r.crash("renewed")
	if err := r.v.Put(map[string][]byte{r.name: []byte(token)}); err != nil {
		return err
	}
	r.crash("renewal kept")
	return nil
}

// Unlock tries to read the key, updates health and reports whether the keys are unlocked.
func (r *Service) Unlock(ctx context.Context) bool {
	r.unlocking.Lock()
	defer r.unlocking.Unlock()
	if !r.keys.Locked() {
		return true
	}
	if err := r.keys.unlock(ctx); err != nil {
		r.Log.Warn("the key is not available", "err", err)
		r.Health.Set(keyState(err), KeyMessage(err))
		return false
	}
	r.Health.Clear(health.KeyringLocked)
	r.tellReplaced()
	r.Endpoint.Open(issuer.Of(r.Settings()))
	r.connect()
	loop.Wake(r.wakeRevocations)
	return true
}

// keyState returns the issue for an unavailable key: there is something to unlock, or something must change before the next try.
func keyState(err error) health.State {
	if u, known := errors.AsType[*secret.UnavailableError](err); known && u.Reason != secret.Locked && u.Reason != secret.Refused {
		return health.KeyOutOfReach
	}
	return health.KeyringLocked
}

// KeyMessage words for people why the key is unavailable.
func KeyMessage(err error) message.Message {
	if m, ok := message.Of(err); ok {
		return m
	}
	return message.KeyUnreachable()
}

func (r *Service) LockedError() error { return r.keys.reason() }

// RunKeys retries a locked keyring: at once when a person answers its prompt or the computer has woken up, otherwise at growing
// intervals, because each try may show another prompt.
func (r *Service) RunKeys(ctx context.Context) error {
	for tries := 1; r.keys.Locked(); tries++ {
		pause := time.NewTimer(r.Backoff(tries, 30*r.Pace.Retry, 15*time.Minute))
		select {
		case <-pause.C:
		case <-answered(r.keys.reason()):
		case <-r.wokeUp:
			tries = 0
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil {
			return nil
		}
		if r.Unlock(ctx) {
			r.Unlocked()
		}
	}
	<-ctx.Done()
	return nil
}

// served notes the time of an answer, by the service's clock, and tells people if theirs is wrong: times shown and the period that
// documents are kept depend on it.
func (r *Service) served(at time.Time) {
	r.Served.Note(at)
	var wrong message.Message
	if r.Now().Sub(at).Abs() > loop.ClockWrong {
		wrong = message.ClockWrong()
	}
	r.Health.Update(health.ClockWrong, wrong)
}

// WokeUp makes a locked keyring be tried at once: people unlock it when they sign in to the computer. If the clock was set, the next
// answer shows whether it is right now.
func (r *Service) WokeUp() {
	r.Health.Clear(health.ClockWrong)
	loop.Wake(r.wokeUp)
}

// answered returns a channel that is closed when the keyring answers a pending request.
func answered(err error) <-chan struct{} {
	if u, known := errors.AsType[*secret.UnavailableError](err); known {
		return u.Answered
	}
	return nil
}

// HasSecrets reports which secrets are stored, never their values. One that is lost does not count.
func (r *Service) HasSecrets() (clientSecret, ngrokAuthtoken bool, err error) {
	s := r.Settings()
	clientSecret, err1 := r.keys.holds(issuer.ClientSecret.Of(issuer.Of(s)))
	ngrokAuthtoken, err2 := r.keys.holds(issuer.NgrokToken.Of(issuer.Ngrok(s)))
	return clientSecret, ngrokAuthtoken, errors.Join(err1, err2)
}
