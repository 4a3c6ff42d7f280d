package main

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/trytest"
)

// program is a build by `make server` on a computer without a C compiler.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "countersign")
	cmd := exec.Command("go", "build", "-ldflags=-X main.version=9.8.7", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "CC="+filepath.Join(t.TempDir(), "no-compiler"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build without C: %v\n%s", err, out)
	}
	return path
}

func TestTheServersProgramDoesTheWholeJobWithoutAWindow(t *testing.T) {
	countersign, home := program(t), t.TempDir()
	run := func(args ...string) (code int, stdout, stderr string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), countersign, args...)
		cmd.Env = []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(),
			"DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent", // otherwise the D-Bus library starts a daemon
		}
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), said.String()
	}

	if code, out, said := run("version"); code != 0 || out != "countersign 9.8.7\n" {
		t.Errorf("version ended with %d: %q %q", code, out, said)
	}
	key := filepath.Join(home, "key")
	if code, out, said := run("status", "--key-file", key); code != 0 || !strings.Contains(out, "not set up") {
		t.Errorf("status ended with %d: %q %q", code, out, said)
	}

	lease := filepath.Join(home, "Lease.pdf")
	noErr(t, os.WriteFile(lease, []byte("%PDF-1.7"), 0o600))
	for _, args := range [][]string{{}, {lease}, {"open", "--hidden"}} {
		code, out, said := run(args...)
		if code != 1 || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, "`countersign serve`") {
			t.Errorf("%q ended with %d: %q %q", args, code, out, said)
		}
	}

	signed := filepath.Join(home, "Signed")
	code, out, said := run("demo", "--dir", signed)
	if code != 0 || !strings.Contains(out, "has no window") || !strings.Contains(out, "Done. The documents are in "+signed) {
		t.Fatalf("the demo ended with %d: %s %s", code, out, said)
	}
	expect(t, documents(t, signed), 8, "the demo saved %d documents, want 8:\n%s", out)
}

func TestAServiceOfSystemdIsReadyWorksAndTakesItsCredentials(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no systemd elsewhere")
	}
	countersign, home, credentials := program(t), t.TempDir(), t.TempDir()
	data, socket := filepath.Join(home, "data"), filepath.Join(home, "notify")
	said := trytest.Must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"}))
	defer said.Close()
	// The mode of a credential shows the mask of its access list (systemd.exec(5)).
	noErr(t, os.WriteFile(filepath.Join(credentials, "key"), base64.StdEncoding.AppendEncode(nil, []byte("a key of thirty-two bytes, secret"[:32])), 0o440))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), countersign, append(args, "--data", data)...)
		cmd.Env = []string{
			"HOME=" + home, "CREDENTIALS_DIRECTORY=" + credentials, "NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=200000",
			"DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent",
		}
		return cmd
	}
	key := []string{"--key-file", filepath.Join(credentials, "key")}
	out, err := command(append(key, "setup", "--auth-url", "http://127.0.0.1:9", "--base-url", "http://127.0.0.1:9", "--client-id", "office",
		"--tunnel", "ngrok", "--ngrok-connect-url", "127.0.0.1:9", "--redirect", "loopback", "--save-to", filepath.Join(home, "Signed"))...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, misses := range []bool{true, false} {
		serve := command(append(key, "serve")...)
		noErr(t, serve.Start())
		hear(t, said, "READY=1")
		hear(t, said, "WATCHDOG=1")
		for tries := 0; ; tries++ {
			out, err := command("status").CombinedOutput()
			if err == nil && strings.Contains(string(out), "down (ngrok)") && strings.Contains(string(out), "authtoken") == misses {
				break
			} else if tries == 100 {
				t.Fatalf("without an authtoken: %v; its status is %s (%v)", misses, out, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		noErr(t, serve.Process.Signal(os.Interrupt))
		hear(t, said, "STOPPING=1")
		noErr(t, serve.Wait())
		noErr(t, os.WriteFile(filepath.Join(credentials, "NGROK_AUTHTOKEN"), []byte("s3cret\n"), 0o440))
	}
}

// hear waits until the service sends a message to systemd.
func hear(t *testing.T, said *net.UnixConn, want string) {
	t.Helper()
	b := make([]byte, 100)
	for {
		if n, err := said.Read(b); err != nil || string(b[:n]) == want {
			noErr(t, err)
			return
		}
	}
}

var noErr, expect = trytest.NoErr, trytest.Expect

// documents counts the PDF documents below dir, and fails on any other file.
func documents(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("%s is no PDF document", path)
		}
		n++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheDemoIsMadeWithoutCWhereThereIsNoDisplay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems always have a display")
	}
	planned := func(env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "make", "--dry-run", "--always-make", "demo")
		cmd.Dir = "../.."
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "DISPLAY=") || strings.HasPrefix(v, "WAYLAND_DISPLAY=")
		}), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	steps := func(plan string, want ...string) {
		t.Helper()
		rest := plan
		for _, w := range want {
			_, after, ok := strings.Cut(rest, w)
			if !ok {
				t.Fatalf("not in this order: %q\n%s", want, plan)
			}
			rest = after
		}
	}
	text := planned()
	steps(text, "There is no display here", "takes about a minute", "CGO_ENABLED=0 go build", "countersign-server demo")
	if strings.Contains(text, ".ci/install") {
		t.Errorf("without a display it installs packages:\n%s", text)
	}
	for _, display := range []string{"DISPLAY=:0", "WAYLAND_DISPLAY=wayland-0"} {
		window := planned(display)
		steps(window, ".ci/install", "a few minutes", "go build", "build/countersign demo")
		if strings.Contains(window, "CGO_ENABLED=0") {
			t.Errorf("with a display it builds no window:\n%s", window)
		}
	}
}
