package cli

import (
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"countersign/internal/cli/terminal"
)

// How long a program may take to end once it is asked to, whatever hangs: people are promised 5 s.
const (
	endsWithin = 4500 * time.Millisecond
	windowEnds = 1500 * time.Millisecond // of these, what the window has before the office is closed without it
	windowLast = time.Second             // and what it has once the office is closed
)

// ending closes an office in time, with or without its window. A display or a panel that does not answer holds the main
// goroutine for ever, and with it the data folder: the next start would find an office at work that shows nothing. So
// the office is closed beside it, as it always is, and then the process ends. Its methods may be called from any
// goroutine.
type ending struct {
	shut   func() error // gives the data folder back
	log    *slog.Logger
	say    *terminal.Writer
	exit   func(code int)
	begun  sync.Once
	shuts  sync.Once     // shut has begun
	closed chan struct{} // shut has ended, with err
	err    error
	over   chan struct{} // end has returned

	// end closes the office, unless that has begun, and waits for it. Call it when the window is over.
	end func() error
}

func newEnding(shut func() error, log *slog.Logger, say *terminal.Writer) *ending {
	e := &ending{shut: shut, log: log, say: say, exit: os.Exit, closed: make(chan struct{}), over: make(chan struct{})}
	e.end = sync.OnceValue(e.finish)
	return e
}

// begin says that the program was asked to end; end has to follow in time. Further calls do nothing.
func (e *ending) begin() { e.begun.Do(func() { go e.insist() }) }

func (e *ending) finish() error {
	e.begin() // an office that hangs must not keep the folder either
	defer close(e.over)
	e.close()
	<-e.closed
	return e.err
}

// close begins to close the office.
func (e *ending) close() {
	e.shuts.Do(func() {
		go func() {
			defer close(e.closed)
			e.err = e.shut()
		}()
	})
}

func (e *ending) insist() {
	last := time.NewTimer(endsWithin)
	defer last.Stop()
	first := time.NewTimer(windowEnds)
	defer first.Stop()
	select {
	case <-e.over:
		return
	case <-first.C:
	}
	e.close()
	code := exitDone
	select {
	case <-e.over:
		return
	case <-e.closed:
		slow := time.NewTimer(windowLast)
		defer slow.Stop()
		select { // the window, if it only was slow
		case <-e.over:
			return
		case <-slow.C:
		case <-last.C:
		}
	case <-last.C:
		code = exitFailed
	}
	e.log.Error("the program does not end by itself; ending it", "err", e.failed(), "goroutines", stacks())
	if code != exitDone {
		_ = e.say.Line("countersign: Countersign did not end in time and was stopped. Nothing is lost; it goes on where it was at the next start.")
	}
	e.exit(code)
}

// failed is how closing the office went, as far as that is known.
func (e *ending) failed() error {
	select {
	case <-e.closed:
		return e.err
	default:
		return nil
	}
}

// stacks is where every goroutine is, for whoever looks for what hung.
func stacks() string {
	b := make([]byte, 256<<10)
	return string(b[:runtime.Stack(b, true)])
}
