package store

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"countersign/internal/office"
)

// spoil makes the record unreadable that is kept under key.
func spoil(t *testing.T, s *Store, bucket string, key []byte) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.put(bucket, key, []byte(`{"id":`)) })
}

func TestARecordThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	s := newTest(t)
	for _, id := range []string{"a", "bad", "c"} {
		putPackages(t, s, office.Package{ID: id, NextCheck: day})
		plan(t, s, office.Job{PackageID: "p", DocumentID: id, Kind: "executed", Folder: "/f", Target: id, NextTry: day})
		update(t, s, func(tx *Tx) error {
			_, err := tx.AddEvent(office.Event{ID: id, Received: day})
			return errors.Join(err, tx.PutDraft(office.Draft{ID: id, NextTry: day}))
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
		if x == packages {
			spoil(t, s, bucketPackageLines, row)
		}
	}
	spoil(t, s, bucketJobs, []byte("p/bad/executed"))

	lists := map[string]func(tx *Tx) (int, error){
		"packages due":  func(tx *Tx) (int, error) { l, err := tx.PackagesDue(Due{Now: day}, 10); return len(l), err },
		"open packages": func(tx *Tx) (int, error) { l, err := tx.AllOpen(); return len(l), err },
		"jobs due":      func(tx *Tx) (int, error) { l, err := tx.JobsDue(Due{Now: day}, 10, nil); return len(l), err },
		"pending jobs":  func(tx *Tx) (int, error) { l, err := tx.PendingJobs(); return len(l), err },
		"drafts due":    func(tx *Tx) (int, error) { l, err := tx.DraftsDue(Due{Now: day}); return len(l), err },
		"drafts":        func(tx *Tx) (int, error) { l, err := tx.Drafts(); return len(l), err },
		"queued drafts": func(tx *Tx) (int, error) { l, err := tx.Drafts(office.DraftQueued); return len(l), err },
		"package lines": func(tx *Tx) (n int, err error) {
			err = tx.PackageLines(func(office.PackageLine) bool { n++; return true })
			return n, err
		},
		"pending events": func(tx *Tx) (int, error) { l, _, err := tx.PendingEvents("", 10); return len(l), err },
		"events":         func(tx *Tx) (int, error) { l, _, err := tx.Events("", 10); return len(l), err },
	}
	for name, list := range lists {
		if n := read(t, s, list); n != 2 {
			t.Errorf("%s: %d, want the two others", name, n)
		}
	}
	n := 0
	read(t, s, func(tx *Tx) (bool, error) { return true, tx.Packages(func(office.Package) bool { n++; return true }) })
	if n != 2 {
		t.Errorf("packages: %d, want the two others", n)
	}
	jobs := read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.JobsOf("p") })
	if len(jobs) != 3 || jobs[1].DocumentID != "bad" || jobs[1].State != office.JobFailed {
		t.Errorf("the package looks complete without its job: %+v", jobs)
	}
	if n := s.Unreadable(); n != 5 {
		t.Errorf("%d records are known to be unreadable", n)
	}
	for name, do := range map[string]func(tx *Tx) error{
		"read":  func(tx *Tx) error { _, _, err := tx.Package("bad"); return err },
		"write": func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "bad", NextCheck: day.Add(time.Hour)}) },
	} {
		if err := s.Update(do); !errors.Is(err, ErrRecord) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrRecord", name, err)
		}
	}
	if added := read(t, s, func(tx *Tx) (bool, error) { return tx.AddEvent(office.Event{ID: "bad"}) }); added {
		t.Error("a copy of the unreadable event is taken for another one")
	}
}

