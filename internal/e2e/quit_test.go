//go:build linux

package e2e

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// rounds is how often the program is quit: some dozen times, and 500 times where the tests are to torture it.
func rounds() int {
	if os.Getenv("COUNTERSIGN_E2E_TORTURE") != "" {
		return 500
	}
	return 24
}

// TestItQuitsEveryTime quits the program in every way there is, again and again with one data folder. Each time the
// process is gone in time, and the next start has the folder and its window.
func TestItQuitsEveryTime(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*office, *window, *tray){
		"by Ctrl+Q": func(o *office, w *window, x *tray) { w.active().keys("ctrl+q") },
		"from the tray": func(o *office, w *window, x *tray) {
			icon := x.item()
			icon.click("Quit")
		},
		"by SIGTERM": func(o *office, w *window, x *tray) { o.running.signal(syscall.SIGTERM) },
		"hidden, SIGTERM": func(o *office, w *window, x *tray) {
			w.hide()
			o.running.signal(syscall.SIGTERM)
		},
		"by closing it, without a tray": func(o *office, w *window, x *tray) {
			w.drawn()
			before := w.active().still()
			w.keys("ctrl+w") // asks whether to keep running, which is the safe answer
			w.changesFrom(before)
			w.keys("Tab", "Return")
		},
	}
	for name, quit := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := newDesktop(t)
			desk.startDisplay()
			var x *tray
			if name != "by closing it, without a tray" {
				x = serveTray(t, desk.connect())
			}
			o := usualOffice(t, desk)
			o.setup()
			var longest time.Duration
			times := max(1, rounds()/len(ways))
			for range times {
				o.open()
				w := desk.window("Countersign")
				if x != nil && name != "from the tray" {
					x.item()
				}
				quit(o, w, x)
				began := time.Now()
				if code := o.running.wait(); code != 0 {
					t.Fatalf("it ended with %d: %s", code, o.running.stderr)
				}
				took := time.Since(began)
				if took > endsWithin {
					t.Errorf("it took %v", took)
				}
				longest = max(longest, took)
			}
			t.Logf("quit %d times, in at most %v", times, longest.Round(time.Millisecond))
		})
	}
}

// TestADisplayThatHangsKeepsNothing stops the X server, so that the window hangs, and asks the program to end: it ends in
// time, and the data folder is free.
func TestADisplayThatHangsKeepsNothing(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	desk.startDisplay()
	o := usualOffice(t, desk)
	o.setup()
	o.open()
	desk.window("Countersign").drawn()
	if err := desk.screen.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	code := o.running.stop()
	if err := desk.screen.Signal(syscall.SIGCONT); err != nil { // for what else is on it
		t.Fatal(err)
	}
	if took := time.Since(began); code != 0 || took > endsWithin {
		t.Errorf("it ended with %d after %v: %s", code, took, o.running.stderr)
	}
	o.serve() // has the folder to itself
	o.stop()
}

// hide closes the window as a person does who wants it gone: once more answers the question of the first time.
func (w *window) hide() {
	w.d.t.Helper()
	w.active()
	eventually(w.d.t, "the window is gone", func() bool {
		w.keys("ctrl+w")
		return len(w.d.visible("Countersign")) == 0
	})
}

// active is the window with the keyboard.
func (w *window) active() *window {
	w.d.t.Helper()
	if _, err := w.d.run("xdotool", "windowactivate", "--sync", w.id); err != nil {
		w.d.t.Fatal(err)
	}
	return w
}
