package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/secret"
)

// unread is output that nobody reads: a file, such as a panel's log. On Windows, where a GUI program has no output, it is
// closed.
func unread(t *testing.T) *os.File {
	t.Helper()
	f := must(os.Create(filepath.Join(t.TempDir(), "printed")))
	t.Cleanup(func() { f.Close() })
	if runtime.GOOS == "windows" {
		f.Close()
	}
	return f
}

// start opens the window as if the desktop had started the program, and returns the texts of the message boxes.
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
	log := must(os.ReadFile(locations.Log(data)))
	if !strings.Contains(string(log), "a sad accident") || !strings.Contains(string(log), "faults_test.go") {
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

func TestAFaultThatEndedTheProgramIsToldOnceByTheNextStart(t *testing.T) {
	s := newShell(t)
	s.setUp()
	if _, err := os.Stat(locations.Trace(s.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a trace is left though nothing happened: %v", err)
	}
	noErr(t, os.WriteFile(locations.Trace(s.data), []byte("panic: index out of range\n\ngoroutine 7 [running]:\n"), 0o600))
	s.status()
	s.status()
	if _, err := os.Stat(locations.Trace(s.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the trace stays: %v", err)
	}
	log, err := os.ReadFile(locations.Log(s.data))
	if err != nil || strings.Count(string(log), "goroutine 7") != 1 {
		t.Errorf("the log: %s, %v", log, err)
	}
	a := must(agent.Open(t.Context(), agent.Params{DataDir: s.data, Keeper: secret.File(s.data + ".key")}))
	defer a.Close()
	var told int
	lines := must(a.Activity(100))
	for _, line := range lines {
		if line.Text == message.EndedByFault(locations.Log(s.data)) {
			told++
		}
	}
	expect(t, told, 1, "told %d times: %+v", lines)
}

func TestTheTraceOfAFaultStaysWhenTheProgramHappensToEndAtTheSameTime(t *testing.T) {
	data := t.TempDir()
	noErr(t, os.MkdirAll(filepath.Dir(locations.Trace(data)), 0o700))
	kept, _ := keepTrace(data, slog.New(slog.DiscardHandler))
	noErr(t, os.WriteFile(locations.Trace(data), []byte("panic: "), 0o600))
	noErr(t, kept.Close())
	if said, err := os.ReadFile(locations.Trace(data)); string(said) != "panic: " {
		t.Errorf("it is %q, %v", said, err)
	}
}
