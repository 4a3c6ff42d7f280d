//go:build shipping

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/ui/displaytest"

	"go.etcd.io/bbolt"
)

// wineOverrides prevents Wine from reaching outside its folder: from offering to install Mono and Gecko, and from adding
// installed programs to the menus, icons and file types of whoever runs the tests.
const wineOverrides = "mscoree,mshtml=;winemenubuilder.exe=d"

// inWine is the environment for Windows programs with this prefix, with or without a display. It does not refer to the home
// of whoever runs the tests.
func inWine(prefix, display string) command {
	return command{dir: prefix, env: []string{
		"WINEPREFIX=" + prefix, "WINEARCH=win64", "WINEDEBUG=-all", "WINEDLLOVERRIDES=" + wineOverrides, "DISPLAY=" + display,
		"LIBGL_ALWAYS_SOFTWARE=1", "XDG_RUNTIME_DIR=" + prefix, "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent", "HOME=" + prefix,
		"XDG_DATA_HOME=" + filepath.Join(prefix, "share"), "XDG_CONFIG_HOME=" + filepath.Join(prefix, "config"), "XDG_CACHE_HOME=" + filepath.Join(prefix, "cache"),
	}}
}

// empty is a new Windows, created once, with additions that Wine 8 lacks.
var empty = sync.OnceValue(func() string {
	prefix, err := os.MkdirTemp("", "countersign-wine-")
	if err != nil {
		panic(err)
	}
	leftovers = append(leftovers, prefix)
	return prefix
})

// newWine is a Windows for one test, and its user's folder.
func newWine(t *testing.T, display string) (command, string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(empty(), "ready")); err != nil {
		fillWine(t, empty())
	}
	prefix := filepath.Join(t.TempDir(), "wine")
	w := inWine(prefix, display)
	command{}.must(t, "cp", "--archive", empty(), prefix)
	t.Cleanup(func() {
		w.run(t, "wineserver", "--kill") // only this prefix's
		w.run(t, "wineserver", "--wait")
	})
	home, err := filepath.Glob(filepath.Join(prefix, "drive_c", "users", "*", "AppData"))
	if err != nil || len(home) != 1 {
		t.Fatalf("the person's folder: %q, %v", home, err)
	}
	return w, filepath.Dir(home[0])
}

