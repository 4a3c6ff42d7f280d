package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/disk"
	"countersign/internal/office"
)

// exported is everything in a store.
func exported(t *testing.T, s *Store) (list []Record) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		return tx.Export(func(r Record) error {
			b, err := json.Marshal(r)
			list = append(list, Record{})
			return errors.Join(err, json.Unmarshal(b, &list[len(list)-1]))
		})
	})
	return list
}

func TestWhatIsExportedAndImportedIsAllThatWasKept(t *testing.T) {
	s, at := newTest(t), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	update(t, s, func(tx *Tx) error {
		tx.UseService("here")
		tx.PutPackage(office.Package{ID: "a", Name: "Lease", Created: at, State: office.PackageExecuted})
		tx.PutPackage(office.Package{ID: "b", Created: at.Add(time.Hour), Home: office.Home{Service: "elsewhere"}})
		tx.PutDraft(office.Draft{ID: "d", State: office.DraftUnknown, Created: at})
		tx.PutDoc("people", []string{"Ana"})
		tx.PutSealed("token", []byte{0, 1, 0xff})
		tx.AddActivity(office.Activity{Time: at, Kind: "sent"})
		tx.PlanJob(office.Job{PackageID: "a", Kind: office.FileSigned, Folder: "/signed", Target: "Lease.pdf"})
		tx.AddEvent(office.Event{ID: "1", Received: at, Body: []byte("{}"), Outcome: office.EventPending})
		tx.AddEvent(office.Event{ID: "2", Received: at, Outcome: office.EventHandled})
		tx.Once("told")
		tx.CountDay(at)
		tx.CountDay(at.Add(48 * time.Hour))
		return nil
	})
	expect(t, forget(t, s, 1), 1, "%d events are forgotten")
	want := exported(t, s)
	other := newTest(t)
	putPackages(t, other, office.Package{ID: "of before"})
	refused := errors.New("not now")
	bring := func(also error) error {
		return other.Update(func(tx *Tx) error {
			tx.Clear()
			for _, r := range want {
				tx.Import(r)
			}
			return also
		})
	}
	if err := bring(refused); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if left := exported(t, other); len(left) != 2 {
		t.Errorf("a change that was refused left %d records", len(left))
	}
	noErr(t, bring(nil))
	a, _ := json.Marshal(want)
	if b, _ := json.Marshal(exported(t, other)); !bytes.Equal(a, b) {
		t.Errorf("kept was   %s\nimported is %s", a, b)
	}
	view(t, other, func(tx *Tx) error {
		packages, _ := tx.PackageCounts()
		events, _ := tx.EventCounts()
		pending, _ := tx.PendingJobs()
		b, _, _ := tx.Package("b")
		_, of, _ := tx.Package("of before")
		if packages.Total != 2 || packages.Executed != 1 || events.Received != 2 || events.Pending != 1 || len(pending) != 1 || !b.Away || of || !tx.Told("told") {
			t.Errorf("%+v, %+v, %d jobs, away %v, of before %v", packages, events, len(pending), b.Away, of)
		}
		return nil
	})
	if addEvent(t, other, office.Event{ID: "2"}) {
		t.Error("an event that was forgotten is taken for a new one")
	}
}

func TestARecordThatExportDoesNotWriteIsNotImported(t *testing.T) {
	s := newTest(t)
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
	if left := exported(t, s); len(left) != 1 { // only the service is left
		t.Errorf("%+v", left)
	}
}

// smallGain makes even files of a few hundred KiB worth compacting.
const smallGain = 64 << 10

