//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
	"countersign/internal/locations"
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
	ways := map[string]func(*harness.Office, *harness.Window, *harness.Tray){
		"by Ctrl+Q": func(o *harness.Office, w *harness.Window, x *harness.Tray) { w.Active().Keys("ctrl+q") },
		"from the tray": func(o *harness.Office, w *harness.Window, x *harness.Tray) {
			icon := x.Item()
			icon.Click("Quit")
		},
		"by a command": func(o *harness.Office, w *harness.Window, x *harness.Tray) {
			o.Must("quit")
			wantFree(t, o.Data)
		},
		"by SIGTERM": func(o *harness.Office, w *harness.Window, x *harness.Tray) { o.Running.Signal(syscall.SIGTERM) },
		"hidden, SIGTERM": func(o *harness.Office, w *harness.Window, x *harness.Tray) {
			w.Hide()
			o.Running.Signal(syscall.SIGTERM)
		},
		"by closing it, without a tray": func(o *harness.Office, w *harness.Window, x *harness.Tray) {
			w.Drawn()
			before := w.Active().Still()
			w.Keys("ctrl+w") // asks whether to keep running, which is the safe answer
			w.ChangesFrom(before)
			w.Keys("Tab", "Return")
		},
	}
	for name, quit := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := harness.NewDesktop(t)
			desk.StartDisplay()
			var x *harness.Tray
			if name != "by closing it, without a tray" {
				x = harness.ServeTray(t, desk.Connect())
			}
			o := harness.UsualOffice(t, desk)
			o.Setup()
			var longest time.Duration
			times := max(1, rounds()/len(ways))
			for range times {
				o.Open()
				w := desk.Window("Countersign")
				if x != nil && name != "from the tray" {
					x.Item()
				}
				quit(o, w, x)
				began := time.Now()
				if code := o.Running.Wait(); code != 0 {
					log, _ := os.ReadFile(locations.Log(o.Data))
					t.Fatalf("it ended with %d: %s\n%s", code, o.Running.Stderr, log)
				}
				took := time.Since(began)
				if took > endsWithin() {
					t.Errorf("it took %v", took)
				}
				longest = max(longest, took)
			}
			t.Logf("quit %d times, in at most %v", times, longest.Round(time.Millisecond))
		})
	}
}

// wantFree checks that no process has a data folder.
func wantFree(t *testing.T, folder string) {
	t.Helper()
	lock, err := os.Open(filepath.Join(folder, "instance.lock"))
	harness.Must(t, err)
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("quit has returned, and somebody has the data folder: %v", err)
	}
}

func TestQuitEndsWhatRunsWithoutAWindowToo(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup()
	if said := o.Must("quit"); !strings.Contains(said, "not running") {
		t.Errorf("with nobody there it said %q", said)
	}
	o.Serve()
	o.Must("quit")
	wantFree(t, o.Data)
	if code := o.Running.Wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, o.Running.Stderr)
	}
}

// TestADisplayThatHangsKeepsNothing stops the X server, so that the window hangs, and asks the program to end: it ends in
// time, and the data folder is free.
func TestADisplayThatHangsKeepsNothing(t *testing.T) {
	t.Parallel()
	o, _ := harness.OpenOffice(t)
	harness.Must(t, o.Desk.Screen.Signal(syscall.SIGSTOP))
	began := time.Now()
	code := o.Running.Stop()
	harness.Must(t, o.Desk.Screen.Signal(syscall.SIGCONT)) // for what else is on it
	if took := time.Since(began); code != 0 || took > endsWithin() {
		t.Errorf("it ended with %d after %v: %s", code, took, o.Running.Stderr)
	}
	o.Serve() // has the folder to itself
	o.Stop()
}
