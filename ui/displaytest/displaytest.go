//go:build !windows && !darwin

// Package displaytest gives a test an X server of its own. It knows nothing of what the test shows there.
package displaytest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"countersign/internal/fasttest"
)

// Start starts Xvfb until the test has ended, and has $DISPLAY name it. Where there is none, the test fails, but for the fast loop.
func Start(t *testing.T) {
	t.Helper()
	t.Setenv("DISPLAY", Server(t, "640x480x24"))
	t.Setenv("WAYLAND_DISPLAY", "")
}

// Server starts Xvfb with a screen of that size until the test has ended, and returns the name of the display; more is what it
// is told beside the usual. It stays when its last client goes: otherwise it would begin anew under the next one's hands.
func Server(t *testing.T, screen string, more ...string) string {
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
	x := exec.Command("Xvfb", append([]string{"-displayfd", "3", "-screen", "0", screen, "-nolisten", "tcp", "-noreset"}, more...)...)
	x.ExtraFiles = []*os.File{number}
	fasttest.Needs(t, "Xvfb (package xvfb)", x.Start())
	number.Close()
	t.Cleanup(func() {
		x.Process.Kill()
		x.Wait()
	})
	line, err := bufio.NewReader(ready).ReadString('\n')
	must(err)
	return ":" + strings.TrimSpace(line)
}
