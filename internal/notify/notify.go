package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"countersign/internal/office"
)

// limit is how long Notify waits for the desktop.
const limit = 5 * time.Second

// The longest texts shown, in characters. Desktops cut at about the same; a cut of our own ends in an ellipsis.
const (
	maxTitle = 100
	maxBody  = 400
	maxLabel = 40
)

// ErrBusy means that an earlier notification still hangs in the desktop; this one was dropped.
var ErrBusy = errors.New("the desktop has not taken the last notification yet")

// ErrTimeout means that the desktop did not answer in time. The notification may still appear.
var ErrTimeout = errors.New("the desktop did not take the notification in time")

var ErrClosed = errors.New("notifications are closed")

// Options are what a Notifier needs.
type Options struct {
	App  string       // the program's name as people know it
	Icon []byte       // PNG, may be nil; desktops show it small
	Log  *slog.Logger // nil logs nothing. Texts of notifications are never logged

	// IconFile is where a desktop that shows a picture from a file finds the icon; it is written there, and stays. Windows
	// is such a desktop. Empty for none.
	IconFile string

	// Raise shows texts that are sanitized already, in place of the desktop. Nil means the desktop.
	Raise func(office.Notice) error
}

// Notifier raises notifications. Its methods may be called from several goroutines; one notification is raised at a time,
// on a goroutine that the slot belongs to until the desktop has answered.
type Notifier struct {
	raise   func(context.Context, office.Notice) error
	release func()
	log     *slog.Logger
	slot    chan struct{} // holds one token while a notification is being raised
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	pressed func(office.Click) // may be nil
}

// New prepares a Notifier. It does not talk to the desktop yet.
func New(o Options) *Notifier {
	n := &Notifier{log: o.Log, release: func() {}, slot: make(chan struct{}, 1), closed: make(chan struct{})}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	if o.Raise != nil {
		n.raise = func(_ context.Context, notice office.Notice) error { return o.Raise(notice) }
		return n
	}
	d := newDesktop(o, n.log, n.press)
	n.raise, n.release = d.raise, d.close
	return n
}

// OnClick sets what is told of each press on a notification that was raised here, on a goroutine of its own.
func (n *Notifier) OnClick(pressed func(office.Click)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pressed = pressed
}

// press passes one on, unless it is too late. What somebody does about it may take its time.
func (n *Notifier) press(p office.Click) {
	n.mu.Lock()
	pressed := n.pressed
	n.mu.Unlock()
	select {
	case <-n.closed:
		return
	default:
	}
	if pressed != nil {
		go pressed(p)
	}
}

// Notify shows a notification, sanitized and cut to size. It returns when the desktop has taken it, and after five
// seconds at the latest. ErrBusy and ErrTimeout tell of a desktop that hangs; any other error, that it shows none.
func (n *Notifier) Notify(notice office.Notice) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel() // here: ended by what has shown it, it would look like one that ran out of time
	if err := n.take(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		done <- n.show(ctx, notice)
		<-n.slot
	}()
	select {
	case err := <-done:
		return err
	case <-n.closed:
		return ErrClosed
	case <-ctx.Done():
		n.log.Warn("the desktop does not take notifications")
		return ErrTimeout
	}
}

// show raises one notification; what panics in a desktop library is an error like any other.
func (n *Notifier) show(ctx context.Context, notice office.Notice) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("raise a notification: %v", p)
		}
	}()
	notice.Title, notice.Body = Sanitize(notice.Title, maxTitle), Sanitize(notice.Body, maxBody)
	notice.Buttons = slices.Clone(notice.Buttons)
	for i := range notice.Buttons {
		notice.Buttons[i].Label = Sanitize(notice.Buttons[i].Label, maxLabel)
	}
	if err := n.raise(ctx, notice); err != nil {
		return fmt.Errorf("raise a notification: %w", err)
	}
	return nil
}

// take waits for the slot.
func (n *Notifier) take(ctx context.Context) error {
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

// Close ends the connection to the desktop, which also ends a call that waits for it. Notify fails from then on. It
// may be called more than once.
func (n *Notifier) Close() error {
	n.once.Do(func() {
		close(n.closed)
		n.release()
	})
	return nil
}
