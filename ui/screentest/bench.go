package screentest

import (
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/officetest"
)

// Bench is what one screen is put on: a stage with an env and an empty window.
type Bench struct {
	*Stage
	Env    *env.Env
	Window fyne.Window

	Notices, Copied []string            // what was said and copied
	Went            []string            // the ways that were taken
	Like            []office.NewPackage // what SendLike was to begin with
	Deeds           []env.Deed          // what can be undone
	Later           []func()            // what waits for some time to pass

	open Screen
}

// Screen is one that reads what it shows from the office.
type Screen interface {
	Content() fyne.CanvasObject
	Reload()
}

// New returns a bench that ends with the test.
func New(t testing.TB, office *officetest.Office) *Bench {
	t.Helper()
	b := &Bench{Stage: NewStage(t, office)}
	pool := async.NewPool(t.Context(), b.Do)
	b.Wait = pool.Wait
	b.Window = b.App.NewWindow("")
	b.Window.SetPadded(false)
	b.Env = &env.Env{Office: office, System: b.System, Work: pool, Window: b.Window, Go: ways{b}, Now: b.Now,
		Soon: func(deed env.Deed) {
			b.Deeds = append(b.Deeds, deed)
		},
		Later:  func(_ time.Duration, over func()) { b.Later = append(b.Later, over) },
		Notice: func(text string) { b.Notices = append(b.Notices, text) },
		Copy:   func(text string) { b.Copied = append(b.Copied, text) }}
	t.Cleanup(func() { pool.Close(); b.Window.Close() })
	return b
}

// Pass lets all time pass that something waits for.
func (b *Bench) Pass() {
	waiting := b.Later
	b.Later = nil
	for _, over := range waiting {
		over()
	}
	b.Settle()
}

// Open shows a screen in a window of a size, as it is when it has read all it shows.
func (b *Bench) Open(screen Screen, size fyne.Size) {
	b.open = screen
	b.Show(screen.Content(), size)
	b.Reload()
}

// Reload has the screen that was opened read anew, and lets all work end.
func (b *Bench) Reload() {
	b.open.Reload()
	b.Settle()
}

// Show puts content into a window of a size and lets all work end.
func (b *Bench) Show(content fyne.CanvasObject, size fyne.Size) {
	b.Window.SetContent(content)
	b.Window.Resize(size)
	b.Window.Show()
	b.Settle()
}
