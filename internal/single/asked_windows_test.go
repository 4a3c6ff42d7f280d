package single

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const childAsked = "SINGLE_TEST_CHILD_ASKED"

// TestAskedChild is the process that TestAnInstallerEndsWhatRunsFromItsFile ends.
func TestAskedChild(t *testing.T) {
	how := os.Getenv(childAsked)
	if how == "" {
		t.Skip("only as a child")
	}
	if how == "others" {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		fmt.Println(EndOthers(ctx))
		return
	}
	asked := make(chan struct{})
	stop, err := OnAsked(func() { close(asked) })
	noErr(t, err)
	fmt.Println("ready")
	if how == "deaf" {
		stop()
		time.Sleep(time.Hour) // it is killed before
	}
	<-asked
	stop()
	fmt.Println("asked")
}

// child starts a program as a child of TestAskedChild.
func child(t *testing.T, program, how string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := exec.Command(program, "-test.run=^TestAskedChild$")
	c.Env = append(os.Environ(), childAsked+"="+how)
	out, err := c.StdoutPipe()
	noErr(t, err)
	noErr(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c, bufio.NewReader(out)
}

// wantLine reads a line of a child's output.
func wantLine(t *testing.T, said *bufio.Reader, want string) {
	t.Helper()
	if line, err := said.ReadString('\n'); line != want+"\n" {
		t.Fatalf("it said %q, %v; want %q", line, err, want)
	}
}

func TestAnInstallerEndsWhatRunsFromItsFile(t *testing.T) {
	content, err := os.ReadFile(os.Args[0])
	noErr(t, err)
	ours, other := filepath.Join(t.TempDir(), "Büro & Söhne", "program.exe"), filepath.Join(t.TempDir(), "program.exe")
	noErr(t, os.Mkdir(filepath.Dir(ours), 0o700))
	for _, path := range []string{ours, other} {
		noErr(t, os.WriteFile(path, content, 0o700))
	}
	_, first := child(t, ours, "listens")
	_, second := child(t, ours, "listens")
	_, elsewhere := child(t, other, "listens")
	for _, said := range []*bufio.Reader{first, second, elsewhere} {
		wantLine(t, said, "ready")
	}
	_, installer := child(t, ours, "others")
	wantLine(t, installer, "<nil>")
	wantLine(t, first, "asked")
	wantLine(t, second, "asked")
	_, theirs := child(t, other, "others") // runs from another file, so it must survive
	wantLine(t, theirs, "<nil>")
	wantLine(t, elsewhere, "asked")
}

func TestAnInstallerIsToldOfWhatDoesNotEnd(t *testing.T) {
	_, said := child(t, os.Args[0], "deaf")
	wantLine(t, said, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := EndOthers(ctx); !errors.Is(err, ErrRunning) {
		t.Errorf("it says %v", err)
	}
}
