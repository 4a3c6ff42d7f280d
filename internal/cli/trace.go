package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"countersign/internal/locations"
)

// traceLimit is how much of a trace the log takes over, in bytes.
const traceLimit = 64 << 10

// trace has what Go says of a fault that nothing recovers from kept in a file. Without it, a program without a terminal ends
// without a word: nobody reads what it prints.
type trace struct {
	path   string
	output faultOutput
	over   func() // nil while there is no output
}

// faultOutput is Program.Fault with the program that is to be started.
type faultOutput func(trace *os.File) (say *os.File, over func(), err error)

// keepTrace starts a trace in a data folder that this process has to itself. Where a fault ended the process before this one,
// its trace goes to the log, and ended is when it happened; else that is zero.
func keepTrace(folder string, output faultOutput, log *slog.Logger) (t *trace, ended time.Time) {
	t = &trace{path: locations.Trace(folder), output: output}
	ended, err := t.start(log)
	if err != nil {
		log.Warn("what a fault leaves is not kept", "err", err)
	}
	return t, ended
}

func (t *trace) start(log *slog.Logger) (ended time.Time, err error) {
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close() // the runtime has a handle of its own
	info, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	if info.Size() > 0 {
		ended = info.ModTime()
		said, err := io.ReadAll(io.LimitReader(f, traceLimit))
		log.Error("a fault ended the program", "at", ended, "trace", string(said), "err", err)
		if err := f.Truncate(0); err != nil {
			return ended, fmt.Errorf("empty the trace: %w", err)
		}
	}
	if t.output == nil {
		return ended, debug.SetCrashOutput(f, debug.CrashOptions{})
	}
	out, over, err := t.output(f)
	if err != nil {
		return ended, errors.Join(err, debug.SetCrashOutput(f, debug.CrashOptions{}))
	}
	t.over = over
	defer out.Close()
	return ended, debug.SetCrashOutput(out, debug.CrashOptions{})
}

// Close ends the trace, of which nothing stays, unless a fault is just ending the program: that is for the next start.
func (t *trace) Close() error {
	err := debug.SetCrashOutput(nil, debug.CrashOptions{})
	if t.over != nil {
		t.over() // Windows removes no file that is open
	}
	if info, unknown := os.Stat(t.path); unknown == nil && info.Size() > 0 {
		return err
	}
	if gone := os.Remove(t.path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
