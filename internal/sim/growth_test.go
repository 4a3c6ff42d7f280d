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

// idle judges: what rests uses and asks for no more than it has to, however long the office has lived.
type idle struct {
	m          *model
	goroutines int // at the first rest; 0 before it
}

// lookAtUsage judges that the program uses no more the longer an office lives: no goroutine, and no
// temporary file is left. That none outlives the program, the bubble sees.
func (x *idle) lookAtUsage() {
	now := runtime.NumGoroutine()
	if x.goroutines == 0 {
		x.goroutines = now
	}
	for range 5 { // a question that is under way right now has some, for moments
		if now <= x.goroutines+moreGoroutines {
			break
		}
		x.m.w.sleep(17 * time.Second)
		now = runtime.NumGoroutine()
	}
	if now > x.goroutines+moreGoroutines {
		x.m.breaks("nothing grows: %d goroutines at rest, where %d were at the first one:\n%s", now, x.goroutines, stacks())
	}
	left, err := os.ReadDir(os.TempDir())
	x.m.holds("the world cannot look", err)
	for _, e := range left {
		x.m.breaks("nothing is kept that is done with: %s among the temporary files", e.Name())
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
func (x *idle) lookAtIdling() {
	w := x.m.w
	most := int(idleTime/time.Hour)*x.m.planned() + 20 // some of what is open now runs out meanwhile
	asked, delivered := w.wire.count()
	written, told := w.commits(), x.m.news.count()
	time.Sleep(idleTime)
	synctest.Wait()
	asked2, delivered2 := w.wire.count()
	asked, delivered, written, told = asked2-asked, delivered2-delivered, w.commits()-written, x.m.news.count()-told
	if asked > most {
		x.m.breaks("idle means idle: %d requests in %v while nothing happened, more than %d", asked, idleTime, most)
	}
	// A service that the office has left may go on delivering to its address. What is refused is counted, what is not is stored and
	// handled. What people are told, such as that a package is due, is recorded, and that they need not be told again.
	if written > uint64(asked+2*delivered+2*told)+writesOfDay {
		x.m.breaks("idle means idle: written %d times in %v while nothing happened but %d answers, %d deliveries and %d notifications", written, idleTime, asked, delivered, told)
	}
}
