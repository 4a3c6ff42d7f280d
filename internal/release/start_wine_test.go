//go:build shipping

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/message"

	"go.etcd.io/bbolt"
)

// bareScreen is a display without GLX: Wine has no OpenGL there, as a remote desktop of Windows.
func bareScreen(t *testing.T) string { return newDisplay(t, "-extension", "GLX") }

// atTheDesktop starts a program as the Start menu does, with nowhere to print to.
func atTheDesktop(t *testing.T, w command, args ...string) {
	t.Helper()
	launcher := filepath.Join(w.dir, "drive_c", "launch.exe")
	if _, err := os.Stat(launcher); err != nil {
		w.must(t, mingwGCC, "-municode", "-O1", "-s", "-o", launcher, shipped(t).p.packaging("wine", "launch.c"))
	}
	w.must(t, append([]string{"wine", `C:\launch.exe`}, args...)...)
}

// box waits for a message box, keeps a picture of it where a developer wants one, closes it, and returns what it said.
func box(t *testing.T, w command, name string) string {
	t.Helper()
	reader := filepath.Join(w.dir, "drive_c", "box.exe")
	if _, err := os.Stat(reader); err != nil {
		w.must(t, mingwGCC, "-municode", "-O1", "-s", "-o", reader, shipped(t).p.packaging("wine", "box.c"))
	}
	read := []string{"wine", `C:\box.exe`}
	taken := make(chan struct{})
	close(taken)
	if dir := os.Getenv("COUNTERSIGN_PICTURES"); dir != "" {
		read = append(read, "slowly")
		taken = make(chan struct{})
		go func() {
			defer close(taken)
			x := command{env: w.env}
			x.run(t, "timeout", "90", "xdotool", "search", "--sync", "--onlyvisible", "--name", "^Countersign$")
			time.Sleep(time.Second) // it is drawn a moment later
			x.run(t, "import", "-window", "root", filepath.Join(dir, name+".png"))
		}()
	}
	said, code := w.run(t, read...)
	<-taken
	switch code {
	case 0:
		return strings.TrimSpace(strings.ReplaceAll(said, "\r", ""))
	case 1:
		t.Fatalf("%s: no box is shown", name)
	}
	t.Fatalf("%s: the box does not close: it ended with %d\n%s", name, code, said)
	return ""
}

// german has Windows speak German: Wine takes the language from the locale, which the system may not have.
func german(t *testing.T, w command) command {
	t.Helper()
	locales := t.TempDir()
	command{}.must(t, "localedef", "-i", "de_DE", "-f", "UTF-8", filepath.Join(locales, "de_DE.UTF-8"))
	w.env = append(slices.Clone(w.env), "LOCPATH="+locales, "LC_ALL=de_DE.UTF-8")
	return w
}

// inGerman is a message as a box shows it.
func inGerman(t *testing.T, m message.Message) string {
	t.Helper()
	words, err := message.NewPrinter("de")
	must(t, err)
	what, next := words.Lines(m)
	return strings.TrimSpace(what + "\n\n" + next)
}

func setUp(t *testing.T, w command, program, data string) {
	t.Helper()
	w.must(t, "wine", program, "setup", "--data", data, "--key-file", `C:\key`, "--auth-url", "https://sign.example.com",
		"--base-url", "https://sign.example.com", "--client-id", "ID", "--tunnel", "none", "--redirect", "paste",
		"--redirect-uri", "https://example.com/back", "--save-to", `C:\Signed`)
}

