//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"countersign/internal/e2e/harness"
	"countersign/internal/locations"
	"countersign/internal/single"
)

// boxes stands in for the desktop's program for message boxes, and records their texts.
type boxes struct{ dir string }

// serveBoxes puts it first in the office's PATH.
func serveBoxes(o *harness.Office) boxes {
	b := boxes{harness.ShortDir(o.T)}
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >'" + b.dir + "'/said.$$.new && mv '" + b.dir + "'/said.$$.new '" + b.dir + "'/said.$$\n"
	harness.Must(o.T, os.WriteFile(filepath.Join(b.dir, "zenity"), []byte(script), 0o700))
	o.More = append(o.More, "PATH="+b.dir+":"+os.Getenv("PATH"))
	return b
}

// said are the texts of the boxes so far.
func (b boxes) said() (texts []string) {
	files, _ := filepath.Glob(filepath.Join(b.dir, "said.*[0-9]"))
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			texts = append(texts, string(text))
		}
	}
	return texts
}

// wants waits for box number n to contain these texts.
func (b boxes) wants(t *testing.T, n int, texts ...string) {
	t.Helper()
	harness.Eventually(t, "a box is shown", func() bool { return len(b.said()) >= n })
	all := b.said()
	if len(all) != n {
		t.Errorf("%d boxes were shown, want %d: %q", len(all), n, all)
	}
	for _, text := range texts {
		if !strings.Contains(all[n-1], text) {
			t.Errorf("a box says %q, without %q", all[n-1], text)
		}
	}
}

func TestWithoutOpenGLTheOfficeWorksOnInTheTray(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay("-extension", "GLX")
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	b := serveBoxes(o)
	o.Setup()
	o.Open()
	b.wants(t, 1, "this screen has no OpenGL 2.1.\n\nEverything else keeps working", "Install the graphics card's driver")
	icon := tray.Item()
	harness.Eventually(t, "the menu is there", func() bool { return harness.Contains(icon.Labels(), "Quit") })
	for _, want := range []string{"Sign in", "Why there is no window", "Open folder", "Pause notifications for an hour"} {
		if labels := icon.Labels(); !harness.Contains(labels, want) {
			t.Errorf("the menu is %q, without %q", labels, want)
		}
	}

	// Documents are sent, saved and announced as usual, and the tray is updated.
	o.MustLogin()
	o.Registered()
	harness.Eventually(t, "the tray shows the account", func() bool { return harness.Contains(icon.Labels(), harness.Olivia) })
	lease := sendLease(o)
	harness.Eventually(t, "the tray shows what waits", func() bool { return strings.Contains(icon.Labels()[0], "1 package") })
	o.Service.SignAll(lease.ID)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	harness.Eventually(t, "the tray shows what was saved", func() bool { return harness.Contains(icon.Labels(), "Recently saved") })
	savedAsServed(o, lease)
	toldOnce(o, false, lease)

	// Asking for the window again shows the reason again.
	second := harness.Start(t, desk.Env(o.More...), harness.Program, o.Global...)
	if code := second.Wait(); code != 0 {
		t.Errorf("the second start ended with %d: %s", code, second.Stderr)
	}
	b.wants(t, 2)
	icon.Click("Why there is no window")
	b.wants(t, 3)

	icon.Click("Quit")
	if code := o.Running.Wait(); code != 0 {
		t.Errorf("after Quit it ended with %d: %s", code, o.Running.Stderr)
	}
	if said := o.Running.Stderr.String(); strings.Count(said, "has no OpenGL") != 1 || strings.Contains(said, "goroutine") || strings.Contains(said, "Fyne error") {
		t.Errorf("it printed %q", said)
	}

	// Started at login it shows nothing: nobody asked for a window.
	o.Running = harness.Start(t, desk.Env(o.More...), harness.Program, append(o.Global, "--hidden")...)
	o.Answers()
	icon = tray.Item()
	harness.Eventually(t, "the menu is there", func() bool { return harness.Contains(icon.Labels(), "Quit") })
	if n := len(b.said()); n != 3 {
		t.Errorf("the hidden start showed %d boxes", n-3)
	}
	keepsSecrets(o)
}

func TestAWindowThatDoesNotComeSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, o *harness.Office)
		lang  string
		says  string
	}{
		"newer data": {func(t *testing.T, o *harness.Office) {
			o.Must("setup", o.SetupFlags()...)
			makeNewer(t, filepath.Join(o.Data, "state.db"))
		}, "de_CH.UTF-8", "Eine neuere Version von Countersign hat diese Daten geschrieben"},
		"a file in place of the data folder": {func(t *testing.T, o *harness.Office) {
			harness.Must(t, os.WriteFile(o.Data, nil, 0o600))
		}, "fr_FR.UTF-8", "ne peut pas être créé"},
		"a file in place of the logs": {func(t *testing.T, o *harness.Office) {
			harness.Must(t, os.Mkdir(o.Data, 0o700))
			harness.Must(t, os.WriteFile(filepath.Join(o.Data, "logs"), nil, 0o600))
		}, "es_ES.UTF-8", "No se puede escribir en la carpeta de datos"},
		"another one that is silent": {func(t *testing.T, o *harness.Office) {
			harness.Must(t, os.Mkdir(o.Data, 0o700))
			other, err := single.Acquire(o.Data)
			harness.Must(t, err)
			t.Cleanup(func() { other.Close() })
		}, "C.UTF-8", "does not answer.\n\nEnd it and try again."},
		"no OpenGL, and nothing set up": {func(t *testing.T, o *harness.Office) {
		}, "de_DE.UTF-8", "Diesem Bildschirm fehlt OpenGL 2.1.\n\nAuf Remotedesktops"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := harness.NewDesktop(t)
			desk.StartDisplay("-extension", "GLX")
			o := harness.UsualOffice(t, desk)
			b := serveBoxes(o)
			c.spoil(t, o)
			start := harness.Start(t, desk.Env(append(o.More, "LANG="+c.lang, "LC_ALL="+c.lang)...), harness.Program, o.Global...)
			if code := start.Wait(); code == 0 {
				t.Error("it ended as if all were well")
			}
			b.wants(t, 1, c.says)
			if said := start.Stderr.String(); !strings.Contains(said, "countersign: ") || strings.Contains(said, "goroutine") {
				t.Errorf("it printed %q", said)
			}
		})
	}
}

// makeNewer makes a state look like a later version's.
func makeNewer(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	harness.Must(t, err)
	defer db.Close()
	harness.Must(t, db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("9999"))
	}))
}

// rounds is how often the program is quit: a few dozen times, and 500 times in a torture run.
func rounds() int {
	if os.Getenv("COUNTERSIGN_E2E_TORTURE") != "" {
		return 500
	}
	return 24
}

// TestItQuitsEveryTime quits the program in every possible way, again and again with one data folder. Each time the process
// ends in time, and the next start gets the folder and shows its window.
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
			w.Keys("ctrl+w") // answers the question whether to keep running the safe way
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

// wantFree checks that no process holds a data folder.
func wantFree(t *testing.T, folder string) {
	t.Helper()
	lock, err := os.Open(filepath.Join(folder, "instance.lock"))
	harness.Must(t, err)
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("quit has returned, and somebody has the data folder: %v", err)
	}
}

// TestADisplayThatHangsKeepsNothing stops the X server, so that the window hangs, and asks the program to end: it ends in
// time, and releases the data folder.
func TestADisplayThatHangsKeepsNothing(t *testing.T) {
	t.Parallel()
	o, _ := harness.OpenOffice(t)
	harness.Must(t, o.Desk.Screen.Signal(syscall.SIGSTOP))
	began := time.Now()
	code := o.Running.Stop()
	harness.Must(t, o.Desk.Screen.Signal(syscall.SIGCONT)) // for its other clients
	if took := time.Since(began); code != 0 || took > endsWithin() {
		t.Errorf("it ended with %d after %v: %s", code, took, o.Running.Stderr)
	}
	o.Serve() // needs the folder
	o.Stop()
}

// endsWithin is how long the program may take to end, whatever hangs: 5 s with a processor of its own, and longer in
// proportion to the load. Other tests check the exact time in virtual time.
func endsWithin() time.Duration {
	return time.Duration(float64(5*time.Second) * max(1, harness.Crowding()))
}
