package preview

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Confine restricts this process for good by a job object of its own: its memory, in bytes; the processor time it may use
// from now on, after which the system ends it; and it can start no other process.
func Confine(memory uint64, cpu time.Duration) error {
	used, err := cpuTime()
	if err != nil {
		return err
	}
	job, err := windows.CreateJobObject(nil, nil) // stays open until the process ends
	if err != nil {
		return fmt.Errorf("make a job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{ProcessMemoryLimit: uintptr(memory)}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY | windows.JOB_OBJECT_LIMIT_PROCESS_TIME |
		windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	limits.BasicLimitInformation.ActiveProcessLimit = 1
	limits.BasicLimitInformation.PerProcessUserTimeLimit = int64((used + cpu) / tick)
	var still runtime.Pinner // the stack could move before the system reads the value
	still.Pin(&limits)
	defer still.Unpin()
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return fmt.Errorf("set the job's limits: %w", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		return fmt.Errorf("enter the job: %w", err)
	}
	watch(memory, used+cpu)
	return nil
}

// tick is the unit of process times.
const tick = 100 * time.Nanosecond

func cpuTime() (time.Duration, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0, fmt.Errorf("ask for the time used: %w", err)
	}
	ticks := func(t windows.Filetime) time.Duration {
		return time.Duration(int64(t.HighDateTime)<<32 | int64(t.LowDateTime))
	}
	return tick * (ticks(kernel) + ticks(user)), nil
}
