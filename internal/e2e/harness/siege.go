//go:build linux

package harness

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Siege is many strangers at one address, until it is lifted.
type Siege struct {
	t       testing.TB
	address string
	Host    string // as the public address has it

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

// Crowd has so many strangers do something again and again, each with a pause.
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

// Dawdle opens a connection, says something and waits until it is thrown out.
func (s *Siege) Dawdle(say string) {
	s.visit(func(conn net.Conn) {
		io.WriteString(conn, say)
		io.Copy(io.Discard, conn)
	})
}

// Drip opens a connection and sends a header that never ends, a byte at a time.
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

// visit opens a connection that ends with the siege.
func (s *Siege) visit(do func(conn net.Conn)) {
	conn, err := (&net.Dialer{}).DialContext(s.Ctx, "tcp", s.address)
	if err != nil {
		return
	}
	defer context.AfterFunc(s.Ctx, func() { conn.Close() })()
	defer conn.Close()
	do(conn)
}

// Ask sends one request whatever comes of it.
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

// End lifts the siege and counts it.
func (s *Siege) End() {
	s.lift()
	s.All.Wait()
	Suffered.Add(Hostile, int(s.Made.Load()))
}

// Zeros is an endless body.
type Zeros struct{}

func (Zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Costs is what a process takes up.
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

// ConnectionsAt counts the connections that somebody on this computer has taken at an address and not closed (proc(5),
// net/tcp).
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

// Goroutines ends a Go program the way that has it list its goroutines, and counts them.
func (p *Process) Goroutines() int {
	p.T.Helper()
	p.Quit()
	return strings.Count("\n"+p.Stderr.String(), "\ngoroutine ")
}
