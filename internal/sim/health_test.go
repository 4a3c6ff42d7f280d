package sim

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// health checks that problems are reported within their time limits, and that nothing else is.
type health struct {
	m        *model
	expected []*expectation
}

// expectation is an issue that health must report once its condition has held for a time.
type expectation struct {
	issue  string
	within time.Duration
	so     func(w *world) bool

	since  time.Time
	start  int    // the start of the program since which it has held
	folder string // the folder in the settings since then: an issue about one does not apply to the next
}

// expectations: health reports problems within their time limits.
func expectations() []*expectation {
	return []*expectation{
		{issue: "signin", within: 8 * time.Hour, so: func(w *world) bool { return w.lapsed && w.works() && w.keyring.state() == nil }},
		{issue: "keyring", within: time.Minute, so: func(w *world) bool { return w.office != nil && w.startedLocked && w.keyring.state() != nil }},
		{issue: "folder", within: 30 * time.Minute, so: func(w *world) bool {
			_, err := os.Stat(w.settings.SaveTo)
			return err != nil && w.saves() && !w.full && w.model.health.waitsFor(w.settings.SaveTo)
		}},
		{issue: "folder", within: 30 * time.Minute, so: func(w *world) bool { // or that nothing can be stored at all
			return w.full && w.saves() && !w.model.health.says("data") && w.model.health.waitsFor(w.settings.SaveTo)
		}},
		{issue: "outbox", within: 5 * time.Minute, so: func(w *world) bool {
			if w.office == nil || w.flaky.Load() != 0 {
				return false
			}
			o := must(w.office.Status()).Outbox
			return o.Unknown+o.Held > 0 && slices.ContainsFunc(must(w.office.Drafts()), func(d office.Draft) bool { return d.State == office.DraftUnknown && !d.Away })
		}},
		{issue: "service", within: time.Hour, so: func(w *world) bool {
			return w.office != nil && w.offline && must(w.office.Status()).SignedIn && w.wrong == 0 && !w.full && w.flaky.Load() == 0 && !w.model.health.says("keyring") && w.model.health.young()
		}},
	}
}

// works reports whether the program runs and reaches its service undisturbed.
func (w *world) works() bool {
	return w.office != nil && !w.offline && w.flaky.Load() == 0 && !w.wire.troubled()
}

// saves reports whether the program can be expected to save documents: it may ask the service for them, and its clock is
// right.
func (w *world) saves() bool {
	return w.works() && w.wrong == 0 && must(w.office.Status()).SignedIn && !w.model.health.says("keyring")
}

// troubled reports whether there is a fault on the wire.
func (x *wire) troubled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.faults, func(f *fault) bool { return f.left != 0 && !time.Now().After(f.until) })
}

// waitsFor reports whether people see that a document waits for a folder.
func (x *health) waitsFor(folder string) bool {
	here := x.here()
	waits := func(f office.File) bool {
		return f.Problem.IsZero() && f.State == office.JobPending && filepath.Dir(f.Path) == folder
	}
	for _, line := range must(x.m.w.office.Lines()) {
		if line.Saved || !here[line.ID] {
			continue
		}
		if row, known, err := x.m.w.office.Package(line.ID); err == nil && known && slices.ContainsFunc(row.Files, waits) {
			return true
		}
	}
	return false
}

// young reports whether the program knows a package that it asks about every twenty minutes. If a package was made while the
// clock was far ahead, the program treats it as a day old, because it would otherwise stay new until then.
func (x *health) young() bool {
	here := x.here()
	return slices.ContainsFunc(must(x.m.w.office.Lines()), func(p office.PackageLine) bool {
		return p.State == "open" && x.m.w.clock().Sub(p.Created).Abs() < 20*time.Hour && here[p.ID]
	})
}

// here are the packages at the service in use.
func (x *health) here() map[string]bool {
	all := map[string]bool{}
	for _, p := range x.m.w.services[x.m.w.current].Packages() {
		all[p.PackageID] = true
	}
	return all
}

// slowIssues may last while nothing disturbs the program: it has no public address, or asks for a file again after hours.
var slowIssues = []string{"no-tunnel", "withheld"}

func (x *health) lookAtHealth() {
	if w := x.m.w; w.startedLocked && w.keyring.state() == nil && !x.says("keyring") {
		w.startedLocked, w.stirred = false, time.Now()
	}
	for _, e := range x.expected {
		switch {
		case !e.so(x.m.w):
			e.since = time.Time{}
		case e.since.IsZero(), e.start != x.m.w.starts, e.folder != x.m.w.settings.SaveTo, x.says(e.issue): // from here on the condition must hold anew
			e.since, e.start, e.folder = time.Now(), x.m.w.starts, x.m.w.settings.SaveTo
		case time.Since(e.since) > e.within:
			x.m.breaks("health says what is wrong within its time: %q for %v, and nothing is said: %v", e.issue, time.Since(e.since), x.issues())
		}
	}
	if calm := x.m.w.calmSince(); !calm.IsZero() && time.Since(calm) > leftAlone(-1) { // what has failed for long may be tried again hours later
		for _, i := range must(x.m.w.office.Status()).Health {
			if (i.Action == agent.ActNone || i.Action == agent.ActRetry) && !slices.Contains(slowIssues, i.ID) {
				x.m.breaks("nothing is said to be wrong that is not: %s: %s", i.ID, i.Message)
			}
		}
	}
	x.m.w.lost = x.m.w.lost || x.says("endpoint-lost")
	if s := x.m.w.office; s != nil && !x.m.w.mayBeOut && x.m.w.keyring.state() == nil && !must(s.Status()).SignedIn {
		x.m.breaks("nothing is said to be wrong that is not: nobody is signed in, and nobody signed out: %v", x.issues())
	}
}

// hears checks a line of the log: nothing fails while nothing is wrong.
func (x *health) hears(h *host, line string) {
	if calm := x.m.w.calmSince(); strings.Contains(line, "level=ERROR") && h == x.m.w.host && !calm.IsZero() && time.Since(calm) > time.Minute {
		x.m.breaks("nothing is said to be wrong that is not: in the log, %s", line)
	}
}

func (x *health) says(id string) bool { return slices.Contains(x.issues(), id) }

func (x *health) issues() (ids []string) {
	if x.m.w.office != nil {
		for _, i := range must(x.m.w.office.Status()).Health {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

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
