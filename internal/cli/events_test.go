package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/office"
	"countersign/internal/store"
)

// here is a run of commands on the shell's data folder, for commands that run until stopped.
func (s shell) here(ctx context.Context, stdout, stderr io.Writer) *run {
	return &run{ctx: ctx, global: commands{globals: globals{Data: s.data, KeyFile: s.data + ".key"}},
		program: Program{Version: "1.2.3", Stdin: strings.NewReader("")}, out: terminal.New(stdout), err: terminal.New(stderr)}
}

// report makes a running office receive an event, as its webhook does.
func (l *local) report(t *testing.T, e office.Event) {
	t.Helper()
	e.Outcome = office.EventPending
	noErr(t, l.agent.Data.Update(func(tx *store.Tx) error {
		_, err := tx.AddEvent(e)
		return err
	}))
	noErr(t, l.agent.RetryEvent(e.ID)) // starts handling it
}

// heard collects output. Safe for concurrent use.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

func TestCommandsThatLookReadTheSameBesideARunningCountersign(t *testing.T) {
	s := newShell(t)
	s.keep(offices(), anEvent("e1", march(2)))
	all := [][]string{{"list"}, {"list", "--json"}, {"list", "--json", "--search", "none"}, {"show", "Lease", "--json"}, {"events", "--json"}, {"events", "--json", "--package", "3333"}, {"show", "Offer"}, {"show", "none"}}
	var alone []string
	for _, args := range all {
		_, stdout, stderr := s.run(args...)
		alone = append(alone, stdout+stderr)
	}
	for _, parts := range [][]string{nil, {"brief"}} {
		r := s.here(t.Context(), io.Discard, io.Discard)
		start := func() (*local, error) { return r.start() }
		if parts != nil {
			start = func() (*local, error) { return r.start(idle) }
		}
		l := must(start())
		for i, args := range all {
			if _, stdout, stderr := s.run(args...); stdout+stderr != alone[i] {
				t.Errorf("%q beside %v:\n%s\nalone:\n%s", args, parts, stdout+stderr, alone[i])
			}
		}
		noErr(t, l.Close())
	}
}

func TestEventsAreFollowedFromOneCountersignToTheNext(t *testing.T) {
	s := newShell(t)
	s.keep(offices(), anEvent("before", time.Now().Add(-time.Minute)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	var said heard
	done := make(chan error, 1)
	go func() {
		err := (&eventsCmd{Follow: true, JSON: true}).Run(s.here(ctx, out, &said))
		out.Close()
		done <- err
	}()
	lines := bufio.NewScanner(in)
	next := func(id, outcome string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no event %s", id)
		}
		var e listedEvent
		noErr(t, json.Unmarshal(lines.Bytes(), &e))
		if e.ID != id || e.Outcome != outcome {
			t.Fatalf("%s, want %s %s", lines.Text(), id, outcome)
		}
	}
	for !strings.Contains(said.String(), "not running") {
		time.Sleep(time.Millisecond)
	}
	office1 := must(s.here(t.Context(), io.Discard, io.Discard).start())
	office1.report(t, anEvent("one", time.Now()))
	next("one", outcomeHandled)
	noErr(t, office1.Close())

	s.keep(nil, anEvent("missed", time.Now()))
	office2 := must(s.here(t.Context(), io.Discard, io.Discard).start())
	next("missed", outcomeHandled)
	odd := anEvent("odd", time.Now())
	odd.Body = []byte(`{"action":"document_signed"}`)
	office2.report(t, odd)
	next("odd", outcomeProblem)
	early := anEvent("early", time.Now().Add(-48*time.Hour)) // as if a clock had been set back
	office2.report(t, early)
	next("early", outcomeHandled)
	cancel()
	if lines.Scan() {
		t.Errorf("and %s", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	noErr(t, office2.Close())
	expect(t, strings.Count(said.String(), "\n"), 1, "it said %d lines: %s", &said)
}

// A client that does not read delays neither the office nor its end.
func TestASlowReaderOfEventsHoldsUpNobody(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	l := must(s.here(t.Context(), io.Discard, io.Discard).start())
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe() // nobody reads it
	done := make(chan error, 1)
	go func() {
		done <- (&eventsCmd{Follow: true, Since: "2026-01-01"}).Run(s.here(ctx, out, io.Discard))
	}()
	for i := range 50 {
		l.report(t, anEvent(strings.Repeat("e", i+1), time.Now()))
	}
	noErr(t, l.Close())
	cancel()
	in.Close()
	<-done
}
