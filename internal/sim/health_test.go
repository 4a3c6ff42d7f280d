package sim

import (
	"os"
	"path/filepath"
	"slices"
	"time"

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
			return w.office != nil && w.flaky.Load() == 0 && must(w.office.Status()).Outbox.Unknown > 0 && slices.ContainsFunc(must(w.office.Drafts()), func(d office.Draft) bool { return d.State == office.DraftUnknown && !d.Away })
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

// lookAtHealth checks the expectations.
func (x *health) lookAtHealth() {
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
	x.m.w.lost = x.m.w.lost || x.says("endpoint-lost")
	if s := x.m.w.office; s != nil && !x.m.w.mayBeOut && x.m.w.keyring.state() == nil && !must(s.Status()).SignedIn {
		x.m.breaks("nothing is said to be wrong that is not: nobody is signed in, and nobody signed out: %v", x.issues())
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
