// Package looptest gives the tests of one room what every room works with: a store of its own, no log, no jitter and nobody
// who watches. It must not know a room.
package looptest

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
)

// Tools are those of a room under test; their store is closed when the test ends. changed is called with each change of
// what is wrong.
func Tools(t testing.TB, changed func()) loop.Tools {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	issues := health.New(time.Now, changed)
	st, _, err := data.Open(filepath.Join(t.TempDir(), "state.db"), log, time.Now, issues)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return loop.Tools{
		Log: log, Now: time.Now, Jitter: func() float64 { return 0 }, Pace: loop.Pace{}.Complete(), Data: st, Health: issues,
		Quarantine: &loop.Quarantine{}, Suspects: &loop.Suspects{}, Breaker: &loop.Breaker{},
		Signal: func(office.Change) {}, Show: func(office.Activity) {},
	}
}
