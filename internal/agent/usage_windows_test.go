package agent

import (
	"time"

	"golang.org/x/sys/windows"
)

// processorTime is what this process has used of the processors so far.
func processorTime() time.Duration {
	var began, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &began, &ended, &kernel, &user) != nil {
		return 0
	}
	ticks := func(t windows.Filetime) time.Duration { // of 100 ns
		return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
	}
	return ticks(kernel) + ticks(user)
}
