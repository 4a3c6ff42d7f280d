package sandbox

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is a rule that makes the service misbehave. The first matching rule that is not used up is applied to a request;
// effects can be combined where that makes sense (a delay with anything).
type Fault struct {
	ID     int    `json:"id"`
	Method string `json:"method"` // "" matches every method
	Path   string `json:"path"`   // glob over the path without /api/v1; * matches anything, including slashes
	Skip   int    `json:"skip"`   // ignore this many matching requests first
	Times  int    `json:"times"`  // apply this many times; 0 means for ever

	DelayMS       int               `json:"delay_ms"`       // wait before anything else
	Status        int               `json:"status"`         // answer with this status instead of doing the work
	Body          string            `json:"body"`           // with Status: the body; "" is one of the service's errors
	Headers       map[string]string `json:"headers"`        // set on the answer, for example Retry-After
	Drop          bool              `json:"drop"`           // close the connection before doing or answering anything
	LoseAnswer    bool              `json:"lose_answer"`    // do the work, then close the connection without an answer
	TruncateAfter int64             `json:"truncate_after"` // > 0: close the connection after this many bytes of body

	Applied int `json:"applied"` // how often it was applied
	seen    int
}

func (f *Fault) matches(method, path string) bool {
	if f.Method != "" && !strings.EqualFold(f.Method, method) {
		return false
	}
	if f.Path == "" {
		return true
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(f.Path), `\*`, ".*")
	ok, _ := regexp.MatchString("^"+pattern+"$", path)
	return ok
}

// faults may be used from any goroutine.
type faults struct {
	mu    sync.Mutex
	rules []*Fault
	last  int
}

// Inject adds a rule and returns its id.
func (s *Server) Inject(rule Fault) int {
	f := &s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	rule.ID, rule.Applied, rule.seen = f.last, 0, 0
	f.rules = append(f.rules, &rule)
	return rule.ID
}

// Heal removes the rule with this id, or all rules for 0.
func (s *Server) Heal(id int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.rules = slices.DeleteFunc(s.faults.rules, func(r *Fault) bool { return id == 0 || r.ID == id })
}

func (s *Server) Faults() []Fault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	all := []Fault{}
	for _, r := range s.faults.rules {
		all = append(all, *r)
	}
	return all
}

// takeFault returns the rule to apply to a request and counts it.
func (s *Server) takeFault(method, path string) (Fault, bool) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for _, r := range s.faults.rules {
		if (r.Times > 0 && r.Applied >= r.Times) || !r.matches(method, path) {
			continue
		}
		if r.seen++; r.seen <= r.Skip {
			continue
		}
		r.Applied++
		return *r, true
	}
	return Fault{}, false
}

// misbehave serves a request under a rule.
func (s *Server) misbehave(rule Fault, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if rule.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(rule.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
	}
	if rule.Drop {
		panic(http.ErrAbortHandler)
	}
	if rule.LoseAnswer {
		next.ServeHTTP(&deaf{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
	for name, value := range rule.Headers {
		w.Header().Set(name, value)
	}
	if rule.TruncateAfter > 0 {
		w = &truncated{ResponseWriter: w, left: rule.TruncateAfter}
	}
	if rule.Status == 0 {
		next.ServeHTTP(w, r)
		return
	}
	if rule.Body == "" {
		code := "service_refusal_injected"
		if rule.Status >= 500 {
			code = "service_exception_injected"
		}
		writeJSON(w, rule.Status, errorBody(code, "This failure was asked for."))
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.WriteHeader(rule.Status)
	_, _ = w.Write([]byte(rule.Body))
}

// deaf discards an answer that will not be sent.
type deaf struct{ header http.Header }

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) WriteHeader(int)             {}
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }

// truncated passes a number of bytes of body and then closes the connection.
type truncated struct {
	http.ResponseWriter
	left int64
}

func (t *truncated) Write(p []byte) (int, error) {
	if int64(len(p)) <= t.left {
		t.left -= int64(len(p))
		return t.ResponseWriter.Write(p)
	}
	_, _ = t.ResponseWriter.Write(p[:t.left])
	_ = http.NewResponseController(t.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}
