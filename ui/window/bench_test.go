package window

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// bench is a whole window on its stage.
type bench struct {
	*screentest.Stage
	t      *testing.T
	window *Window
	quits  int
	tray   bool
	alarms []alarm
	passed time.Duration // by grace
}

func (b *bench) Now() time.Time { return b.Stage.Now().Add(b.passed) }

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

func newBench(t *testing.T, office *officetest.Office) *bench {
	t.Helper()
	b := unread(t, office)
	b.Settle()
	return b
}

// unread is a window that has been shown and has read nothing yet.
func unread(t *testing.T, office *officetest.Office) *bench {
	t.Helper()
	b := &bench{Stage: screentest.NewStage(t, office), t: t, tray: true}
	b.window = New(t.Context(), b.App, Options{Office: office, System: b.System, Do: b.Do, Now: b.Now,
		HasTray: func(context.Context) bool { return b.tray }, Quit: func() { b.quits++ }, After: b.after})
	b.Wait = func() { b.window.pool.Wait() } // another language has another pool
	t.Cleanup(func() { b.window.Close(); screentest.Close(b.window.window) })
	b.window.Show()
	return b
}

// send presses the button of the screen for a new package and lets the seconds pass in which that can be taken back.
func (b *bench) send() {
	b.window.compose.get().Send()
	b.Settle()
	b.grace()
}

// grace lets the seconds pass in which something can be taken back.
func (b *bench) grace() {
	for b.window.grace.Busy() {
		said := b.window.grace.AccessibilityLabel()
		b.passed += time.Second
		b.pass(time.Second)
		b.Until(func() bool { return b.window.grace.AccessibilityLabel() != said })
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
