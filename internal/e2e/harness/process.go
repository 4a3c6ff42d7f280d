//go:build linux

package harness

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/fasttest"
)

// Patience is how long anything that should happen soon may take on a busy machine. It is shorter than the minute after
// which the program checks by itself, so that a lost hint is noticed.
const Patience = 50 * time.Second

// Transcript is the output of a process so far, line by line. Safe for concurrent use.
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

// Process is a program started by a test. It ends with the test at the latest, or with the test binary if that is killed.
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
	p.Cmd.WaitDelay = 2 * time.Second // a grandchild may keep the pipes open
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
			p.Signal(syscall.SIGQUIT) // prints its goroutines
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
	late := make(chan struct{})
	defer time.AfterFunc(Patience, func() { close(late) }).Stop()
	rest, ok := p.Said(prefix, late)
	if !ok {
		p.T.Fatalf("%s has not said %q", p.name, prefix)
	}
	return rest
}

// Said waits for a line of stdout that begins with prefix and returns what follows it, unless the process ends or over is
// closed first.
func (p *Process) Said(prefix string, over <-chan struct{}) (rest string, ok bool) {
	ended := false
	for {
		lines, changed := p.Stdout.snapshot()
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return rest, true
			}
		}
		if ended {
			return "", false
		}
		select {
		case <-changed:
		case <-p.Ended: // after reading its last line
			ended = true
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

// Stop asks the process to end, as a shutdown of the computer does, and kills it after a while. It returns the exit code.
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

// Kill kills the process. What the system has taken over from it, flushed or not, is kept: a power cut is worse.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.Ended
}

// Quit kills a Go program and makes it print its goroutines.
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

// Eventually polls until ok, and fails the test if that takes too long. It polls because the condition is in another process
// and nothing announces it.
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

func ReadNames(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// ShortDir is a temporary folder whose path is short enough for a socket's name.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Crowding is the number of runnable processes for each processor during the last minute: below 1 the machine was partly
// idle.
func Crowding() float64 {
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err != nil {
		return 1
	}
	return float64(si.Loads[0]) / (1 << unix.SI_LOAD_SHIFT) / float64(runtime.NumCPU())
}

// Program is the path of the binary under test, which is built once.
var Program string

// tools are the programs that the tests start, with their Debian packages.
var tools = []struct{ name, debian string }{
	{"dbus-daemon", "dbus"},
	{"gnome-keyring-daemon", "gnome-keyring"},
	{"Xvfb", "xvfb"},
	{"openbox", "openbox"},
	{"xdotool", "xdotool"},
	{"import", "imagemagick"},
	{"chromium", "chromium"},
}

// RunTests is for TestMain: it builds the program, runs the tests, and then calls after.
func RunTests(m *testing.M, after func()) {
	if fasttest.LeaveOut() {
		os.Exit(m.Run())
	}
	os.Exit(build(m, after))
}

// BuildWith builds the program with other linker flags, as a release does, and returns its path.
func BuildWith(t testing.TB, ldflags string) string {
	t.Helper()
	path := filepath.Join(ShortDir(t), "countersign")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", ldflags, "-o", path, "countersign")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

func build(m *testing.M, after func()) int {
	missing := false
	for _, tool := range tools {
		if _, err := exec.LookPath(tool.name); err != nil {
			fmt.Fprintf(os.Stderr, "The end-to-end tests need %s, which comes with the Debian package %s.\n", tool.name, tool.debian)
			missing = true
		}
	}
	if missing {
		return 1
	}
	dir, err := os.MkdirTemp("", "cs-build-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Program = filepath.Join(dir, "countersign")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", Program, "countersign") // works whoever owns the tree
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "The program could not be built: %v\n%s", err, out)
		return 1
	}
	defer after()
	return m.Run()
}

// The figures that a run reports, in the order of its table.
const (
	Kills        = "kills (SIGKILL)"
	Cuts         = "power cuts"
	Faults       = "faults of the service"
	Repeats      = "events that came again"
	Hostile      = "hostile requests and connections"
	Events       = "events answered 2xx"
	PackagesMade = "packages"
	FilesSaved   = "files"
	Losses       = "lost, doubled, overwritten or half"
)

// Figures count what the tests did to the program and the results. Safe for concurrent use.
type Figures struct {
	mu    sync.Mutex
	count map[string]int
}

// Suffered are the figures of this run.
var Suffered Figures

func (f *Figures) Add(name string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[string]int{}
	}
	f.count[name] += n
}

