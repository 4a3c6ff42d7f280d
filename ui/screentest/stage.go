package screentest

import (
	"context"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"

	"countersign/ui/officetest"
	"countersign/ui/theme"
)

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
