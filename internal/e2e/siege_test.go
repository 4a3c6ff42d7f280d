//go:build linux

package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
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

// siege is many strangers at one address, until it is lifted.
type siege struct {
	t       testing.TB
	address string
	host    string // as the public address has it

	ctx    context.Context
	lift   context.CancelFunc
	all    sync.WaitGroup
	made   atomic.Int64 // connections and requests
	strict http.Transport
}

func besiege(t testing.TB, o *office) *siege {
	t.Helper()
	s := &siege{t: t, address: o.front.inside, host: strings.TrimPrefix(o.front.url, "https://")}
	s.ctx, s.lift = context.WithCancel(t.Context())
	s.strict = http.Transport{DisableKeepAlives: true}
	return s
}

// crowd has so many strangers do something again and again, each with a pause.
func (s *siege) crowd(n int, pause time.Duration, do func(n int)) {
	for i := range n {
		s.all.Go(func() {
			again := time.NewTimer(0)
			defer again.Stop()
			for {
				select {
				case <-again.C:
				case <-s.ctx.Done():
					return
				}
				s.made.Add(1)
				do(i)
				again.Reset(pause)
			}
		})
	}
}

// dawdle opens a connection, says something and waits until it is thrown out.
func (s *siege) dawdle(say string) {
	conn, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.address)
	if err != nil {
		return
	}
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	io.WriteString(conn, say)
	io.Copy(io.Discard, conn)
}

// drip opens a connection and sends a header that never ends, a byte at a time.
func (s *siege) drip() {
	conn, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.address)
	if err != nil {
		return
	}
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	io.WriteString(conn, "POST /webhook HTTP/1.1\r\nHost: "+s.host+"\r\nX-Long: ")
	next := time.NewTicker(200 * time.Millisecond)
	defer next.Stop()
	for range next.C {
		if _, err := io.WriteString(conn, "a"); err != nil {
			return
		}
	}
}

// ask sends one request whatever comes of it.
func (s *siege) ask(method, path string, header http.Header, body io.Reader, length int64) {
	req, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.address+path, body)
	if err != nil {
		return
	}
	req.Host, req.ContentLength = s.host, length
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := s.strict.RoundTrip(req)
	if err != nil {
		return
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
}

// end lifts the siege and counts it.
func (s *siege) end() {
	s.lift()
	s.all.Wait()
	suffered.add(hostile, int(s.made.Load()))
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// costs is what a process takes up.
type costs struct {
	memory int // resident, in KiB
	files  int // open
}

func (p *process) costs() (c costs) {
	p.t.Helper()
	dir := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			c.memory, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	names, err := readNames(filepath.Join(dir, "fd"))
	if err != nil {
		p.t.Fatal(err)
	}
	c.files = len(names)
	return c
}

// connectionsAt counts the connections that somebody on this computer has taken at an address and not closed (proc(5),
// net/tcp).
func connectionsAt(t testing.TB, address string) (n int) {
	t.Helper()
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
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

// goroutines ends a Go program the way that has it list its goroutines, and counts them.
func (p *process) goroutines() int {
	p.t.Helper()
	p.quit()
	return strings.Count("\n"+p.stderr.String(), "\ngoroutine ")
}
