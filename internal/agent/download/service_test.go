package download

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"github.com/zeebo/blake3"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// testService is a Service with what it needs in the test's hands. Nobody is signed in, and it does not run.
type testService struct {
	*Service
	t        *testing.T
	settings office.Settings
	mu       sync.Mutex
	told     []office.Fact
	answers  atomic.Int64 // of the service that were noted
}

func newService(t *testing.T) *testService {
	t.Helper()
	x := &testService{t: t, settings: office.DefaultSettings()}
	x.settings.SaveTo = t.TempDir()
	x.Service = New(looptest.Base(t, func() {}), Deps{
		Settings: func() office.Settings {
			x.mu.Lock()
			defer x.mu.Unlock()
			return x.settings
		},
		Installation: func() string { return "here" }, Language: func() string { return "" },
		Lasts: func(folder string) bool { return filepath.Base(folder) != "temporary" },
		Saved: func(_ *store.Tx, p office.Package, jobs []office.Job) []office.Fact {
			if !office.AllSaved(jobs) {
				return nil
			}
			return []office.Fact{{PackageID: p.ID}}
		},
		Announce: func(facts ...office.Fact) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.told = append(x.told, facts...)
		},
		Ended: func() {}, Ask: func() {},
	})
	return x
}

// saveCertificates changes a setting while the service runs.
func (x *testService) saveCertificates(save bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settings.SaveCAC = save
}

func (x *testService) update(do func(tx *store.Tx) error) {
	x.t.Helper()
	noErr(x.t, x.Data.Update(do))
}

// plan stores a package that is executed, with a document, and plans its files.
func (x *testService) plan(id string) []office.Job {
	x.t.Helper()
	return x.planned(office.Package{ID: id, Documents: []office.Document{{ID: "d", Name: "Lease"}}})
}

// planned is plan with the documents of p.
func (x *testService) planned(p office.Package) (planned []office.Job) {
	x.t.Helper()
	x.update(func(tx *store.Tx) error {
		p.Name, p.State, p.Executed.Time = "Offer", office.PackageExecuted, x.Now()
		if _, err := x.Plan(tx, &p, x.settings, x.settings.SaveTo); err != nil {
			return err
		}
		p.Planned = true
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		var err error
		planned, err = tx.JobsOf(p.ID)
		return err
	})
	return planned
}

func (x *testService) job(j office.Job) office.Job {
	x.t.Helper()
	x.update(func(tx *store.Tx) (err error) {
		j, _, err = tx.Job(j.Key())
		return err
	})
	return j
}

func TestPlanningTwiceChangesNothing(t *testing.T) {
	x := newService(t)
	x.settings.SaveCAC, x.settings.SaveMaster = true, true
	first := x.plan("p")
	if len(first) != 3 {
		t.Fatalf("planned: %+v", first)
	}
	for i, j := range x.plan("p") {
		if j.Target != first[i].Target || !j.Planned.Equal(first[i].Planned) {
			t.Errorf("the second time: %+v, before: %+v", j, first[i])
		}
	}
	later := office.Package{ID: "p", Documents: []office.Document{{ID: "d"}, {ID: "later"}}}
	x.update(func(tx *store.Tx) error {
		n, err := x.Plan(tx, &later, x.settings, x.settings.SaveTo)
		expect(t, n, 2, "of a document that was not known before, %d files are planned")
		return err
	})
}

func TestFilesOfOneNameGetTheirOwnPlaces(t *testing.T) {
	x := newService(t)
	one, other := x.plan("p")[0], x.plan("q")[0]
	if one.Wanted != other.Wanted || one.Target == other.Target {
		t.Errorf("%q and %q", one.Target, other.Target)
	}
}

