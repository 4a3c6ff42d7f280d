package sim

import (
	"syscall"
	"time"
)

// spent is this process's processor time: on a busy machine a real clock says nothing about its work.
func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
