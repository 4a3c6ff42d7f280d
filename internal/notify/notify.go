// Package notify raises desktop notifications and is the only place that does.
//
// It promises:
//   - Text from outside is sanitized before it leaves this package, whichever way a desktop is reached: see [Sanitize].
//   - A hanging notification service delays nobody for more than five seconds, and costs at most one goroutine.
//   - Showing a notification starts no other program: no D-Bus daemon, and no shell if there is another way.
//
// On Linux it talks to the notification service over its own D-Bus connection: godbus's shared one, which the tray and the
// keyring use, would start a stray D-Bus daemon if there is none. It asks the service for its capabilities, because that is
// the only way to escape markup exactly once. On Windows it shows toasts; on macOS it uses beeep as it is.
//
// Where the desktop supports it, a notification has buttons, and a press on it or on one of them is reported
// ([Notifier.OnClick]). On Linux a press counts only if it comes from the service that showed the notification, and only in
// the run of the program that raised it. On Windows it may come from an earlier run, so the toast itself says what it is
// about, and the receiver checks whether that exists.
//
// It does not know what it tells and to whom, what was told before, or whether anyone looks: the caller ensures that there
// is one notification per fact.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"countersign/internal/message"
	"countersign/internal/office"

	"golang.org/x/text/unicode/norm"
)

// limit is how long Notify waits for the desktop.
const limit = 5 * time.Second

// The maximum lengths of texts, in characters. Desktops cut at about the same; our own cut ends in an ellipsis.
const (
	maxTitle = 100
	maxBody  = 400
	maxLabel = 40
)

// ErrBusy means that an earlier notification is still hanging in the desktop; this one was dropped.
var ErrBusy = errors.New("the desktop has not taken the last notification yet")

// ErrTimeout means that the desktop did not answer in time. The notification may still appear.
var ErrTimeout = errors.New("the desktop did not take the notification in time")

var ErrClosed = errors.New("notifications are closed")

type Options struct {
	App  string       // the program's name for people
	Icon []byte       // PNG, may be nil; desktops show it small
	Log  *slog.Logger // nil logs nothing; the texts of notifications are never logged

	// IconFile is where the icon is written for desktops, such as Windows, that show it from a file; it stays there. Empty
	// for none.
	IconFile string

	// Again are the arguments with which Windows starts the program when one is pressed while nothing runs.
	Again []string
}

// Notifier raises notifications. Its methods may be called from several goroutines. One notification is raised at a time, on
// a goroutine that holds the slot until the desktop has answered.
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
	n := &Notifier{log: o.Log, slot: make(chan struct{}, 1), closed: make(chan struct{})}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	d := newDesktop(o, n.log, n.press)
	n.raise, n.release = d.raise, d.close
	return n
}

// OnClick sets the function that is called, on its own goroutine, for each press on a notification raised here.
func (n *Notifier) OnClick(pressed func(office.Click)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pressed = pressed
}

// press reports a press, unless the Notifier is closed. The receiver may take its time.
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

// Notify shows a notification, sanitized and cut to size. It returns when the desktop has accepted it, after five seconds at
// the latest. ErrBusy and ErrTimeout mean that the desktop hangs; any other error means that it shows no notifications.
func (n *Notifier) Notify(notice office.Notice) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel() // deferred here: if show cancelled it, a success could look like a timeout
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

// show raises one notification. A panic in a desktop library becomes an error.
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

// Close closes the connection to the desktop, which also ends a pending call. Notify fails from then on. It may be called
// more than once.
func (n *Notifier) Close() error {
	n.once.Do(func() {
		close(n.closed)
		n.release()
	})
	return nil
}

// Sanitize turns text into one line of at most max characters (longer ones end in "…") that no desktop can take for anything
// but text:
//
//   - Control, bidirectional, zero-width and other invisible characters are removed; line ends and odd spaces become
//     spaces.
//   - Straight quotes, backticks and odd ones become ” and ’; quotation marks of our languages stay.
//   - The dollar sign becomes its wide form ＄, so that it starts no expression.
//   - The backslash becomes ∖: AppleScript unescapes the plain one.
//   - A leading hyphen becomes ‐, so that no command takes the text for an option.
//
// "<", ">" and "&" stay: only the code that shows the text knows whether they are markup.
func Sanitize(s string, max int) string {
	if max <= 0 {
		return ""
	}
	s = norm.NFC.String(strings.ToValidUTF8(s, ""))
	s = strings.Map(plain, s)
	s = strings.Join(strings.Fields(s), " ")
	if rest, found := strings.CutPrefix(s, "-"); found {
		s = "\u2010" + rest
	}
	return message.Shorten(norm.NFC.String(s), max)
}

func plain(r rune) rune {
	switch r {
	case '$', '\ufe69':
		return '＄'
	case '\\':
		return '∖'
	case '“', '”', '„', '«', '»', '‘', '’', '‚', '‹', '›':
		return r
	case '\'', '`', '\u00b4', '\u201b', '\u275b', '\u275c', '\u275f', '\uff07', '\uff40':
		return '’'
	case unicode.ReplacementChar:
		return -1
	}
	switch {
	case unicode.Is(unicode.Quotation_Mark, r), 0x275d <= r && r <= 0x2760:
		return '”'
	case unicode.IsSpace(r), unicode.Is(unicode.Z, r), r == '\u2800': // the empty Braille pattern
		return ' '
	case unicode.In(r, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	}
	return r
}

// escaped is for services that read markup in the body (Desktop Notifications Specification, "Markup").
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
