package window

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"go.uber.org/goleak"

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

// bench is a window on Fyne's test driver before an office made of values. The test's goroutine is the window's.
type bench struct {
	t      *testing.T
	app    fyne.App
	office *officetest.Office
	queue  *work.Queue
	window *Window
	opened *opened
	quits  int
	tray   bool
	alarms []alarm
}

// alarm is what waits for a time to pass.
type alarm struct {
	after time.Duration
	ring  chan time.Time
}

func (b *bench) after(d time.Duration) <-chan time.Time {
	ring := make(chan time.Time, 1)
	b.alarms = append(b.alarms, alarm{d, ring})
	return ring
}

// pass rings all alarms of up to d; what follows comes later.
func (b *bench) pass(d time.Duration) {
	left := b.alarms[:0:0]
	for _, a := range b.alarms {
		if a.after <= d {
			a.ring <- officetest.Now.Add(a.after)
		} else {
			left = append(left, a)
		}
	}
	b.alarms = left
}

// opened is a desk.System that remembers.
type opened struct {
	addresses, files, shown []string
	lost                    map[string]bool // files that are no longer there
}

func (o *opened) Exists(p string) bool { return !o.lost[p] }

func (o *opened) OpenAddress(a string) error  { o.addresses = append(o.addresses, a); return nil }
func (o *opened) OpenFile(p string) error     { o.files = append(o.files, p); return nil }
func (o *opened) ShowInFolder(p string) error { o.shown = append(o.shown, p); return nil }

func newBench(t *testing.T, office *officetest.Office) *bench {
	t.Helper()
	b := &bench{t: t, app: test.NewTempApp(t), office: office, queue: work.NewQueue(), opened: &opened{}, tray: true}
	b.app.Settings().SetTheme(look.New())
	b.window = New(t.Context(), b.app, Options{Office: office, System: b.opened, Do: b.queue.Do,
		Now: func() time.Time { return officetest.Now }, HasTray: func(context.Context) bool { return b.tray },
		Quit: func() { b.quits++ }, After: b.after})
	t.Cleanup(func() { b.window.Close(); b.window.window.Close() })
	b.window.Show()
	b.settle()
	return b
}

// settle lets all work end and shows its results. It must not be used while work waits for the test.
func (b *bench) settle() {
	for {
		b.window.pool.Wait()
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

// file makes a file of a size and returns its path.
func (b *bench) file(name string, size int64) string {
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}
