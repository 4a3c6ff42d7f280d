//go:build linux

package harness

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Patience is how long anything that should happen soon may take on a busy machine. It is shorter than the minute after which
// the program looks by itself, so that a hint that is lost is noticed.
const Patience = 50 * time.Second

// Transcript is what a process has said so far, line by line. Safe for concurrent use.
type Transcript struct {
	mu      sync.Mutex
	partial []byte
	lines   []string
	changed chan struct{}
}

func newTranscript() *Transcript { return &Transcript{changed: make(chan struct{})} }

func (s *Transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = append(s.partial, p...)
	for {
		i := bytes.IndexByte(s.partial, '\n')
		if i < 0 {
			return len(p), nil
		}
		s.lines = append(s.lines, string(s.partial[:i]))
		s.partial = s.partial[i+1:]
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (s *Transcript) snapshot() (lines []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines), s.changed
}

func (s *Transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.lines, "\n")
	if len(s.partial) > 0 {
		text += "\n" + string(s.partial)
	}
	return strings.TrimPrefix(text, "\n")
}

// Process is a program that a test started. It ends with the test at the latest, and with the test binary should that
// be killed.
type Process struct {
	T              testing.TB
	name           string
	Cmd            *exec.Cmd
	In             io.WriteCloser
	Stdout, Stderr *Transcript
	Ended          chan struct{}
}

// Start runs a program with exactly the environment env.
func Start(t testing.TB, env []string, path string, args ...string) *Process {
	t.Helper()
	p := &Process{T: t, name: path, Cmd: exec.Command(path, args...), Stdout: newTranscript(), Stderr: newTranscript(), Ended: make(chan struct{})}
	p.Cmd.Env = env
	p.Cmd.Stdout, p.Cmd.Stderr = p.Stdout, p.Stderr
	p.Cmd.SysProcAttr = diesWithUs()
	p.Cmd.WaitDelay = 2 * time.Second // a grandchild may hold the pipes
	in, err := p.Cmd.StdinPipe()
	Must(t, err)
	p.In = in
	if err := p.Cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	go func() {
		defer close(p.Ended)
		p.Cmd.Wait()
	}()
	t.Cleanup(func() {
		if t.Failed() && path == Program {
			p.Signal(syscall.SIGQUIT) // it says what its goroutines are doing
		}
		if code := p.Stop(); t.Failed() && (code != 0 || p.Stderr.String() != "") {
			t.Logf("%s %s\nstdout:\n%s\nstderr:\n%s", path, strings.Join(args, " "), p.Stdout, p.Stderr)
		}
	})
	return p
}

// diesWithUs makes a child end when the test binary is killed.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Line waits for a line of stdout that begins with prefix and returns what follows it.
func (p *Process) Line(prefix string) string {
	p.T.Helper()
	return p.lineOf(p.Stdout, prefix)
}

func (p *Process) lineOf(s *Transcript, prefix string) string {
	p.T.Helper()
	deadline := time.After(Patience)
	over := false
	for {
		lines, changed := s.snapshot()
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return rest
			}
		}
		if over {
			p.T.Fatalf("%s ended without a line that begins with %q", p.name, prefix)
		}
		select {
		case <-changed:
		case <-p.Ended:
			over = true
		case <-deadline:
			p.T.Fatalf("%s has not said %q", p.name, prefix)
		}
	}
}

// Said waits for a line of stdout that begins with prefix and returns what follows it, unless the process or the wait is
// over first.
func (p *Process) Said(prefix string, over <-chan struct{}) (rest string, ok bool) {
	for {
		lines, changed := p.Stdout.snapshot()
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return rest, true
			}
		}
		select {
		case <-changed:
		case <-p.Ended:
			return "", false
		case <-over:
			return "", false
		}
	}
}

// Wait waits for the end of the process and returns its exit code, -1 when a signal ended it. A Go program that does not
// end says what its goroutines are doing.
func (p *Process) Wait() int {
	p.T.Helper()
	select {
	case <-p.Ended:
	case <-time.After(2 * Patience):
		p.T.Errorf("%s %v does not end", p.name, p.Cmd.Args[1:])
		p.Signal(syscall.SIGQUIT)
		select {
		case <-p.Ended:
		case <-time.After(Patience):
			p.Cmd.Process.Kill()
			<-p.Ended
		}
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Stop asks the process to end, as a shutdown of the computer does, and insists after a while. It returns the exit code.
func (p *Process) Stop() int {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		p.T.Errorf("%s %v does not end when asked to", p.name, p.Cmd.Args[1:])
		p.Cmd.Process.Kill()
		<-p.Ended
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Kill ends the process at once. What the system has taken over from it, flushed or not, stays: a power cut is worse.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.Ended
}

// Quit ends a Go program at once and has it say what its goroutines were doing.
func (p *Process) Quit() {
	p.T.Helper()
	p.Signal(syscall.SIGQUIT)
	p.Wait()
}

func (p *Process) Signal(s os.Signal) {
	if err := p.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.T.Errorf("signal %s: %v", p.name, err)
	}
}

// Eventually asks until ok, and fails the test when that takes too long. What it waits for is in another process, so
// there is nothing to wait on but the answer.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	EventuallyWithin(t, Patience, what, ok)
}

func EventuallyWithin(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	again := time.NewTicker(25 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("after %v still not: %s", limit, what)
		}
	}
}

// ReadNames returns the names in a folder.
func ReadNames(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// ShortDir is a temporary folder with a path that leaves room for a socket's name.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Crowding is how many programs wanted each processor of this machine during the last minute: below 1 it was idle at times.
func Crowding() float64 {
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err != nil {
		return 1
	}
	return float64(si.Loads[0]) / (1 << unix.SI_LOAD_SHIFT) / float64(runtime.NumCPU())
}
