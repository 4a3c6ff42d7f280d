// Package env is what every screen shares, apart from its office: background work, the clock, the system's openers, messages to the
// person. It holds no widgets and decides nothing.
package env

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/system"
)

// System opens things outside the program. Its methods may be called from any goroutine and return at once, except Exists, which may
// have to wait for a disk, OpenAddress, which waits some seconds for a browser or until ctx ends, and Choose, which waits for the
// person.
type System interface {
	Exists(path string) bool
	OpenAddress(ctx context.Context, address string) error // https, http and mailto only
	OpenFile(ctx context.Context, path string) error       // a file or folder, with its default program
	ShowInFolder(ctx context.Context, path string) error   // the file's folder, with the file selected if possible
	Choose(ctx context.Context, d system.FileDialog) (paths []string, err error)

	CopyFiles(ctx context.Context, paths []string) error // to the clipboard, as files; these three may take seconds
	MailFiles(ctx context.Context, m system.Mail) error  // attached to a new mail
	PrintFiles(ctx context.Context, paths []string) error
}

// Autostart controls whether the program starts with the computer. Its methods may take a moment.
type Autostart interface {
	Enabled() (bool, error)
	Set(on bool) error
}

// Env is handed to every screen. All fields but Autostart are set.
type Env struct {
	System  System
	Work    *async.Pool
	Now     func() time.Time // also determines the time zone on screen
	Country string           // the system's country, for example "GB"; empty if unknown
	Window  fyne.Window      // for dialogs and focus
	Notice  func(text string)
	Copy    func(text string)                  // to the clipboard
	Later   func(d time.Duration, over func()) // calls over on the UI goroutine after d
	Soon    func(Undoable) (over func())       // shows for some seconds what was pressed, with a button to undo it, until over is called
	Go      Navigator

	Autostart Autostart // nil if the program cannot start with the computer
}

// Undoable is an action that a person has started and can undo for some seconds. The office already knows of it and runs it
// afterwards.
type Undoable struct {
	Says   string    // what will be, or was, done, and to what
	Undone func()    // makes the office undo it
	Since  time.Time // when the office began to wait, if that is a while ago
}

type Navigator interface {
	ShowPackage(id string)
	ShowList(id string)      // what became of the lines of a list that was sent, from Activity
	ShowForOK(folder string) // what a watched folder asks about
	ShowSettings()
	ShowCompose()
	ShowStep(step message.Message)                  // shows where a check's part is set up, or its results
	SendLike(draft office.NewPackage, begun func()) // starts a new package filled in like an earlier one; begun, which may be nil, is called then
	EditDraft(draft office.Draft)                   // opens a draft for editing
	Act(issue agent.Issue, done func())             // performs an issue's action; done, which may be nil, is called afterwards
	SignIn(prompt string)                           // starts a sign-in in the browser; prompt as in agent.SignInOptions
	SignOut()
	Quit() // quits the program
}

// OpenAddress, OpenFile and ShowInFolder open something in the background and tell the person if that fails, even some seconds
// later. An address that no browser shows is copied.
func (d *Env) OpenAddress(address string) {
	d.Browse(address, func(err error) {
		if !errors.Is(err, system.ErrNoBrowser) {
			d.tell(err)
			return
		}
		d.Copy(address)
		d.Notice(lang.L("No browser could be opened. The link was copied: paste it into a browser."))
	})
}
func (d *Env) OpenFile(path string)     { d.open(d.System.OpenFile, path, d.tell) }
func (d *Env) ShowInFolder(path string) { d.open(d.System.ShowInFolder, path, d.tell) }

// Browse opens an address in the background and passes on the result: nil, or a sentence asking the person to open it instead. From
// another goroutine, call it through Work.Do.
func (d *Env) Browse(address string, then func(error)) { d.open(d.System.OpenAddress, address, then) }

func (d *Env) open(with func(context.Context, string) error, what string, then func(error)) {
	async.Try(d.Work, func(ctx context.Context) error { return with(ctx, what) }, func(err error) {
		if !errors.Is(err, context.Canceled) {
			then(err)
		}
	})
}

// Attempt lets the office act in the background, tells the person if that fails, and calls done, which may be nil, in either case.
func (d *Env) Attempt(act func(context.Context) error, done func()) {
	async.Try(d.Work, act, func(err error) {
		d.tell(err)
		if done != nil {
			done()
		}
	})
}

// Do lets the office act in the background and calls then, or tells the person why it failed.
func (d *Env) Do(act func(context.Context) error, then func()) {
	Get(d, func(ctx context.Context) (struct{}, error) { return struct{}{}, act(ctx) }, func(struct{}) { then() })
}

// InTime lets the office undo something in the background, tells the person if that fails or tooLate if it could not any more, and
// then calls done.
func (d *Env) InTime(undo func() (inTime bool, err error), tooLate string, done func()) {
	async.Then(d.Work, func(context.Context) (bool, error) { return undo() }, func(inTime bool, err error) {
		if d.tell(err); err == nil && !inTime {
			d.Notice(tooLate)
		}
		done()
	})
}

// Get reads something in the background and passes it to use, or tells the person why it failed.
func Get[T any](d *Env, read func(context.Context) (T, error), use func(T)) {
	async.Then(d.Work, read, func(found T, err error) {
		if d.tell(err); err == nil {
			use(found)
		}
	})
}

func (d *Env) tell(err error) {
	if err != nil {
		d.Notice(i18n.Error(err))
	}
}

// Problems returns the issues that need a person, for which the status is marked, in the agent's order: by severity, then oldest
// first. Infos need nobody.
func Problems(issues []agent.Issue) []agent.Issue {
	return slices.DeleteFunc(slices.Clone(issues), func(i agent.Issue) bool { return i.Severity == agent.Info })
}

// Problem returns the gravest issue, and the number of others.
func Problem(issues []agent.Issue) (worst agent.Issue, others int) {
	list := Problems(issues)
	if len(list) == 0 {
		return worst, 0
	}
	return list[0], len(list) - 1
}

// Mailto returns the address of a mail to write in the mail program (RFC 6068); to may be empty. Spaces and line ends are
// percent-encoded, not form-encoded.
func Mailto(to, subject, text string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	to = strings.ReplaceAll(escape(to), "%40", "@")
	return "mailto:" + to + "?subject=" + escape(subject) + "&body=" + escape(strings.ReplaceAll(text, "\n", "\r\n"))
}

// Handle returns a window's native handle, or 0 if there is none (Wayland, macOS, tests).
func Handle(w fyne.Window) (id uintptr) {
	native, ok := w.(driver.NativeWindow)
	if !ok {
		return 0
	}
	native.RunNative(func(context any) {
		switch c := context.(type) {
		case driver.X11WindowContext:
			id = c.WindowHandle
		case driver.WindowsWindowContext:
			id = c.HWND
		}
	})
	return id
}