func fillWine(t *testing.T, prefix string) {
	t.Helper()
	w := inWine(prefix, "")
	w.must(t, "wineboot", "--init")
	w.must(t, "wineserver", "--wait")
	w.must(t, mingwGCC, "-shared", "-O1", "-s", "-o",
		filepath.Join(prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll"),
		shipped(t).p.packaging("wine", "bcryptprimitives.c"), "-ladvapi32")
	noErr(t, os.WriteFile(filepath.Join(prefix, "ready"), nil, 0o600))
}

func TestTheWindowsProgramDoesTheWholeJob(t *testing.T) {
	w, home := newWine(t, "")
	dir := filepath.Join(home, "Signed")
	out := w.must(t, "wine", shipped(t).windows, "demo", "--headless", "--dir", there(dir))
	if !strings.Contains(out, "Done.") {
		t.Errorf("it printed\n%s", out)
	}
	wantDocuments(t, dir)
	if out := w.must(t, "wine", shipped(t).windows, "version"); !strings.Contains(out, "countersign 9.8.7 (") {
		t.Errorf("its version is %q", out)
	}
	if out, code := w.run(t, "wine", shipped(t).windows, "--tomato"); code != 2 || !strings.Contains(out, "unknown flag") {
		t.Errorf("a wrong flag ends with %d: %s", code, out)
	}
}

func TestCommandsPrintWhereTheyAreStarted(t *testing.T) {
	w, home := newWine(t, "")
	program := `Z:` + strings.ReplaceAll(shipped(t).windows, "/", `\`)
	batch := `"` + program + `" version >"%USERPROFILE%\said.txt"` + "\r\n"
	noErr(t, os.WriteFile(filepath.Join(home, "ask.bat"), []byte(batch), 0o600))
	w.must(t, "wine", "cmd", "/c", `%USERPROFILE%\ask.bat`)
	said, err := os.ReadFile(filepath.Join(home, "said.txt"))
	if err != nil || !strings.Contains(string(said), "countersign 9.8.7") {
		t.Errorf("into a file it printed %q, %v", said, err)
	}
	w.must(t, mingwGCC, "-municode", "-O1", "-s", "-o", filepath.Join(w.dir, "bare.exe"), shipped(t).p.packaging("wine", "bare.c"))
	// script(1) provides a terminal, which Wine presents as a console.
	out := w.must(t, "script", "--quiet", "--return", "--command", "wine bare.exe '"+program+"' version", "/dev/null")
	if !strings.Contains(out, "countersign 9.8.7") {
		t.Errorf("into the console it printed %q", out)
	}
}

// parts are what the installer creates below the user's folder.
var parts = []string{
	"AppData/Local/Programs/Countersign/Countersign.exe", "AppData/Local/Programs/Countersign/NOTICES.txt",
	"AppData/Local/Programs/Countersign/uninstall.exe",
	"AppData/Roaming/Microsoft/Windows/SendTo/Countersign.lnk",
	"AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Countersign.lnk",
}

const (
	runRegistry       = `HKCU\Software\Microsoft\Windows\CurrentVersion\Run`
	wineCredentials   = `HKCU\Software\Wine\Credential Manager`
	uninstallRegistry = `HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Countersign`
)

func TestTheInstallerLeavesWhatItShould(t *testing.T) {
	w, home := newWine(t, "")
	data := filepath.Join(home, "AppData", "Local", "countersign", "state.db")
	noErr(t, write(data, []byte("packages")))
	there := func(want bool) {
		t.Helper()
		for _, part := range parts {
			wantFile(t, filepath.Join(home, filepath.FromSlash(part)), want)
		}
	}
	installed := filepath.Join(home, filepath.FromSlash(parts[0]))
	w.must(t, "wine", shipped(t).setup, "/S")
	there(true)
	if out := w.must(t, "wine", "reg", "query", uninstallRegistry); !strings.Contains(out, "9.8.7") || !strings.Contains(out, "uninstall.exe") {
		t.Errorf("Apps & features shows\n%s", out)
	}
	if out, _ := w.run(t, "wine", "reg", "query", runRegistry); strings.Contains(out, "Countersign") {
		t.Errorf("it starts with Windows, and nobody asked for that:\n%s", out)
	}
	if out := w.must(t, "wine", installed, "version"); !strings.Contains(out, "9.8.7") {
		t.Errorf("installed is %q", out)
	}
	w.must(t, "wine", shipped(t).setup, "/S", "/AUTOSTART") // over the first one
	sendTo := filepath.Join(home, filepath.FromSlash(parts[3]))
	noErr(t, os.Remove(sendTo))
	w.must(t, "wine", shipped(t).setup, "/S") // keeps the earlier choice
	wantFile(t, sendTo, false)
	if out := w.must(t, "wine", "reg", "query", runRegistry); !strings.Contains(out, `Countersign.exe" --hidden`) {
		t.Errorf("it does not start with Windows:\n%s", out)
	}
	w.must(t, "wine", filepath.Join(filepath.Dir(installed), "uninstall.exe"), "/S")
	w.must(t, "wineserver", "-w") // the uninstaller continues as a copy of itself
	there(false)
	wantFile(t, filepath.Dir(installed), false)
	wantFile(t, data, true)
	if out, code := w.run(t, "wine", "reg", "query", uninstallRegistry); code == 0 {
		t.Errorf("Apps & features still shows\n%s", out)
	}
	if out, _ := w.run(t, "wine", "reg", "query", runRegistry); strings.Contains(out, "Countersign") {
		t.Errorf("it still starts with Windows:\n%s", out)
	}
}

func TestTheUninstallerRemovesAllWhenTheDataIsToGo(t *testing.T) {
	w, home := newWine(t, "")
	w.must(t, "wine", shipped(t).setup, "/S", "/AUTOSTART")
	installed := filepath.Join(home, filepath.FromSlash(parts[0]))
	setUp := command{dir: w.dir, env: append(slices.Clone(w.env), "COUNTERSIGN_CLIENT_SECRET=s3cret")}
	signed := filepath.Join(w.dir, "drive_c", "Signed", "Lease.pdf")
	setUp.must(t, "wine", installed, "setup", "--auth-url", "https://sign.example.com", "--base-url", "https://sign.example.com", "--client-id", "ID",
		"--tunnel", "none", "--redirect", "localhost", "--save-to", `C:\Signed`)
	noErr(t, write(signed, []byte("%PDF-")))
	gone := []string{"AppData/Local/countersign", "AppData/Local/countersign.moving", "AppData/Roaming/countersign",
		"AppData/Roaming/fyne", "AppData/Local/fyne", "AppData/Local/Programs/Countersign"}
	for _, window := range []string{"AppData/Roaming/fyne/ch.countersign.app/preferences.json", "AppData/Local/fyne/ch.countersign.app/icon"} {
		noErr(t, write(filepath.Join(home, filepath.FromSlash(window)), []byte("{}")))
	}
	if keys := w.must(t, "wine", "reg", "query", wineCredentials, "/s"); !strings.Contains(keys, "Countersign:key of ") {
		t.Fatalf("the Credential Manager has no key:\n%s", keys)
	}
	w.must(t, "wine", filepath.Join(filepath.Dir(installed), "uninstall.exe"), "/S", "/REMOVEDATA")
	w.must(t, "wineserver", "-w")
	for _, name := range gone {
		wantFile(t, filepath.Join(home, filepath.FromSlash(name)), false)
	}
	wantFile(t, signed, true)
	if keys, _ := w.run(t, "wine", "reg", "query", wineCredentials, "/s"); strings.Contains(keys, "Countersign") {
		t.Errorf("the Credential Manager keeps\n%s", keys)
	}
	left, _ := w.run(t, "wine", "reg", "query", `HKCU\Software`, "/s")
	for line := range strings.Lines(left) {
		if strings.Contains(line, "Countersign") {
			t.Errorf("the registry keeps %s", line)
		}
	}
}

func TestAProgramThatRunsIsEnded(t *testing.T) {
	w, home := newWine(t, "")
	w.must(t, "wine", shipped(t).setup, "/S")
	installed := filepath.Join(home, filepath.FromSlash(parts[0]))
	serve := exec.Command("wine", installed, "--key-file", `C:\key`, "serve")
	serve.Env, serve.Dir = append(os.Environ(), w.env...), w.dir
	said := must(serve.StderrPipe())
	noErr(t, serve.Start())
	defer w.run(t, "wineserver", "--kill")
	if _, err := said.Read(make([]byte, 1)); err != nil { // it prints once it runs
		t.Fatal(err)
	}
	if out := w.must(t, "wine", installed, "status"); !strings.Contains(out, "not signed in") {
		t.Errorf("beside it, status says %q", out)
	}
	if out, code := w.run(t, "wine", installed, "serve"); code != 1 || !strings.Contains(out, "already running") {
		t.Errorf("a second one ends with %d: %s", code, out)
	}
	if _, code := w.run(t, "wine", shipped(t).setup, "/S"); code != 0 {
		t.Errorf("the installer ends with %d", code)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	wantFile(t, installed, true)
}

// TestTheWindowAppearsOnWindows also chooses a document, in Windows' own dialog: it accepts what is typed and closes.
func TestTheWindowAppearsOnWindows(t *testing.T) {
	display := newDisplay(t)
	w, home := newWine(t, display)
	paper := filepath.Join(home, "Lease 4+5 (100%).pdf")
	noErr(t, os.WriteFile(paper, []byte("%PDF-1.4"), 0o600))
	demo := exec.Command("wine", shipped(t).windows, "demo", "--dir", there(filepath.Join(home, "Signed")))
	demo.Env, demo.Dir = append(os.Environ(), w.env...), w.dir
	noErr(t, demo.Start())
	defer demo.Wait()
	defer w.run(t, "wineserver", "--kill")
	x := command{env: []string{"DISPLAY=" + display}}
	window := func(title string) string {
		out, _ := x.run(t, "timeout", "60", "xdotool", "search", "--sync", "--onlyvisible", "--name", "^"+title+"$")
		id, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		if id == "" {
			t.Fatalf("no window is called %s", title)
		}
		return id
	}
	main := window("Countersign")
	time.Sleep(5 * time.Second) // the demo first shows its packages
	x.must(t, "xdotool", "windowfocus", "--sync", main, "key", "--delay", "500", "ctrl+n", "space")
	dialog := window("Add documents")
	x.must(t, "xdotool", "windowfocus", "--sync", dialog, "type", "--delay", "60", there(paper))
	x.must(t, "xdotool", "key", "Return")
	for range 50 {
		if out, _ := x.run(t, "xdotool", "search", "--onlyvisible", "--name", "^Add documents$"); strings.TrimSpace(out) == "" {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Error("the dialog does not take a file")
}

// newDisplay is an X server for one test; more are additional arguments.
func newDisplay(t *testing.T, more ...string) string {
	t.Helper()
	display, _ := displaytest.Server(t, "1280x900x24", more...)
	return display
}

// fakeInstaller is an installer for a stand-in for our program, see testdata/updated.
func fakeInstaller(t *testing.T, version string) string {
	t.Helper()
	p := shipped(t).p
	p.out, p.version = t.TempDir(), version
	program := filepath.Join(p.out, "Countersign.exe")
	noErr(t, run(t.Context(), p.root, []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}, "go", "build", "-buildvcs=false",
		"-ldflags", "-X main.version="+version, "-o", program, "./internal/release/testdata/updated"))
	setup := must(p.windowsInstaller(t.Context(), program, "setup-"+version+".exe"))
	return setup
}

func TestAnUpdateWaitsForTheProgramAndBringsItBack(t *testing.T) {
	w, home := newWine(t, "")
	inWindows := func(path string) string { return `Z:` + strings.ReplaceAll(path, "/", `\`) }
	w.must(t, "wine", fakeInstaller(t, "1.0.0"), "/S")
	program := filepath.Join(home, filepath.FromSlash(parts[0]))
	sendTo := filepath.Join(home, filepath.FromSlash(parts[3]))
	noErr(t, os.Remove(sendTo))
	w.must(t, "wine", program, "update", inWindows(fakeInstaller(t, "1.2.0")))
	note := filepath.Join(home, "came-back.txt")
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		said, err := os.ReadFile(note)
		if err == nil && len(said) > 0 {
			if string(said) != `1.2.0 --data|C:\an office` {
				t.Errorf("came back: %s", said)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatalf("it did not come back: %v", err)
		}
	}
	wantFile(t, sendTo, false)
}

// Two copies would run side by side. The person's choices are taken over, and other files in the new folder stay.
func TestInAnotherFolderTheInstallerMoves(t *testing.T) {
	w, home := newWine(t, "")
	w.must(t, "wine", fakeInstaller(t, "1.0.0"), "/S", "/AUTOSTART")
	sendTo := filepath.Join(home, filepath.FromSlash(parts[3]))
	noErr(t, os.Remove(sendTo))
	other := filepath.Join(w.dir, "drive_c", "Büro", "Подпись")
	theirs := filepath.Join(other, "opengl", "theirs.dll")
	noErr(t, write(theirs, []byte("MZ")))
	w.must(t, "wine", fakeInstaller(t, "1.2.0"), "/S", `/D=C:\Büro\Подпись`)
	wantFile(t, filepath.Dir(filepath.Join(home, filepath.FromSlash(parts[0]))), false)
	wantFile(t, filepath.Join(other, "Countersign.exe"), true)
	wantFile(t, sendTo, false)
	if out := w.must(t, "wine", "reg", "query", runRegistry); !strings.Contains(out, `Countersign.exe" --hidden`) || strings.Contains(out, "AppData") {
		t.Errorf("with Windows starts\n%s", out)
	}
	w.must(t, "wine", filepath.Join(other, "uninstall.exe"), "/S")
	w.must(t, "wineserver", "-w")
	wantFile(t, filepath.Join(other, "Countersign.exe"), false)
	wantFile(t, theirs, true)
}

// An older program cannot read what a newer one has written.
func TestAnOlderInstallerLeavesANewerProgram(t *testing.T) {
	w, home := newWine(t, "")
	w.must(t, "wine", shipped(t).setup, "/S")
	if out, code := w.run(t, "wine", fakeInstaller(t, "1.0.0"), "/S"); code != 4 {
		t.Errorf("it ends with %d: %s", code, out)
	}
	if out := w.must(t, "wine", filepath.Join(home, filepath.FromSlash(parts[0])), "version"); !strings.Contains(out, "9.8.7") {
		t.Errorf("installed is %q", out)
	}
}

// bareScreen is a display without GLX: Wine has no OpenGL there, like a Windows remote desktop.
func bareScreen(t *testing.T) string { return newDisplay(t, "-extension", "GLX") }

// atTheDesktop starts a program as the Start menu does, without output.
func atTheDesktop(t *testing.T, w command, args ...string) {
	t.Helper()
	launcher := filepath.Join(w.dir, "drive_c", "launch.exe")
	if _, err := os.Stat(launcher); err != nil {
		w.must(t, mingwGCC, "-municode", "-O1", "-s", "-o", launcher, shipped(t).p.packaging("wine", "launch.c"))
	}
	w.must(t, append([]string{"wine", `C:\launch.exe`}, args...)...)
}

// box waits for a message box, saves a picture of it if a developer wants one, closes it, and returns its text.
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

// german makes Windows use German: Wine takes the language from the locale, which the system may lack.
func german(t *testing.T, w command) command {
	t.Helper()
	locales := t.TempDir()
	command{}.must(t, "localedef", "-i", "de_DE", "-f", "UTF-8", filepath.Join(locales, "de_DE.UTF-8"))
	w.env = append(slices.Clone(w.env), "LOCPATH="+locales, "LC_ALL=de_DE.UTF-8")
	return w
}

// inGerman is a message as shown in a box.
func inGerman(t *testing.T, m message.Message) string {
	t.Helper()
	words := must(message.NewPrinter("de"))
	what, next := words.Lines(m)
	return strings.TrimSpace(what + "\n\n" + next)
}

func setUp(t *testing.T, w command, program, data string) {
	t.Helper()
	w.must(t, "wine", program, "setup", "--data", data, "--key-file", `C:\key`, "--auth-url", "https://sign.example.com",
		"--base-url", "https://sign.example.com", "--client-id", "ID", "--tunnel", "none", "--redirect", "paste",
		"--redirect-uri", "https://example.com/back", "--save-to", `C:\Signed`)
}

// Every box says in one sentence what happened, and what to do, in the system's language.
func TestWhatKeepsTheWindowsWindowAwayIsToldInABox(t *testing.T) {
	w, _ := newWine(t, bareScreen(t))
	w = german(t, w)
	program := there(shipped(t).windows)
	drive := filepath.Join(w.dir, "drive_c")
	noErr(t, os.WriteFile(filepath.Join(drive, "file"), nil, 0o600))
	setUp(t, w, program, `C:\newer`)
	makeNewer(t, filepath.Join(drive, "newer", "state.db"))
	damaged := filepath.Join(drive, "damaged", "state.db")
	noErr(t, write(damaged, bytes.Repeat([]byte("no data "), 8<<10)))
	for _, c := range []struct {
		name, data string
		more       []string
		says       message.Message
	}{
		{name: "nothing set up", data: `C:\data`, says: message.Then(message.NoOpenGL(), message.OpenGLHelps())},
		{name: "folder", data: `C:\file\data`, says: message.DataFolderNotMade(`C:\file\data`)},
		{name: "newer", data: `C:\newer`, says: message.DataNewer()},
		{name: "damaged", data: `C:\damaged`, says: message.Then(message.NoOpenGL(), message.OpenGLHelps())}, // the damaged file is set aside, and the office starts anew
		{name: "flag", more: []string{"--tomato"}, data: `C:\data`, says: message.CommandWrong("unknown flag --tomato")},
	} {
		atTheDesktop(t, w, append([]string{program, "--data", c.data, "--key-file", `C:\key`}, c.more...)...)
		if said, want := box(t, w, c.name), inGerman(t, c.says); said != want {
			t.Errorf("%s: the box says\n%s\nwant\n%s", c.name, said, want)
		}
	}
	if kept, err := filepath.Glob(damaged + ".damaged-*"); err != nil || len(kept) != 1 {
		t.Errorf("the damaged file is kept as %q, %v", kept, err)
	}
}

func TestAnInstanceThatDoesNotAnswerIsToldInABox(t *testing.T) {
	w, _ := newWine(t, bareScreen(t))
	w = german(t, w)
	program := there(shipped(t).windows)
	serve := exec.Command("wine", program, "--data", `C:\data`, "--key-file", `C:\key`, "serve")
	serve.Env, serve.Dir = append(os.Environ(), w.env...), w.dir
	said := must(serve.StderrPipe())
	noErr(t, serve.Start())
	defer serve.Wait()
	defer serve.Process.Kill()
	if _, err := said.Read(make([]byte, 1)); err != nil { // it prints once it runs
		t.Fatal(err)
	}
	noErr(t, serve.Process.Signal(syscall.SIGSTOP))
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
	atTheDesktop(t, w, append([]string{program}, flags...)...) // asking for the window again shows the message again
	box(t, w, "told again")
	w.must(t, append([]string{"wine", program, "quit"}, flags...)...)
	wantFile(t, filepath.Join(w.dir, "drive_c", "data", "logs", "fault.txt"), false) // otherwise the next start would report a crash
}

// makeNewer makes a state look like a later version's.
func makeNewer(t *testing.T, path string) {
	t.Helper()
	db := must(bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second}))
	defer db.Close()
	noErr(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("9999")) }))
}

