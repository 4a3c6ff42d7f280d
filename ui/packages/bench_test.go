package packages

import (
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"go.uber.org/goleak"

	"countersign/internal/agent"
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
// window's. The bench is also the ways between screens, and what opens things.
type bench struct {
	desk.Ways // the other ones are not taken from here
	t         testing.TB
	office    *officetest.Office
	queue     *work.Queue
	pool      *work.Pool
	screen    *Screen
	notices   []string
	opened    []string
	lost      map[string]bool // files that are no longer there
	like      []agent.Draft   // begun like another package
}

func (b *bench) SendLike(d agent.Draft)           { b.like = append(b.like, d) }
func (b *bench) Exists(path string) bool          { return !b.lost[path] }
func (b *bench) OpenAddress(address string) error { b.opened = append(b.opened, address); return nil }
func (b *bench) OpenFile(path string) error       { b.opened = append(b.opened, path); return nil }
func (b *bench) ShowInFolder(path string) error   { b.opened = append(b.opened, path); return nil }

func newBench(t testing.TB, office *officetest.Office) *bench {
	t.Helper()
	b := &bench{t: t, office: office, queue: work.NewQueue()}
	app := test.NewTempApp(t)
	app.Settings().SetTheme(look.New())
	b.pool = work.NewPool(t.Context(), b.queue.Do)
	window := app.NewWindow("")
	b.screen = New(&desk.Desk{Office: office, System: b, Work: b.pool, Window: window, Go: b,
		Now:    func() time.Time { return officetest.Now },
		Notice: func(text string) { b.notices = append(b.notices, text) }})
	window.SetContent(b.screen.Content())
	window.Resize(fyne.NewSize(900, 600))
	window.Show()
	t.Cleanup(func() { b.pool.Close(); window.Close() })
	b.reload()
	return b
}

// reload reads anew and shows all that follows.
func (b *bench) reload() {
	b.screen.Reload()
	b.settle()
}

// settle lets all work end and shows its results.
func (b *bench) settle() {
	for {
		b.pool.Wait()
		if !b.queue.Run() {
			return
		}
	}
}
