package secret

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// ringTimeout is how long a keyring may take, over all steps of one Load or Create.
const ringTimeout = 3 * time.Second

// Keyring returns a Keeper for the entry (service, user) of the operating system's keyring: Secret Service on Linux,
// the Keychain on macOS, the Credential Manager on Windows. Load and Create answer within three seconds.
//
// A keyring may show a prompt and block for as long as nobody answers it. Such a call goes on in the background; its
// answer is dropped, and [UnavailableError.Answered] says when it is worth asking again. While a few of them hang, further calls wait for one to end (and time out) instead of adding
// prompts, and Create never runs twice at a time: a late write can therefore not replace a key that a later Create
// has kept. Use one Keeper per entry and process.
func Keyring(service, user string) Keeper {
	return newRing(osRing{service, user}, reachable, ringTimeout)
}

// entry is one entry of a keyring. Its methods may block for ever; get returns keyring.ErrNotFound when there is no
// entry.
type entry interface {
	get() (string, error)
	set(text string) error
	remove() error // keyring.ErrNotFound likewise
}

type osRing struct{ service, user string }

func (r osRing) get() (string, error)  { return keyring.Get(r.service, r.user) }
func (r osRing) set(text string) error { return keyring.Set(r.service, r.user, text) }
func (r osRing) remove() error         { return keyring.Delete(r.service, r.user) }

// Forget deletes the key in an entry of the keyring, for a person who has all that it sealed removed as well. One that is not
// there is no error; ErrUnavailable says that it may still be there.
func Forget(ctx context.Context, service, user string) error {
	return newRing(osRing{service, user}, reachable, ringTimeout).forget(ctx)
}

type ring struct {
	entry     entry
	reachable func() error // nil, or why the keyring must not even be called
	timeout   time.Duration
	loads     chan struct{} // slots for calls in flight, given back when a call has really ended
	creates   chan struct{}

	mu       sync.Mutex
	answered chan struct{} // closed when a call that nobody waited for any more found a key
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

// create makes a key where there is none. ctx ends when nobody waits any more: then it must not write.
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

// call runs do on a goroutine of its own, in one of the slots, and waits for it no longer than the time-out.
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
			if a.err == nil { // after a no, asking again would only be a nuisance
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

// guarded runs do and survives its panic: go-keyring trusts the service to answer with the right types, and a
// connection that breaks during a prompt is a nil pointer in it.
func guarded(ctx context.Context, do func(context.Context) (Key, error)) (a answer) {
	defer func() {
		if value := recover(); value != nil {
			a = answer{err: &UnavailableError{Reason: Refused, err: fmt.Errorf("the keyring library failed: %v", value)}}
		}
	}()
	k, err := do(ctx)
	return answer{k, err}
}
