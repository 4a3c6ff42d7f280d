package compose

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"go.uber.org/goleak"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/officetest"
	"countersign/ui/work"
)

func TestMain(m *testing.M) {
	if err := officetest.English(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// bench is the screen in a window of Fyne's test driver, before an office made of values. The test's goroutine is the
// window's.
type bench struct {
	t       *testing.T
	app     fyne.App
	window  fyne.Window
	office  *officetest.Office
	queue   *work.Queue
	pool    *work.Pool
	screen  *Screen
	notices []string
	shown   []string // packages that were shown
}

// ShowPackage and the following are desk.Ways.
func (b *bench) ShowPackage(id string) { b.shown = append(b.shown, id) }
func (b *bench) ShowSettings()         {}
func (b *bench) ShowCompose()          {}
func (b *bench) ShowHelp()             {}
func (b *bench) SendLike(agent.Draft)  {}
func (b *bench) SignIn(string)         {}
func (b *bench) SignOut()              {}

func newBench(t *testing.T, office *officetest.Office) *bench {
	t.Helper()
	b := &bench{t: t, app: test.NewTempApp(t), office: office, queue: work.NewQueue()}
	b.app.Settings().SetTheme(look.New())
	b.pool = work.NewPool(t.Context(), b.queue.Do)
	b.window = b.app.NewWindow("")
	b.window.SetPadded(false)
	b.screen = New(&desk.Desk{Office: office, Work: b.pool, Window: b.window, Go: b,
		Now:    func() time.Time { return officetest.Now },
		Notice: func(text string) { b.notices = append(b.notices, text) }})
	b.window.SetContent(b.screen.Content())
	b.window.Resize(big)
	b.window.Show()
	t.Cleanup(func() { b.pool.Close(); b.window.Close() })
	b.screen.Reload()
	b.settle()
	return b
}

// settle lets all work end and shows its results. It must not be used while work waits for the test.
func (b *bench) settle() {
	for {
		b.pool.Wait()
		if !b.queue.Run() {
			return
		}
	}
}

// until shows results until done, and fails after ten seconds.
func (b *bench) until(done func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	if !b.queue.Until(done, ctx.Done()) {
		b.t.Fatal("what was expected did not happen")
	}
}

// add adds files of some names, which the office finds good, and waits until they were looked at.
func (b *bench) add(names ...string) {
	b.t.Helper()
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(string(os.PathSeparator), "x", name))
	}
	b.screen.Add(paths)
	b.settle()
}

func (b *bench) names() (list []string) {
	for _, d := range b.screen.docs {
		list = append(list, d.title())
	}
	return list
}

// The keyboard, as the driver hands it on.

func (b *bench) focused() fyne.Focusable { return b.window.Canvas().Focused() }

func (b *bench) tab(times int) {
	for range times {
		b.window.Canvas().FocusNext()
	}
}

func (b *bench) write(text string) { test.Type(b.focused(), text) }

func (b *bench) key(key fyne.KeyName) { b.focused().TypedKey(&fyne.KeyEvent{Name: key}) }

func (b *bench) alt(key fyne.KeyName) {
	b.focused().(fyne.Shortcutable).TypedShortcut(&desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierAlt})
}

func (b *bench) paste(text string) {
	b.app.Clipboard().SetContent(text)
	b.focused().(fyne.Shortcutable).TypedShortcut(&fyne.ShortcutPaste{Clipboard: b.app.Clipboard()})
}

var (
	ana = store.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}
	jan = store.Signer{FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"}
)

func filled(signers ...store.Signer) agent.Draft { return agent.Draft{Signers: signers} }
