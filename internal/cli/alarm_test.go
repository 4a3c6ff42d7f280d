package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"countersign/internal/locations"
	"countersign/internal/message"
)

// unread is where nobody reads what is printed: a file, as the log of a panel is. On Windows, where a program of the desktop
// has nothing to print to, it is closed.
func unread(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	must(t, err)
	t.Cleanup(func() { f.Close() })
	if runtime.GOOS == "windows" {
		f.Close()
	}
	return f
}

// start opens the window of a program that the desktop started, and returns what the boxes said.
func start(t *testing.T, data string, p Program) (code int, boxes []message.Message) {
	t.Helper()
	p.Version, p.Stdin, p.Stdout, p.Stderr = "test", strings.NewReader(""), unread(t), unread(t)
	p.Display = func(context.Context) error { return nil }
	p.Alert = func(m message.Message) bool { boxes = append(boxes, m); return true }
	code = Main([]string{"--data", data, "--key-file", filepath.Join(t.TempDir(), "key")}, p)
	return code, boxes
}

func TestAFaultOfTheProgramsOwnIsToldAndKeptInTheLog(t *testing.T) {
	data := t.TempDir()
	code, boxes := start(t, data, Program{Window: func(context.Context, Window) error { panic("a sad accident") }})
	if code != exitFailed || len(boxes) != 1 || boxes[0] != message.StartCrashed(locations.Log(data)) {
		t.Errorf("it ended with %d and said %v", code, boxes)
	}
	log, err := os.ReadFile(locations.Log(data))
	must(t, err)
	if !strings.Contains(string(log), "a sad accident") || !strings.Contains(string(log), "alarm_test.go") {
		t.Errorf("the log has %q", log)
	}
}

func TestAnErrorWithoutWordsLeadsToTheLog(t *testing.T) {
	data := t.TempDir()
	code, boxes := start(t, data, Program{Window: func(context.Context, Window) error { return errors.New("0x80004005") }})
	if code != exitFailed || len(boxes) != 1 || boxes[0] != message.StartFailed(locations.Log(data)) {
		t.Errorf("it ended with %d and said %v", code, boxes)
	}
}

func TestCommandsRaiseNoBoxes(t *testing.T) {
	p := Program{Version: "test", Stdin: strings.NewReader(""), Stdout: unread(t), Stderr: unread(t)}
	p.Alert = func(m message.Message) bool { t.Errorf("a box says %q", m); return true }
	if code := Main([]string{"login", "--no-browser", "--data", t.TempDir(), "--key-file", filepath.Join(t.TempDir(), "key")}, p); code != exitFailed {
		t.Errorf("it ended with %d", code)
	}
}
