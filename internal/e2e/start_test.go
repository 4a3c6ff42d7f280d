//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
	"countersign/internal/locations"
	"countersign/internal/single"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"go.etcd.io/bbolt"
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

func TestMain(m *testing.M) {
	api.DisableConfigDir()
	harness.RunTests(m, harness.Suffered.Report)
}

// demoFiles are the documents that the demo leaves behind.
var demoFiles = []string{
	"Lease Sonnenweg 4/Lease Sonnenweg 4 - certificate.pdf",
	"Lease Sonnenweg 4/Lease Sonnenweg 4 - signed.pdf",
	"Lease Sonnenweg 4/Mandate Keller - certificate.pdf",
	"Lease Sonnenweg 4/Mandate Keller - signed.pdf",
	"Lease Sonnenweg 4/master file.pdf",
	"Offer 2026-118/Offer 2026-118 - certificate.pdf",
	"Offer 2026-118/Offer 2026-118 - signed.pdf",
	"Offer 2026-118/master file.pdf",
}

// demo is a demo that runs in a session, with its own folder for temporary files.
type demo struct {
	*harness.Process
	folder, temp string
}

func startDemo(t testing.TB, desk *harness.Desktop, flags ...string) *demo {
	t.Helper()
	d := &demo{folder: filepath.Join(harness.ShortDir(t), "Signed"), temp: harness.ShortDir(t)}
	d.Process = harness.Start(t, desk.Env("TMPDIR="+d.temp), harness.Program, append([]string{"demo", "--dir", d.folder}, flags...)...)
	return d
}

// files returns the saved documents.
func (d *demo) files() []string {
	d.T.Helper()
	list, err := filepath.Glob(filepath.Join(d.folder, "*", "*"))
	harness.Must(d.T, err)
	for i, name := range list {
		if list[i], err = filepath.Rel(d.folder, name); err != nil {
			d.T.Fatal(err)
		}
	}
	return list
}

// tidy checks that an ended demo has left nothing but the documents.
func (d *demo) tidy() {
	d.T.Helper()
	left, err := os.ReadDir(d.temp)
	if err != nil || len(left) != 0 {
		d.T.Errorf("the demo left %v behind, %v", left, err)
	}
}

func TestTheDemoShowsTheWholeJob(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"headless": {"--headless"}, "without a display": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := harness.NewDesktop(t)
			d := startDemo(t, desk, flags...)
			if code := d.Wait(); code != 0 {
				t.Fatalf("the demo ended with %d: %s", code, d.Stderr)
			}
			for _, want := range []string{
				"Signed in as " + harness.Olivia, "“Lease Sonnenweg 4” was sent to Jan Weber, Ana Ruiz.", "Jan Weber signed “Mandate Keller”",
				"Everyone has signed “Offer 2026-118”.", "Notification: Everyone has signed “Offer 2026-118”. Zoë Keller signed last.", "Done. The documents are in " + d.folder,
			} {
				if !strings.Contains(d.Stdout.String(), want) {
					t.Errorf("the timeline does not tell %q:\n%s", want, d.Stdout)
				}
			}
			files := d.files()
			if !slices.Equal(files, demoFiles) {
				t.Errorf("saved: %q", files)
			}
			for _, f := range files {
				if err := api.ValidateFile(filepath.Join(d.folder, f), nil); err != nil {
					t.Errorf("%s is no valid PDF: %v", f, err)
				}
			}
			if told := desk.Notes.List(); len(told) < 4 {
				t.Errorf("told was %q", told)
			}
			d.tidy()
		})
	}
}

func TestTheDemoRunsInAWindow(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	d := startDemo(t, desk)
	w := desk.Window("Countersign")
	empty := w.Drawn()
	harness.Eventually(t, "a document is saved", func() bool { return len(d.files()) > 0 })
	w.ChangesFrom(empty)
	if told := desk.Notes.List(); len(told) == 0 || told[0].App != "Countersign demo" {
		t.Errorf("notifications: %q", told)
	}
	if code := d.Stop(); code != 0 {
		t.Errorf("the demo ended with %d: %s", code, d.Stderr)
	}
	if !strings.Contains(d.Stdout.String(), "The signed documents are in "+d.folder) {
		t.Errorf("the demo says %q", d.Stdout)
	}
	d.tidy()
}
