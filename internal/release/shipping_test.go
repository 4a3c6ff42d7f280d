//go:build shipping

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests with this tag install the shipped packages where they belong: Windows programs in Wine, the Debian package in a
// fresh Debian, the archive in an empty home. `make test-shipping` runs them, and installs what they need.

// built is a published release, made once for all tests.
type built struct {
	p                                        product
	linux, windows, setup, deb, rpm, tarball string
	server, serverDeb                        string // for this computer's processor
}

var build = sync.OnceValues(func() (built, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "countersign-shipping-")
	if err != nil {
		return built{}, err
	}
	leftovers = append(leftovers, dir)
	c := commandLine{Root: filepath.Join("..", ".."), Out: dir, Version: "9.8.7", Arch: runtime.GOARCH}
	p, err := c.product(ctx)
	if err != nil {
		return built{}, err
	}
	return built{
		p: p, linux: filepath.Join(dir, "countersign-9.8.7-linux-amd64"),
		windows: filepath.Join(dir, "Countersign-9.8.7-windows-amd64.exe"), setup: filepath.Join(dir, "Countersign-9.8.7-setup.exe"),
		server:    filepath.Join(dir, "countersign-server-9.8.7-linux-"+runtime.GOARCH),
		serverDeb: filepath.Join(dir, "countersign-server_9.8.7_"+runtime.GOARCH+".deb"),
		deb:       filepath.Join(dir, "countersign_9.8.7_amd64.deb"),
		rpm:       filepath.Join(dir, "countersign-9.8.7-1.x86_64.rpm"), tarball: filepath.Join(dir, "countersign-9.8.7-linux-amd64.tar.gz"),
	}, p.release(ctx)
})

// leftovers are shared by all tests and removed at the end.
var leftovers []string

func shipped(t *testing.T) built {
	t.Helper()
	b := must(build())
	return b
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "sign" { // called back by the installer's compiler, like the real program
		if err := signWindows(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	for _, dir := range leftovers {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// command is an environment for running tools.
type command struct {
	env []string
	dir string
}

// run runs a tool to its end and returns its combined output and its exit code.
func (c command) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // not the test's, because cleanups use it, too
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), c.env...), c.dir
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its children end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a tool that must succeed.
func (c command) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := c.run(t, args...)
	if code != 0 {
		t.Fatalf("%s ended with %d:\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// wantDocuments checks that the demo saved the signed documents of its two packages completely.
func wantDocuments(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, ".pdf") || !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("%s is no PDF document", path)
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 8 {
		t.Errorf("%d documents were saved", n)
	}
}

func wantFile(t *testing.T, path string, there bool) {
	t.Helper()
	if _, err := os.Lstat(path); (err == nil) != there {
		t.Errorf("%s: there is %v, want %v", path, err == nil, there)
	}
}
