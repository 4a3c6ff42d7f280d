package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"countersign/internal/esign"
	"countersign/internal/inbox"
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
	Registered time.Time `json:"registered"`
	Until      time.Time `json:"until,omitzero"` // when it ceases to count; zero while it is current
}

// endpoints are the current registration and the one before it. Safe for concurrent use.
type endpoints struct {
	mu       sync.Mutex
	current  *endpoint
	previous *endpoint

	changing chan struct{} // holds one value while a change is under way at the service: one at a time, in order
}

// change waits until no other change is under way; done ends this one.
func (e *endpoints) change(ctx context.Context) (done func(), err error) {
	select {
	case e.changing <- struct{}{}:
		return func() { <-e.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *endpoints) load(keys *vault, now time.Time) error {
	current, err := readEndpoint(keys, sealedEndpoint)
	if err != nil {
		return err
	}
	previous, err := readEndpoint(keys, sealedPrevious)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current, e.previous = current, previous
	return nil
}

func readEndpoint(keys *vault, name string) (*endpoint, error) {
	b, err := keys.get(name)
	if err != nil || b == nil {
		return nil, err
	}
	var x endpoint
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("read the %s: %w", name, err)
	}
	return &x, nil
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
		keys = append(keys, inbox.Key{URL: e.current.URL, Secret: e.current.Secret})
	}
	if e.previous != nil && now.Before(e.previous.Until) {
		keys = append(keys, inbox.Key{URL: e.previous.URL, Secret: e.previous.Secret})
	}
	return keys
}

// runEndpoint registers the public address whenever it, the account or the client changed.
func (a *Agent) runEndpoint(ctx context.Context) error {
	tries := 0
	for {
		err := a.setEndpoint(ctx, false)
		pause := time.Hour
		if err != nil && ctx.Err() == nil {
			tries++
			pause = a.backoff(tries, 2*time.Second, 5*time.Minute)
			var e *esign.Error
			if errors.As(err, &e) {
				pause = max(pause, e.RetryAfter)
				if !e.Temporary() {
					pause = time.Hour
				}
			}
			a.log.Warn("register the webhook endpoint", "err", err, "again_in", pause)
		} else {
			tries = 0
		}
		if !wait(ctx, pause, a.rings.endpoint) {
			return nil
		}
	}
}

// setEndpoint registers the public address if that is needed and possible now; force registers it even if it seems
// to be registered already, to take it back from another computer.
func (a *Agent) setEndpoint(ctx context.Context, force bool) error {
	done, err := a.endpoints.change(ctx)
	if err != nil {
		return err
	}
	defer done()
	a.mu.Lock()
	s, t, acc := a.settings, a.tunnel, a.account
	a.mu.Unlock()
	client, online := a.online()
	switch {
	case s.Tunnel == TunnelNone:
		a.health.clear("endpoint")
		if s.Configured() {
			a.health.set("no-tunnel", Info, ActNone, "There is no public address, so signed documents are found by asking the service now and then; they arrive later.")
		}
		return nil
	case !online || t.State != "up":
		return nil
	}
	a.health.clear("no-tunnel")
	if !acc.may("organization") {
		a.endpointForbidden()
		return nil
	}
	want := webhookURL(s, t.URL)
	old := a.endpoints.get()
	if !force && old != nil && old.Asked == want && old.ClientID == s.ClientID && old.Secret != "" {
		a.health.clear("endpoint")
		return nil
	}
	answer, err := client.SetEndpoint(ctx, want)
	if err != nil {
		a.noteServiceError(err)
		var e *esign.Error
		if errors.As(err, &e) && e.Kind == esign.Forbidden {
			a.endpointForbidden()
		} else if !errors.Is(err, esign.ErrSignedOut) && ctx.Err() == nil {
			a.health.set("endpoint", Warning, ActRetry, esign.Sentence(err))
		}
		return err
	}
	a.noteServiceError(nil)
	return a.adoptEndpoint(endpoint{
		ID: answer.ID, URL: answer.URL, Secret: answer.Secret,
		Asked: want, ClientID: s.ClientID, Registered: a.now(),
	})
}

func (a *Agent) endpointForbidden() {
	a.health.set("endpoint", Warning, ActSignIn,
		"This account may not receive events for the organization; an administrator can. Signed documents are found by asking the service now and then; they arrive later.")
}

// adoptEndpoint makes x the current endpoint: first in memory, because its events may already be on their way,
// then on disk.
func (a *Agent) adoptEndpoint(x endpoint) error {
	e := &a.endpoints
	e.mu.Lock()
	if e.current != nil {
		previous := *e.current
		previous.Until = a.now().Add(previousLife)
		e.previous = &previous
	}
	e.current = &x
	previous := e.previous
	e.mu.Unlock()

	values := map[string][]byte{}
	for name, v := range map[string]*endpoint{sealedEndpoint: &x, sealedPrevious: previous} {
		if v == nil {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		values[name] = b
	}
	if err := a.keys.put(values); err != nil {
		return fmt.Errorf("keep the endpoint: %w", err)
	}
	a.health.clear("endpoint")
	a.silence.end()
	a.health.clear("endpoint-lost")
	a.record(store.Activity{Kind: "endpoint", Text: "The service now reports signatures to this computer."})
	a.watchers.signal(StatusChanged)
	return nil
}

// dropEndpoint waits for a registration that is under way, and the endpoint at the service, as far as it can be reached, and forgets it here. Events that
// are still on their way count for a little longer.
func (a *Agent) dropEndpoint(ctx context.Context, client *esign.Client) error {
	done, err := a.endpoints.change(ctx)
	if err != nil {
		return err
	}
	defer done()
	old := a.endpoints.get()
	if old == nil {
		return nil
	}
	err = client.DeleteEndpoint(ctx, old.URL)
	previous := *old
	previous.Until = a.now().Add(previousLife)
	b, jsonErr := json.Marshal(previous)
	if jsonErr != nil {
		return jsonErr
	}
	if putErr := a.keys.put(map[string][]byte{sealedEndpoint: nil, sealedPrevious: b}); putErr != nil {
		return putErr
	}
	a.endpoints.mu.Lock()
	a.endpoints.current, a.endpoints.previous = nil, &previous
	a.endpoints.mu.Unlock()
	return err
}
