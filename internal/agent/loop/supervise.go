// Package loop has what every service of the agent works with: supervision, back-off, cool-downs, the breaker, wake-ups and
// change signals. It knows none of them, and nothing of packages or of the signing service but that it may ask to be left alone.
package loop

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"countersign/internal/agent/data"
)

// Loop is one long-running loop of the agent.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// wellAfter is how long a loop must run before it counts as well again.
const wellAfter = time.Minute

// Protect runs p once; a panic is an error that concerns what p was about, and nothing else.
func Protect(ctx context.Context, p Loop) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = data.OfObject(fmt.Errorf("%s: panic: %v\n%s", p.Name, r, debug.Stack()))
		}
	}()
	return p.Run(ctx)
}

// Sleep waits d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Wait waits for d, for a wake-up on ring, or for the end of ctx, and reports whether ctx is still alive.
func Wait(ctx context.Context, d time.Duration, ring <-chan struct{}) bool {
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
