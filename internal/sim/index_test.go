package sim

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"time"
)

// index checks the lists of saved files that an office may keep in its folders: each file is listed once, within
// listedWithin if nothing disturbs the program, and nothing else is listed. It does not check files elsewhere, and what an
// earlier computer saved.
type index struct {
	m      *model
	sizes  map[string]int64 // of the lists already read
	listed map[string]bool  // documents
}

const listedWithin = 30 * time.Minute

// lookAtIndexes reads what is new, and checks that nothing is missing.
func (x *index) lookAtIndexes() {
	lists, _ := filepath.Glob(filepath.Join(x.m.w.disk(), "folder *", "*.csv"))
	for _, path := range lists {
		if info, err := os.Stat(path); err == nil && info.Size() != x.sizes[path] {
			x.sizes[path] = info.Size()
			x.read(path)
		}
	}
	w := x.m.w
	calm, wanted := w.calmSince(), x.m.wishes.wants(wishIndex)
	if calm.IsZero() || wanted == never || time.Since(calm) < listedWithin {
		return
	}
	for path, f := range x.m.saved.files {
		if filepath.Dir(path) != w.settings.SaveTo || x.listed[f.document] || f.document == "" || x.m.saved.first[f.document] != w.computer {
			continue
		}
		if saved := x.m.saved.since[f.document]; saved.After(wanted) && w.now().Sub(saved) > listedWithin {
			x.m.breaks("the index lists what is saved: %s, which is %s, is not in it after %v", filepath.Base(path), f.document, w.now().Sub(saved))
		}
	}
}

// read reads a list.
func (x *index) read(path string) {
	body, err := os.ReadFile(path)
	if err != nil {
		return
	}
	lines, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))).ReadAll()
	if err != nil || len(lines) == 0 {
		x.m.breaks("the index can be read: %s has %d bytes, %d lines: %v", path, len(body), len(lines), err)
		return
	}
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		where, sum := line[len(line)-2], line[len(line)-1]
		document := x.m.saved.given[sum]
		if sum != "" && (document == "" || seen[where+sum]) {
			x.m.breaks("the index lists what is saved: %q is %q, listed before: %v", line, document, seen[where+sum])
		}
		seen[where+sum] = true
		x.listed[document] = true
	}
}