// Every box says one sentence, and what to do, in the language of the system.
func TestWhatKeepsTheWindowsWindowAwayIsToldInABox(t *testing.T) {
	w, _ := newWine(t, bareScreen(t))
	w = german(t, w)
	program := there(shipped(t).windows)
	drive := filepath.Join(w.dir, "drive_c")
	must(t, os.WriteFile(filepath.Join(drive, "file"), nil, 0o600))
	setUp(t, w, program, `C:\newer`)
	makeNewer(t, filepath.Join(drive, "newer", "state.db"))
	damaged := filepath.Join(drive, "damaged", "state.db")
	must(t, write(damaged, bytes.Repeat([]byte("no data "), 8<<10)))
	setUp(t, w, program, `C:\office`)
	log := `C:\office\logs\countersign.log`
	for _, c := range []struct {
		name, data, crash string
		more              []string
		says              message.Message
	}{
		{name: "nothing set up", data: `C:\data`, says: message.Then(message.NoOpenGL(), message.OpenGLHelps())},
		{name: "folder", data: `C:\file\data`, says: message.DataFolderNotMade(`C:\file\data`)},
		{name: "newer", data: `C:\newer`, says: message.DataNewer()},
		{name: "damaged", data: `C:\damaged`, says: message.Then(message.NoOpenGL(), message.OpenGLHelps())}, // it is kept beside, and the office begins anew
		{name: "flag", more: []string{"--tomato"}, data: `C:\data`, says: message.CommandWrong("unknown flag --tomato")},
		{name: "fault", data: `C:\office`, crash: "window:1:fault", says: message.StartCrashed(log)},
		{name: "fault beside", data: `C:\office`, crash: "beside the window:1:fault", says: message.StartCrashed(log)},
	} {
		in := w
		in.env = append(slices.Clone(w.env), "COUNTERSIGN_CRASH_AT="+c.crash)
		atTheDesktop(t, in, append([]string{program, "--data", c.data, "--key-file", `C:\key`}, c.more...)...)
		if said, want := box(t, w, c.name), inGerman(t, c.says); said != want {
			t.Errorf("%s: the box says\n%s\nwant\n%s", c.name, said, want)
		}
	}
	if kept, err := filepath.Glob(damaged + ".damaged-*"); err != nil || len(kept) != 1 {
		t.Errorf("the damaged file is kept as %q, %v", kept, err)
	}
	w.must(t, "wine", program, "status", "--data", `C:\office`, "--key-file", `C:\key`) // which takes the trace over
	said, err := os.ReadFile(filepath.Join(drive, "office", "logs", "countersign.log"))
	must(t, err)
	for _, fault := range []string{"asked for at window", "asked for at beside the window"} {
		if !strings.Contains(string(said), fault) {
			t.Errorf("the log does not hold the fault %s", fault)
		}
	}
}

func TestAnInstanceThatDoesNotAnswerIsToldInABox(t *testing.T) {
	w, _ := newWine(t, bareScreen(t))
	w = german(t, w)
	program := there(shipped(t).windows)
	serve := exec.Command("wine", program, "--data", `C:\data`, "--key-file", `C:\key`, "serve")
	serve.Env, serve.Dir = append(os.Environ(), w.env...), w.dir
	said, err := serve.StderrPipe()
	must(t, err)
	must(t, serve.Start())
	defer serve.Wait()
	defer serve.Process.Kill()
	if _, err := said.Read(make([]byte, 1)); err != nil { // it says that it runs
		t.Fatal(err)
	}
	must(t, serve.Process.Signal(syscall.SIGSTOP))
	atTheDesktop(t, w, program, "--data", `C:\data`, "--key-file", `C:\key`)
	if said, want := box(t, w, "silent"), inGerman(t, message.OtherIsSilent()); said != want {
		t.Errorf("the box says\n%s\nwant\n%s", said, want)
	}
}

func TestWithoutOpenGLTheTrayOfWindowsWorksOn(t *testing.T) {
	display := bareScreen(t)
	w, _ := newWine(t, display)
	program := there(shipped(t).windows)
	flags := []string{"--data", `C:\data`, "--key-file", `C:\key`}
	w.must(t, append(append([]string{"wine", program, "setup"}, flags...), "--auth-url", "https://sign.example.com",
		"--base-url", "https://sign.example.com", "--client-id", "ID", "--tunnel", "none", "--redirect", "paste",
		"--redirect-uri", "https://example.com/back", "--save-to", `C:\Signed`)...)
	atTheDesktop(t, w, append([]string{program}, flags...)...)
	box(t, w, "works on")
	out := w.must(t, append([]string{"wine", program, "status"}, flags...)...)
	if !strings.Contains(out, "not signed in") {
		t.Errorf("the office says %q", out)
	}
	x := command{env: []string{"DISPLAY=" + display}}
	if out, _ := x.run(t, "xdotool", "search", "--onlyvisible", "--name", "^Wine System Tray$"); strings.TrimSpace(out) == "" {
		t.Error("there is no icon in the tray")
	}
	atTheDesktop(t, w, append([]string{program}, flags...)...) // whoever asks for the window is told again
	box(t, w, "told again")
	w.must(t, append([]string{"wine", program, "quit"}, flags...)...)
	wantFile(t, filepath.Join(w.dir, "drive_c", "data", "logs", "fault.txt"), false) // or the next start would tell of a fault
}

// makeNewer has a state as a later version would leave it.
func makeNewer(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	must(t, err)
	defer db.Close()
	must(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("9999")) }))
}

// there is a file of this computer as Wine calls it. In listings of Z: Wine hides its own folder, so that a path through it cannot
// be resolved.
func there(path string) string {
	if _, within, is := strings.Cut(path, "/drive_c/"); is {
		return `C:\` + strings.ReplaceAll(within, "/", `\`)
	}
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}
