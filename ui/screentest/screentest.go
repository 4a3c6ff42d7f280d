// Package screentest is where the window and its screens are tested: on Fyne's test driver, before an office made of
// values, with pictures that are compared with approved ones. It is for tests alone.
package screentest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"
	"go.uber.org/goleak"

	"countersign/ui/officetest"
	"countersign/ui/theme"
)

// Main is the TestMain of a package with screens: its tests read English, and leave no goroutine behind.
func Main(m *testing.M) {
	if err := officetest.English(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// queue is a window's goroutine for places that have none: what is handed to do waits until the owner of the queue
// runs it. do may be called from any goroutine, the rest only from the owner's.
type queue struct {
	mu    sync.Mutex
	waits []func()
	more  chan struct{}
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1)} }

// do adds f.
func (q *queue) do(f func()) {
	q.mu.Lock()
	q.waits = append(q.waits, f)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// run runs what waits, also what is added meanwhile, and says whether there was anything.
func (q *queue) run() bool {
	ran := false
	for {
		q.mu.Lock()
		waits := q.waits
		q.waits = nil
		q.mu.Unlock()
		if len(waits) == 0 {
			return ran
		}
		for _, f := range waits {
			f()
		}
		ran = true
	}
}

// until runs what comes in until done says so or stop is closed, and says which.
func (q *queue) until(done func() bool, stop <-chan struct{}) bool {
	for {
		q.run()
		if done() {
			return true
		}
		select {
		case <-q.more:
		case <-stop:
			return false
		}
	}
}

// Text is what an object shows to be read, its lines one after the other.
func Text(o fyne.CanvasObject) string {
	var lines []string
	for _, o := range test.LaidOutObjects(o) {
		if t, ok := o.(*canvas.Text); ok {
			lines = append(lines, t.Text)
		}
	}
	return strings.Join(lines, " ")
}

// Stage is where a window is tested: an app of Fyne's test driver, an office made of values, and a system that
// remembers. The test's goroutine is the window's; what others hand to Do waits until the test lets it in.
type Stage struct {
	Office *officetest.Office
	System *System
	App    fyne.App
	Wait   func() // returns when no work of the window runs; Settle needs it

	t     testing.TB
	queue *queue
}

// NewStage returns a stage that ends with the test. Wait is left to whoever makes the window.
func NewStage(t testing.TB, office *officetest.Office) *Stage {
	t.Helper()
	// Painting tells Fyne the time. It drops what it believes to have been unused for a minute, and after a minute of tests
	// without a picture that would be what this test has just made.
	software.NewCanvas().Capture()
	s := &Stage{Office: office, System: &System{}, App: test.NewTempApp(t), t: t, queue: newQueue()}
	s.App.Settings().SetTheme(theme.New())
	return s
}

// Now is the moment at which all of officetest's scenes play.
func (s *Stage) Now() time.Time { return officetest.Now }

// Do lets f run on the window's goroutine, soon. It may be called from any goroutine.
func (s *Stage) Do(f func()) { s.queue.do(f) }

// Run shows what has come in by now, without waiting for the work that still runs.
func (s *Stage) Run() { s.queue.run() }

// Settle lets all work end and shows its results. It must not be used while work waits for the test.
func (s *Stage) Settle() {
	for {
		s.Wait()
		if !s.queue.run() {
			return
		}
	}
}

// Until shows results until done, and fails after a minute.
func (s *Stage) Until(done func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if !s.queue.until(done, ctx.Done()) {
		s.t.Fatal("what was expected did not happen")
	}
}
