package cli

import (
	"errors"
	"io/fs"
	"os"
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
