package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/office"
)

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// exported is everything that a store keeps.
func exported(t *testing.T, s *Store) (list []Record) {
	t.Helper()
	err := s.View(func(tx *Tx) error {
		return tx.Export(func(r Record) error {
			b, err := json.Marshal(r)
			if err != nil {
				return err
			}
			var kept Record
			list = append(list, kept)
			return json.Unmarshal(b, &list[len(list)-1])
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWhatIsExportedAndImportedIsAllThatWasKept(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "state.db"))
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	err := s.Update(func(tx *Tx) error {
		err := errors.Join(tx.UseService("here"),
			tx.PutPackage(office.Package{ID: "a", Name: "Lease", Created: at, State: office.PackageExecuted}),
			tx.PutPackage(office.Package{ID: "b", Created: at.Add(time.Hour), Service: "elsewhere"}),
			tx.PutDraft(office.Draft{ID: "d", State: office.DraftUnknown, Created: at}),
			tx.PutDoc("people", []string{"Ana"}), tx.PutSealed("token", []byte{0, 1, 0xff}), tx.AddActivity(office.Activity{Time: at, Kind: "sent"}))
		_, err1 := tx.PlanJob(office.Job{PackageID: "a", Kind: office.FileSigned, Folder: "/signed", Target: "Lease.pdf"})
		_, err2 := tx.AddEvent(office.Event{ID: "1", Received: at, Body: []byte("{}"), Outcome: office.EventPending})
		_, err3 := tx.AddEvent(office.Event{ID: "2", Received: at, Outcome: office.EventHandled})
		_, err4 := tx.Once("told")
		_, err5 := tx.CountDay(at)
		_, err6 := tx.CountDay(at.Add(48 * time.Hour))
		return errors.Join(err, err1, err2, err3, err4, err5, err6)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(tx *Tx) error {
		n, err := tx.ForgetEvents(1, 10)
		if n != 1 {
			t.Errorf("%d events are forgotten", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := exported(t, s)
	other := opened(t, filepath.Join(t.TempDir(), "state.db"))
	if err := other.Update(func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "of before"}) }); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("not now")
	bring := func(also error) error {
		return other.Update(func(tx *Tx) error {
			err := tx.Clear()
			for _, r := range want {
				if err == nil {
					err = tx.Import(r)
				}
			}
			return errors.Join(err, also)
		})
	}
	if err := bring(refused); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if left := exported(t, other); len(left) != 2 {
		t.Errorf("a change that was refused left %d records", len(left))
	}
	if err := bring(nil); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(want)
	if b, _ := json.Marshal(exported(t, other)); !bytes.Equal(a, b) {
		t.Errorf("kept was   %s\nimported is %s", a, b)
	}
	err = other.View(func(tx *Tx) error {
		packages, err1 := tx.PackageCounts()
		events, err2 := tx.EventCounts()
		pending, err3 := tx.PendingJobs()
		b, _, err4 := tx.Package("b")
		_, of, err5 := tx.Package("of before")
		if packages.Total != 2 || packages.Executed != 1 || events.Received != 2 || events.Pending != 1 || len(pending) != 1 || !b.Away || of || !tx.Told("told") {
			t.Errorf("%+v, %+v, %d jobs, away %v, of before %v", packages, events, len(pending), b.Away, of)
		}
		return errors.Join(err1, err2, err3, err4, err5)
	})
	if err != nil {
		t.Error(err)
	}
	if err := other.Update(func(tx *Tx) error {
		added, err := tx.AddEvent(office.Event{ID: "2"})
		if added {
			t.Error("an event that was forgotten is taken for a new one")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestARecordThatExportDoesNotWriteIsNotImported(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "state.db"))
	for _, r := range []Record{
		{}, {Kind: "other"}, {Kind: KindPackage}, {Kind: KindPackage, JSON: []byte(`{}`)}, {Kind: KindPackage, JSON: []byte(`[]`)},
		{Kind: KindJob, JSON: []byte(`{}`)}, {Kind: KindDraft, JSON: []byte(`{}`)}, {Kind: KindEvent, JSON: []byte(`{}`)},
		{Kind: KindForgotten, Key: []byte("1"), Bytes: make([]byte, rowLength)}, {Kind: KindForgotten, Bytes: []byte{1}},
		{Kind: KindFact, Key: []byte("short")}, {Kind: KindDoc, Key: []byte("a"), JSON: []byte("{")}, {Kind: KindDoc, JSON: []byte("{}")},
		{Kind: KindSealed, Bytes: []byte("x")}, {Kind: KindActivity, JSON: []byte(`{"time":1}`)},
	} {
		if err := s.Update(func(tx *Tx) error { return tx.Import(r) }); err == nil {
			t.Errorf("%+v is imported", r)
		}
	}
	if left := exported(t, s); len(left) != 1 { // the service
		t.Errorf("%+v", left)
	}
}
