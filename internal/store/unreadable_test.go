package store

import (
	"errors"
	"testing"
	"time"
)

// spoil makes the record unreadable that is kept under key.
func spoil(t *testing.T, s *Store, bucket string, key []byte) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.put(bucket, key, []byte(`{"id":`)) })
}

func TestARecordThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	s := newTest(t)
	for _, id := range []string{"a", "bad", "c"} {
		putPackages(t, s, Package{ID: id, NextCheck: day})
		plan(t, s, Job{PackageID: "p", DocumentID: id, Kind: "executed", Folder: "/f", Target: id, NextTry: day})
		update(t, s, func(tx *Tx) error {
			_, err := tx.AddEvent(Event{ID: id, Received: day})
			return errors.Join(err, tx.PutDraft(Draft{ID: id, NextTry: day}))
		})
	}
	for _, x := range []shelf{events, packages, drafts} {
		var row []byte
		read(t, s, func(tx *Tx) (bool, error) {
			found, _, err := tx.find(x, "bad")
			row = append(row, found...)
			return true, err
		})
		spoil(t, s, x.rows, row)
	}
	spoil(t, s, bucketJobs, []byte("p/bad/executed"))

	lists := map[string]func(tx *Tx) (int, error){
		"packages due":   func(tx *Tx) (int, error) { l, err := tx.PackagesDue(Due{Now: day}, 10); return len(l), err },
		"open packages":  func(tx *Tx) (int, error) { l, err := tx.AllOpen(); return len(l), err },
		"jobs due":       func(tx *Tx) (int, error) { l, err := tx.JobsDue(Due{Now: day}, 10); return len(l), err },
		"pending jobs":   func(tx *Tx) (int, error) { l, err := tx.PendingJobs(); return len(l), err },
		"drafts due":     func(tx *Tx) (int, error) { l, err := tx.DraftsDue(Due{Now: day}); return len(l), err },
		"drafts":         func(tx *Tx) (int, error) { l, err := tx.Drafts(); return len(l), err },
		"queued drafts":  func(tx *Tx) (int, error) { l, err := tx.Drafts(DraftQueued); return len(l), err },
		"pending events": func(tx *Tx) (int, error) { l, err := tx.PendingEvents(10); return len(l), err },
		"events":         func(tx *Tx) (int, error) { l, _, err := tx.Events("", 10); return len(l), err },
	}
	for name, list := range lists {
		if n := read(t, s, list); n != 2 {
			t.Errorf("%s: %d, want the two others", name, n)
		}
	}
	n := 0
	read(t, s, func(tx *Tx) (bool, error) { return true, tx.Packages(func(Package) bool { n++; return true }) })
	if n != 2 {
		t.Errorf("packages: %d, want the two others", n)
	}
	jobs := read(t, s, func(tx *Tx) ([]Job, error) { return tx.JobsOf("p") })
	if len(jobs) != 3 || jobs[1].DocumentID != "bad" || jobs[1].State != JobFailed {
		t.Errorf("the package looks complete without its job: %+v", jobs)
	}
	if n := s.Unreadable(); n != 4 {
		t.Errorf("%d records are known to be unreadable", n)
	}
	for name, do := range map[string]func(tx *Tx) error{
		"read":  func(tx *Tx) error { _, _, err := tx.Package("bad"); return err },
		"write": func(tx *Tx) error { return tx.PutPackage(Package{ID: "bad", NextCheck: day.Add(time.Hour)}) },
	} {
		if err := s.Update(do); !errors.Is(err, ErrRecord) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrRecord", name, err)
		}
	}
	if added := read(t, s, func(tx *Tx) (bool, error) { return tx.AddEvent(Event{ID: "bad"}) }); added {
		t.Error("a copy of the unreadable event is taken for another one")
	}
}
