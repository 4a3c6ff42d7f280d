package sim

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// How much processor time the same instant of virtual time may take, and a whole run with its steps. A planted fault is to
// be found within a minute. What waits and takes none is looked for by the bubble, or stands still for so long by a real clock.
const (
	longestInstant = 3 * time.Minute
	longestPlanted = 30 * time.Second
	longestRun     = 30 * time.Minute
	longestStep    = time.Second
	longestStill   = time.Hour
)

// watchdog sees to it that a run which goes round in circles is reported and does not hang: virtual time stands still for as
// long as anything goes on, and no test in the bubble can look at a real clock.
type watchdog struct {
	trace atomic.Pointer[trace]
	step  atomic.Int64
}

// watch ends the process, with a report, when the run hangs. The returned function ends the watch.
func (d *watchdog) watch(seed uint64, steps []step) (done func()) {
	over := make(chan struct{})
	instant := longestInstant
	if os.Getenv(envPlanted) != "" {
		instant = longestPlanted
	}
	go func() {
		began, since, moved, last := spent(), spent(), time.Now(), ""
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-over:
				tick.Stop()
				return
			case <-tick.C:
			}
			t := d.trace.Load()
			if t == nil {
				continue
			}
			if now := t.instant(); now != last {
				last, since, moved = now, spent(), time.Now()
			}
			if spent()-since > instant || spent()-began > longestRun+time.Duration(len(steps))*longestStep || time.Since(moved) > longestStill {
				d.report(seed, steps, t, last, spent()-began)
				os.Exit(1)
			}
		}
	}()
	return func() { close(over) }
}

// report says where the run hangs.
func (d *watchdog) report(seed uint64, steps []step, t *trace, instant string, after time.Duration) {
	at := int(d.step.Load())
	o := outcome{at: at, broken: []string{fmt.Sprintf("the program comes to rest: it goes round in circles at %s, after %v", instant, after.Round(time.Second))}}
	stacks := make([]byte, 1<<20)
	fmt.Fprintf(os.Stderr, "%swhat happened last:\n%s\n%s\n", report(seed, steps, o), t.tail(60), stacks[:runtime.Stack(stacks, true)])
}
