package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/notify"
	"countersign/internal/office"

	"github.com/alecthomas/kong"
)

// opens says whether a command is to show a window. Whoever gives one looks at the screen, not at a terminal.
func (c *commands) opens(chosen *kong.Context) bool {
	switch chosen.Selected().Name {
	case "open":
		return true
	case "demo":
		return !c.Demo.Headless
	}
	return false
}

// alarm tells people why a window does not come, unless they have read it where the program was started.
func (p Program) alarm(c console, m message.Message) {
	if !c.read() {
		p.show(m)
	}
}

// show tells people something in a box or, where the desktop has none, in a notification. It returns when the box was read, if
// the desktop can tell.
func (p Program) show(m message.Message) {
	if p.Alert == nil || p.Alert(m) {
		return
	}
	words := message.English()
	if p.Words != nil {
		words = p.Words()
	}
	what, next := words.Lines(m)
	notifier := notify.New(notify.Options{App: "Countersign", Icon: icon()})
	_ = notifier.Notify(office.Notice{Title: what, Body: next}) // nothing is left to try
	_ = notifier.Close()
}

// why is what people are told of an error that ended the start of a window.
func (c *commands) why(err error) message.Message {
	m := agent.Message(err)
	if m == message.Unexpected() { // which points into the window
		return message.StartFailed(locations.Log(c.Data))
	}
	return m
}

// crashed keeps what a fault of the program's own left, and is what people are told of it.
func (c *commands) crashed(reason any) error {
	m := message.StartCrashed(locations.Log(c.Data))
	cause := fmt.Errorf("%v", reason)
	log := &logFile{path: locations.Log(c.Data)}
	if _, err := os.Stat(c.Data); err == nil {
		log.logger(true).Error("the program crashed", "reason", cause, "stack", string(debug.Stack()))
	}
	return message.Error(m, log.Close())
}

// traceLimit is how much of a trace the log takes over, in bytes.
const traceLimit = 64 << 10

// trace has what Go says of a fault that nothing recovers from kept in a file. Without it, a program without a terminal ends
// without a word: nobody reads what it prints.
type trace struct{ path string }

// keepTrace starts a trace in a data folder that this process has to itself. Where a fault ended the process before this one,
// its trace goes to the log, and ended is when it happened; else that is zero.
func keepTrace(folder string, log *slog.Logger) (t *trace, ended time.Time) {
	t = &trace{locations.Trace(folder)}
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
	return ended, debug.SetCrashOutput(f, debug.CrashOptions{})
}

// Close ends the trace, of which nothing stays, unless a fault is just ending the program: that is for the next start.
func (t *trace) Close() error {
	err := debug.SetCrashOutput(nil, debug.CrashOptions{})
	if info, unknown := os.Stat(t.path); unknown == nil && info.Size() > 0 {
		return err
	}
	if gone := os.Remove(t.path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// crashVariable is for the tests that kill the real program, and does nothing unless it is set: with
// COUNTERSIGN_CRASH_AT=POINT:N the process ends at once, as by SIGKILL, when it passes agent.Params.Crash's POINT for the
// Nth time. It gives nobody power over the program: who sets a process's environment can end the process anyway.
const crashVariable = "COUNTERSIGN_CRASH_AT"

// crashAt is the agent.Params.Crash that the variable's value asks for, nil for a value that asks for none.
func crashAt(value string) func(point string) {
	name, count, _ := strings.Cut(value, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		return nil
	}
	var left atomic.Int64
	left.Store(n)
	return func(point string) {
		if point != name || left.Add(-1) != 0 {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
			select {} // not one instruction more
		}
	}
}

// logLimit is the size in bytes at which the log starts anew; one older file is kept.
const logLimit = 4 << 20

// logFile is a log that cannot fill the disk. It is opened with the first line, also after Close. Safe for concurrent use.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// logger writes to l, with debug in detail.
func (l *logFile) logger(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}

// Close gives the file back: on Windows nobody else can set it aside or remove it before.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// ready opens the file, after setting a full one aside.
func (l *logFile) ready(more int64) error {
	if l.file != nil && l.size+more <= logLimit {
		return nil
	}
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	if info, err := os.Stat(l.path); err == nil && info.Size()+more > logLimit {
		if err := disk.Rename(l.path, l.path+".1"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}
