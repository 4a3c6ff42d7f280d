//go:build unix

package preview

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most memory a process had, in bytes, and 0 when it had less than this one: a process counts what its
// parent had when it was started.
func peak(p *os.ProcessState) int64 {
	var own syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own) // cannot fail for oneself
	most := p.SysUsage().(*syscall.Rusage).Maxrss
	if most <= own.Maxrss {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return most
	}
	return most << 10
}
