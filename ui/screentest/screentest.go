// Package screentest is where the window and its screens are tested: on Fyne's test driver, before an office made of
// values, with pictures that are compared with approved ones. It is for tests alone.
package screentest

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"
	"go.uber.org/goleak"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Main is the TestMain of a package with screens: its tests read English, and leave no goroutine behind.
func Main(m *testing.M) {
	if err := officetest.English(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Speak has the window speak a language until the test ends.
func Speak(t testing.TB, code string) {
	i18n.Use(code)
	t.Cleanup(func() { i18n.Use("en") })
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

// All are the objects of a kind that are laid out in o, from the first to the last.
func All[T fyne.CanvasObject](o fyne.CanvasObject) (list []T) {
	for _, o := range test.LaidOutObjects(o) {
		if found, is := o.(T); is {
			list = append(list, found)
		}
	}
	return list
}

// Text is what an object shows to be read, its lines one after the other.
func Text(o fyne.CanvasObject) string {
	var lines []string
	for _, text := range All[*canvas.Text](o) {
		lines = append(lines, text.Text)
	}
	return strings.Join(lines, " ")
}

// Button is the button in o that is to be seen and says a text, nil for none.
func Button(o fyne.CanvasObject, text string) *widgets.Button {
	for _, button := range All[*widgets.Button](o) {
		if button.Text == text && button.Visible() {
			return button
		}
	}
	return nil
}

// Equal fails the test where what was got is not what was wanted: values, not pointers. An empty list is the same as none.
func Equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.IsValid() && g.Kind() == reflect.Slice && g.Len()+w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
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
	office.Arriving = t.TempDir()
	// Painting tells Fyne the time. It drops what it believes to have been unused for a minute, and after a minute of tests
	// without a picture that would be what this test has just made.
	software.NewCanvas().Capture()
	s := &Stage{Office: office, System: &System{}, App: test.NewTempApp(t), t: t, queue: newQueue()}
	s.App.Settings().SetTheme(theme.New())
	widgets.NewTappable(widgets.NewLine(""), nil).Tapped(&fyne.PointEvent{}) // no key is used yet, whatever the test before did
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

// Press presses the button in o that says a text, and lets all work end.
func (s *Stage) Press(o fyne.CanvasObject, text string) {
	s.t.Helper()
	button := Button(o, text)
	if button == nil {
		s.t.Fatalf("there is no button %q among: %s", text, Text(o))
	}
	s.Tap(button)
}

// Tap presses a button and lets all work end.
func (s *Stage) Tap(button *widgets.Button) {
	button.OnTapped()
	s.Settle()
}

// Top is what lies over a window, nil for nothing.
func Top(w fyne.Window) fyne.CanvasObject { return w.Canvas().Overlays().Top() }

// Until shows results until done, and fails after a minute.
func (s *Stage) Until(done func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if !s.queue.until(done, ctx.Done()) {
		s.t.Fatal("what was expected did not happen")
	}
}
