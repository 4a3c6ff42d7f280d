package outbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"countersign/internal/agent/data"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
)

// copySpare is how many bytes must stay free beside a copy, for everything else.
const copySpare = 4 << 20

// copies guards the folder. Safe for concurrent use.
type copies struct {
	taking sync.RWMutex // held for reading from before a copy is made until it is recorded, and for writing by the sweep
	needed swept        // under taking
}

// swept is what a sweep saw that found every copy needed by a draft.
type swept struct {
	names  []string
	drafts uint64 // see store.DraftsSum
}

// sweepCopies removes what no draft needs any more, and what a kill left behind. It comes again: a moment at which a
// draft is just being made is not the right one.
func (r *Service) sweepCopies() {
	if !r.copies.taking.TryLock() {
		return
	}
	defer r.copies.taking.Unlock()
	entries, err := os.ReadDir(r.copiesDir())
	if len(entries) == 0 {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Log.Warn("look through the copies", "err", err)
		}
		return
	}
	sum, err := data.Read(r.Data, "whether the drafts are what they were", func(tx *store.Tx) (uint64, error) { return tx.DraftsSum(waiting...) })
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err == nil && r.copies.needed.drafts == sum && slices.Equal(r.copies.needed.names, names) {
		return
	}
	r.copies.needed = swept{}
	drafts, err := r.Drafts()
	if err != nil {
		r.Log.Warn("look which copies are needed", "err", err)
		return
	}
	if r.Data.Store.Unreadable() > 0 {
		return // one of these may be a draft that is repaired one day
	}
	needed := map[string]bool{}
	for _, d := range drafts {
		for _, f := range d.Files {
			needed[f.Copy] = true
		}
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !needed[name] }) {
		r.copies.needed = swept{names, sum}
		return
	}
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(r.copiesDir(), e.Name())); err != nil {
			r.Log.Warn("remove a copy", "err", err)
		}
	}
}

// refusedKeep is for how many counted days the copies of a refused draft are kept. Afterwards the draft cannot be sent: its
// documents are added anew.
const refusedKeep = 30

// ForgetCopies takes their copies from drafts that were refused long ago, so that they do not pile up.
func (r *Service) ForgetCopies() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		today, err := tx.Day()
		if err != nil {
			return err
		}
		refused, err := tx.Drafts(office.DraftFailed)
		for _, d := range refused {
			switch {
			case d.Day == 0:
				d.Day = today
			case today-d.Day > refusedKeep && slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { return f.Copy != "" }):
				for i := range d.Files {
					d.Files[i].Copy = ""
				}
			default:
				continue
			}
			err = errors.Join(err, tx.PutDraft(d))
		}
		return err
	})
	r.Wake() // which removes them
	return err
}

// SetCopiesAside keeps the copies of drafts that a lost data file knew. Those that are needed stay where they are.
func (r *Service) SetCopiesAside(needed map[string]bool) {
	entries, err := os.ReadDir(r.copiesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Log.Warn("look through the copies", "err", err)
	}
	aside := r.copiesDir() + r.Now().UTC().Format(".lost-20060102T150405")
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		err := disk.MkdirAll(aside, 0o700)
		if err == nil {
			err = disk.Rename(filepath.Join(r.copiesDir(), e.Name()), filepath.Join(aside, e.Name()))
		}
		if err != nil {
			r.Log.Warn("set a copy aside", "err", err)
		}
	}
}

// Adopted is a draft of another computer whose copies are here: its files were given nowhere on this one.
func Adopted(d office.Draft, dataDir string) office.Draft {
	d = d.Clone()
	for i := range d.Files {
		f := &d.Files[i]
		f.Path = filepath.Join(locations.Outbox(dataDir)+".moved", f.Copy, f.Name)
		if d.Template != nil && f.Original > 0 && f.Original <= len(d.Template.Documents) {
			d.Template.Documents[f.Original-1].File = f.Path
		}
	}
	return d
}
