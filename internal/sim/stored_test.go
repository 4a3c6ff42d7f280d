package sim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/store"
)

// storedEvents checks that events answered 2xx are stored and shown, once, and nothing else is. It does not check events old
// enough to be forgotten, and those of a former computer.
type storedEvents struct {
	m *model

	acked   []string        // ids of events answered 2xx, in order ...
	unseen  []string        // ... and those of them not yet looked for
	ackedOn map[string]int  // number of dates that the computer had shown by then
	came    map[string]bool // ids of events sent here
	kept    map[string]bool // events that the program has shown
}

// acknowledged records an event that was answered 2xx.
func (x *storedEvents) acknowledged(id string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if _, known := x.ackedOn[id]; !known {
		x.ackedOn[id] = x.m.w.shown()
		x.acked, x.unseen = append(x.acked, id), append(x.unseen, id)
	}
}

// forgetsAfter is how many dates the computer must have shown since an event before it may be forgotten: the settings'
// default, less those shown earlier to a program that did not count them. The clock jumps often: a month of a life has more
// dates than a season.
const forgetsAfter = office.KeepEventsDays * 3 / 4

// lookAtEvents: events answered 2xx are stored until they are old.
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
	read := x.eachPage(x.m.w.office, min(200, 8+2*len(missing)), func(events []office.EventRow) (more bool) { // the latest are on the first page
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

// delivered records an event being delivered here.
func (x *storedEvents) delivered(id string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.came[id] = true
}

// lookAtEventList: every event shown was delivered, and is shown once.
func (x *storedEvents) lookAtEventList() {
	x.m.mu.Lock()
	came := maps.Clone(x.came)
	x.m.mu.Unlock()
	x.eachEvent(x.m.w.office, func(e office.EventRow) {
		if !came[e.ID] {
			x.m.breaks("an event is shown once: nobody sent %s, or it is there twice", e.ID)
		}
		delete(came, e.ID)
	})
}

// eachEvent passes all of a program's events to look.
func (x *storedEvents) eachEvent(a *agent.Agent, look func(office.EventRow)) {
	x.eachPage(a, 200, func(events []office.EventRow) (more bool) {
		for _, e := range events {
			look(e)
		}
		return true
	})
}

// eachPage passes pages of a program's events to look, newest first, as long as it returns true. It returns false if they
// could not be read.
func (x *storedEvents) eachPage(a *agent.Agent, many int, look func([]office.EventRow) (more bool)) bool {
	var before office.Cursor
	for {
		events, next, err := a.Events(before, many)
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

// restarted looks at all events again, because another process reads them now.
func (x *storedEvents) restarted() {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.unseen, x.kept = slices.Clone(x.acked), map[string]bool{}
}

// recordKept checks that the record verifies, and contains each event and each saved file once. It does not check what a
// former computer had.
type recordKept struct{ m *model }

// lookAtRecord computes the head of the record from its lines (RFC 6962, section 2.1) and compares it with the one shown to
// people.
func (x *recordKept) lookAtRecord() {
	var lines [][]byte
	events, files := map[string]int{}, map[string]bool{}
	err := x.m.w.office.Data.Store.View(func(tx *store.Tx) error {
		return tx.Log().From(0, func(_ int64, line []byte) bool {
			var said struct {
				Event struct{ ID string }
				File  struct{ BLAKE3 string }
			}
			if json.Unmarshal(line, &said) != nil {
				x.m.breaks("the record can be read: %s", line)
			}
			if said.Event.ID != "" {
				events[said.Event.ID]++
			}
			files["blake3:"+said.File.BLAKE3] = true
			lines = append(lines, append([]byte{0}, line...))
			return true
		})
	})
	x.m.holds("the record can be read", err)
	state, err := x.m.w.office.RecordState()
	x.m.holds("the record can be told of", err)
	if head := treeHead(lines); int(state.Size) == len(lines) && !strings.Contains(state.Line, base64.StdEncoding.EncodeToString(head[:])) {
		x.m.breaks("the record verifies: its %d lines are not what %q stands for", len(lines), state.Line)
	}
	for id, n := range events {
		if n > 1 {
			x.m.breaks("the record holds each fact once: event %s is there %d times", id, n)
		}
	}
	x.m.stored.eachEvent(x.m.w.office, func(e office.EventRow) {
		if events[e.ID] == 0 {
			x.m.breaks("the record holds each fact: event %s is missing", e.ID)
		}
	})
	for _, j := range must(x.m.w.office.Saved(100)) {
		if !files[j.Digest] {
			x.m.breaks("the record holds each fact: the saved file %s is missing", j.Target)
		}
	}
}

// treeHead is the head over lines, each of which is prefixed with the leaf's 0.
func treeHead(lines [][]byte) [32]byte {
	switch len(lines) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(lines[0])
	}
	half := 1
	for half*2 < len(lines) {
		half *= 2
	}
	left, right := treeHead(lines[:half]), treeHead(lines[half:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}
