package preview

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// watch ends this process when Go has so many bytes from the system, or when it has used so much of the processor's
// time. It is for the systems that do not keep to the limits that Confine sets: macOS for memory, Wine for time. When it
// returns, a timer runs and the runtime has opened what it needs for timers.
func watch(memory uint64, cpu time.Duration) {
	debug.SetMemoryLimit(int64(memory / 2)) // Go tries harder from there on
	have := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	var look func()
	look = func() {
		metrics.Read(have)
		used, err := cpuTime()
		if err != nil || used > cpu || have[0].Value.Uint64()-have[1].Value.Uint64() > memory {
			os.Exit(1)
		}
		time.AfterFunc(50*time.Millisecond, look)
	}
	look()
}
