package sim

import (
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/office"
)

// duties are what the program must do promptly unless something goes wrong: after certain events, ask the service about
// every package that is not over.
type duties struct {
	mu     sync.Mutex
	when   map[string]time.Time // package -> when it was last asked about
	sweeps []sweep
}

// sweep is a question about everything, due since then.
type sweep struct {
	why   string
	since time.Time
	about []string
}

const (
	sweepWithin = 3 * time.Minute

	longestRest = 16 * time.Minute // the longest time for which a service may have asked not to be contacted
)

// quietVerbs disturb nothing: the program's duties stay the same.
var quietVerbs = map[string]bool{
	"send": true, "sign": true, "decline": true, "elsewhere": true, "wait": true, "rename": true, "move": true, "delete": true, "forge": true, "disturb": true,
}

// undisturbedSince is since when nothing has happened to the program or its connections; zero while something does.
func (w *world) undisturbedSince() time.Time {
	if w.office == nil || w.offline || w.full || w.flaky.Load() > 0 || w.wrong != 0 || w.keyring.state() != nil || w.startedLocked {
		return time.Time{}
	}
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	return later(w.stirred, w.wire.struck)
}

// calmSince is since when nothing has disturbed the program, including the time for which a service may have asked not to be
// contacted; zero while something does.
func (w *world) calmSince() time.Time {
	since := w.undisturbedSince()
	if since.IsZero() || w.wire.troubled() {
		return time.Time{}
	}
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	return later(w.stirred, w.wire.struck.Add(longestRest))
}

// asked records a question about a package.
func (d *duties) asked(path string) {
	if !strings.HasSuffix(path, "/status") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.when == nil {
		d.when = map[string]time.Time{}
	}
	d.when[anID.FindString(path)] = time.Now()
}

// owesSweep records that something may have been missed.
func (w *world) owesSweep(why string) {
	if w.office == nil {
		return
	}
	s := sweep{why: why, since: time.Now()}
	for _, p := range w.services[w.current].Packages() {
		if p.State != "open" {
			continue
		}
		if row, known, err := w.office.Package(p.PackageID); err == nil && known && row.State == office.PackageOpen {
			s.about = append(s.about, p.PackageID)
		}
	}
	w.duties.mu.Lock()
	defer w.duties.mu.Unlock()
	w.duties.sweeps = append(w.duties.sweeps, s)
}

// lookAtDuties checks the duties.
func (m *model) lookAtDuties() {
	w, d := m.w, &m.w.duties
	calm := w.calmSince()
	signedIn := w.office != nil && must(w.office.Status()).SignedIn
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweeps = slices.DeleteFunc(d.sweeps, func(s sweep) bool {
		if calm.IsZero() || calm.After(s.since) || !signedIn {
			return true
		}
		for _, id := range s.about {
			if !d.when[id].Before(s.since) {
				continue
			}
			row, known, err := w.office.Package(id)
			if err != nil || !known || row.State != office.PackageOpen {
				continue
			}
			if time.Since(s.since) > sweepWithin {
				m.breaks("what may have been missed is asked for: %q was not within %v, though %s", row.Name, sweepWithin, s.why)
				return true
			}
			return false
		}
		return true
	})
}
