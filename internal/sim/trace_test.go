package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// trace is what happened, in a line each with its virtual time. Two runs are the same when their sums are.
type trace struct {
	dir   string // of this run, which is left out
	mu    sync.Mutex
	sum   hash.Hash
	lines []string
	count int
	now   string   // the instant that it is
	these []string // what happened at that instant
}

const traceKept = 400

func newTrace(dir string) *trace { return &trace{dir: dir, sum: sha256.New()} }

// loud shows everything as it happens.
var loud = os.Getenv("COUNTERSIGN_SIM_LOUD") != ""

func (t *trace) add(format string, args ...any) { t.line(true, format, args...) }

func (t *trace) line(counts bool, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).String()
	line := now + " " + strings.ReplaceAll(fmt.Sprintf(format, args...), t.dir, "")
	if counts {
		t.count++
		if now != t.now {
			t.flush()
		}
		t.now, t.these = now, append(t.these, line)
	}
	if loud {
		fmt.Println(line)
	}
	if t.lines = append(t.lines, line); len(t.lines) > 2*traceKept {
		t.lines = append(t.lines[:0], t.lines[traceKept:]...)
	}
}

// instant is when something happened last, in virtual time.
func (t *trace) instant() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// flush adds what happened at one instant, in whatever order: goroutines that one event wakes at once may go on in any.
func (t *trace) flush() {
	slices.Sort(t.these)
	for _, line := range t.these {
		fmt.Fprintln(t.sum, line)
	}
	t.these = nil
}

// tail is what happened last.
func (t *trace) tail(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines[max(0, len(t.lines)-n):], "\n")
}

func (t *trace) hash() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	return hex.EncodeToString(t.sum.Sum(nil)[:8])
}

// log is the program's log as a part of the trace; it does not count for whether two runs are the same. said hears each line.
func (t *trace) log(said func(line string)) *slog.Logger {
	return slog.New(&logHandler{t: t, said: said})
}

type logHandler struct {
	t    *trace
	said func(line string)
}

func (l *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (l *logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s", a)
		return true
	})
	l.said(r.Message + b.String())
	l.t.line(false, "  log %s %s%s", r.Level, r.Message, b.String())
	return nil
}

func (l *logHandler) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *logHandler) WithGroup(string) slog.Handler      { return l }
