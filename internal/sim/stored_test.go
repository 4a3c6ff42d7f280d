package sim

import (
	"countersign/internal/office"
	"maps"
	"slices"
)

// storedEvents judge: what was answered 2xx is stored and shown, once, and nothing else is. They are silent about what is old enough to
// be forgotten, and about what a former computer had.
type storedEvents struct {
	m *model

	acked   []string        // ids of events that were answered 2xx, in order ...
	unseen  []string        // ... and those of them that are yet to be looked for
	ackedOn map[string]int  // how many dates the computer had shown by then
	came    map[string]bool // ids of events that were sent here
	kept    map[string]bool // events that the program has shown to have
}

// acknowledged hears of an event that was answered 2xx.
func (x *storedEvents) acknowledged(id string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if _, known := x.ackedOn[id]; !known {
		x.ackedOn[id] = x.m.w.shown()
		x.acked, x.unseen = append(x.acked, id), append(x.unseen, id)
	}
}

// forgetsAfter is how many dates the computer must have shown since an event before it may be forgotten: as many as the settings
// say by default, less those that it has shown before to a program that did not count them. Its clock jumps often: a month of life
// has more dates than a season.
const forgetsAfter = office.KeepEventsDays * 3 / 4

// lookAtEvents: what was answered 2xx is stored, until it is old.
func (x *storedEvents) lookAtEvents() {
	if x.m.w.office == nil {
		return
	}
	x.m.mu.Lock()
	missing := x.unseen
	x.unseen = nil
	x.m.mu.Unlock()
	missing = slices.DeleteFunc(missing, func(id string) bool { return x.kept[id] })
	if len(missing) == 0 {
		return
	}
	read := x.eachPage(min(200, 8+2*len(missing)), func(events []office.Event) (more bool) { // what came last is on the first
		for _, e := range events {
			x.kept[e.ID] = true
		}
		missing = slices.DeleteFunc(missing, func(id string) bool { return x.kept[id] })
		return len(missing) > 0
	})
	if !read {
		return
	}
	shown := x.m.w.shown()
	for _, id := range missing {
		x.m.mu.Lock()
		old := shown-x.ackedOn[id] >= forgetsAfter
		x.m.mu.Unlock()
		if !old {
			x.m.breaks("what was answered 2xx is stored: event %s is not", id)
		}
		x.kept[id] = true
	}
}

// delivered notes an event that is on its way here.
func (x *storedEvents) delivered(id string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.came[id] = true
}

// lookAtEventList: what is shown as an event came as one, and is shown once.
func (x *storedEvents) lookAtEventList() {
	x.m.mu.Lock()
	came := maps.Clone(x.came)
	x.m.mu.Unlock()
	x.eachPage(200, func(events []office.Event) (more bool) {
		for _, e := range events {
			if !came[e.ID] {
				x.m.breaks("an event is shown once: nobody sent %s, or it is there twice", e.ID)
			}
			delete(came, e.ID)
		}
		return true
	})
}

// eachPage gives the events that the office shows to look, newest first and so many at once, for as long as it wants more of them.
// It reports whether they could be read.
func (x *storedEvents) eachPage(many int, look func([]office.Event) (more bool)) bool {
	var before office.Cursor
	for {
		events, next, err := x.m.w.office.Events(before, many)
		if err != nil {
			x.m.breaks("the events can be read: %v", err)
			return false
		}
		if len(events) == 0 || !look(events) || next == before || next == "" {
			return true
		}
		before = next
	}
}

// restarted looks at all events again: another process reads them.
func (x *storedEvents) restarted() {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.unseen, x.kept = slices.Clone(x.acked), map[string]bool{}
}