// roomy returns the bytes of a file that is mostly free, and its contents.
func roomy(t *testing.T) (file, content []byte) {
	t.Helper()
	s := newTest(t)
	next := countDays(t, s, day, 1)
	rng := rand.New(rand.NewPCG(1, 19))
	for range 100 {
		update(t, s, func(tx *Tx) error { return tx.PutPackage(somePackage(rng)) })
		_ = s.Update(func(tx *Tx) error { _, err := tx.PlanJob(someJob(rng)); return err }) // fails if the name is taken
	}
	for part := range 6 {
		update(t, s, func(tx *Tx) error {
			for n := range 100 {
				id := fmt.Sprint(part, "-", n)
				tx.AddEvent(office.Event{ID: id, PackageID: "p", Outcome: office.EventHandled, Body: bytes.Repeat([]byte("b"), 2000)})
				tx.Once(id)
			}
			return nil
		})
	}
	countDays(t, s, next, 10)
	for forget(t, s, 5) > 0 {
	}
	content, _ = json.Marshal(exported(t, s))
	noErr(t, s.Close())
	return readFile(t, s.Path()), content
}

// openCompact opens the file as the program does at its start.
func openCompact(t *testing.T, path string, o Options) *Store {
	t.Helper()
	o.Now, o.Compact, o.compactGain = func() time.Time { return day }, true, smallGain
	return must(Open(path, o))
}

// wantWhole checks that a file is complete and writable, and that no other file lies beside it.
func wantWhole(t *testing.T, s *Store, content []byte) {
	t.Helper()
	if got, _ := json.Marshal(exported(t, s)); !bytes.Equal(got, content) {
		t.Errorf("it holds\n%s", got)
	}
	recount(t, s)
	update(t, s, func(tx *Tx) error {
		added, _ := tx.AddEvent(office.Event{ID: "3-50"})
		expect(t, added, false, "a copy of a forgotten event is taken for new: %v")
		expect(t, must(tx.Once("5-99")), false, "a fact is told again: %v")
		return nil
	})
	noErr(t, s.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	}))
	expect(t, must(filepath.Glob(s.Path()+"?*")), []string{}, "beside it lies %q")
}

func TestAFileThatIsMostlyFreeIsMadeSmaller(t *testing.T) {
	file, content := roomy(t)
	path := filepath.Join(t.TempDir(), "state.db")
	noErr(t, os.WriteFile(path, file, 0o600))
	noErr(t, openCompact(t, path, Options{compactMost: 10_000}).Close())
	if len(readFile(t, path)) < len(file) {
		t.Error("so much is in use that its copy holds up a start, and it is made")
	}
	for range 2 { // the second time, a run was killed while copying
		noErr(t, os.WriteFile(path, file, 0o600))
		s := openCompact(t, path, Options{})
		if after := len(readFile(t, path)); after*2 > len(file) {
			t.Errorf("%d bytes, of %d", after, len(file))
		}
		wantWhole(t, s, content)
		noErr(t, s.Close())
		small := readFile(t, path)
		if err := openCompact(t, path, Options{}).Close(); err != nil || !bytes.Equal(small, readFile(t, path)) {
			t.Errorf("a file that is full is written again, or %v", err)
		}
		noErr(t, os.WriteFile(path+".compact", file[:len(file)/2], 0o600))
	}
}

// A process that waits for the lock of the replaced file must get the new file, and must never write to the nameless one.
func TestAWaitingStartGetsTheFileThatHasTheName(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // an open file cannot be replaced there
	}
	path := filepath.Join(t.TempDir(), "state.db")
	first := openTest(t, path)
	other := openTest(t, filepath.Join(t.TempDir(), "state.db"))
	update(t, other, putDoc("the new one"))
	noErr(t, other.Close())
	waiting := make(chan *Store)
	go func() {
		s := &Store{path: path, log: slog.New(slog.DiscardHandler)}
		if err := s.lockFile(time.Minute); err != nil {
			t.Error(err)
		}
		waiting <- s
	}()
	time.Sleep(200 * time.Millisecond) // by then it has opened the old file
	noErr(t, disk.Rename(other.Path(), path))
	noErr(t, first.Close())
	s := <-waiting
	defer s.release()
	expect(t, hasDoc(t, s, "the new one"), true, "it has the file that has the name: %v")
}
