package sim

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing/synctest"
	"time"
)

// moreGoroutines is how many more there may be at a later rest than at the first one in a life: settings have parts of the
// program run or not.
const moreGoroutines = 12

// lookAtUsage judges that the program uses no more the longer an office lives: no goroutine, and no
// temporary file is left. That none outlives the program, the bubble sees.
func (m *model) lookAtUsage() {
	now := runtime.NumGoroutine()
	if m.goroutines == 0 {
		m.goroutines = now
	}
	for range 5 { // a question that is under way right now has some, for moments
		if now <= m.goroutines+moreGoroutines {
			break
		}
		m.w.sleep(17 * time.Second)
		now = runtime.NumGoroutine()
	}
	if now > m.goroutines+moreGoroutines {
		m.breaks("nothing grows: %d goroutines at rest, where %d were at the first one:\n%s", now, m.goroutines, stacks())
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil {
		m.breaks("the world cannot look: %v", err)
	}
	for _, e := range left {
		m.breaks("nothing is kept that is done with: %s among the temporary files", e.Name())
	}
}

// stacks are what all goroutines do.
func stacks() string {
	all := make([]byte, 4<<20)
	return string(all[:runtime.Stack(all, true)])
}

// commits is how often the program has written its state: bbolt numbers what it commits, in the one or the other of its first
// two pages (go.etcd.io/bbolt, internal/common: Meta).
func (w *world) commits() (n uint64) {
	const number = 64 // where in the page
	state, err := os.Open(filepath.Join(w.dataDir(), "state.db"))
	if err != nil {
		return 0
	}
	defer state.Close()
	for page := range int64(2) {
		var raw [8]byte
		if _, err := state.ReadAt(raw[:], page*int64(os.Getpagesize())+number); err == nil {
			n = max(n, binary.NativeEndian.Uint64(raw[:]))
		}
	}
	return n
}

// writesOfDay are those that a new day brings: what is old is forgotten, and the state as it was is kept.
const writesOfDay = 2

// lookAtIdling judges a time in which nothing happens: the program asks for no more than it has to, and writes no more than
// the answers, the deliveries and the day ask for.
func (m *model) lookAtIdling() {
	w := m.w
	delivered := w.wire.delivered()
	asked, written, most := w.wire.count(), w.commits(), int(idleTime/time.Hour)*m.planned()+20 // some of what is open now runs out meanwhile
	time.Sleep(idleTime)
	synctest.Wait()
	asked, written, delivered = w.wire.count()-asked, w.commits()-written, w.wire.delivered()-delivered
	if asked > most {
		m.breaks("idle means idle: %d requests in %v while nothing happened, more than %d", asked, idleTime, most)
	}
	// A service that the office has left may go on delivering to its address. What is refused is counted, what is not is stored and
	// handled.
	if written > uint64(asked+2*delivered)+writesOfDay {
		m.breaks("idle means idle: written %d times in %v while nothing happened but %d answers and %d deliveries", written, idleTime, asked, delivered)
	}
}
