// Package screentest is a bench for the tests of one screen: the screen in a window of Fyne's test driver, before an
// office made of values, and pictures of it that are compared with approved ones. It is for tests alone.
package screentest

import (
	"context"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/officetest"
	"countersign/ui/work"
)

// Bench is what a screen is put on. The test's goroutine is the window's.
type Bench struct {
	Office *officetest.Office
	Desk   *desk.Desk
	App    fyne.App
	Window fyne.Window

	Notices, Copied, Opened []string // what was said, copied and opened
	Went                    []string // the ways that were taken

	t     *testing.T
	queue *work.Queue
	pool  *work.Pool
}

// New returns a bench that ends with the test.
func New(t *testing.T, office *officetest.Office) *Bench {
	t.Helper()
	b := &Bench{t: t, App: test.NewTempApp(t), Office: office, queue: work.NewQueue()}
	b.App.Settings().SetTheme(look.New())
	b.pool = work.NewPool(t.Context(), b.queue.Do)
	b.Window = b.App.NewWindow("")
	b.Window.SetPadded(false)
	b.Desk = &desk.Desk{Office: office, System: opener{b}, Work: b.pool, Window: b.Window, Go: ways{b},
		Now:    func() time.Time { return officetest.Now },
		Notice: func(text string) { b.Notices = append(b.Notices, text) },
		Copy:   func(text string) { b.Copied = append(b.Copied, text) }}
	t.Cleanup(func() { b.pool.Close(); b.Window.Close() })
	return b
}

// Show puts the screen into the window and lets all work end.
func (b *Bench) Show(content fyne.CanvasObject) {
	b.Window.SetContent(content)
	b.Window.Resize(Big)
	b.Window.Show()
	b.Settle()
}

// Settle lets all work end and shows its results. It must not be used while work waits for the test.
func (b *Bench) Settle() {
	for {
		b.pool.Wait()
		if !b.queue.Run() {
			return
		}
	}
}

// Until shows results until done, and fails after ten seconds.
func (b *Bench) Until(done func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	if !b.queue.Until(done, ctx.Done()) {
		b.t.Fatal("what was expected did not happen")
	}
}

// opener is a desk.System that remembers.
type opener struct{ b *Bench }

func (o opener) open(what string) error { o.b.Opened = append(o.b.Opened, what); return nil }

func (o opener) OpenAddress(address string) error { return o.open(address) }
func (o opener) OpenFile(path string) error       { return o.open(path) }
func (o opener) ShowInFolder(path string) error   { return o.open(path) }

func (o opener) Exists(string) bool { return true }

// ways are desk.Ways that remember.
type ways struct{ b *Bench }

func (w ways) went(where string) { w.b.Went = append(w.b.Went, where) }

func (w ways) ShowPackage(id string) { w.went("package " + id) }
func (w ways) ShowSettings()         { w.went("settings") }
func (w ways) ShowCompose()          { w.went("compose") }
func (w ways) ShowHelp()             { w.went("help") }
func (w ways) SendLike(agent.Draft)  { w.went("send like") }
func (w ways) SignIn(prompt string)  { w.went("sign in " + prompt) }
func (w ways) SignOut()              { w.went("sign out") }