func TestAFileThatIsFinishedAfterItsFolderWasChangedIsWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		begun := x.plan("p0")[0]
		old, next := x.settings.SaveTo, t.TempDir()
		x.settings.SaveTo = next
		x.update(func(tx *store.Tx) error { MoveJobs(tx, old, next, nil, x.Now()); return nil }) // while the file is given its name
		begun.Size, begun.Digest = 3, "abc"
		x.settings.SaveTo = old
		other := x.plan("p1")[0] // has that name now
		if other.Target != begun.Target {
			t.Fatalf("the other one: %+v", other)
		}
		noErr(t, x.finish(begun, false))
		if j := x.job(begun); j.State != office.JobDone || j.Folder != old || j.Target != begun.Target {
			t.Errorf("the finished one: %+v", j)
		}
		if j := x.job(other); j.State != office.JobPending || j.Folder != old || j.Target != filename.Numbered(begun.Target, 2) {
			t.Errorf("the other one: %+v", j)
		}
		if len(x.told) != 1 || x.told[0].PackageID != "p0" {
			t.Errorf("told: %+v", x.told)
		}
	})
}

// A full disk may take the file and not its record, and the folder may be changed before there is room again.
func TestAFileThatIsThereStaysTheOnlyOneThoughItsFolderIsChangedBeforeThatIsRecorded(t *testing.T) {
	x := newService(t)
	named, waits, begun := x.plan("p0")[0], x.plan("p1")[0], x.plan("p2")[0]
	content := []byte("%PDF-1.4 the document")
	sum := blake3.Sum256(content)
	noErr(t, os.WriteFile(filepath.Join(named.Folder, named.Target), content, 0o600))
	old, next := x.settings.SaveTo, t.TempDir()
	x.update(func(tx *store.Tx) error {
		for _, j := range []office.Job{named, waits} { // both were received, and one got its name
			j.Size, j.Digest = int64(len(content)), "blake3:"+hex.EncodeToString(sum[:])
			if err := tx.PutJob(j); err != nil {
				return err
			}
		}
		return nil
	})
	there := must(x.Named(old))
	x.update(func(tx *store.Tx) error { MoveJobs(tx, old, next, there, x.Now()); return nil })
	if j := x.job(named); j.Folder != old || j.Target != named.Target || j.Digest == "" {
		t.Errorf("the file that is there: %+v", j)
	}
	for _, j := range []office.Job{waits, begun} {
		if j = x.job(j); j.Folder != next || j.Digest != "" {
			t.Errorf("one that is not: %+v", j)
		}
	}
}

func TestWhatWaitsForAServiceNotInUseMovesToTheNewFolderToo(t *testing.T) {
	x := newService(t)
	x.update(func(tx *store.Tx) error { return tx.UseService("one") })
	old, next := x.settings.SaveTo, t.TempDir()
	away := x.plan("at the one")[0]
	x.update(func(tx *store.Tx) error { return tx.UseService("other") })
	here := x.plan("at the other")[0]
	x.update(func(tx *store.Tx) error { MoveJobs(tx, old, next, nil, x.Now()); return nil })
	x.update(func(tx *store.Tx) error { return tx.UseService("one") })
	for _, j := range []office.Job{away, here} {
		if folder := x.job(j).Folder; folder != next {
			t.Errorf("the file of the package %s is saved in %s", j.PackageID, folder)
		}
	}
}

func TestWhatWasLeftToADeskThatIsGoneIsSavedHere(t *testing.T) {
	x := newService(t)
	x.settings.SavedElsewhere = true
	ended := func(id string, at time.Time) {
		x.update(func(tx *store.Tx) error {
			p := office.Package{ID: id, State: office.PackageExecuted, Executed: office.When{Time: at}, Saving: office.Saving{Planned: true}}
			x.NoteFiles(tx, &p)
			return tx.PutPackage(p)
		})
	}
	ended("lately", x.Now().Add(-time.Hour))
	ended("long ago", x.Now().Add(-leftLately))
	x.settings.SavedElsewhere = false
	x.plan("own")
	x.update(func(tx *store.Tx) error { SaveHere(tx, x.Now()); return nil })
	for id, planned := range map[string]bool{"lately": false, "long ago": true, "own": true} {
		if p, _, err := x.Data.Package(id); err != nil || p.Planned != planned || p.Saved != (id == "long ago") {
			t.Errorf("%s: planned %v, saved %v, %v", id, p.Planned, p.Saved, err)
		}
	}
}