// there is a file of this computer as a Wine path. Wine hides its own folder in listings of Z:, so a path through that
// cannot be resolved.
func there(path string) string {
	if _, within, is := strings.Cut(path, "/drive_c/"); is {
		return `C:\` + strings.ReplaceAll(within, "/", `\`)
	}
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}

// packaged is a Windows Installer package of a version. It contains the server program instead of the one with a window,
// which takes long to compress.
func packaged(t *testing.T, version string) string {
	t.Helper()
	p := shipped(t).p
	p.version, p.out = version, t.TempDir()
	msi := must(p.windowsPackage(t.Context(), filepath.Join(shipped(t).p.out, servers[2].file("9.8.7")), "Countersign.msi"))
	return there(msi)
}

func TestThePackageForEverybodyInstallsUpdatesAndGoes(t *testing.T) {
	w, home := newWine(t, "")
	first, candidate, second := packaged(t, "1.2.0"), packaged(t, "1.3.0-rc.1"), packaged(t, "1.3.0")
	drive := filepath.Join(w.dir, "drive_c")
	program := filepath.Join(drive, "Program Files", "Countersign", "Countersign.exe")
	starts := func() bool {
		out, _ := w.run(t, "wine", "reg", "query", `HKLM\Software\Microsoft\Windows\CurrentVersion\Run`)
		return strings.Contains(out, `Countersign.exe" --hidden`)
	}
	w.must(t, "wine", "msiexec", "/i", first, "/qn")
	wantFile(t, program, true)
	if starts() {
		t.Error("it starts with Windows, and nobody asked for that")
	}
	w.must(t, "wine", "msiexec", "/x", first, "/qn")
	wantFile(t, filepath.Dir(program), false)

	w.must(t, "wine", "msiexec", "/i", first, "/qn", "AUTOSTART=1")
	serve := exec.Command("wine", program, "--key-file", `C:\key`, "serve")
	serve.Env, serve.Dir = append(os.Environ(), w.env...), w.dir
	said := must(serve.StderrPipe())
	noErr(t, serve.Start())
	must(said.Read(make([]byte, 1)))
	w.must(t, "wine", "msiexec", "/i", candidate, "/qn")
	if err := serve.Wait(); err != nil {
		t.Errorf("what ran ended with %v", err)
	}
	w.must(t, "wine", "msiexec", "/i", second, "/qn") // Windows Installer considers it the same version
	out := w.must(t, "wine", "reg", "query", `HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall`, "/s")
	if n := strings.Count(out, "DisplayName    REG_SZ    Countersign"); !starts() || n != 1 {
		t.Errorf("after the update it starts with Windows: %v; it is installed %d times\n%s", starts(), n, out)
	}
	if _, code := w.run(t, "wine", "msiexec", "/i", first, "/qn"); code == 0 {
		t.Error("an older version took the place of a newer one")
	}
	if _, code := w.run(t, "wine", shipped(t).setup, "/S"); code != 3 {
		t.Errorf("beside it the installer for one person ends with %d", code)
	}
	wantFile(t, filepath.Join(home, filepath.FromSlash(parts[0])), false)
	w.must(t, "wine", "msiexec", "/i", second, "/qn", "REINSTALL=ALL", "REINSTALLMODE=amus")
	w.must(t, "wine", "msiexec", "/x", second, "/qn")
	wantFile(t, filepath.Dir(program), false)
	if starts() {
		t.Error("it still starts with Windows")
	}
}
