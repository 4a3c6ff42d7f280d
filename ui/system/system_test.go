//go:build !windows && !darwin

package system

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestADisplayThatIsNotThereIsNoticedBeforeTheGraphicsLibrary(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "wayland-9"))
	must(t, err)
	defer listener.Close()
	for name, c := range map[string]struct {
		env  map[string]string
		fine bool
	}{
		"nothing set":         {nil, false},
		"dead display":        {map[string]string{"DISPLAY": ":59999"}, false},
		"not a display":       {map[string]string{"DISPLAY": "tomato"}, false},
		"dead wayland":        {map[string]string{"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": dir}, false},
		"wayland in its home": {map[string]string{"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": dir}, true},
	} {
		err := CheckDisplay(t.Context(), env(c.env))
		if c.fine != (err == nil) || (err != nil && !errors.Is(err, ErrNoDisplay)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyWebAddressesAreOpened(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, address := range []string{"", "file:///etc/passwd", "javascript:alert(1)", "smb://host/share", "--help", "https://"} {
		if err := (Opener{}).OpenAddress(t.Context(), address); err == nil || !strings.Contains(err.Error(), "not a web address") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestOpenersGetTheArgumentAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "Lease; $(touch owned) `x` 4.pdf")
	must(t, os.WriteFile(file, nil, 0o600))
	cmd := fileCommand(file)
	if len(cmd) != 2 || cmd[1] != file {
		t.Errorf("got %q", cmd)
	}
	if got := revealCommand(file); got[len(got)-1] != filepath.Dir(file) {
		t.Errorf("got %q", got)
	}
	if err := (Opener{}).OpenFile(t.Context(), file+".gone"); err == nil || !strings.Contains(err.Error(), "no longer where it was saved") {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestAMissingOpenerIsSaidPlainly(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := (Opener{}).OpenFile(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no program for it") {
		t.Errorf("got %v", err)
	}
}

// A program that starts is not yet a browser that opened: it may fail after a while, or never end.
func TestABrowserThatDoesNotOpenIsNoticed(t *testing.T) {
	const address = "https://sign.example.com/connect/authorize?state=x"
	for name, c := range map[string]struct {
		script string
		want   error
	}{
		"none there":        {"", ErrNoBrowser},
		"opens":             {"exit 0", nil},
		"fails late":        {"sleep 0.1; exit 3", ErrNoBrowser},
		"hangs":             {"exec sleep 2", nil},
		"gets the address":  {`test "$1" = "` + address + `"`, nil},
		"ends by a request": {"exec sleep 2", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.script != "" {
				must(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+c.script+"\n"), 0o755))
			}
			t.Setenv("PATH", dir)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if errors.Is(c.want, context.Canceled) {
				cancel()
			}
			if err := (Opener{Patience: time.Second}).OpenAddress(ctx, address); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// Looking for a tray or a dialog starts no bus: it would be one on which nothing of the person's session is.
func TestNoBusIsStarted(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	if err := os.WriteFile(filepath.Join(dir, "dbus-launch"), []byte("#!/bin/sh\n: > "+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if HasTray(t.Context()) {
		t.Error("there is no bus, so there is no tray")
	}
	if _, err := (Opener{}).Choose(t.Context(), FileDialog{}); !errors.Is(err, ErrNoDialog) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Error("dbus-launch was started")
	}
}

func TestAProgramIsWaitedForNoLongerThanItMayTake(t *testing.T) {
	slow := exec.Command("sleep", "600")
	if err := runFor(time.Millisecond, slow); !errors.Is(err, errStillRuns) {
		t.Errorf("it is waited for: %v", err)
	}
	must(t, slow.Process.Kill())
	must(t, runFor(time.Hour, exec.Command("true")))
	var failed *exec.ExitError
	if err := runFor(time.Hour, exec.Command("false")); !errors.As(err, &failed) {
		t.Errorf("it failed: %v", err)
	}
}

func TestANewFileHasItsNameWhenItIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.csv")
	must(t, os.WriteFile(path, []byte("of last year"), 0o600))
	full := errors.New("no space left on device")
	for _, c := range []struct {
		want string
		err  error
	}{{"of last year", full}, {"whole", nil}} {
		err := WriteFile(path, true, func(w io.Writer) error {
			_, err := io.WriteString(w, "whole")
			if before, err := os.ReadFile(path); err != nil || string(before) != "of last year" {
				t.Errorf("while it is written it is %q, %v", before, err)
			}
			return errors.Join(err, c.err)
		})
		if now, read := os.ReadFile(path); read != nil || string(now) != c.want || !errors.Is(err, c.err) {
			t.Errorf("it is %q, want %q, %v, %v", now, c.want, read, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
	other := filepath.Join(dir, "other.csv")
	if err := WriteFile(other, false, func(io.Writer) error { return os.WriteFile(other, []byte("quicker"), 0o600) }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("one that came meanwhile is replaced: %v", err)
	}
	if b, _ := os.ReadFile(other); string(b) != "quicker" {
		t.Errorf("it is %q", b)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
