package sim

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain gives a run one processor: with two, goroutines that become ready at the same instant race, and a seed replays
// less exactly. For more processors there are more processes. Where the system allows it, the run has disks of its own,
// which can be full.
func TestMain(m *testing.M) {
	if code, ok := ownSpace(); ok {
		os.Exit(code)
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // there is more memory than time
	code := m.Run()
	if madeIn != "" {
		os.RemoveAll(madeIn)
	}
	os.Exit(code)
}
