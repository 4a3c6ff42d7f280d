//go:build unix

package preview

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the maximum memory of a process in bytes, and 0 if it was below this process's: a process inherits its parent's
// maximum when it is started.
func peak(p *os.ProcessState) int64 {
	var own syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own) // cannot fail for one's own process
	most := p.SysUsage().(*syscall.Rusage).Maxrss
	if most <= own.Maxrss {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return most
	}
	return most << 10
}