func TestTroubleWithAFolderThatNoFileWaitsForAnyMoreIsNotTold(t *testing.T) {
	x := newService(t)
	j := x.plan("p")[0]
	for trouble, says := range map[error]string{
		archive.ErrFull: "is full. 1 file is waiting", archive.ErrReadOnly: "not allowed to save", archive.ErrNotFolder: "1 file", archive.ErrMissing: "1 file is waiting",
	} {
		err := x.notSaved(t.Context(), nil, j, trouble)
		if told := x.Health.List(); err != nil || len(told) != 1 || told[0].ID != health.FolderFails.ID || !strings.Contains(told[0].Text(), says) {
			t.Fatalf("%v, while it waits: %v, %+v", trouble, err, told)
		}
	}
	next := t.TempDir()
	x.update(func(tx *store.Tx) error { MoveJobs(tx, x.settings.SaveTo, next, nil, x.Now()); return nil })
	x.FolderChosen(x.settings.SaveTo, x.settings.SaveTo) // with other settings
	if !x.Health.Has(health.FolderFails) {
		t.Error("nothing is said of the folder once other settings were changed")
	}
	x.FolderChosen(x.settings.SaveTo, next)
	x.settings.SaveTo = next
	if err := x.notSaved(t.Context(), nil, j, archive.ErrMissing); err != nil || x.Health.Has(health.FolderFails) || x.folders.Len() > 0 {
		t.Errorf("%v, health: %+v", err, x.Health.List())
	}
}

func TestARefusedFileIsAskedForMoreAndMoreRarelyButAtLeastDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.SaveCAC = true
		for kind, days := range map[esign.Kind]int{esign.Forbidden: 60, esign.NotFound: 2, esign.Refused: 2, esign.SignedOut: 2, esign.Server: 2, esign.BadAnswer: 2, esign.Invalid: 2} {
			for _, j := range x.plan(string(kind)) {
				asked := 0
				for began := x.Now(); x.Now().Sub(began) < time.Duration(days)*24*time.Hour; asked++ {
					x.service.Worked(inRow) // others are given
					noErr(t, x.refused(t.Context(), j, &esign.Error{Kind: kind}))
					j = x.job(j)
					pause := j.NextTry.Sub(x.Now())
					if pause > 24*time.Hour || pause <= 0 || j.Problem.IsZero() {
						t.Fatalf("%s: asked for again after %v: %+v", j.Key(), pause, j)
					}
					time.Sleep(pause)
				}
				if asked < days || asked > 300 {
					t.Errorf("%s: asked for %d times in %d days", j.Key(), asked, days)
				}
			}
		}
		if !x.Health.Has(health.FilesRefused) || !x.Health.Has(health.FilesFailed) {
			t.Errorf("health: %+v", x.Health.List())
		}
		if err := x.RetryFailed(); err != nil || x.Health.Has(health.FilesFailed) {
			t.Errorf("asked for as new ones: %v, %+v", err, x.Health.List())
		}
	})
}

// A damaged record costs what is known of a package, never its signed document.
func TestADocumentIsSavedThoughTheRecordOfItsPackageCannotBeRead(t *testing.T) {
	x := newService(t)
	x.settings.NameTemplate = "{document} {kind}"
	j := x.plan("p")[0]
	looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
	folder := must(archive.OpenFolder(j.Folder))
	defer folder.Close()
	body := "%PDF-1.7\n%%EOF\n"
	download := &esign.Download{Body: io.NopCloser(strings.NewReader(body)), Length: int64(len(body))}
	if _, err := x.write(t.Context(), folder, j, download); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(j.Folder, j.Target)); string(got) != body {
		t.Errorf("in the folder: %q, %v", got, err)
	}
	if err := x.finish(x.job(j), false); err != nil || x.job(j).State != office.JobDone {
		t.Errorf("it is saved, and its job is %q: %v", x.job(j).State, err)
	}
}

