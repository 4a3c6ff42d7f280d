package single

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// endEvent names the event by which a process is asked to end, for all sessions of the computer.
func endEvent(process uint32) string { return fmt.Sprintf(`Global\countersign-end-%d`, process) }

// OnAsked calls ask once when an installer wants this process to end, see EndOthers; until stop. Allowed to ask are this
// user and SYSTEM, as which installers for all users run.
func OnAsked(ask func()) (stop func(), err error) {
	sid, err := user()
	if err != nil {
		return nil, err
	}
	descriptor, err := windows.SecurityDescriptorFromString(fmt.Sprintf("O:%[1]sD:P(A;;GA;;;%[1]s)(A;;GA;;;SY)", sid))
	if err != nil {
		return nil, fmt.Errorf("protect the event: %w", err)
	}
	name, err := windows.UTF16PtrFromString(endEvent(windows.GetCurrentProcessId()))
	if err != nil {
		return nil, err
	}
	event, err := windows.CreateEvent(&windows.SecurityAttributes{
		Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: descriptor,
	}, 1, 0, name)
	if err != nil { // including ERROR_ALREADY_EXISTS: the event is somebody else's
		if event != 0 {
			windows.CloseHandle(event)
		}
		return nil, fmt.Errorf("make the event: %w", err)
	}
	over, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		windows.CloseHandle(event)
		return nil, fmt.Errorf("make the event: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		which, err := windows.WaitForMultipleObjects([]windows.Handle{over, event}, false, windows.INFINITE)
		if err == nil && which == windows.WAIT_OBJECT_0+1 {
			ask()
		}
	}()
	return sync.OnceFunc(func() {
		windows.SetEvent(over)
		<-done
		windows.CloseHandle(over)
		windows.CloseHandle(event)
	}), nil
}

// lookAgain is how often EndOthers looks for processes, because new ones may start.
const lookAgain = 200 * time.Millisecond

// EndOthers asks every other process that runs from this program's file to end, whatever its data folder, and returns when
// none is left. SYSTEM reaches everybody's processes, other users only their own. ErrRunning means that one is left when ctx
// ends.
func EndOthers(ctx context.Context) error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	self, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	for {
		left, err := others(self)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, process := range left {
			askToEnd(process)
		}
		select {
		case <-ctx.Done():
			return ErrRunning
		case <-time.After(lookAgain):
		}
	}
}

// others are the other processes that run from a file.
func others(file os.FileInfo) (found []uint32, err error) {
	list, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	defer windows.CloseHandle(list)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(list, &entry); err == nil; err = windows.Process32Next(list, &entry) {
		if entry.ProcessID != windows.GetCurrentProcessId() && runsFrom(entry.ProcessID, file) {
			found = append(found, entry.ProcessID)
		}
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	return found, nil
}

// runsFrom reports whether a process runs from a file; false if this user may not inspect it.
func runsFrom(process uint32, file os.FileInfo) bool {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, process)
	if err != nil {
		return false
	}
	defer windows.CloseHandle(handle)
	if state, err := windows.WaitForSingleObject(handle, 0); err == nil && state == windows.WAIT_OBJECT_0 {
		return false // it has ended and is only kept by an open handle
	}
	name := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(name))
	if err := windows.QueryFullProcessImageName(handle, 0, &name[0], &size); err != nil {
		return false
	}
	info, err := os.Stat(windows.UTF16ToString(name[:size]))
	return err == nil && os.SameFile(info, file)
}

// askToEnd asks a process to end. One without the event is a command, which ends by itself, or belongs to a process that is
// asked.
func askToEnd(process uint32) {
	name, err := windows.UTF16PtrFromString(endEvent(process))
	if err != nil {
		return
	}
	event, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, name)
	if err != nil {
		return
	}
	defer windows.CloseHandle(event)
	windows.SetEvent(event)
}
