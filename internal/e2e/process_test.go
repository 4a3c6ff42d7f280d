//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything that should happen soon may take on a busy machine.
const patience = 30 * time.Second

// transcript is what a process has said so far, line by line. Safe for concurrent use.
type transcript struct {
	mu      sync.Mutex
	partial []byte
	lines   []string
	changed chan struct{}
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (s *transcript) Write(p []byte) (int, error) {
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

func (s *transcript) snapshot() (lines []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines), s.changed
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.lines, "\n")
	if len(s.partial) > 0 {
		text += "\n" + string(s.partial)
	}
	return strings.TrimPrefix(text, "\n")
}

// process is a program that a test started. It ends with the test at the latest, and with the test binary should that
// be killed.
type process struct {
	t              testing.TB
	name           string
	cmd            *exec.Cmd
	in             io.WriteCloser
	stdout, stderr *transcript
	ended          chan struct{}
}

// start runs a program with exactly the environment env.
func start(t testing.TB, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: path, cmd: exec.Command(path, args...), stdout: newTranscript(), stderr: newTranscript(), ended: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.SysProcAttr = diesWithUs()
	p.cmd.WaitDelay = 2 * time.Second // a grandchild may hold the pipes
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	t.Cleanup(func() {
		if code := p.stop(); t.Failed() && (code != 0 || p.stderr.String() != "") {
			t.Logf("%s %s\nstdout:\n%s\nstderr:\n%s", path, strings.Join(args, " "), p.stdout, p.stderr)
		}
	})
	return p
}

// diesWithUs makes a child end when the test binary is killed.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// line waits for a line of stdout that begins with prefix and returns what follows it.
func (p *process) line(prefix string) string {
	p.t.Helper()
	return p.lineOf(p.stdout, prefix)
}

func (p *process) lineOf(s *transcript, prefix string) string {
	p.t.Helper()
	deadline := time.After(patience)
	over := false
	for {
		lines, changed := s.snapshot()
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return rest
			}
		}
		if over {
			p.t.Fatalf("%s ended without a line that begins with %q", p.name, prefix)
		}
		select {
		case <-changed:
		case <-p.ended:
			over = true
		case <-deadline:
			p.t.Fatalf("%s has not said %q", p.name, prefix)
		}
	}
}

// wait waits for the end of the process and returns its exit code, -1 when a signal ended it. A Go program that does not
// end says what its goroutines are doing.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * patience):
		p.t.Errorf("%s %v does not end", p.name, p.cmd.Args[1:])
		p.signal(syscall.SIGQUIT)
		select {
		case <-p.ended:
		case <-time.After(patience):
			p.cmd.Process.Kill()
			<-p.ended
		}
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop asks the process to end, as a shutdown of the computer does, and insists after a while. It returns the exit code.
func (p *process) stop() int {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(15 * time.Second):
		p.t.Errorf("%s %v does not end when asked to", p.name, p.cmd.Args[1:])
		p.cmd.Process.Kill()
		<-p.ended
	}
	return p.cmd.ProcessState.ExitCode()
}

// kill ends the process at once. What the system has taken over from it, flushed or not, stays: a power cut is worse.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// quit ends a Go program at once and has it say what its goroutines were doing.
func (p *process) quit() {
	p.t.Helper()
	p.signal(syscall.SIGQUIT)
	p.wait()
}

func (p *process) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("signal %s: %v", p.name, err)
	}
}

// eventually asks until ok, and fails the test when that takes too long. What it waits for is in another process, so
// there is nothing to wait on but the answer.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	eventuallyWithin(t, patience, what, ok)
}

func eventuallyWithin(t testing.TB, limit time.Duration, what string, ok func() bool) {
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

// readNames returns the names in a folder.
func readNames(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// shortDir is a temporary folder with a path that leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