func TestADocumentWaitsItsTurnThoughTheRecordOfItsPackageCannotBeRead(t *testing.T) {
	x := newService(t)
	j := x.plan("p")[0]
	alone := j
	alone.PackageID, alone.Target = "forgotten", "alone.pdf"
	x.update(func(tx *store.Tx) error { _, err := tx.PlanJob(alone); return err })
	noErr(t, x.refused(t.Context(), alone, &esign.Error{Kind: esign.NotFound, Status: 404}))
	if _, known, err := x.Data.Package(""); err != nil || known || x.job(alone).Tries != 1 {
		t.Errorf("one that has no record: %v, %v, and its file is %+v", known, err, x.job(alone))
	}
	looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
	noErr(t, x.refused(t.Context(), j, &esign.Error{Kind: esign.NotFound, Status: 404}))
	if got := x.job(j); got.Tries != 1 || got.NextTry.IsZero() {
		t.Errorf("it is tried again at once: %+v", got)
	}
}

func TestDocumentsGoBesideTheirOriginalWhereThatWasChosenAndIsThere(t *testing.T) {
	x := newService(t)
	original, usual := t.TempDir(), x.settings.SaveTo
	noErr(t, os.Mkdir(filepath.Join(original, "temporary"), 0o700))
	x.update(func(tx *store.Tx) error {
		in := func(id, folder string) error {
			return tx.PutDraft(office.Draft{ID: id, Files: []office.DraftFile{{Path: filepath.Join(original, folder, "lease.pdf")}}})
		}
		return errors.Join(in("draft", ""), in("gone", "gone"), in("temporary", "temporary"), tx.PutDraft(office.Draft{ID: "template"}),
			tx.PutDraft(office.Draft{ID: "dropped", Folder: original, Files: []office.DraftFile{{Path: filepath.Join(original, "lease.pdf")}}}))
	})
	goes := func(draft string) string {
		t.Helper()
		return must(x.Folder(x.settings, office.Package{ID: "p", Source: office.Source{DraftID: draft}}))
	}
	expect(t, goes("draft"), usual, "nobody has chosen that: %q")
	x.settings.BesideOriginal = true
	for draft, want := range map[string]string{"draft": original, "gone": usual, "temporary": usual, "template": usual, "dropped": usual, "": usual, "unknown": usual} {
		expect(t, goes(draft), want, "%q, of "+draft)
	}
	looptest.Spoil(t, &x.Base, "", "drafts")
	expect(t, goes("draft"), usual, "the draft cannot be read: %q")
	noErr(t, x.Data.Close())
	if got, err := x.Folder(x.settings, office.Package{Source: office.Source{DraftID: "draft"}}); err == nil {
		t.Errorf("when nothing can be read: %q, which the next try may know better", got)
	}
}

func TestAFolderIsMadeAndTriedBeforeItIsChosen(t *testing.T) {
	x, there := newService(t), filepath.Join(t.TempDir(), "a", "b")
	expect(t, x.TryFolder(there), office.Code(""), "a new one: %q")
	expect(t, len(inside(t, there)), 0, "%d files are left behind")
	noErr(t, os.WriteFile(filepath.Join(there, "file"), nil, 0o600))
	expect(t, x.TryFolder(filepath.Join(there, "file", "c")), office.CodeNotMade, "below a file: %q")
}

// A folder that keeps saying that a name is taken is not asked without a pause.
func TestNamesThatAreTakenAreTriedMoreAndMoreRarely(t *testing.T) {
	x := newService(t)
	j := x.plan("p")[0]
	j.Tries, j.Problem = 30, message.DownloadForbidden() // the service did not give it for long, which is over
	x.update(func(tx *store.Tx) error { return tx.PutJob(j) })
	folder := must(archive.OpenFolder(j.Folder))
	defer folder.Close()
	for n := range 6 {
		noErr(t, x.rename(t.Context(), folder, j, archive.Saved{Size: 1, Digest: "another"}))
		j = x.job(j)
		if waits := j.NextTry.After(x.Now()); waits != (n >= 3) || j.Digest != "" {
			t.Errorf("taken %d times: %+v", n+1, j)
		}
	}
	moved := j
	moved.Target = "elsewhere.pdf"
	noErr(t, x.rename(t.Context(), folder, moved, archive.Saved{}))
	if is := x.job(j); is.Tries != j.Tries || is.Target != j.Target {
		t.Errorf("one that has another place by now: %+v", is)
	}
	other := x.saved("q", "body")
	moved.Target, moved.Digest = other.Target, other.Digest
	noErr(t, x.finish(moved, false))
	if is, its := x.job(j), x.job(other); is.State != office.JobPending || is.Tries != j.Tries+1 || its.Target != other.Target || its.State != office.JobDone {
		t.Errorf("one whose place is another document's by now: %+v, and that: %+v", is, its)
	}
	folder.Close()
	j = x.job(j)
	noErr(t, x.rename(t.Context(), folder, j, archive.Saved{}))
	if is := x.job(j); is.Target != j.Target || is.Problem.IsZero() {
		t.Errorf("though nobody could see which names are in use: %+v", is)
	}
}

