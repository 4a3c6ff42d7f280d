//go:build unix

package preview

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Confine restricts this process for good: its memory, in bytes; the processor time it may use from now on, after which the
// system kills it; and it can no longer open anything, neither files nor connections.
func Confine(memory uint64, cpu time.Duration) error {
	used, err := cpuTime()
	if err != nil {
		return err
	}
	watch(memory, used+cpu) // first, because it opens what it needs
	seconds := uint64((used + cpu + time.Second - 1) / time.Second)
	for _, limit := range []struct {
		of    int
		value uint64
	}{
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, 0},
		{unix.RLIMIT_DATA, memory}, {unix.RLIMIT_CPU, seconds},
	} {
		if err := unix.Setrlimit(limit.of, &unix.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			return fmt.Errorf("set limit %d: %w", limit.of, err)
		}
	}
	return nil
}

// cpuTime is the processor time that this process has used.
func cpuTime() (time.Duration, error) {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("ask for the time used: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
