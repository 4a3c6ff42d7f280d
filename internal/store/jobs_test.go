package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
)

func plan(t *testing.T, s *Store, j office.Job) (planned bool) {
	t.Helper()
	update(t, s, func(tx *Tx) (err error) { planned, err = tx.PlanJob(j); return err })
	return planned
}

func putJob(t *testing.T, s *Store, j office.Job) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.PutJob(j) })
}

func isReserved(t *testing.T, s *Store, folder, target string) bool {
	t.Helper()
	return read(t, s, func(tx *Tx) (bool, error) {
		_, taken, err := tx.JobAt(folder, target)
		if is, _ := tx.IsTaken(folder, target); is != taken {
			t.Errorf("%s in %s is taken: %v and %v", target, folder, is, taken)
		}
		return taken, err
	})
}

func TestTwoJobsNeverShareAName(t *testing.T) {
	s := newTest(t)
	plan(t, s, office.Job{PackageID: "p", Kind: "masterfile", Folder: "/home/office", Target: "2026/Größe Café.pdf"})
	for name, want := range map[[2]string]bool{
		{"/home/office", "2026/Größe Café.pdf"}:             true,
		{"/home/office", "2026/GRÖSSE CAFÉ.PDF"}:            true,
		{"/home/office", "2026/gro\u0308ße cafe\u0301.pdf"}: true,
		{"/home/office/", "2026//Größe Café.pdf"}:           true,
		{"/home/office", `2026\Größe Café.pdf`}:             true,
		{"/home/./office", "2026/Größe Café.pdf. "}:         true,
		{"/home/office", "2026/Größe Cafe.pdf"}:             false,
		{"/home/other", "2026/Größe Café.pdf"}:              false,
		{"/home/office", "2026 Größe Café.pdf"}:             false,
	} {
		expect(t, isReserved(t, s, name[0], name[1]), want, "%[2]q is taken: %[1]v", name)
		err := s.Update(func(tx *Tx) error {
			_, err := tx.PlanJob(office.Job{PackageID: "q", DocumentID: name[0] + name[1], Kind: "masterfile", Folder: name[0], Target: name[1]})
			return err
		})
		if errors.Is(err, ErrTargetTaken) != want || err != nil && !want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestANewNameMovesTheReservation(t *testing.T) {
	s := newTest(t)
	a := office.Job{PackageID: "a", Kind: "cac", Folder: "/f", Target: "one.pdf", State: office.JobPending, Planned: day}
	b := office.Job{PackageID: "b", Kind: "cac", Folder: "/f", Target: "two.pdf", State: office.JobPending, Planned: day}
	plan(t, s, a)
	plan(t, s, b)
	a.Target = "TWO.pdf"
	refused(t, s, ErrTargetTaken, func(tx *Tx) error { return tx.PutJob(a) })
	a.Target = "three.pdf"
	putJob(t, s, a)
	a.Target = "THREE.pdf" // its own name in different case
	putJob(t, s, a)
	b.State = office.JobFailed // it keeps its name nonetheless
	putJob(t, s, b)
	for name, want := range map[string]bool{"one.pdf": false, "two.pdf": true, "three.pdf": true} {
		expect(t, isReserved(t, s, "/f", name), want, name+" taken: %v")
	}
	refused(t, s, ErrNotFound, func(tx *Tx) error { return tx.PutJob(office.Job{PackageID: "x", Kind: "cac"}) })
}

func TestWhateverTheIdentifiersAreTwoJobsAreTwo(t *testing.T) {
	s := newTest(t)
	long := strings.Repeat("a", 10_000)
	ids := []string{"a", "a/b", "/", "a/", "b/c", "..", "%", "%2F", "a\x00b", "\n", long, long + "b", office.KeyPart("a/b")[1:]}
	n := 0
	for _, pkg := range ids {
		for _, doc := range append(ids, "") {
			n++
			plan(t, s, office.Job{PackageID: pkg, DocumentID: doc, Kind: "executed", Folder: "/f", Target: fmt.Sprint(n)})
		}
	}
	if c := read(t, s, (*Tx).JobCounts); c.Pending != n {
		t.Errorf("%d jobs", c.Pending)
	}
	for _, pkg := range ids {
		for _, j := range read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.JobsOf(pkg) }) {
			expect(t, j.PackageID, pkg, "a job of %.20q is among those of %.20q", pkg)
		}
	}
	for _, j := range []office.Job{{PackageID: "", Kind: "k"}, {PackageID: "a", Kind: ""}, {PackageID: "a", DocumentID: "\xff", Kind: "k"}} {
		refused(t, s, ErrBadID, func(tx *Tx) error { _, err := tx.PlanJob(j); return err })
	}
}

func TestTheListOfWhatWasSavedDoesNotGrow(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		for i := range 2 * mostRecent {
			tx.PlanJob(office.Job{PackageID: fmt.Sprint(i), Kind: "executed", Folder: "/f", Target: fmt.Sprint(i), State: office.JobDone,
				SavedFile: office.SavedFile{Done: at0(time.Duration(i) * time.Second)}})
		}
		return nil
	})
	saved := read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(2 * mostRecent) })
	if len(saved) != mostRecent || !saved[0].Done.Equal(at0((2*mostRecent-1)*time.Second)) {
		t.Errorf("%d files, the newest of %v", len(saved), saved[0].Done)
	}
}
