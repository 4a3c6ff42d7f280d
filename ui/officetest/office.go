// Package officetest is an office made of values, for tests of the window and for viewing it. It behaves like the agent as far as
// the window can tell: it remembers settings, notifies watchers, and sends and signs in on request.
package officetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
)

// Office is the office. Its exported fields may be changed before it is handed over, later only through Change.
type Office struct {
	mu       sync.Mutex
	watchers map[chan office.Change]bool
	paste    chan string
	passed   []func() // waits for Pass

	Unread  error // why nothing can be read; nil if it can
	Patient bool  // actions wait for Pass instead of running at once
	State   agent.Status
	Quiet   time.Time // notifications are paused until then
	Steps   []office.Check
	Lacks   []string // what the service lacks: "templates", "withdrawals", "links"; or the paths of originals

	On   map[string]func() error // by method: runs before its work, and may fail it
	Done []string                // what was requested, such as "check" or "cancel d1"

	settings
	packages
	outbox
	events
	updates
}

// Fail makes a method fail from now on, or work again with nil.
func (o *Office) Fail(method string, err error) { o.Do(method, func() error { return err }) }

// Do makes a method call do first, and fail if that does.
func (o *Office) Do(method string, do func() error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.On == nil {
		o.On = map[string]func() error{}
	}
	o.On[method] = do
}

// first runs what a method must run first.
func (o *Office) first(method string) error {
	if do := read(o, func() func() error { return o.On[method] }); do != nil {
		return do()
	}
	return nil
}

func (o *Office) note(kind office.Change, what ...any) {
	o.Change(kind, func(o *Office) { o.Done = append(o.Done, strings.TrimSuffix(fmt.Sprintln(what...), "\n")) })
}

// Asked returns how often something was requested.
func (o *Office) Asked(what string) (n int) {
	return read(o, func() int {
		for _, done := range o.Done {
			if done == what {
				n++
			}
		}
		return n
	})
}

// Change changes the office and notifies the watchers.
func (o *Office) Change(kind office.Change, change func(o *Office)) {
	o.mu.Lock()
	change(o)
	watchers := make([]chan office.Change, 0, len(o.watchers))
	for c := range o.watchers {
		watchers = append(watchers, c)
	}
	o.mu.Unlock()
	for _, c := range watchers {
		select {
		case c <- kind:
		default: // merged with the one waiting
		}
	}
}

func read[T any](o *Office, f func() T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return f()
}

// kept reads what the office stores on disk.
func kept[T any](o *Office, f func() T) (found T, err error) {
	if err := o.unread(); err != nil {
		return found, err
	}
	return read(o, f), nil
}

func (o *Office) unread() error { return read(o, func() error { return o.Unread }) }

// Status and the following methods imitate the agent's.
func (o *Office) Status() (agent.Status, error) {
	return read(o, func() agent.Status { return o.State }), o.unread()
}

func (o *Office) SignIn(ctx context.Context, how agent.SignInOptions, open func(string) error) error {
	pasted := make(chan string, 1)
	o.Change(office.StatusChanged, func(o *Office) { o.paste = pasted })
	o.note(office.StatusChanged, "sign in", how.Prompt)
	err := o.first("SignIn")
	if err == nil {
		err = open("https://sign.example.com/connect/authorize")
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pasted:
	}
	o.Change(office.StatusChanged, func(o *Office) {
		o.State.SignedIn, o.State.Account.Email = true, "office@example.com"
	})
	return nil
}

func (o *Office) Paste(address string) error {
	pasted := read(o, func() chan string { return o.paste })
	if pasted == nil {
		return message.Error(message.NotExpected(), nil)
	}
	if len(address) < 8 || address[:8] != "https://" {
		return message.Error(message.WrongAddress(), nil)
	}
	pasted <- address
	return nil
}

func (o *Office) SignOut(context.Context) error {
	o.Change(office.StatusChanged, func(o *Office) { o.State.SignedIn, o.State.Account = false, agent.Account{} })
	return nil
}

func (o *Office) Act(_ context.Context, issue agent.Issue) error {
	if err := o.first("Act"); err != nil {
		return err
	}
	o.note(office.StatusChanged, "act", issue.ID)
	o.Change(office.StatusChanged, func(o *Office) { o.State.Health = nil })
	return nil
}

func (o *Office) Watch() (<-chan office.Change, func()) {
	c := make(chan office.Change, 8)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watchers == nil {
		o.watchers = map[chan office.Change]bool{}
	}
	o.watchers[c] = true
	return c, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.watchers, c)
	}
}

// CheckNow imitates the agent's; it fails unless somebody is signed in.
func (o *Office) CheckNow() error {
	o.note(office.StatusChanged, "check")
	signedIn := read(o, func() bool { return o.State.SignedIn })
	o.Change(office.StatusChanged, func(o *Office) { o.State.Checking = signedIn })
	if !signedIn {
		return message.Error(message.NotSignedIn(), nil)
	}
	return nil
}

func (o *Office) Snooze(until time.Time) {
	o.Change(office.StatusChanged, func(o *Office) { o.Quiet = until })
}

func (o *Office) Snoozed() time.Time { return read(o, func() time.Time { return o.Quiet }) }

// Pass lets the time to undo elapse.
func (o *Office) Pass() {
	for _, do := range read(o, func() []func() { do := o.passed; o.passed = nil; return do }) {
		do()
	}
}

// undoable begins the time to undo. wait returns once Pass has let it elapse, or ctx ends.
func (o *Office) undoable() (wait func(context.Context) error) {
	passed := make(chan struct{})
	o.Change(office.OutboxChanged, func(o *Office) { o.passed = append(o.passed, func() { close(passed) }) })
	return func(ctx context.Context) error {
		select {
		case <-passed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Must returns a result that cannot fail.
func Must[T any](found T, err error) T {
	if err != nil {
		panic(err)
	}
	return found
}

// Must2 returns a result that exists and cannot fail.
func Must2[T any](found T, known bool, err error) T {
	if err != nil || !known {
		panic(fmt.Sprint("not found: ", err))
	}
	return found
}

// English loads the translations as if the system's language were English, because tests compare English texts. Call it in TestMain.
func English() error {
	return errors.Join(os.Setenv("LC_ALL", "C"), os.Setenv("LANG", "C"), os.Unsetenv("LANGUAGE"), i18n.Load())
}

func (o *Office) About() agent.About {
	return agent.About{Version: "1.0", DataDir: "/home/office/.config/countersign", LogFile: "/home/office/.config/countersign/logs/countersign.log"}
}

func (o *Office) NetworkPage() string { return "http://login.network.test/" }

func (o *Office) RecordState() (office.Record, error) {
	return office.Record{Size: 128, Line: "Countersign record: 128 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= 2026-11-28"}, o.first("RecordState")
}

func (o *Office) Verify(_ context.Context, paths []string, _ string, tell func(office.Verified) error) error {
	for i, path := range paths {
		v := office.Verified{Path: path, Known: office.KnownSaved, PackageID: "p1", Package: "Lease agreement", At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local), Seal: office.Seal{State: office.SealNone}}
		if i > 0 {
			v.Known = office.KnownDiffers
		}
		if err := tell(v); err != nil {
			return err
		}
	}
	return o.first("Verify")
}

func (o *Office) Diagnostics(context.Context) string { return "Countersign 1.0\n" }
