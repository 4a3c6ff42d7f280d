package sim

import (
	"os"
	"runtime"
	"testing"

	"countersign/internal/fasttest"
)

// TestMain gives lives one processor: with two, goroutines that become ready at the same instant race. For more processors
// there are more processes. Where the system allows it, lives have disks of their own, which can be full.
func TestMain(m *testing.M) {
	if fasttest.LeaveOut() {
		os.Exit(m.Run())
	}
	if code, ok := ownSpace(); ok {
		os.Exit(code)
	}
	if os.Getenv(envTurns) != "" {
		runtime.GOMAXPROCS(1)
		runtime.MemProfileRate = 0 // whoever wants to know asks for a profile
	}
	code := m.Run()
	for _, dir := range []string{madeIn, orderlyIn} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}
