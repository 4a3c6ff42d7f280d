//go:build cgo

package fault

/*
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
	HANDLE said, trace;
	wchar_t *tell;
} watched;

// watch runs on a thread that is none of Go's, which works on when Go has stopped all of its own. What a fault says goes to the
// trace; the thread that has it say so waits in the pipe meanwhile.
static DWORD WINAPI watch(void *from) {
	watched *w = from;
	char part[4096];
	DWORD length, kept;
	BOOL told = FALSE;
	while (ReadFile(w->said, part, sizeof part, &length, NULL) && length) {
		WriteFile(w->trace, part, length, &kept, NULL);
		if (!told) {
			STARTUPINFOW start = {sizeof start};
			PROCESS_INFORMATION made;
			told = TRUE;
			if (CreateProcessW(NULL, w->tell, NULL, NULL, FALSE, 0, NULL, NULL, &start, &made)) {
				CloseHandle(made.hThread);
				CloseHandle(made.hProcess);
			}
		}
	}
	CloseHandle(w->said);
	CloseHandle(w->trace);
	free(w->tell);
	free(w);
	return 0;
}

// begin takes the handles over, where it succeeds, and returns its thread, or else 0.
static uintptr_t begin(uintptr_t said, uintptr_t trace, wchar_t *tell) {
	watched *w = malloc(sizeof *w);
	wchar_t *line = _wcsdup(tell);
	HANDLE thread = NULL;
	if (w && line) {
		w->said = (HANDLE)said;
		w->trace = (HANDLE)trace;
		w->tell = line;
		thread = CreateThread(NULL, 0, watch, w, 0, NULL);
	}
	if (!thread) {
		free(w);
		free(line);
		return 0;
	}
	return (uintptr_t)thread;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// closes is how long the thread may take to close the trace once nobody can say anything more; it is at rest then.
const closes = 2000 // milliseconds

// Output is where Go is to write what it says of a fault: a pipe, from which it goes to trace, and which has the program tell
// started, the words of a command line, as soon as there is anything. Closing it, and what the runtime has of it, ends that; over
// then waits until trace is closed here, too.
func Output(trace *os.File, tell []string) (say *os.File, over func(), err error) {
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(tell))
	if err != nil {
		return nil, nil, err
	}
	var said, to windows.Handle
	if err := windows.CreatePipe(&said, &to, nil, 1); err != nil { // no more room than it must have
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	this := windows.CurrentProcess()
	var own windows.Handle
	if err := windows.DuplicateHandle(this, windows.Handle(trace.Fd()), this, &own, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("keep the trace: %w", err), windows.CloseHandle(said), windows.CloseHandle(to))
	}
	thread := windows.Handle(C.begin(C.uintptr_t(said), C.uintptr_t(own), (*C.wchar_t)(unsafe.Pointer(line))))
	if thread == 0 {
		return nil, nil, errors.Join(errors.New("no thread waits for a fault"), windows.CloseHandle(own), windows.CloseHandle(said), windows.CloseHandle(to))
	}
	over = sync.OnceFunc(func() {
		_, _ = windows.WaitForSingleObject(thread, closes) // otherwise the trace stays, empty
		_ = windows.CloseHandle(thread)
	})
	return os.NewFile(uintptr(to), "fault"), over, nil
}
