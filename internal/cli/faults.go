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

// opens reports whether a command shows a window: then the person watches the screen, not a terminal.
func (c *commands) opens(chosen *kong.Context) bool {
	switch chosen.Selected().Name {
	case "open":
		return true
	case "demo":
		return !c.Demo.Headless
	}
	return false
}

// alarm tells people why no window appears, unless they can read it where the program was started.
func (p Program) alarm(c console, m message.Message) {
	if !c.read() {
		p.show(m)
	}
}

// show tells people something in a message box or, if the desktop has none, in a notification. It returns when they have
// read the box, if the desktop can tell.
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
	_ = notifier.Notify(office.Notice{Title: what, Body: next}) // there is nothing else to try
	_ = notifier.Close()
}

// why is the message for people of an error that prevented a window.
func (c *commands) why(err error) message.Message {
	m := agent.Message(err)
	if m == message.Unexpected() { // that message refers to the window
		return message.StartFailed(locations.Log(c.Data))
	}
	return m
}

// crashed logs a panic and returns its message for people.
func (c *commands) crashed(reason any) error {
	m := message.StartCrashed(locations.Log(c.Data))
	cause := fmt.Errorf("%v", reason)
	log := &logFile{path: locations.Log(c.Data)}
	if _, err := os.Stat(c.Data); err == nil {
		log.logger(true).Error("the program crashed", "reason", cause, "stack", string(debug.Stack()))
	}
	return message.Error(m, log.Close())
}

// traceLimit is how many bytes of a trace are copied to the log.
const traceLimit = 64 << 10

// trace makes Go write the output of a fatal crash to a file. Without it, a program without a terminal would vanish
// silently: nobody sees its output.
type trace struct{ path string }

// keepTrace starts a trace in a data folder that this process holds. If the previous process crashed, its trace is copied to
// the log, and ended is the time of the crash; otherwise ended is zero.
func keepTrace(folder string, log *slog.Logger) (t *trace, ended time.Time) {
	t = &trace{locations.Trace(folder)}
	ended, err := t.start(log)
	if err != nil {
		log.Warn("crash traces cannot be recorded", "err", err)
	}
	return t, ended
}

func (t *trace) start(log *slog.Logger) (ended time.Time, err error) {
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close() // the runtime has duplicated it
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

// Close ends the trace and removes its file, unless a crash has just written to it: then it is left for the next start.
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

// crashVariable is for tests that kill the real program: with COUNTERSIGN_CRASH_AT=POINT:N the process kills itself when it
// passes POINT of agent.Params.Crash for the Nth time. This is no security risk: whoever can set a process's environment can
// end it anyway.
const crashVariable = "COUNTERSIGN_CRASH_AT"

// crashAt is the agent.Params.Crash for the variable's value, nil if it is empty or invalid.
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
			select {} // executes nothing more
		}
	}
}

// logLimit is the size in bytes at which a new log is started; one older file is kept.
const logLimit = 4 << 20

// logFile is a log of limited size. It is opened when the first line is written, even after Close. Safe for concurrent use.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// logger logs to l, with details if debug is set.
func (l *logFile) logger(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}

// Close closes the file: on Windows nobody else can rename or remove it before.
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

// ready opens the file, after setting aside a full one.
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
