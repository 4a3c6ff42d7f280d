package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// previousLife is how long events signed for the endpoint before the current one still count.
const previousLife = 10 * time.Minute

// endpoint is a registration as the service answered it: URL and Secret, to the letter, verify events.
type endpoint struct {
	ID         string    `json:"id"`
	URL        string    `json:"url"`
	Secret     string    `json:"secret"`
	Asked      string    `json:"asked"`     // the address that was sent
	ClientID   string    `json:"client_id"` // whose it is
	Service    string    `json:"service"`   // where its packages live, as esign.Client.Home
	Registered time.Time `json:"registered"`
	Until      time.Time `json:"until,omitzero"` // when it ceases to count; zero while it is current
}

func (x endpoint) key() inbox.Key { return inbox.Key{URL: x.URL, Secret: x.Secret, Service: x.Service} }

// maxFormer bounds how many former registrations are kept; each lives for previousLife only.
const maxFormer = 8

// opened is a sealed value, the zero one where there is none.
func opened[T any](keys Vault, name string) (v T, err error) {
	b, err := keys.Get(name)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

// load reads the registrations that are kept of issuer i.
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

// registered is the current registration; nil for none.
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

// formerAfter are the registrations that count beside the next one, once that (or none) is the current one.
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

// follow makes current (nil for none) and former what counts, once they are on disk. What was missed says nothing about it.
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

// RunEndpoint registers the public address whenever it, the account or the client changed.
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
		var e *esign.Error
		if errors.As(err, &e) && !e.Temporary() && !loop.ConcernsAll(err) {
			longest = time.Hour // a "no" is about now: it slows down, but does not begin slow
		}
		pause = r.PauseAfter(err, tries, longest)
		r.Log.Warn("register the webhook endpoint", "err", err, "again_in", pause)
		return pause, nil
	})
}

// Register registers the public address if that is needed and possible now; force registers it even if it seems
// to be registered already, to take it back from another computer.
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
	if !force && old != nil && old.Asked == want && old.ClientID == s.ClientID && old.Secret != "" && !r.unsure() {
		r.Health.Clear(health.EndpointFails)
		return nil
	}
	if r.lost() && old != nil && !force && !r.unsure() {
		return nil // it may be another computer's by now: a person decides who has it
	}
	if left := r.Breaker.Left(r.Now()); left > 0 && !force {
		return &esign.Error{Op: "registering the webhook endpoint", Kind: esign.TooMany, RetryAfter: left}
	}
	answer, err := r.ask(ctx, client, want)
	if err != nil {
		if force {
			loop.Wake(r.wakeEndpoint) // what became of it may not be known: then the loop sets it again
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
		Asked: want, ClientID: s.ClientID, Service: client.Home(), Registered: r.Now(),
	})
}

// tellEndpoint says in health why there is no endpoint.
func (r *Service) tellEndpoint(err error) {
	var e *esign.Error
	switch {
	case loop.ConcernsAll(err), r.Session.SignedOut(err): // said elsewhere
	case errors.As(err, &e) && (e.Kind == esign.Forbidden || e.Kind == esign.SignedOut):
		r.Health.Set(health.EndpointForbidden, message.MayNotReceive())
	default:
		r.Health.Set(health.EndpointFails, esign.Message(err))
	}
}

// adopt makes x the current endpoint: on disk, and then in memory. Its events may already be on their way; they
// wait until it is known, see ServeEvent.
func (r *Service) adopt(i issuer.Name, x endpoint) error {
	former := r.formerAfter(r.Now())
	values, err := sealed(i, &x, former)
	if err == nil {
		err = r.Vault.Put(values, r.Forget)
	}
	if err != nil {
		r.settle(true) // the service signs with a secret that is lost
		return fmt.Errorf("keep the endpoint: %w", err)
	}
	r.follow(&x, former)
	r.Health.Clear(health.EndpointFails)
	r.Sweep("the endpoint is registered") // what happened until now was reported to nobody, or to another computer
	r.Record(office.Activity{Kind: "endpoint", Text: message.EndpointSet()})
	r.Signal(office.StatusChanged)
	return nil
}

// sealed are the registrations as they are committed.
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

// startOver forgets what was missed: it says nothing about a registration that is new.
func (r *Service) startOver() {
	r.mu.Lock()
	clear(r.missed)
	r.gone = time.Time{}
	r.mu.Unlock()
	r.Health.Clear(health.EndpointLost)
}

// Endpoint is the current registration; id is empty when there is none.
func (r *Service) Endpoint() (id, url string, at time.Time) {
	if e := r.registered(); e != nil {
		return e.ID, e.URL, e.Registered
	}
	return "", "", time.Time{}
}