func TestManyFilesThatAreLeftAloneHoldUpNoOther(t *testing.T) {
	x := newService(t)
	for n := range 150 {
		x.Quarantine.Failed("file "+x.plan(fmt.Sprint("alone ", n))[0].Key(), x.Now(), func(int) time.Duration { return time.Hour })
	}
	if due, pause, err := x.jobsDue(nil, time.Hour); err != nil || len(due) > 0 || pause < time.Second {
		t.Errorf("%d are due, and again in %v: %v", len(due), pause, err)
	}
	well := x.plan("well")[0]
	due, _, err := x.jobsDue(nil, time.Hour)
	if noErr(t, err); len(due) != 1 || due[0].Key() != well.Key() {
		t.Errorf("due are %+v", due)
	}
}

func TestWhoWatchesIsToldOfASavedFile(t *testing.T) {
	x := newService(t)
	told := map[office.Change]int{}
	x.Signal = func(c office.Change) { told[c]++ }
	x.saved("p", "body")
	if told[office.PackagesChanged] == 0 || told[office.StatusChanged] == 0 {
		t.Errorf("told of %v", told)
	}
	select {
	case <-x.index:
	default:
		t.Error("nobody lists it")
	}
}

func TestAFileThatCannotBeReadHoldsUpNoOtherOfItsName(t *testing.T) {
	x := newService(t)
	lost := x.plan("p")[0]
	looptest.Spoil(t, &x.Base, "", "jobs")
	if j := x.plan("q")[0]; j.Target != filename.Numbered(lost.Target, 2) {
		t.Errorf("planned as %q", j.Target)
	}
}

