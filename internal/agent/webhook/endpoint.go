package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/inbox"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// previousLife is how long events signed for the previous endpoint still count.
const previousLife = 10 * time.Minute

// endpoint is a registration as returned by the service: URL and Secret, unchanged, verify events.
type endpoint struct {
	ID         string    `json:"id"`
	URL        string    `json:"url"`
	Secret     string    `json:"secret"`
	Asked      string    `json:"asked"`     // the address requested
	ClientID   string    `json:"client_id"` // the client that registered it
	Account    string    `json:"account"`   // and for whom, see Current.Account
	Service    string    `json:"service"`   // the service of its packages, see esign.Client.Home
	Registered time.Time `json:"registered"`
	Until      time.Time `json:"until,omitzero"` // when it stops being valid; zero while current
}

func (x endpoint) key() inbox.Key { return inbox.Key{URL: x.URL, Secret: x.Secret, Service: x.Service} }

// maxFormer limits how many former registrations are kept; each is valid for previousLife only.
const maxFormer = 8

// opened returns a decrypted value, zero if there is none.
func opened[T any](keys Vault, name string) (v T, err error) {
	b, err := keys.Get(name)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

// load reads the stored registrations of issuer i.
func (r *Service) load(i issuer.Name) {
	current, err1 := opened[*endpoint](r.Vault, issuer.Endpoint.Of(i))
	former, err2 := opened[[]endpoint](r.Vault, issuer.FormerEndpoints.Of(i))
	if err := errors.Join(err1, err2); err != nil {
		r.Log.Error("read the endpoint", "err", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.former = current, stillValid(former, r.Now())
}

// registered returns the current registration; nil for none.
func (r *Service) registered() *endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// valid returns the pairs that verify an event now.
func (r *Service) valid(now time.Time) (keys []inbox.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		keys = append(keys, r.current.key())
	}
	for _, x := range stillValid(r.former, now) {
		keys = append(keys, x.key())
	}
	return keys
}

// formerAfter returns the former registrations that stay valid once the current one, if any, is replaced.
func (r *Service) formerAfter(now time.Time) []endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := stillValid(r.former, now)
	if r.current == nil {
		return former
	}
	last := *r.current
	last.Until = now.Add(previousLife)
	return append([]endpoint{last}, former[:min(len(former), maxFormer-1)]...)
}

// follow updates memory with current (nil for none) and former once they are on disk. Events missed before say nothing about them.
func (r *Service) follow(current *endpoint, former []endpoint) {
	r.mu.Lock()
	r.current, r.former = current, former
	r.mu.Unlock()
	r.settle(false)
	r.startOver()
}

func stillValid(list []endpoint, now time.Time) (valid []endpoint) {
	for _, x := range list {
		if !(loop.Cooldown{From: x.Until.Add(-previousLife), Until: x.Until}).Over(now) {
			valid = append(valid, x)
		}
	}
	return valid
}

// RunEndpoint registers the public address whenever it, the account or the client has changed.
func (r *Service) RunEndpoint(ctx context.Context) error {
	tries := 0
	return loop.Repeat(ctx, r.wakeEndpoint, func(ctx context.Context) (pause time.Duration, _ error) {
		err := r.Register(ctx, false)
		if err == nil || ctx.Err() != nil {
			tries = 0
			return time.Hour, nil
		}
		tries++
		longest := 5 * time.Minute
		if e, answered := errors.AsType[*esign.Error](err); answered && !e.Temporary() && !loop.ConcernsAll(err) {
			longest = time.Hour // a refusal may be temporary: pauses grow, but start short
		}
		pause = r.PauseAfter(err, tries, longest)
		r.Log.Warn("register the webhook endpoint", "err", err, "again_in", pause)
		return pause, nil
	})
}

// Register registers the public address if needed and possible now; force registers it even if it appears registered, to take it
// back from another computer.
func (r *Service) Register(ctx context.Context, force bool) error {
	ctx, done, err := r.Change(ctx)
	if err != nil {
		return err
	}
	defer done()
	r.mu.Lock()
	t := r.address
	r.mu.Unlock()
	now := r.Current()
	s, client := now.Settings, now.Client
	switch {
	case !s.HasAddress():
		r.Health.Clear(health.EndpointFails)
		if s.Tunnel == office.TunnelOffice {
			r.Health.Clear(health.NoAddress)
		} else if s.Configured() {
			r.Health.Set(health.NoAddress, message.NoAddress())
		}
		return nil
	case client == nil || t.State != "up":
		if force {
			return message.Error(message.EndpointNeeds(), nil)
		}
		return nil
	}
	r.Health.Clear(health.NoAddress)
	if !now.MayRegister {
		r.Health.Set(health.EndpointForbidden, message.MayNotReceive())
		return nil
	}
	want := webhookURL(s, t.URL)
	old := r.registered()
	if !force && old != nil && old.Asked == want && old.ClientID == s.ClientID && old.Account == now.Account && old.Secret != "" && !r.unsure() {
		r.tellRegistered(*old)
		return nil
	}
	if r.lost() && old != nil && !force && !r.unsure() {
		return nil // another computer may have it now: a person decides which one keeps it
	}
	if left := r.Breaker.Left(r.Now()); left > 0 && !force {
		return &esign.Error{Op: "registering the webhook endpoint", Kind: esign.TooMany, RetryAfter: left}
	}
	answer, err := r.ask(ctx, client, want)
	if err != nil {
		if force {
			loop.Wake(r.wakeEndpoint) // if the outcome is unknown, the loop registers it again
		}
		r.Session.Note(ctx, err)
		if ctx.Err() == nil {
			r.tellEndpoint(err)
		}
		return err
	}
	r.Session.Note(ctx, nil)
	return r.adopt(issuer.Of(s), endpoint{
		ID: answer.ID, URL: answer.URL, Secret: answer.Secret,
		Asked: want, ClientID: s.ClientID, Account: now.Account, Service: client.Home(), Registered: r.Now(),
	})
}

// tellEndpoint reports to health why there is no endpoint.
func (r *Service) tellEndpoint(err error) {
	var e *esign.Error
	switch {
	case loop.ConcernsAll(err), r.Session.SignedOut(err): // reported elsewhere
	case errors.As(err, &e) && (e.Kind == esign.Forbidden || e.Kind == esign.SignedOut):
		r.Health.Set(health.EndpointForbidden, message.MayNotReceive())
	default:
		r.Health.Set(health.EndpointFails, esign.Message(err))
	}
}

// tellRegistered reports to health if the service says that it registered another address than it was asked to. Letter case, the usual
// port and a final slash make no other address.
func (r *Service) tellRegistered(x endpoint) {
	plain := func(address string) string {
		return strings.TrimSuffix(strings.Replace(strings.ToLower(address), ":443/", "/", 1), "/")
	}
	var elsewhere message.Message
	if plain(x.URL) != plain(x.Asked) {
		elsewhere = message.EndpointElsewhere(x.URL)
	}
	r.Health.Update(health.EndpointFails, elsewhere)
}

// adopt makes x the current endpoint, on disk and then in memory. Its events may already be arriving; they wait for this, see
// ServeEvent.
func (r *Service) adopt(i issuer.Name, x endpoint) error {
	former := r.formerAfter(r.Now())
	values, err := sealed(i, &x, former)
	if err == nil {
		err = r.Vault.Put(values, r.Forget)
	}
	if err != nil {
		r.settle(true) // the service signs with a secret that we have lost
		return fmt.Errorf("keep the endpoint: %w", err)
	}
	r.follow(&x, former)
	r.tellRegistered(x)
	r.Sweep("the endpoint is registered") // earlier events went to nobody, or to another computer
	r.Record(office.Activity{Kind: office.ActivityEndpoint, Text: message.EndpointSet()})
	r.Signal(office.StatusChanged)
	return nil
}

// sealed encodes the registrations for the vault.
func sealed(i issuer.Name, current *endpoint, former []endpoint) (map[string][]byte, error) {
	values := map[string][]byte{issuer.Endpoint.Of(i): nil}
	var err error
	if current != nil {
		if values[issuer.Endpoint.Of(i)], err = json.Marshal(current); err != nil {
			return nil, err
		}
	}
	values[issuer.FormerEndpoints.Of(i)], err = json.Marshal(former)
	return values, err
}

// startOver forgets missed events, which say nothing about a new registration.
func (r *Service) startOver() {
	r.mu.Lock()
	clear(r.missed)
	r.gone = time.Time{}
	r.mu.Unlock()
	r.Health.Clear(health.EndpointLost)
}

// Endpoint returns the current registration; id is empty if there is none.
func (r *Service) Endpoint() (id, url string, at time.Time) {
	if e := r.registered(); e != nil {
		return e.ID, e.URL, e.Registered
	}
	return "", "", time.Time{}
}

// How a sign-in affects the registration, see account.Endpoint: the registration ends with the sign-in, in the same commit, and
// another one applies when the keys are unlocked or the service changes.

func (r *Service) Change(ctx context.Context) (_ context.Context, done func(), err error) {
	select {
	case r.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	r.cancel.Store(&cancel)
	return ctx, func() {
		cancel()
		<-r.changing
	}, nil
}

func (r *Service) TakeOver(ctx context.Context) (done func(), err error) {
	if cancel := r.cancel.Load(); cancel != nil {
		(*cancel)()
	}
	_, done, err = r.Change(ctx)
	return done, err
}

// End implements account.Endpoint. Events still on their way stay valid a little longer.
func (r *Service) End(i issuer.Name) (values map[string][]byte, also func(*store.Tx) error, ended func(), err error) {
	former := r.formerAfter(r.Now())
	values, err = sealed(i, nil, former)
	return values, r.Forget, func() { r.follow(nil, former) }, err
}

func (r *Service) Forget(tx *store.Tx) error {
	tx.PutDoc(docPending, nil)
	return tx.PutDoc(docLost, nil)
}

func (r *Service) Open(i issuer.Name) {
	r.load(i)
	if r.unsure() { // possibly from an earlier run
		r.settle(true)
	}
}

func (r *Service) Move(i issuer.Name) {
	r.load(i)
	r.settle(false)
	r.startOver()
}

func (r *Service) MayBeRegistered() bool { return r.registered() != nil || r.unsure() }

func (r *Service) OutOfReach(i issuer.Name) (bool, error) {
	there, err := r.Vault.Has(issuer.Endpoint.Of(i))
	if err != nil || !there {
		return false, err
	}
	sealed, err := r.Vault.Get(issuer.Endpoint.Of(i)) // memory may lag behind the commit
	return sealed == nil, err
}

// AtService implements account.Endpoint. The service may have accepted a registration whose answer was lost. One known to have moved
// to another computer is left there.
func (r *Service) AtService() (address, id string, err error) {
	if old := r.registered(); old != nil && !r.lost() {
		address, id = old.URL, old.ID
	}
	asked, _, err := data.Doc[string](r.Data, docPending)
	if asked != "" {
		return asked, "", nil
	}
	return address, id, err
}

// docLost is the document that says since when the service has reported to another computer, or to none.
const docLost = "endpoint-lost"

// MissedGrace is how long after a change was found by polling its event may still arrive.
const MissedGrace = 2 * time.Minute

// Whether the service still reports to this computer must be inferred. No call returns the endpoint, and setting it replaces any
// other of the same client (interface.md, events/endpoints/set). But if a status call shows a signature or a finished package whose
// event did not arrive while this computer was listening, it was reported elsewhere.

// Missed records that a change found in a status answer should have arrived as an event.
func (r *Service) Missed(packageID string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, noted := r.missed[packageID]; !noted {
		r.missed[packageID] = now
	}
}

// lost reports whether events are known to go elsewhere.
func (r *Service) lost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.gone.IsZero()
}

// missedNow reports whether events are known to go elsewhere, and whether any package's event is overdue. none says that no events
// are expected.
func (r *Service) missedNow(now time.Time, none bool) (lost, overdue bool) {
	open := r.openSince()
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(_ string, found time.Time) bool { // before it was open no event could arrive, and the service may not retry
		return none || open.IsZero() || found.Before(open)
	})
	if r.gone.After(now) { // recorded by a fast clock: no event would be later
		r.gone = now
	}
	for _, found := range r.missed {
		overdue = overdue || now.Sub(found).Abs() >= MissedGrace // a clock set back must not delay it
	}
	return !r.gone.IsZero(), overdue
}

