//go:build linux

package e2e

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
)

// The least number of kills of each office, for the quick run and for a long one.
const (
	killsQuick = 12
	killsLong  = 110
)

// torture is an office whose program is killed again and again.
type torture struct {
	*harness.Office
	seen   map[string][32]byte // every file that was ever found under its final name
	sent   []string            // the names of all packages that were, or were to be, sent
	denied []string            // of these, those that send invited to send again
	kills  int
}

// TestNothingIsLostOrDoneTwiceWhenTheProgramIsKilled kills the program at random moments while it starts, sends, signs
// in again, receives and saves, with a service that misbehaves and events that come late, twice and in any order. The
// choices come from a seed that is printed; COUNTERSIGN_E2E_SEED makes them again. What a choice meets depends on the
// machine, too.
func TestNothingIsLostOrDoneTwiceWhenTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_E2E_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("COUNTERSIGN_E2E_SEED=%d", seed)
	began, least := time.Now(), killsQuick
	lasting, err := time.ParseDuration(os.Getenv(harness.TortureTime))
	if err == nil {
		least = killsLong
	}
	for i, key := range []string{"a file", "the keyring"} {
		t.Run("key in "+key, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			c := newTorture(t, key == "a file")
			for n := 0; c.kills < least || time.Since(began) < lasting; n++ {
				c.play(n, choose(random, n))
			}
			c.settles()
			c.nothingIsMissing()
			c.Stop()
			c.leavesNothingBehind()
		})
	}
}

// newTorture sets an office up that everybody is signed in at, and that works a little more slowly than usual, so that
// there is something to be killed in.
func newTorture(t testing.TB, keyFile bool) *torture {
	t.Helper()
	c := &torture{Office: harness.UsualOffice(t, harness.NewDesktop(t)), seen: map[string][32]byte{}}
	if keyFile {
		c.Global = append(c.Global, "--key-file", filepath.Join(harness.ShortDir(t), "key"))
	}
	c.Setup()
	c.Serve()
	c.MustLogin()
	c.Registered()
	c.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": 1 << 20}, nil)
	return c
}

// choice is all that chance decides about one round.
type choice struct {
	phase  string
	after  time.Duration // from the beginning of the phase to the kill
	faults []map[string]any
	travel map[string]any // of events
	again  int            // which of the events comes once more
}

// phases are what the program is killed at, each with the longest it is given.
var phases = []struct {
	name  string
	limit time.Duration
}{
	{"sending", 300 * time.Millisecond},
	{"signing", 200 * time.Millisecond},
	{"saving", 400 * time.Millisecond},
	{"renewing", 150 * time.Millisecond},
	{"starting", 250 * time.Millisecond},
	{"alone", 400 * time.Millisecond}, // sending without a running instance
}

// choose makes the choices of a round. It takes from random the same way whatever happened before. The first rounds go
// through all phases.
func choose(random *rand.Rand, n int) choice {
	phase := phases[random.IntN(len(phases))]
	if n < len(phases) {
		phase = phases[n]
	}
	c := choice{
		phase: phase.name, after: time.Duration(random.Int64N(int64(phase.limit))), again: random.IntN(1 << 20),
		travel: map[string]any{"duplicate": random.IntN(3), "reorder": random.IntN(2) == 0, "delay_ms": random.IntN(3) * 50},
	}
	for range random.IntN(4) {
		c.faults = append(c.faults, unruly(random))
	}
	return c
}

// unruly is a fault that an office has to live with, and that ends by itself.
func unruly(random *rand.Rand) map[string]any {
	kinds := []map[string]any{
		{"drop": true},
		{"lose_answer": true},
		{"status": 500},
		{"delay_ms": 200},
		{"status": 429, "headers": map[string]string{"Retry-After": "1"}},
		{"status": 200, "body": "<html>be right back</html>", "headers": map[string]string{"Content-Type": "text/html"}},
		{"truncate_after": 700},
		{"status": 404},
	}
	// A renewal that is answered with nonsense ends the sign-in, rightly; and not every call may be absent.
	paths := map[string]int{
		"/connect/token": 4, "/events/endpoints/set": 5, "/files/upload": 7, "/packages/add": 5, "*/status": 7, "*/download": 8,
	}
	names := []string{"/connect/token", "/events/endpoints/set", "/files/upload", "/packages/add", "*/status", "*/download"}
	path := names[random.IntN(len(names))]
	fault := map[string]any{"path": path, "times": 1 + random.IntN(2), "skip": random.IntN(2)}
	maps.Copy(fault, kinds[random.IntN(paths[path])])
	return fault
}
