package drop

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/windows"
)

var (
	enableCancellation  = ole32.NewProc("CoEnableCallCancellation")
	disableCancellation = ole32.NewProc("CoDisableCallCancellation")
	cancelCall          = ole32.NewProc("CoCancelCall")
)

// hurry has the calls of this thread to another program fail once ctx is done, for that program may hang. The goroutine is
// locked to its thread, and calls over when it makes no more of them. Where the system cannot do so, nothing happens.
func hurry(ctx context.Context) (over func()) {
	for _, f := range []*windows.LazyProc{enableCancellation, disableCancellation, cancelCall} {
		if f.Find() != nil {
			return func() {}
		}
	}
	if r, _, _ := enableCancellation.Call(0); int32(r) < 0 {
		return func() {}
	}
	thread := uintptr(windows.GetCurrentThreadId())
	var calling sync.Mutex // held while a call is ended
	ended := false
	stop := context.AfterFunc(ctx, func() {
		for {
			calling.Lock()
			if ended {
				calling.Unlock()
				return
			}
			cancelCall.Call(thread, 0) // which fails where none is made just now
			calling.Unlock()
			time.Sleep(time.Second)
		}
	})
	return func() {
		stop()
		calling.Lock()
		ended = true
		calling.Unlock()
		disableCancellation.Call(0)
	}
}