// explained forgets missed changes that an event received then accounts for, and reports whether the event proves that events arrive
// here after all, which one received before the loss does not.
func (r *Service) explained(packageID string, received time.Time) (found bool) {
	forged := r.inbox.Rejected()[inbox.Forged]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.believed = forged
	maps.DeleteFunc(r.missed, func(id string, found time.Time) bool { return id == packageID || received.After(found) })
	return !r.gone.IsZero() && received.After(r.gone)
}

// ListeningSince returns since when events could have arrived without interruption; zero if they cannot now.
func (r *Service) ListeningSince() time.Time {
	if since, desk := r.Office.ListeningSince(); desk {
		return since
	}
	return r.openSince()
}

// openSince returns since when the address is open and registered, and since the last gap; zero if it is not now.
func (r *Service) openSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.current
	if e == nil || r.address.State != "up" {
		return time.Time{}
	}
	now := r.Now()
	var since time.Time
	for _, t := range []time.Time{r.address.Since.Time, e.Registered, r.gap} {
		if t.After(since) && !t.After(now) { // a time in the future was recorded by a wrong clock
			since = t
		}
	}
	return since
}

// Tell updates what depends only on time: an event is overdue, the address has been closed for long, requests give reason to doubt
// the key. Call it now and then.
func (r *Service) Tell() {
	r.tellMissed()
	r.tellAddress()
	if r.doubted() {
		r.ReadList()
	}
}

