//go:build !windows && !darwin

// Package displaytest gives a test an X server of its own. It knows nothing of what the test shows there.
package displaytest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Start starts Xvfb until the test has ended, and has $DISPLAY name it. Where there is none, the test fails.
func Start(t *testing.T) {
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
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset")
	x.ExtraFiles = []*os.File{number}
	if err := x.Start(); err != nil {
		t.Fatal("this test needs Xvfb (package xvfb): ", err)
	}
	number.Close()
	t.Cleanup(func() {
		x.Process.Kill()
		x.Wait()
	})
	line, err := bufio.NewReader(ready).ReadString('\n')
	must(err)
	t.Setenv("DISPLAY", ":"+strings.TrimSpace(line))
	t.Setenv("WAYLAND_DISPLAY", "")
}
