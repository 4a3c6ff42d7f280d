//go:build !windows && !darwin

// Package displaytest gives a test its own X server. It does not know what the test shows there.
package displaytest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/fasttest"
)

// Start runs Xvfb until the end of the test and sets $DISPLAY. If Xvfb is missing, the test fails, except in the fast loop.
func Start(t *testing.T) {
	t.Helper()
	display, _ := Server(t, "640x480x24")
	t.Setenv("DISPLAY", display)
	t.Setenv("WAYLAND_DISPLAY", "")
}

// Server runs Xvfb with a screen of that size until the end of the test, with the additional options more, and returns the display's
// name and the process. It stays up after its last client leaves; otherwise it would reset under the next one.
func Server(t testing.TB, screen string, more ...string) (display string, x *os.Process) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	ready, number, err := os.Pipe()
	must(err)
	defer ready.Close()
	server := exec.Command("Xvfb", append([]string{"-displayfd", "3", "-screen", "0", screen, "-nolisten", "tcp", "-noreset"}, more...)...)
	server.ExtraFiles = []*os.File{number}
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // ends with the test binary, if that is killed
	fasttest.Needs(t, "Xvfb (package xvfb)", server.Start())
	number.Close()
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	line, err := bufio.NewReader(ready).ReadString('\n')
	must(err)
	return ":" + strings.TrimSpace(line), server.Process
}