func TestPeopleAreToldOfWhatIsWithheldThoughItsPackageCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		j := x.plan("p")[0]
		noErr(t, x.refused(t.Context(), j, &esign.Error{Kind: esign.Forbidden, Status: 403}))
		looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
		time.Sleep(office.WithheldAfter / 2)
		if x.TellRefused(); x.Health.Has(health.FilesRefused) {
			t.Error("told too early")
		}
		time.Sleep(office.WithheldAfter)
		if x.TellRefused(); !x.Health.Has(health.FilesRefused) {
			t.Errorf("health: %+v", x.Health.List())
		}
		if noErr(t, x.finish(j, false)); x.Health.Has(health.FilesRefused) {
			t.Errorf("given in the end: %+v", x.Health.List())
		}
	})
}

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	got, ail := archive.Saved{Size: 3, Digest: "abc"}, &esign.Error{Kind: esign.Server}
	in := func(do func(x *testService, tx *store.Tx, j office.Job) error) func(*testService, office.Job) error {
		return func(x *testService, j office.Job) error {
			return x.Data.Update(func(tx *store.Tx) error { return do(x, tx, j) })
		}
	}
	besideOriginal := func(s office.Settings) office.Settings { s.BesideOriginal = true; return s }
	ofDraft := office.Package{Source: office.Source{DraftID: "draft"}}
	orTold := func(x *testService, err error) error { // in health alone, for it is looked at again
		if err == nil && x.Health.Has(health.DataNotRead) {
			return looptest.ErrFault
		}
		return err
	}
	concluded := func(cause error) func(*testService, office.Job) error {
		return func(x *testService, j office.Job) error {
			folder := must(archive.OpenFolder(j.Folder))
			defer folder.Close()
			return orTold(x, x.conclude(t.Context(), folder, j, got, cause))
		}
	}
	for name, do := range map[string]func(x *testService, j office.Job) error{
		"planned": in(func(x *testService, tx *store.Tx, _ office.Job) error {
			p := office.Package{ID: "q", Name: "Offer", Documents: []office.Document{{ID: "d", Name: "Lease"}}}
			_, err := x.Plan(tx, &p, x.settings, x.settings.SaveTo)
			return err
		}),
		"whole":    in(func(_ *testService, tx *store.Tx, j office.Job) error { return commitBytes(tx, j, got) }),
		"finished": func(x *testService, j office.Job) error { return x.finish(j, false) },
		"finished in another's place": func(x *testService, j office.Job) error {
			j.Target = j.WantedName() // which was saved there
			return orTold(x, x.finish(j, false))
		},
		"half": func(x *testService, j office.Job) error { return orTold(x, x.unproven(j, ail, got)) },
		"put off": func(x *testService, j office.Job) error {
			return orTold(x, x.putOff(j, message.ServiceAiling(), 0, false))
		},
		"withheld": func(x *testService, j office.Job) error {
			return orTold(x, x.putOff(j, message.ServiceRefused(), 0, true))
		},
		"renamed": func(x *testService, j office.Job) error {
			folder := must(archive.OpenFolder(j.Folder))
			defer folder.Close()
			return x.rename(t.Context(), folder, j, archive.Saved{})
		},
		"saved again":   func(x *testService, j office.Job) error { return x.SaveAgain("p") },
		"tried again":   func(x *testService, _ office.Job) error { return orTold(x, x.RetryFailed()) },
		"due":           func(x *testService, _ office.Job) error { _, _, err := x.jobsDue(nil, time.Hour); return err },
		"got":           concluded(nil),
		"there already": concluded(archive.ErrExists),
		"away":          concluded(archive.ErrMissing),
		"refused": func(x *testService, j office.Job) error {
			return orTold(x, x.refused(t.Context(), j, &esign.Error{Kind: esign.NotFound}))
		},
		"told":             func(x *testService, _ office.Job) error { _, _, err := x.withheld(); return err },
		"the latest":       func(x *testService, _ office.Job) error { _, err := x.Recent(9); return err },
		"whose name it is": func(x *testService, j office.Job) error { _, err := x.mayHave(j, "x.pdf", "abc"); return err },
		"the names":        func(x *testService, _ office.Job) error { _, err := x.Named(x.settings.SaveTo); return err },
		"a name to come":   func(x *testService, _ office.Job) error { _, err := x.PreviewName(x.settings); return err },
		"not listed":       func(x *testService, _ office.Job) error { _, _, err := x.missingLines(""); return err },
		"in the folder":    func(x *testService, _ office.Job) error { _, err := x.savedIn(x.settings.SaveTo, "", 9); return err },
		"listed":           func(x *testService, _ office.Job) error { return x.listAll(t.Context()) },
		"exported": func(x *testService, _ office.Job) error {
			_, err := x.Export(t.Context(), []string{"saved"}, t.TempDir())
			return err
		},
		"beside": func(x *testService, _ office.Job) error {
			_, err := x.Folder(besideOriginal(x.settings), ofDraft)
			return err
		},
		"moved": in(func(x *testService, tx *store.Tx, _ office.Job) error {
			MoveJobs(tx, x.settings.SaveTo, "/other", nil, x.Now())
			return nil
		}),
		"noted": in(func(x *testService, tx *store.Tx, _ office.Job) error {
			p, _, err := tx.Package("p")
			x.NoteFiles(tx, &p)
			return err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			type job struct {
				*testService
				office.Job
			}
			looptest.EachFault(t, func() (job, *data.Data) {
				x := newService(t)
				x.settings.Index = true
				x.saved("saved", "body")
				j := x.plan("p")[0]
				x.update(func(tx *store.Tx) error { return tx.PutDoc(unlisted(j.Key()), j.Key()) }) // it is saved again
				return job{x, j}, x.Data
			}, func(x job) error { return do(x.testService, x.Job) })
		})
	}
}