// Report prints the figures after a long run, as Markdown.
func (f *Figures) Report() {
	if os.Getenv(TortureTime) == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Println("\n| what | how many |\n|---|---|")
	for _, name := range []string{Kills, Cuts, Faults, Repeats, Hostile, Events, PackagesMade, FilesSaved, Losses} {
		fmt.Printf("| %s | %d |\n", name, f.count[name])
	}
}

// TortureTime is the environment variable with the duration of the torture; without it, the program is killed only a few
// times.
const TortureTime = "COUNTERSIGN_E2E_TORTURE"

// Siege is an attack by many strangers on one address.
type Siege struct {
	t       testing.TB
	address string
	Host    string // as in the public address

	Ctx    context.Context
	lift   context.CancelFunc
	All    sync.WaitGroup
	Made   atomic.Int64 // connections and requests
	strict http.Transport
}

func Besiege(t testing.TB, o *Office) *Siege {
	t.Helper()
	s := &Siege{t: t, address: o.Front.Inside, Host: strings.TrimPrefix(o.Front.URL, "https://")}
	s.Ctx, s.lift = context.WithCancel(t.Context())
	s.strict = http.Transport{DisableKeepAlives: true}
	return s
}

// Crowd makes n strangers repeat do, with pauses.
func (s *Siege) Crowd(n int, pause time.Duration, do func(n int)) {
	for i := range n {
		s.All.Go(func() {
			again := time.NewTimer(0)
			defer again.Stop()
			for {
				select {
				case <-again.C:
				case <-s.Ctx.Done():
					return
				}
				s.Made.Add(1)
				do(i)
				again.Reset(pause)
			}
		})
	}
}

// Dawdle opens a connection, sends something and waits until it is disconnected.
func (s *Siege) Dawdle(say string) {
	s.visit(func(conn net.Conn) {
		io.WriteString(conn, say)
		io.Copy(io.Discard, conn)
	})
}

// Drip opens a connection and sends an endless header, one byte at a time.
func (s *Siege) Drip() {
	s.visit(func(conn net.Conn) {
		io.WriteString(conn, "POST /webhook HTTP/1.1\r\nHost: "+s.Host+"\r\nX-Long: ")
		next := time.NewTicker(200 * time.Millisecond)
		defer next.Stop()
		for range next.C {
			if _, err := io.WriteString(conn, "a"); err != nil {
				return
			}
		}
	})
}

// visit opens a connection that is closed at the end of the siege.
func (s *Siege) visit(do func(conn net.Conn)) {
	conn, err := (&net.Dialer{}).DialContext(s.Ctx, "tcp", s.address)
	if err != nil {
		return
	}
	defer context.AfterFunc(s.Ctx, func() { conn.Close() })()
	defer conn.Close()
	do(conn)
}

// Ask sends one request and ignores the result.
func (s *Siege) Ask(method, path string, header http.Header, body io.Reader, length int64) {
	req, err := http.NewRequestWithContext(s.Ctx, method, "http://"+s.address+path, body)
	if err != nil {
		return
	}
	req.Host, req.ContentLength = s.Host, length
	maps.Copy(req.Header, header)
	resp, err := s.strict.RoundTrip(req)
	if err != nil {
		return
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
}

// End ends the siege and adds its figures.
func (s *Siege) End() {
	s.lift()
	s.All.Wait()
	Suffered.Add(Hostile, int(s.Made.Load()))
}

// Zeros is an endless body.
type Zeros struct{}

func (Zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Costs are the resources that a process uses.
type Costs struct {
	Memory int // resident, in KiB
	Files  int // open
}

func (p *Process) Costs() (c Costs) {
	p.T.Helper()
	dir := fmt.Sprintf("/proc/%d", p.Cmd.Process.Pid)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	Must(p.T, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			c.Memory, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	names, err := ReadNames(filepath.Join(dir, "fd"))
	Must(p.T, err)
	c.Files = len(names)
	return c
}

// ConnectionsAt counts the open connections accepted at an address of this computer (proc(5), net/tcp).
func ConnectionsAt(t testing.TB, address string) (n int) {
	t.Helper()
	a, err := netip.ParseAddrPort(address)
	Must(t, err)
	table, err := os.ReadFile("/proc/net/tcp")
	Must(t, err)
	ip := a.Addr().As4()
	local := fmt.Sprintf("%08X:%04X", binary.LittleEndian.Uint32(ip[:]), a.Port())
	const established, closeWait = "01", "08"
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == local && (f[3] == established || f[3] == closeWait) {
			n++
		}
	}
	return n
}

// Goroutines ends a Go program in a way that makes it list its goroutines, and counts them.
func (p *Process) Goroutines() int {
	p.T.Helper()
	p.Quit()
	return strings.Count("\n"+p.Stderr.String(), "\ngoroutine ")
}
