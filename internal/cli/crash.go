package cli

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// crashVariable is for the tests that kill the real program, and does nothing unless it is set: with
// COUNTERSIGN_CRASH_AT=POINT:N the process ends at once, as by SIGKILL, when it passes agent.Params.Crash's POINT for the
// Nth time; with POINT:N:fault it comes upon a fault of its own there. It gives nobody power over the program: who sets a process's environment can end the process anyway.
const crashVariable = "COUNTERSIGN_CRASH_AT"

// crashAt is the agent.Params.Crash that the variable's value asks for, nil for a value that asks for none.
func crashAt(value string) func(point string) {
	name, count, _ := strings.Cut(value, ":")
	count, how, _ := strings.Cut(count, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		return nil
	}
	var left atomic.Int64
	left.Store(n)
	return func(point string) {
		if point != name || left.Add(-1) != 0 {
			return
		}
		if how == "fault" {
			panic("a fault that was asked for at " + point)
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
			select {} // not one instruction more
		}
	}
}
