package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// errUnreadable marks a record that is there but does not decode. guard turns it into a CorruptError, which knows the
// path.
var errUnreadable = errors.New("unreadable record")

// guard runs fn and turns the ways in which a damaged file shows itself into a CorruptError: bbolt's assertions,
// which are panics; reads beyond the end of the mapped file, which are memory faults; and records that do not decode.
// A panic that is the caller's own goes on.
func (s *Store) guard(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if known, ok := value.(damaged); ok {
			value = known.value
		} else if !isFault(value) && !inBolt() {
			panic(value)
		}
		damage := s.corrupt(fmt.Sprint(value))
		s.log.Error("the data file is damaged", "path", s.path, "reason", damage.Reason)
		// From here on bbolt may hold its locks for ever, and writing on could spread the damage.
		s.damage.CompareAndSwap(nil, damage)
		err = damage
	}()
	err = fn()
	if errors.Is(err, errUnreadable) {
		return s.corrupt(err.Error())
	}
	return err
}

// damaged is a panic that has been recognised as damage on its way to guard.
type damaged struct{ value any }

// isFault tells a read of memory that is not there (beyond the end of the file) from a nil pointer.
func isFault(value any) bool {
	fault, ok := value.(interface {
		runtime.Error
		Addr() uintptr
	})
	return ok && fault.Addr() >= 4096
}

// inBolt reports whether the panic being recovered was raised in bbolt itself. It must be called by the deferred
// function.
func inBolt() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic" || frame.Function == "runtime.sigpanic":
			panicked = true
		case panicked && !strings.HasPrefix(frame.Function, "runtime."):
			return strings.HasPrefix(frame.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}
