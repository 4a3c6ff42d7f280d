package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

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

// endpoints are the current registration and those before it. Safe for concurrent use.
type endpoints struct {
	mu      sync.Mutex
	current *endpoint
	former  []endpoint    // newest first
	pending chan struct{} // while a registration is under way: closed when it is over
	unsure  bool          // a registration was sent, and what became of it is not known

	changing chan struct{}      // holds one value while a change is under way at the service: one at a time, in order
	cancel   context.CancelFunc // ends that change early; nil while there is none
}

// change waits until no other change is under way; done ends this one, and a takeOver ends its context.
func (e *endpoints) change(ctx context.Context) (_ context.Context, done func(), err error) {
	select {
	case e.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	e.mu.Lock()
	e.cancel = cancel
	e.mu.Unlock()
	return ctx, func() {
		cancel()
		e.mu.Lock()
		e.cancel = nil
		e.mu.Unlock()
		<-e.changing
	}, nil
}

// takeOver is change that does not wait for a service that hangs.
func (e *endpoints) takeOver(ctx context.Context) (done func(), err error) {
	e.mu.Lock()
	cancel := e.cancel
	e.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	_, done, err = e.change(ctx)
	return done, err
}

// load reads the registrations that are kept of issuer i.
func (e *endpoints) load(keys Vault, i issuer.Name, now time.Time) error {
	var current *endpoint
	var former []endpoint
	if b, err := keys.Get(issuer.Endpoint.Of(i)); err != nil {
		return err
	} else if b != nil {
		if err := json.Unmarshal(b, &current); err != nil {
			return fmt.Errorf("read the endpoint: %w", err)
		}
	}
	b, err := keys.Get(issuer.FormerEndpoints.Of(i))
	if err != nil {
		return err
	}
	if b != nil {
		if err := json.Unmarshal(b, &former); err != nil {
			return fmt.Errorf("read the former endpoints: %w", err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current, e.former = current, stillValid(former, now)
	return nil
}

func (e *endpoints) get() (current *endpoint) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current
}

// valid returns the pairs that verify an event now.
func (e *endpoints) valid(now time.Time) []inbox.Key {
	e.mu.Lock()
	defer e.mu.Unlock()
	var keys []inbox.Key
	if e.current != nil {
		keys = append(keys, e.current.key())
	}
	for _, x := range stillValid(e.former, now) {
		keys = append(keys, x.key())
	}
	return keys
}

// formerAfter are the registrations that count beside the next one, once that (or none) is the current one.
func (e *endpoints) formerAfter(now time.Time) []endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	former := stillValid(e.former, now)
	if e.current == nil {
		return former
	}
	last := *e.current
	last.Until = now.Add(previousLife)
	return append([]endpoint{last}, former[:min(len(former), maxFormer-1)]...)
}

// follow makes current (nil for none) and former what counts, once they are on disk.
func (e *endpoints) follow(current *endpoint, former []endpoint, unsure bool) {
	e.mu.Lock()
	e.current, e.former = current, former
	e.mu.Unlock()
	e.settle(unsure)
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
	for {
		err := r.Register(ctx, false)
		pause := time.Hour
		if err != nil && ctx.Err() == nil {
			tries++
			longest := 5 * time.Minute
			var e *esign.Error
			if errors.As(err, &e) && !e.Temporary() && !loop.ConcernsAll(err) {
				longest = time.Hour // a "no" is about now: it slows down, but does not begin slow
			}
			pause = r.PauseAfter(err, tries, longest)
			r.Log.Warn("register the webhook endpoint", "err", err, "again_in", pause)
		} else {
			tries = 0
		}
		if !loop.Wait(ctx, pause, r.wakeEndpoint) {
			return nil
		}
	}
}

// Register registers the public address if that is needed and possible now; force registers it even if it seems
// to be registered already, to take it back from another computer.
func (r *Service) Register(ctx context.Context, force bool) error {
	ctx, done, err := r.endpoints.change(ctx)
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
	case s.Tunnel == office.TunnelNone:
		r.Health.Clear(health.EndpointFails)
		if s.Configured() {
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
		r.endpointForbidden()
		return nil
	}
	want := webhookURL(s, t.URL)
	old := r.endpoints.get()
	if !force && old != nil && old.Asked == want && old.ClientID == s.ClientID && old.Secret != "" && !r.unsure() {
		r.Health.Clear(health.EndpointFails)
		return nil
	}
	if r.missed.lost() && old != nil && !force && !r.unsure() {
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
		r.Answered(ctx, err)
		if ctx.Err() == nil {
			r.tellEndpoint(err)
		}
		return err
	}
	r.Answered(ctx, nil)
	return r.adopt(issuer.Of(s), endpoint{
		ID: answer.ID, URL: answer.URL, Secret: answer.Secret,
		Asked: want, ClientID: s.ClientID, Service: client.Home(), Registered: r.Now(),
	})
}

// tellEndpoint says in health why there is no endpoint.
func (r *Service) tellEndpoint(err error) {
	var e *esign.Error
	switch {
	case loop.ConcernsAll(err), r.SignedOut(err): // said elsewhere
	case errors.As(err, &e) && (e.Kind == esign.Forbidden || e.Kind == esign.SignedOut):
		r.endpointForbidden()
	default:
		r.Health.Set(health.EndpointFails, esign.Message(err))
	}
}

func (r *Service) endpointForbidden() {
	r.Health.Set(health.EndpointForbidden, message.MayNotReceive())
}

// adopt makes x the current endpoint: on disk, and then in memory. Its events may already be on their way; they
// wait until it is known, see ServeEvent.
func (r *Service) adopt(i issuer.Name, x endpoint) error {
	former := r.endpoints.formerAfter(r.Now())
	values, err := sealed(i, &x, former)
	if err == nil {
		err = r.Vault.Put(values, forget)
	}
	if err != nil {
		r.endpoints.settle(true) // the service signs with a secret that is lost
		return fmt.Errorf("keep the endpoint: %w", err)
	}
	r.endpoints.follow(&x, former, false)
	r.Health.Clear(health.EndpointFails)
	r.startOver()
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

// forget records, with a registration, that nothing is unsure about it and nothing lost.
func forget(tx *store.Tx) error {
	return errors.Join(tx.PutDoc(docPending, nil), tx.PutDoc(docLost, nil))
}

// startOver forgets what was missed: it says nothing about a registration that is new.
func (r *Service) startOver() {
	r.missed.end()
	r.Health.Clear(health.EndpointLost)
}

// Endpoint is the current registration; id is empty when there is none.
func (r *Service) Endpoint() (id, url string, at time.Time) {
	if e := r.endpoints.get(); e != nil {
		return e.ID, e.URL, e.Registered
	}
	return "", "", time.Time{}
}
