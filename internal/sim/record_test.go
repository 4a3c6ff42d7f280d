package sim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"countersign/internal/office"
	"countersign/internal/store"
)

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
	x.m.stored.eachPage(200, func(list []office.EventRow) (more bool) {
		for _, e := range list {
			if events[e.ID] == 0 {
				x.m.breaks("the record holds each fact: event %s is missing", e.ID)
			}
		}
		return true
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
