// Package screentest tests the window and its screens: on Fyne's test driver, with an office made of values, by comparing pictures
// with approved ones. It is for tests only.
package screentest

import (
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

// Main is the TestMain of a package with screens: its tests read English and leave no goroutine behind.
func Main(m *testing.M) {
	if err := officetest.English(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Speak makes the window use a language until the end of the test.
func Speak(t testing.TB, code string) {
	i18n.Use(code)
	t.Cleanup(func() { i18n.Use("en") })
}

// All returns the laid out objects of a type in o, from first to last.
func All[T fyne.CanvasObject](o fyne.CanvasObject) (list []T) {
	for _, o := range test.LaidOutObjects(o) {
		if found, is := o.(T); is {
			list = append(list, found)
		}
	}
	return list
}

// Text returns the readable text of an object, line by line.
func Text(o fyne.CanvasObject) string {
	var lines []string
	for _, text := range All[*canvas.Text](o) {
		lines = append(lines, text.Text)
	}
	return strings.Join(lines, " ")
}

// Button returns the visible button in o with a text, nil for none.
func Button(o fyne.CanvasObject, text string) *widgets.Button {
	for _, button := range All[*widgets.Button](o) {
		if button.Text == text && button.Visible() {
			return button
		}
	}
	return nil
}

// Equal fails the test unless got equals want, by value rather than by pointer. An empty list equals none.
func Equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.IsValid() && g.Kind() == reflect.Slice && g.Len()+w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// Stage is where a window is tested: an app of Fyne's test driver, an office made of values, and a system that remembers. The test's
// goroutine is the UI goroutine; functions that others pass to Do wait until the test runs them.
type Stage struct {
	Office *officetest.Office
	System *System
	App    fyne.App
	Wait   func() // returns when no background work of the window runs; needed by Settle

	t testing.TB

	mu    sync.Mutex
	waits []func() // what Do was given
	more  chan struct{}
}

// Close closes a window, and everything in it, as Fyne does outside tests: what else remained drawn would be searched for each
// focus of all later tests.
func Close(w fyne.Window) {
	w.Close()
	for _, o := range append(w.Canvas().Overlays().List(), w.Canvas().Content()) {
		destroy(o)
	}
}

func destroy(o fyne.CanvasObject) {
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			destroy(part)
		}
	case fyne.Widget:
		r := test.WidgetRenderer(o)
		for _, part := range r.Objects() {
			destroy(part)
		}
		r.Destroy()
	}
}

// NewStage returns a stage that ends with the test. The maker of the window sets Wait.
func NewStage(t testing.TB, office *officetest.Office) *Stage {
	t.Helper()
	office.Arriving = t.TempDir()
	// Painting updates Fyne's clock. Fyne drops what it believes unused for a minute, which after a minute of tests without a
	// picture would include what this test has just made.
	software.NewCanvas().Capture()
	s := &Stage{Office: office, System: &System{}, App: test.NewTempApp(t), t: t, more: make(chan struct{}, 1)}
	s.App.Settings().SetTheme(theme.New())
	widgets.NewTappable(widgets.NewLine(""), nil).Tapped(&fyne.PointEvent{}) // resets the last input to the mouse, whatever an earlier test did
	return s
}

// Now returns the time of all of officetest's scenes.
func (s *Stage) Now() time.Time { return officetest.Now }

// Do runs f on the UI goroutine, soon. It may be called from any goroutine.
func (s *Stage) Do(f func()) {
	s.mu.Lock()
	s.waits = append(s.waits, f)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Run shows the results that have arrived, and those that arrive meanwhile, without waiting for running work. It reports whether
// there were any.
func (s *Stage) Run() (ran bool) {
	for {
		s.mu.Lock()
		waits := s.waits
		s.waits = nil
		s.mu.Unlock()
		if len(waits) == 0 {
			return ran
		}
		for _, f := range waits {
			f()
		}
		ran = true
	}
}

// Settle waits for all work and shows its results. Do not use it while work waits for the test.
func (s *Stage) Settle() {
	for {
		s.Wait()
		if !s.Run() {
			return
		}
	}
}

// Press presses the button in o with a text, and waits for all work.
func (s *Stage) Press(o fyne.CanvasObject, text string) {
	s.t.Helper()
	button := Button(o, text)
	if button == nil {
		s.t.Fatalf("there is no button %q among: %s", text, Text(o))
	}
	s.Tap(button)
}

// Tap presses a button and waits for all work.
func (s *Stage) Tap(button *widgets.Button) {
	button.OnTapped()
	s.Settle()
}

// Top returns what covers a window, nil for nothing.
func Top(w fyne.Window) fyne.CanvasObject { return w.Canvas().Overlays().Top() }

// Until shows results until done returns true, and fails after a minute.
func (s *Stage) Until(done func() bool) {
	s.t.Helper()
	for end := time.After(time.Minute); ; {
		if s.Run(); done() {
			return
		}
		select {
		case <-s.more:
		case <-time.After(20 * time.Millisecond): // done may ask about more than what Do brings
		case <-end:
			s.t.Fatal("what was expected did not happen")
		}
	}
}
