// Package env is what every screen works at, beside its office: slow work, the clock, the system's openers, a line to the
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

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/system"
)

// System opens things outside the program. Its methods may be called from any goroutine and return at once, but Exists,
// which may have to wait for a disk, OpenAddress, which waits some seconds for a browser, or until ctx ends, and Choose, which
// waits for the person.
type System interface {
	Exists(path string) bool
	OpenAddress(ctx context.Context, address string) error // https, http and mailto only
	OpenFile(ctx context.Context, path string) error       // a file or a folder, with the program meant for it
	ShowInFolder(ctx context.Context, path string) error   // the file's folder, with the file marked where the system can
	Choose(ctx context.Context, d system.FileDialog) (paths []string, err error)

	CopyFiles(ctx context.Context, paths []string) error // to the clipboard, as files; these three may take seconds
	MailFiles(ctx context.Context, m system.Mail) error  // attached to a new mail
	PrintFiles(ctx context.Context, paths []string) error
}

// Autostart decides whether the program starts with the computer. Its methods may take a moment.
type Autostart interface {
	Enabled() (bool, error)
	Set(on bool) error
}

// Env is handed to every screen. All fields but Autostart are set.
type Env struct {
	System  System
	Work    *async.Pool
	Now     func() time.Time // also fixes the time zone in which times are shown
	Country string           // that the system is set to, for example "GB"; empty when it is not known
	Window  fyne.Window      // for dialogs and focus
	Notice  func(text string)
	Copy    func(text string)                  // to the clipboard
	Later   func(d time.Duration, over func()) // calls over on the window's goroutine when d has passed
	Soon    func(Undoable) (over func())       // says for some seconds what was pressed, and offers to undo it until it is over
	Go      Navigator

	Autostart Autostart // nil where the program cannot start with the computer
}

// Undoable is something that a person has pressed and can undo for some seconds. The office has it already, and does it then.
type Undoable struct {
	Says    string    // what will be done, or was, and with what
	Undone  func()    // has the office undo it
	Pressed time.Time // when, where the office needed some time to take it
}

type Navigator interface {
	ShowPackage(id string)
	ShowSettings()
	ShowCompose()
	ShowStep(step message.Message)      // where a step of the way to the service and back is set up, or what it brought
	SendLike(draft office.NewPackage)   // shows the screen for a new package, filled in like an earlier one
	EditDraft(draft office.Draft)       // shows what waits to be sent where it can be changed
	Act(issue agent.Issue, done func()) // does what can be done about an issue; done, which may be nil, is called after it
	SignIn(prompt string)               // begins a sign-in in the browser; prompt as in agent.SignInOptions
	SignOut()
	Quit() // ends the program
}

// OpenAddress, OpenFile and ShowInFolder open something beside the window and tell the person when that fails, be it some seconds
// later.
func (d *Env) OpenAddress(address string) { d.Browse(address, d.tell) }
func (d *Env) OpenFile(path string)       { d.open(d.System.OpenFile, path, d.tell) }
func (d *Env) ShowInFolder(path string)   { d.open(d.System.ShowInFolder, path, d.tell) }

// Browse opens an address beside the window and hands over how that went: nil, or a sentence why the person should open it
// without us. From another goroutine, call it through Work.Do.
func (d *Env) Browse(address string, then func(error)) { d.open(d.System.OpenAddress, address, then) }

func (d *Env) open(with func(context.Context, string) error, what string, then func(error)) {
	async.Try(d.Work, func(ctx context.Context) error { return with(ctx, what) }, func(err error) {
		if !errors.Is(err, context.Canceled) {
			then(err)
		}
	})
}

// Attempt lets the office do something beside the window, tells the person when that fails, and calls done, which may be nil,
// however it went.
func (d *Env) Attempt(act func(context.Context) error, done func()) {
	async.Try(d.Work, act, func(err error) {
		d.tell(err)
		if done != nil {
			done()
		}
	})
}

// Get reads something beside the window and hands it over, or tells the person why it cannot be had.
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

// Problems are the issues that need a person, in the agent's order: the gravest first and within a severity the oldest first. They
// are what the status is marked for. Infos need nobody.
func Problems(issues []agent.Issue) []agent.Issue {
	return slices.DeleteFunc(slices.Clone(issues), func(i agent.Issue) bool { return i.Severity == agent.Info })
}

// Problem returns the issue that matters most, and how many others there are.
func Problem(issues []agent.Issue) (worst agent.Issue, others int) {
	list := Problems(issues)
	if len(list) == 0 {
		return worst, 0
	}
	return list[0], len(list) - 1
}

// Mailto is the address of a letter to write in the mail program (RFC 6068), to somebody or, where to is empty, to nobody
// yet. Spaces and line ends are escaped, not written as a form does.
func Mailto(to, subject, text string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	to = strings.ReplaceAll(escape(to), "%40", "@")
	return "mailto:" + to + "?subject=" + escape(subject) + "&body=" + escape(strings.ReplaceAll(text, "\n", "\r\n"))
}

// Handle is a window as the desktop calls it, or 0 where it cannot be told (Wayland, macOS, tests).
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
