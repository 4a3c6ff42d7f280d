package agent

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

// ringOf is a keyring that can be locked, and whose key can be taken away.
type ringOf struct {
	mu     sync.Mutex
	keeper secret.Keeper
	locked bool
}

func (r *ringOf) Load(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, &secret.UnavailableError{Reason: secret.Locked}
	}
	return r.keeper.Load(ctx)
}

func (r *ringOf) Create(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, &secret.UnavailableError{Reason: secret.Locked}
	}
	return r.keeper.Create(ctx)
}

// turn locks or unlocks it.
func (r *ringOf) turn(locked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = locked
}

// swap puts another keyring in its place and returns the one before.
func (r *ringOf) swap(next secret.Keeper) secret.Keeper {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.keeper
	r.keeper = next
	return old
}

// officeWithRing is an office whose address an own proxy leads to, so that events arrive while the key is out of reach.
func officeWithRing(t *testing.T) (*testOffice, *ringOf) {
	ring := &ringOf{keeper: secret.Memory()}
	o := newOfficeWith(t, func(p *Params) { quick(p); p.Keeper = ring }, sandbox.Options{RetryMax: 100 * time.Millisecond})
	return o, ring
}

func TestALockedKeyringLosesNothing(t *testing.T) {
	o, ring := officeWithRing(t)
	id := o.send()
	o.stop()
	ring.turn(true)
	o.adjustPace(time.Hour) // a person unlocks, not the clock
	o.open()
	o.run()
	if i := o.issue("keyring"); i == nil || i.Action != ActUnlock {
		t.Fatalf("health: %+v", o.Status().Health)
	}
	if err := o.Act(t.Context(), *o.issue("keyring")); err == nil || Sentence(err) == "" {
		t.Errorf("unlocked a locked keyring: %v", err)
	}
	answer := &recorder{header: http.Header{}}
	o.serveEvent(answer, &http.Request{Method: http.MethodPost})
	if answer.status != http.StatusServiceUnavailable || answer.header.Get("Retry-After") == "" {
		t.Errorf("an event was answered %d %v", answer.status, answer.header)
	}
	signAll(o, id)
	ring.turn(false)
	if err := o.Act(t.Context(), Issue{ID: "keyring", Action: ActUnlock}); err != nil {
		t.Fatal(err)
	}
	o.eventually("everything continues", func() bool {
		return o.Status().Packages.Saved == 1 && o.Status().Tunnel.State == "up" && o.issue("keyring") == nil
	})
}

// adjustPace makes the next agent try the keyring after d.
func (o *testOffice) adjustPace(d time.Duration) {
	adjust := o.adjust
	o.adjust = func(p *Params) {
		adjust(p)
		p.Pace.Retry = d / 30
	}
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }

func TestAKeyringThatComesLaterIsFound(t *testing.T) {
	o, ring := officeWithRing(t)
	id := o.send()
	o.stop()
	ring.turn(true)
	o.open()
	o.run()
	signAll(o, id)
	ring.turn(false)
	o.eventually("everything continues", func() bool { return o.Status().Packages.Saved == 1 && len(o.Status().Health) == 0 })
}

func TestALostKeyIsToldUntilItIsMendedAndDestroysNothing(t *testing.T) {
	o, ring := officeWithRing(t)
	o.send()
	old := ring.swap(secret.Memory())
	for range 2 { // also with the start after
		o.restart()
		if i := o.issue("keyring-replaced"); i == nil {
			t.Fatalf("health: %+v", o.Status().Health)
		}
		if n := o.Status().Packages.Total; n != 1 {
			t.Errorf("%d packages", n)
		}
	}
	ring.swap(old)
	o.restart()
	o.eventually("the key that came back opens everything", func() bool {
		return o.issue("keyring-replaced") == nil && o.Status().SignedIn && o.status(t.Context(), o.Lines()[0].ID) == nil
	})
}

func TestALostKeyIsMendedByEnteringTheSecretAndSigningIn(t *testing.T) {
	o, ring := officeWithRing(t)
	id := o.send()
	signAll(o, id)
	o.stop()
	ring.swap(secret.Memory())
	o.open()
	o.run()
	if err := o.Configure(t.Context(), o.Settings(), Secrets{ClientSecret: sandbox.DemoClient().Secret}); err != nil {
		t.Fatal(err)
	}
	if err := o.SignIn(t.Context(), SignInOptions{}, visit); err != nil {
		t.Fatal(err)
	}
	o.eventually("everything continues", func() bool { return o.Status().Packages.Saved == 1 && o.issue("keyring-replaced") == nil })
}
