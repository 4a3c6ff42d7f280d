package sim

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing/synctest"
	"time"
)

// moreGoroutines is how many more goroutines there may be at a later rest than at the first one in a life: settings switch
// parts of the program on and off.
const moreGoroutines = 12

// idle checks that an idle program uses and asks for no more than necessary, however long the office has existed.
type idle struct {
	m          *model
	goroutines int // at the first rest; 0 before
}

// lookAtUsage checks that the program's resources do not grow over time: no goroutine, and no temporary file is left. The
// bubble checks that no goroutine outlives the program.
func (x *idle) lookAtUsage() {
	now := runtime.NumGoroutine()
	if x.goroutines == 0 {
		x.goroutines = now
	}
	for range 5 { // a question in progress briefly needs some
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

// stacks are the stacks of all goroutines.
func stacks() string {
	all := make([]byte, 4<<20)
	return string(all[:runtime.Stack(all, true)])
}

// commits counts the program's commits: bbolt numbers them, alternately in its first two pages (go.etcd.io/bbolt,
// internal/common: Meta).
func (w *world) commits() (n uint64) {
	const number = 64 // offset in the page
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

// writesOfDay are the commits for a new day: it is counted, the copies of packages that ended long ago are forgotten (ForgetSent has a
// transaction of its own), and a backup is made.
const writesOfDay = 3

// lookAtIdling checks a time in which nothing happens: the program asks only for what is necessary, and writes no more than
// the answers, the deliveries and the day require.
func (x *idle) lookAtIdling() {
	w := x.m.w
	most := int(idleTime/time.Hour)*x.m.planned() + 20 // some open packages expire meanwhile
	asked, delivered := w.wire.count()
	written, told := w.commits(), x.m.news.count()
	time.Sleep(idleTime)
	synctest.Wait()
	asked2, delivered2 := w.wire.count()
	asked, delivered, written, told = asked2-asked, delivered2-delivered, w.commits()-written, x.m.news.count()-told
	if asked > most {
		x.m.breaks("idle means idle: %d requests in %v while nothing happened, more than %d", asked, idleTime, most)
	}
	// A service that the office has left may still deliver to its address. Rejected events are counted, others are stored
	// and handled. Notifications, such as that a package is due, are recorded, and so is that they were shown.
	if written > uint64(asked+2*delivered+2*told)+writesOfDay {
		x.m.breaks("idle means idle: written %d times in %v while nothing happened but %d answers, %d deliveries and %d notifications", written, idleTime, asked, delivered, told)
	}
}