// What the sign-in does with the registration, see account.Endpoint: it ends with it, in the same commit, and another one is of use when
// the keys are open or the service is another one.

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

// End is account.Endpoint's. Events that are still on their way count for a little longer.
func (r *Service) End(i issuer.Name) (values map[string][]byte, also func(*store.Tx) error, ended func(), err error) {
	former := r.formerAfter(r.Now())
	values, err = sealed(i, nil, former)
	return values, r.Forget, func() { r.follow(nil, former) }, err
}

func (r *Service) Forget(tx *store.Tx) error {
	return errors.Join(tx.PutDoc(docPending, nil), tx.PutDoc(docLost, nil))
}

func (r *Service) Open(i issuer.Name) {
	r.load(i)
	if r.unsure() { // of an earlier run
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
	sealed, err := r.Vault.Get(issuer.Endpoint.Of(i)) // what is in memory may follow a moment after the commit
	return sealed == nil, err
}

// AtService is account.Endpoint's. The service may have taken a registration whose answer was cut short. One that is known to have gone
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

// docLost names the document that says since when the service reports to another computer, or to none.
const docLost = "endpoint-lost"

// MissedGrace is how long after something was found out its event may still come.
const MissedGrace = 2 * time.Minute

// Whether the service still reports to this computer has to be found out. No call reads the endpoint, and the one that sets it
// replaces any other of the same client (interface.md, events/endpoints/set). But a signature or a finished package that a
// status call shows, and whose event did not come while this computer listened, was reported elsewhere.

// Missed notes that what a status answer told of a package should have come as an event.
func (r *Service) Missed(packageID string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, noted := r.missed[packageID]; !noted {
		r.missed[packageID] = now
	}
}

// lost is true while the reports are known to go elsewhere.
func (r *Service) lost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.gone.IsZero()
}

// missedNow reports whether the reports are known to go elsewhere, and whether the event of some package has not come in its time.
// none says that none is expected.
func (r *Service) missedNow(now time.Time, none bool) (lost, overdue bool) {
	open := r.openSince(time.Time{})
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(_ string, found time.Time) bool { // until it was open none could come, and the service may not try again
		return none || open.IsZero() || found.Before(open)
	})
	if r.gone.After(now) { // by a clock that ran fast: no event would come after it
		r.gone = now
	}
	for _, found := range r.missed {
		overdue = overdue || now.Sub(found).Abs() >= MissedGrace // a clock that was set back proves nothing, and waits for nothing
	}
	return !r.gone.IsZero(), overdue
}

// explained forgets what an event that came then explains, and reports whether it shows that the reports come here after all; one
// that came before they were taken for lost does not.
func (r *Service) explained(packageID string, received time.Time) (found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(id string, found time.Time) bool { return id == packageID || received.After(found) })
	return !r.gone.IsZero() && received.After(r.gone)
}

// ListeningSince is since when events could have come without a break; zero when they cannot now.
func (r *Service) ListeningSince() time.Time {
	if since, desk := r.Office.ListeningSince(); desk {
		return since
	}
	r.mu.Lock()
	gap := r.gap
	r.mu.Unlock()
	return r.openSince(gap)
}

// openSince is since when the address is open and registered, but not before gap; zero when it is not now.
func (r *Service) openSince(gap time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.current
	if e == nil || r.address.State != "up" {
		return time.Time{}
	}
	now := r.Now()
	var since time.Time
	for _, t := range []time.Time{r.address.Since.Time, e.Registered, gap} {
		if t.After(since) && !t.After(now) { // what lies ahead was noted by a clock that was wrong
			since = t
		}
	}
	return since
}

// Tell keeps in step what becomes true with time alone: that an event has not come, that the address is closed for long.
// It is called now and then.
func (r *Service) Tell() {
	r.tellMissed()
	r.tellAddress()
}

// Heard is called for every event that was handled: the service does report to this computer, or did when it came.
func (r *Service) Heard(e esign.Event, received time.Time) {
	explains := e.PackageID
	if e.Action == esign.PackageAdd || e.Action == esign.PackageSent { // nobody's signature is found before these
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

// tellMissed notes and says in health that the service does not report to this computer any more. From then on the
// service is asked more often, as without a public address. Where an office has chosen to have none, nothing is missed; what
// was lost before is said again once it has one.
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

// recallMissed remembers what an earlier run knew.
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

// Deaf is true while no events can be expected. It may be called within a commit, as ListeningSince may.
func (r *Service) Deaf() bool {
	if since, desk := r.Office.ListeningSince(); desk {
		return since.IsZero()
	}
	return r.registered() == nil || r.lost()
}