func TestAPackageOutlivesItsRecord(t *testing.T) {
	for name, p := range map[string]office.Package{
		"open":        {State: office.PackageOpen, Name: "Lease", Origin: office.MadeHere, DraftID: "d", NextCheck: at0(time.Hour), SignersDone: 1, SignersTotal: 2},
		"withheld":    {State: office.PackageExecuted, Executed: office.When{Time: day}, NextCheck: at0(time.Hour), Refused: at0(time.Minute)},
		"executed":    {State: office.PackageExecuted, Executed: office.When{Time: day}, Planned: true, Saved: true},
		"over":        {State: office.PackageExpired, Due: day},
		"withdrawing": {State: office.PackageOpen, Name: "Lease", Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, NextTry: at0(time.Minute)}},
		"not known":   {},
	} {
		t.Run(name, func(t *testing.T) {
			p.ID, p.Created = "p", day
			spoiled, whole := newTest(t), newTest(t)
			for _, s := range []*Store{spoiled, whole} {
				putPackages(t, s, office.Package{ID: "before", Created: day, NextCheck: at0(time.Hour)}, p, office.Package{ID: "after", Created: day})
			}
			row := read(t, spoiled, func(tx *Tx) ([]byte, error) {
				row, _, err := tx.find(packages, "p")
				return bytes.Clone(row), err
			})
			spoil(t, spoiled, bucketPackages, row)
			get := func(tx *Tx) (office.Package, error) { p, _, err := tx.Package("p"); return p, err }
			if got, want := read(t, spoiled, get), read(t, whole, get); got.State != want.State || got.Final() != want.Final() ||
				got.Name != want.Name || got.Origin != want.Origin || got.DraftID != want.DraftID || got.Saved != want.Saved || (got.Withdrawal != nil && !got.Withdrawal.Damaged) ||
				!got.NextCheck.Equal(want.NextCheck) || !got.Refused.Equal(want.Refused) || !got.Executed.Equal(want.Executed.Time) {
				t.Errorf("known of it: %+v, want %+v", got, want)
			}
			due := func(tx *Tx) (int, error) {
				l, err := tx.PackagesDue(Due{Now: at0(2 * time.Hour)}, 10)
				return len(l), err
			}
			if n, want := read(t, spoiled, due), read(t, whole, due); n != want {
				t.Errorf("%d packages are due, want %d", n, want)
			}
			p.NextCheck, p.Name, p.State, p.Planned, p.Saved = at0(3*time.Hour), "What the service tells", office.PackageExecuted, true, false
			for _, s := range []*Store{spoiled, whole} {
				putPackages(t, s, p)
			}
			for _, bucket := range []string{
				bucketPackages, bucketPackageLines, bucketPackagesDue, bucketPackagesRefused, bucketPackagesByDraft, bucketWithdrawalsDue, bucketCounts,
			} {
				if got, want := dump(t, spoiled, bucket), dump(t, whole, bucket); !maps.Equal(got, want) {
					t.Errorf("%s: %q, want %q", bucket, got, want)
				}
			}
			if n := spoiled.Unreadable(); n != 0 {
				t.Errorf("%d records are left out", n)
			}
		})
	}
}

// dump is what is in a bucket.
func dump(t *testing.T, s *Store, bucket string) map[string]string {
	t.Helper()
	all := map[string]string{}
	view(t, s, func(tx *Tx) error {
		return tx.oldest(bucket, nil, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	})
	return all
}

func TestALineThatCannotBeReadIsMadeFromItsPackage(t *testing.T) {
	s := newTest(t)
	putPackages(t, s, office.Package{ID: "a", Created: day}, office.Package{ID: "p", Name: "Lease", Created: day}, office.Package{ID: "z", Created: day})
	row := read(t, s, func(tx *Tx) ([]byte, error) { row, _, err := tx.find(packages, "p"); return bytes.Clone(row), err })
	spoil(t, s, bucketPackageLines, row)
	var names []string
	view(t, s, func(tx *Tx) error {
		return tx.PackageLines(func(l office.PackageLine) bool { names = append(names, l.ID+l.Name); return true })
	})
	if !slices.Equal(names, []string{"z", "pLease", "a"}) {
		t.Errorf("%q", names)
	}
}