// After this many requests in a row that were signed with another key than ours, somebody may have changed ours at the service. They
// prove nothing, and anybody can send them: they only cause the service's list to be read, which shows what has been missed.
const (
	manyStrange  = 3
	strangePause = 20 * time.Minute
)

// doubted reports whether such requests are reason to read the list now. Later ones are, too, but not before strangePause.
func (r *Service) doubted() bool {
	now, forged := r.Now(), r.inbox.Rejected()[inbox.Forged]
	r.mu.Lock()
	defer r.mu.Unlock()
	if forged-r.believed < manyStrange || !r.listing.Over(now) {
		return false
	}
	r.believed, r.listing = forged-manyStrange+1, loop.CoolFor(now, strangePause)
	return true
}

// Heard is called for every processed event: the service does report to this computer, or did when it arrived.
func (r *Service) Heard(e esign.Event, received time.Time) {
	explains := e.PackageID
	if e.Action == esign.PackageAdd || e.Action == esign.PackageSent { // polling finds no signature before these
		explains = ""
	}
	if !r.explained(explains, received) {
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLost, nil) }); err != nil {
		r.Log.Error("record that events arrive again", "err", err)
		return
	}
	r.startOver()
}

// tellMissed records, and reports to health, that the service no longer reports to this computer. From then on the service is polled
// more often, as without a public address. An office that has chosen to have no address misses nothing; an earlier loss is reported
// again once it has one.
func (r *Service) tellMissed() {
	now := r.Now()
	none := !r.Current().Settings.HasAddress()
	lost, overdue := r.missedNow(now, none)
	switch {
	case none:
		r.Health.Clear(health.EndpointLost)
		return
	case lost:
		r.Health.Set(health.EndpointLost, message.EndpointLost())
		return
	case !overdue:
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLost, now) }); err != nil {
		r.Log.Error("record that events do not arrive", "err", err)
		return
	}
	r.mu.Lock()
	r.gone = now
	r.mu.Unlock()
	r.Health.Set(health.EndpointLost, message.EndpointLost())
	r.Sweep("events do not arrive")
}

// recallMissed restores what an earlier run knew.
func (r *Service) recallMissed() error {
	since, known, err := data.Doc[time.Time](r.Data, docLost)
	if known {
		r.mu.Lock()
		r.gone = since
		r.mu.Unlock()
		r.tellMissed()
	}
	return err
}

// Deaf reports whether no events can be expected. Like ListeningSince, it may be called within a commit.
func (r *Service) Deaf() bool {
	if since, desk := r.Office.ListeningSince(); desk {
		return since.IsZero()
	}
	return r.openSince().IsZero() || r.lost()
}
