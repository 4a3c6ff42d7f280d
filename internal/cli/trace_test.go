package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/secret"
)

func TestAFaultThatEndedTheProgramIsToldOnceByTheNextStart(t *testing.T) {
	s := newShell(t)
	s.setUp()
	if _, err := os.Stat(locations.Trace(s.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a trace is left though nothing happened: %v", err)
	}
	must(t, os.WriteFile(locations.Trace(s.data), []byte("panic: index out of range\n\ngoroutine 7 [running]:\n"), 0o600))
	s.status()
	s.status()
	if _, err := os.Stat(locations.Trace(s.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the trace stays: %v", err)
	}
	log, err := os.ReadFile(locations.Log(s.data))
	if err != nil || strings.Count(string(log), "goroutine 7") != 1 {
		t.Errorf("the log: %s, %v", log, err)
	}
	a, err := agent.Open(t.Context(), agent.Params{DataDir: s.data, Keeper: secret.File(s.data + ".key")})
	must(t, err)
	defer a.Close()
	var told int
	lines, err := a.Activity(100)
	must(t, err)
	for _, line := range lines {
		if line.Text == message.EndedByFault(locations.Log(s.data)) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %+v", told, lines)
	}
}

func TestTheTraceOfAFaultStaysWhenTheProgramHappensToEndAtTheSameTime(t *testing.T) {
	data := t.TempDir()
	must(t, os.MkdirAll(filepath.Dir(locations.Trace(data)), 0o700))
	kept, _ := keepTrace(data, nil, slog.New(slog.DiscardHandler))
	must(t, os.WriteFile(locations.Trace(data), []byte("panic: "), 0o600))
	must(t, kept.Close())
	if said, err := os.ReadFile(locations.Trace(data)); string(said) != "panic: " {
		t.Errorf("it is %q, %v", said, err)
	}
}

func TestAFaultThatEndsTheProgramHasAnotherOneTellOfIt(t *testing.T) {
	data := t.TempDir()
	var tell []string
	var waited bool
	start(t, data, Program{
		Window: func(context.Context, Window) error { return nil },
		Fault: func(trace *os.File, words []string) (*os.File, func(), error) {
			tell = words
			return trace, func() { _, err := os.Stat(trace.Name()); waited = err == nil }, nil
		},
	})
	if len(tell) < 2 {
		t.Fatalf("it would start %q", tell)
	}
	if !waited {
		t.Error("the trace was removed while something had it open")
	}
	var boxes []message.Message
	p := Program{Version: "test", Stdin: strings.NewReader(""), Stdout: unread(t), Stderr: unread(t),
		Alert: func(m message.Message) bool { boxes = append(boxes, m); return true }}
	if code := Main(tell[1:], p); code != exitDone || len(boxes) != 1 || boxes[0] != message.StartCrashed(locations.Log(data)) {
		t.Errorf("%q ended with %d and said %v", tell, code, boxes)
	}
}

func TestAFaultThatWasAskedForIsOne(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there is none")
		}
	}()
	crashAt("window:1:fault")("window")
}
