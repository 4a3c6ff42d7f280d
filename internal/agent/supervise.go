package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
)

// part is one long-running loop of the agent.
type part struct {
	name string
	run  func(context.Context) error
}

// wellAfter is how long a loop must run before it counts as well again.
const wellAfter = time.Minute

// supervise keeps p running until ctx ends. A loop that fails or panics is reported to health, rests, and starts
// again; the rest doubles up to a minute. It starts small again, and the report ends, once the loop has run for a
// minute.
func (a *Agent) supervise(ctx context.Context, p part) {
	stopped := health.Stopped(p.name)
	for tries := 1; ; tries++ {
		well := time.AfterFunc(wellAfter, func() { a.health.Clear(stopped) })
		err := protect(ctx, p)
		wasWell := !well.Stop()
		if ctx.Err() != nil {
			return
		}
		if wasWell {
			tries = 1
		}
		rest := a.backoff(tries, a.p.Pace.Retry/2, time.Minute)
		a.log.Error("a part stopped and starts again", "part", p.name, "err", err, "rest", rest)
		if !a.health.Has(health.DataNotWritten) { // which says why
			a.health.Set(stopped, message.Plain("A part of Countersign stopped unexpectedly and is being started again; nothing was lost."))
		}
		if !sleep(ctx, rest) {
			return
		}
	}
}

func protect(ctx context.Context, p part) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &objectError{fmt.Errorf("%s: panic: %v\n%s", p.name, r, debug.Stack())}
		}
	}()
	return p.run(ctx)
}

// sleep waits d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// wait waits for d, for a poke on ring, or for the end of ctx, and reports whether ctx is still alive.
func wait(ctx context.Context, d time.Duration, ring <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ring:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff is the pause before try n (1 is the second try): base doubled each time, at most limit, a little uneven
// so that many jobs do not return in step.
func (a *Agent) backoff(n int, base, limit time.Duration) time.Duration {
	d := base
	for range min(n-1, 30) {
		if d *= 2; d >= limit {
			d = limit
			break
		}
	}
	return d + time.Duration(a.p.Jitter()*0.2*float64(d))
}
