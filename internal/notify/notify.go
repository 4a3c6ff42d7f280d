package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// limit is how long Notify waits for the desktop.
const limit = 5 * time.Second

// The longest texts shown, in characters. Desktops cut at about the same; a cut of our own ends in an ellipsis.
const (
	maxTitle = 100
	maxBody  = 400
)

// ErrBusy means that an earlier notification still hangs in the desktop; this one was dropped.
var ErrBusy = errors.New("the desktop has not taken the last notification yet")

// ErrTimeout means that the desktop did not answer in time. The notification may still appear.
var ErrTimeout = errors.New("the desktop did not take the notification in time")

// ErrClosed means that the Notifier was closed.
var ErrClosed = errors.New("notifications are closed")

// Options are what a Notifier needs.
type Options struct {
	App  string       // the program's name as people know it
	Icon []byte       // PNG, may be nil; it is shown at 64 pixels or less
	Log  *slog.Logger // nil logs nothing. Texts of notifications are never logged

	// Raise shows a text that is harmless already, in place of the desktop. Nil means the desktop.
	Raise func(title, body string) error
}

// Notifier raises notifications. Its methods may be called from several goroutines; one notification is raised at a time,
// on a goroutine that the slot belongs to until the desktop has answered.
type Notifier struct {
	raise   func(ctx context.Context, title, body string) error
	release func()
	log     *slog.Logger
	slot    chan struct{} // holds one token while a notification is being raised
	closed  chan struct{}
	once    sync.Once

	mu    sync.Mutex
	stuck bool // whoever holds the slot has run out of time
}

// New prepares a Notifier. It does not talk to the desktop yet.
func New(o Options) *Notifier {
	n := &Notifier{log: o.Log, release: func() {}, slot: make(chan struct{}, 1), closed: make(chan struct{})}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	if o.Raise != nil {
		n.raise = func(_ context.Context, title, body string) error { return o.Raise(title, body) }
		return n
	}
	d := newDesktop(o.App, o.Icon, n.log)
	n.raise, n.release = d.raise, d.close
	return n
}

// Notify shows a notification, made harmless and cut to size. It returns when the desktop has taken it, and after five
// seconds at the latest. ErrBusy and ErrTimeout tell of a desktop that hangs; any other error, that it shows none.
func (n *Notifier) Notify(title, body string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	if err := n.take(ctx); err != nil {
		cancel()
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- n.show(ctx, title, body)
		n.give()
	}()
	select {
	case err := <-done:
		return err
	case <-n.closed:
		return ErrClosed
	case <-ctx.Done():
	}
	return n.late(done)
}

// show raises one notification; what panics in a desktop library is an error like any other.
func (n *Notifier) show(ctx context.Context, title, body string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("raise a notification: %v", p)
		}
	}()
	if err := n.raise(ctx, Harmless(title, maxTitle), Harmless(body, maxBody)); err != nil {
		return fmt.Errorf("raise a notification: %w", err)
	}
	return nil
}

// take waits for the slot, but not behind one that hangs.
func (n *Notifier) take(ctx context.Context) error {
	n.mu.Lock()
	stuck := n.stuck
	n.mu.Unlock()
	if stuck {
		return ErrBusy
	}
	select {
	case <-n.closed:
		return ErrClosed
	default:
	}
	select {
	case n.slot <- struct{}{}:
		return nil
	case <-n.closed:
		return ErrClosed
	case <-ctx.Done():
		return ErrBusy
	}
}

// give frees the slot.
func (n *Notifier) give() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stuck = false
	<-n.slot
}

// late settles a call whose time is up: the answer may have come at the same moment.
func (n *Notifier) late(done <-chan error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case err := <-done:
		return err
	default:
	}
	n.stuck = true
	n.log.Warn("the desktop does not take notifications")
	return ErrTimeout
}

// Close ends the connection to the desktop, which also ends a call that waits for it. Notify fails from then on. It
// may be called more than once.
func (n *Notifier) Close() error {
	n.once.Do(func() {
		close(n.closed)
		n.release()
	})
	return nil
}
