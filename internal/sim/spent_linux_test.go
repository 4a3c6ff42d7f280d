package sim

import (
	"syscall"
	"time"
)

// spent is how much processor time this process has used: on a busy machine a real clock tells nothing of its work.
func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
