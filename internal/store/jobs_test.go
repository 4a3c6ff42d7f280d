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

func jobKeys(jobs []office.Job) string { return names(jobs, office.Job.Key) }

func TestPlanningTwiceIsHarmless(t *testing.T) {
	s := newTest(t)
	j := office.Job{PackageID: "p", DocumentID: "d", Kind: "executed", Folder: "/f", Target: "Lease.pdf"}
	if !plan(t, s, j) {
		t.Fatal("not planned")
	}
	j.Target = "Another name.pdf"
	if plan(t, s, j) {
		t.Error("planned again")
	}
	got := read(t, s, func(tx *Tx) (office.Job, error) { j, _, err := tx.Job(j.Key()); return j, err })
	if got.Target != "Lease.pdf" || got.State != office.JobPending || !got.Planned.Equal(day) {
		t.Errorf("%+v", got)
	}
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
	same := [][2]string{
		{"/home/office", "2026/Größe Café.pdf"},
		{"/home/office", "2026/GRÖSSE CAFÉ.PDF"},
		{"/home/office", "2026/gro\u0308ße cafe\u0301.pdf"},
		{"/home/office/", "2026//Größe Café.pdf"},
		{"/home/office", `2026\Größe Café.pdf`},
		{"/home/./office", "2026/Größe Café.pdf. "},
	}
	for _, name := range same {
		if taken := isReserved(t, s, name[0], name[1]); !taken {
			t.Errorf("%v counts as free", name)
		}
		err := s.Update(func(tx *Tx) error {
			_, err := tx.PlanJob(office.Job{PackageID: "q", Kind: "masterfile", Folder: name[0], Target: name[1]})
			return err
		})
		if !errors.Is(err, ErrTargetTaken) {
			t.Errorf("%v: %v, want ErrTargetTaken", name, err)
		}
	}
	for _, name := range [][2]string{{"/home/office", "2026/Größe Cafe.pdf"}, {"/home/other", "2026/Größe Café.pdf"}, {"/home/office", "2026 Größe Café.pdf"}} {
		if taken := isReserved(t, s, name[0], name[1]); taken {
			t.Errorf("%v counts as taken", name)
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
	if err := s.Update(func(tx *Tx) error { return tx.PutJob(a) }); !errors.Is(err, ErrTargetTaken) {
		t.Errorf("%v, want ErrTargetTaken", err)
	}
	a.Target = "three.pdf"
	putJob(t, s, a)
	a.Target = "THREE.pdf" // its own name in different case
	putJob(t, s, a)
	b.State = office.JobFailed // it keeps its name nonetheless
	putJob(t, s, b)
	for name, want := range map[string]bool{"one.pdf": false, "two.pdf": true, "three.pdf": true} {
		if taken := isReserved(t, s, "/f", name); taken != want {
			t.Errorf("%s taken: %v, want %v", name, taken, want)
		}
	}
	if err := s.Update(func(tx *Tx) error { return tx.PutJob(office.Job{PackageID: "x", Kind: "cac"}) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown job: %v, want ErrNotFound", err)
	}
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
		err := s.Update(func(tx *Tx) error { _, err := tx.PlanJob(j); return err })
		if !errors.Is(err, ErrBadID) {
			t.Errorf("%.40q: %v, want ErrBadID", j.Key(), err)
		}
	}
}

func TestJobsAreFoundByWhatIsToBeDone(t *testing.T) {
	s := newTest(t)
	put := func(id string, state office.JobState, next, done time.Duration) {
		j := office.Job{PackageID: id, DocumentID: "d", Kind: "executed", Folder: "/f", Target: id}
		plan(t, s, j)
		j.State, j.NextTry, j.Done = state, at0(next), at0(done)
		putJob(t, s, j)
	}
	put("late", office.JobPending, time.Hour, 0)
	put("soon", office.JobPending, 0, 0)
	put("sooner", office.JobPending, -time.Hour, 0)
	put("done1", office.JobDone, 0, time.Minute)
	put("done2", office.JobDone, 0, 2*time.Minute)
	put("bad", office.JobFailed, -time.Minute, 0)
	lists := map[string]func(tx *Tx) ([]office.Job, error){
		"sooner/d/executed bad/d/executed soon/d/executed": func(tx *Tx) ([]office.Job, error) { return tx.JobsDue(Due{Now: day}, 10, nil) },
		"sooner/d/executed":                 func(tx *Tx) ([]office.Job, error) { return tx.JobsDue(Due{Now: day}, 1, nil) },
		"done2/d/executed done1/d/executed": func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(10) },
		"done2/d/executed":                  func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(1) },
		"bad/d/executed":                    (*Tx).FailedJobs,
		"soon/d/executed":                   func(tx *Tx) ([]office.Job, error) { return tx.JobsOf("soon") },
		"":                                  func(tx *Tx) ([]office.Job, error) { return tx.JobsOf("soo") },
	}
	for want, list := range lists {
		expect(t, jobKeys(read(t, s, list)), want, "got %q, want %q", want)
	}
	if c := read(t, s, (*Tx).JobCounts); c != (JobCounts{Pending: 3, Done: 2, Failed: 1}) {
		t.Errorf("%+v", c)
	}
	if next := read(t, s, (*Tx).NextJob); !next.Equal(at0(-time.Hour)) {
		t.Errorf("next at %v", next)
	}
}

func TestTheListOfWhatWasSavedDoesNotGrow(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) (err error) {
		for i := range 2 * mostRecent {
			j := office.Job{PackageID: fmt.Sprint(i), Kind: "executed", Folder: "/f", Target: fmt.Sprint(i), State: office.JobDone,
				SavedFile: office.SavedFile{Done: at0(time.Duration(i) * time.Second)}}
			_, planned := tx.PlanJob(j)
			err = errors.Join(err, planned)
		}
		return err
	})
	saved := read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(2 * mostRecent) })
	if len(saved) != mostRecent || !saved[0].Done.Equal(at0((2*mostRecent-1)*time.Second)) {
		t.Errorf("%d files, the newest of %v", len(saved), saved[0].Done)
	}
}
