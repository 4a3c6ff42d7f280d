package sandbox

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Request is one line of the request log. Queries, bodies, headers and the tokens of signing links are not kept.
type Request struct {
	Time     time.Time     `json:"time"`
	Method   string        `json:"method"`
	Path     string        `json:"path"`
	Route    string        `json:"route"`  // the pattern that served it, without /api/v1; "" for none
	Status   int           `json:"status"` // 0: the connection was cut before an answer
	Bytes    int64         `json:"bytes"`
	Duration time.Duration `json:"duration_ns"`
	Fault    int           `json:"fault,omitempty"` // the rule that interfered
}

// maxRequests bounds the log; the counters go on.
const maxRequests = 2000

// requestLog may be used from any goroutine.
type requestLog struct {
	mu     sync.Mutex
	last   []Request
	counts map[string]int
}

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) >= maxRequests {
		l.last = append(l.last[:0], l.last[maxRequests/2:]...)
	}
	l.last = append(l.last, r)
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[cmp.Or(r.Route, "other")]++
}

func (l *requestLog) snapshot() ([]Request, map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last), maps.Clone(l.counts)
}

func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.counts = nil, nil
}

// Requests returns the newest requests, oldest first, and the number of requests per route since the start.
func (s *Server) Requests() ([]Request, map[string]int) { return s.requests.snapshot() }

// meter notes what was answered.
type meter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (m *meter) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	n, err := m.ResponseWriter.Write(p)
	m.bytes += int64(n)
	return n, err
}

func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }
