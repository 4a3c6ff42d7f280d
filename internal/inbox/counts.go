package inbox

import (
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Reason is why a request was refused; for the log and for people, never for the sender.
type Reason string

const (
	WrongMethod Reason = "method"     // 405
	TooLarge    Reason = "too large"  // 413
	Encoded     Reason = "encoded"    // 415: compressed, which no notification is
	Unsigned    Reason = "unsigned"   // 401: no signature, or no body
	Forged      Reason = "forged"     // 401: a signature that is not ours
	Slow        Reason = "slow"       // 408
	Cut         Reason = "cut short"  // 400: the body ended early
	Busy        Reason = "busy"       // 503: too many at once
	NotStored   Reason = "not stored" // 503: authentic, but Store failed
)

func (r Reason) status() int {
	switch r {
	case WrongMethod:
		return http.StatusMethodNotAllowed
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Encoded:
		return http.StatusUnsupportedMediaType
	case Slow:
		return http.StatusRequestTimeout
	case Cut:
		return http.StatusBadRequest
	case Busy, NotStored:
		return http.StatusServiceUnavailable
	}
	return http.StatusUnauthorized
}

// Counts are totals since the start.
type Counts struct {
	Received   int64            // distinct authentic notifications stored
	Duplicates int64            // authentic ones that were stored before
	Rejected   map[Reason]int64 // everything that was not answered 200
}

// Refusal is one refused request, as a sample.
type Refusal struct {
	Reason     Reason
	Remote     string // as net/http saw it; behind a tunnel that is the tunnel
	At         time.Time
	Suppressed int64 // refusals since the last sample that were not reported
}

// counter counts, and lets through a sample of refusals: three, then one every twenty seconds, so that a flood does
// not become a flood of log lines and disk writes.
type counter struct {
	sampled func(Refusal)
	log     *slog.Logger

	mu         sync.Mutex
	received   int64
	duplicates int64
	rejected   map[Reason]int64
	suppressed int64
	samples    *rate.Limiter
}

func newCounter(sampled func(Refusal), log *slog.Logger) *counter {
	return &counter{
		sampled:  sampled,
		log:      log,
		rejected: map[Reason]int64{},
		samples:  rate.NewLimiter(rate.Every(20*time.Second), 3),
	}
}

func (c *counter) accept(added bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if added {
		c.received++
	} else {
		c.duplicates++
	}
}

func (c *counter) refuse(reason Reason, remote string, at time.Time) {
	c.mu.Lock()
	c.rejected[reason]++
	if !c.samples.AllowN(at, 1) {
		c.suppressed++
		c.mu.Unlock()
		return
	}
	sample := Refusal{Reason: reason, Remote: remote, At: at, Suppressed: c.suppressed}
	c.suppressed = 0
	c.mu.Unlock()

	c.log.Warn("A request was refused", "reason", reason, "remote", remote, "unreported", sample.Suppressed)
	if c.sampled != nil {
		c.sampled(sample)
	}
}

func (c *counter) snapshot() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Counts{Received: c.received, Duplicates: c.duplicates, Rejected: maps.Clone(c.rejected)}
}
