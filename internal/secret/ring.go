package secret

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// ringTimeout limits all steps of one Load or Create together.
const ringTimeout = 3 * time.Second

// Keyring returns a Keeper for the entry (service, user) of the operating system's keyring: Secret Service on Linux,
// the Keychain on macOS, the Credential Manager on Windows. Load and Create answer within three seconds.
//
// A keyring may show a prompt and block until somebody answers it. Such a call continues in the background; its result is
// dropped, and [UnavailableError.Answered] says when to ask again. While a few calls hang, further ones wait for one to end
// (and time out) instead of adding prompts, and only one Create runs at a time: so a late write cannot replace a key that a
// later Create has stored. Use one Keeper per entry and process.
func Keyring(service, user string) Keeper {
	return newRing(osRing{service, user}, reachable, ringTimeout)
}

// entry is one entry of a keyring. Its methods may block for ever; get returns keyring.ErrNotFound if there is no entry.
type entry interface {
	get() (string, error)
	set(text string) error
	remove() error // likewise keyring.ErrNotFound
}

type osRing struct{ service, user string }

func (r osRing) get() (string, error)  { return keyring.Get(r.service, r.user) }
func (r osRing) set(text string) error { return keyring.Set(r.service, r.user, text) }
func (r osRing) remove() error         { return keyring.Delete(r.service, r.user) }

// Forget deletes the key in an entry of the keyring, for a person who also removes everything it sealed. A missing key is no
// error; ErrUnavailable means that it may still be there.
func Forget(ctx context.Context, service, user string) error {
	return newRing(osRing{service, user}, reachable, ringTimeout).forget(ctx)
}

type ring struct {
	entry     entry
	reachable func() error // nil, or why the keyring must not be called at all
	timeout   time.Duration
	loads     chan struct{} // slots for calls in flight, released when a call has really ended
	creates   chan struct{}

	mu       sync.Mutex
	answered chan struct{} // closed when an abandoned call has found a key
}

func newRing(e entry, reachable func() error, timeout time.Duration) *ring {
	return &ring{
		entry:     e,
		reachable: reachable,
		timeout:   timeout,
		loads:     make(chan struct{}, 3),
		creates:   make(chan struct{}, 1),
		answered:  make(chan struct{}),
	}
}

func (r *ring) Load(ctx context.Context) (Key, error) {
	return r.call(ctx, r.loads, func(context.Context) (Key, error) { return r.read() })
}

func (r *ring) Create(ctx context.Context) (Key, error) { return r.call(ctx, r.creates, r.create) }

func (r *ring) forget(ctx context.Context) error {
	_, err := r.call(ctx, r.creates, func(context.Context) (Key, error) {
		if err := r.entry.remove(); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return Key{}, &UnavailableError{Reason: classify(err), err: err}
		}
		return Key{}, nil
	})
	return err
}

func (r *ring) read() (Key, error) {
	text, err := r.entry.get()
	if errors.Is(err, keyring.ErrNotFound) {
		return Key{}, ErrAbsent
	}
	if err != nil {
		return Key{}, &UnavailableError{Reason: classify(err), err: err}
	}
	k, err := parseKey(text)
	if err != nil {
		return Key{}, &UnavailableError{Reason: Malformed, err: err}
	}
	return k, nil
}

// create stores a new key if there is none. ctx ends when nobody waits any more: then it must not write.
func (r *ring) create(ctx context.Context) (Key, error) {
	write := func(k Key) error {
		if err := ctx.Err(); err != nil {
			return &UnavailableError{Reason: TimedOut, err: err}
		}
		if err := r.entry.set(k.text()); err != nil {
			return &UnavailableError{Reason: classify(err), err: err}
		}
		return nil
	}
	return createWith(r.read, write, func(why Reason) error { return &UnavailableError{Reason: why} })
}

type answer struct {
	key Key
	err error
}

// call runs do on its own goroutine, in one of the slots, and waits for it until the time-out.
func (r *ring) call(ctx context.Context, slots chan struct{}, do func(context.Context) (Key, error)) (Key, error) {
	if err := r.reachable(); err != nil {
		return Key{}, &UnavailableError{Reason: classify(err), err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return Key{}, r.timedOut(ctx)
	}
	answers := make(chan answer)
	go func() {
		defer func() { <-slots }()
		a := guarded(ctx, do)
		select {
		case answers <- a:
		case <-ctx.Done():
			if a.err == nil { // after a refusal, asking again would only annoy
				r.tellAnswered()
			}
		}
	}()
	select {
	case a := <-answers:
		return a.key, a.err
	case <-ctx.Done():
		return Key{}, r.timedOut(ctx)
	}
}

func (r *ring) timedOut(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &UnavailableError{Reason: TimedOut, err: ctx.Err(), Answered: r.answered}
}

func (r *ring) tellAnswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.answered)
	r.answered = make(chan struct{})
}

// guarded turns a panic of do into an error: go-keyring trusts the service to answer with the right types, and dereferences
// nil if the connection breaks during a prompt.
func guarded(ctx context.Context, do func(context.Context) (Key, error)) (a answer) {
	defer func() {
		if value := recover(); value != nil {
			a = answer{err: &UnavailableError{Reason: Refused, err: fmt.Errorf("the keyring library failed: %v", value)}}
		}
	}()
	k, err := do(ctx)
	return answer{k, err}
}
