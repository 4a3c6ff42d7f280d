package agent

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

// ringOf is a keyring that can be locked, and whose key can be taken away.
type ringOf struct {
	mu     sync.Mutex
	keeper secret.Keeper
	locked bool
	reason secret.Reason // why it is out of reach; locked when empty
	prompt chan struct{} // closed when a person answers its question, if it asks one
}

func (r *ringOf) Load(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, r.outOfReach()
	}
	return r.keeper.Load(ctx)
}

func (r *ringOf) Create(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, r.outOfReach()
	}
	return r.keeper.Create(ctx)
}

// outOfReach is what it says while it is locked. mu is held.
func (r *ringOf) outOfReach() error {
	return &secret.UnavailableError{Reason: cmp.Or(r.reason, secret.Locked), Answered: r.prompt}
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
	if err := o.Act(t.Context(), *o.issue("keyring")); err == nil || Message(err).String() == "" {
		t.Errorf("unlocked a locked keyring: %v", err)
	}
	answer := &recorder{header: http.Header{}}
	o.webhook.ServeEvent(answer, &http.Request{Method: http.MethodPost})
	if answer.status != http.StatusServiceUnavailable || answer.header.Get("Retry-After") == "" {
		t.Errorf("an event was answered %d %v", answer.status, answer.header)
	}
	signAll(o, id)
	ring.turn(false)
	noErr(t, o.Act(t.Context(), Issue{ID: "keyring", Action: ActUnlock}))
	o.eventually("everything continues", func() bool {
		return o.Status().Packages.Saved == 1 && o.Status().Tunnel.State == "up" && o.issue("keyring") == nil
	})
}

// TestAnAnswerToTheKeyringsOwnQuestionIsAllItTakes: nobody has to come back and press a button.
func TestAnAnswerToTheKeyringsOwnQuestionIsAllItTakes(t *testing.T) {
	o, ring := officeWithRing(t)
	o.stop()
	ring.turn(true)
	ring.reason, ring.prompt = secret.TimedOut, make(chan struct{})
	o.adjustPace(time.Hour) // a person unlocks, not the clock
	o.open()
	o.run()
	if o.issue("keyring") == nil {
		t.Fatalf("health: %+v", o.Status().Health)
	}
	ring.turn(false)
	close(ring.prompt)
	o.eventually("everything continues", func() bool { return o.Status().Tunnel.State == "up" && o.issue("keyring") == nil })
}

// TestAKeyringThatIsUnlockedAsTheComputerWakesUpIsFoundAtOnce: people unlock it when they sign in to the computer.
func TestAKeyringThatIsUnlockedAsTheComputerWakesUpIsFoundAtOnce(t *testing.T) {
	ring, c := &ringOf{keeper: secret.Memory()}, &wallClock{}
	o := newOfficeWith(t, func(p *Params) { quick(p); p.Keeper, p.Now = ring, c.now }, sandbox.Options{Now: c.now})
	o.stop()
	ring.turn(true)
	o.adjustPace(time.Hour) // waking up unlocks, not the next try
	o.open()
	o.run()
	if o.issue("keyring") == nil {
		t.Fatalf("health: %+v", o.Status().Health)
	}
	ring.turn(false)
	o.eventually("everything continues", func() bool {
		o.wake(c, 9*time.Hour) // again, where nobody watches the clock yet
		return o.Status().Tunnel.State == "up" && o.issue("keyring") == nil
	})
}

// TestUnlockIsOfferedOnlyWhereThereIsSomethingToUnlock also presses what is offered: first in vain, then once the keyring
// is there.
func TestUnlockIsOfferedOnlyWhereThereIsSomethingToUnlock(t *testing.T) {
	for reason, want := range map[secret.Reason]Action{
		secret.Locked: ActUnlock, secret.Refused: ActUnlock,
		secret.NoBus: ActRetry, secret.NoService: ActRetry, secret.TimedOut: ActRetry, secret.Malformed: ActRetry,
		secret.Unreadable: ActRetry, secret.TooOpen: ActRetry, secret.NotKept: ActRetry, secret.Conflict: ActRetry,
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			ring := &ringOf{keeper: secret.Memory(), locked: true, reason: reason}
			a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: ring})
			noErr(t, err)
			defer a.Close()
			issues := must(a.Status()).Health
			if len(issues) == 0 || issues[0].ID != "keyring" || issues[0].Action != want {
				t.Fatalf("offered: %+v, want %q", issues, want)
			}
			if err := a.Act(t.Context(), issues[0]); err == nil {
				t.Error("pressed in vain, and nobody is told")
			}
			ring.turn(false)
			if err := a.Act(t.Context(), issues[0]); err != nil {
				t.Error(err)
			}
			if left := must(a.Status()).Health; slices.ContainsFunc(left, func(i Issue) bool { return i.ID == "keyring" }) {
				t.Errorf("it is there again, but health is %+v", left)
			}
		})
	}
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
	noErr(t, o.Configure(t.Context(), o.Settings(), office.Secrets{ClientSecret: sandbox.DemoClient().Secret}))
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("everything continues", func() bool { return o.Status().Packages.Saved == 1 && o.issue("keyring-replaced") == nil })
}
