package sim

import (
	"os"
	"runtime"
	"testing"
)

// TestMain gives a run one processor: with two, goroutines that become ready at the same instant race, and a seed replays
// less exactly. For more processors there are more processes.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}
