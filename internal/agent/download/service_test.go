package download

import (
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"github.com/zeebo/blake3"
	"golang.org/x/sync/semaphore"
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
	shown    map[message.Message]int // lines of the activity
	answers  atomic.Int64            // of the service that were noted
}

func newService(t *testing.T) *testService {
	t.Helper()
	x := &testService{t: t, settings: office.DefaultSettings(), shown: map[message.Message]int{}}
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
			if slices.ContainsFunc(jobs, func(j office.Job) bool { return j.State == office.JobPending }) {
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
	x.Show = func(a office.Activity) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.shown[a.Text]++
	}
	x.Data.Committed = x.Committed
	return x
}

func (x *testService) update(do func(tx *store.Tx) error) {
	x.t.Helper()
	noErr(x.t, x.Data.Update(do))
}

// plan stores a package that is executed, with a document, and plans its files.
func (x *testService) plan(id string) []office.Job {
	x.t.Helper()
	return x.planIn(x.settings.SaveTo, id)
}

func (x *testService) planIn(folder, id string) []office.Job {
	x.t.Helper()
	return x.planned(folder, office.Package{ID: id, Documents: []office.Document{{ID: "d", Name: "Lease"}}})
}

// planned is planIn with the documents of p.
func (x *testService) planned(folder string, p office.Package) (planned []office.Job) {
	x.t.Helper()
	x.update(func(tx *store.Tx) error {
		p.Name, p.State, p.Executed.Time = "Offer", office.PackageExecuted, x.Now()
		if _, err := x.Plan(tx, &p, x.settings, folder); err != nil {
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

// received is what is recorded of the document of a package.
func received(packageID string) archive.Saved {
	sum := blake3.Sum256([]byte(document(packageID)))
	return archive.Saved{Size: int64(len(document(packageID))), Digest: "blake3:" + hex.EncodeToString(sum[:])}
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
	expect(t, len(first), 3, "%d files are planned")
	expect(t, x.plan("p"), first, "the second time: %+v, before: %+v", first)
	later := office.Package{ID: "p", Documents: []office.Document{{ID: "d"}, {ID: "later"}}}
	x.update(func(tx *store.Tx) error {
		n, err := x.Plan(tx, &later, x.settings, x.settings.SaveTo)
		expect(t, n, 2, "of a document that was not known before, %d files are planned")
		x.settings.SavedElsewhere = true
		elsewhere, _ := x.Plan(tx, &office.Package{ID: "q", Documents: later.Documents}, x.settings, x.settings.SaveTo)
		expect(t, elsewhere, 0, "where another desk saves, %d files are planned")
		return err
	})
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
		expect(t, other.Target, begun.Target, "the other one is %q")
		noErr(t, x.finish(begun, false))
		if j := x.job(begun); j.State != office.JobDone || j.Folder != old || j.Target != begun.Target {
			t.Errorf("the finished one: %+v", j)
		}
		if j := x.job(other); j.State != office.JobPending || j.Folder != old || j.Target != filename.Numbered(begun.Target, 2) {
			t.Errorf("the other one: %+v", j)
		}
		expect(t, x.told, []office.Fact{{PackageID: "p0"}}, "told: %+v")
	})
}

// A full disk may take the file and not its record, and the folder may be changed before there is room again.
func TestAFileThatIsThereStaysTheOnlyOneThoughItsFolderIsChangedBeforeThatIsRecorded(t *testing.T) {
	x := newService(t)
	away := x.plan("away")[0]
	x.update(func(tx *store.Tx) error { return tx.UseService("another") })
	named, waits, begun := x.plan("p0")[0], x.plan("p1")[0], x.plan("p2")[0]
	noErr(t, os.WriteFile(filepath.Join(named.Folder, named.Target), []byte(document("p")), 0o600))
	old, next := x.settings.SaveTo, t.TempDir()
	x.update(func(tx *store.Tx) error {
		for _, j := range []office.Job{named, waits} { // both were received, and one got its name
			j.Size, j.Digest, j.NextTry = received("p").Size, received("p").Digest, x.Now().Add(time.Hour)
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
	for _, j := range []office.Job{waits, begun, away} { // the last at a service not in use, which may be used again
		if j = x.job(j); j.Folder != next || j.Digest != "" || j.NextTry.After(x.Now()) {
			t.Errorf("one that is not: %+v", j)
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
	expect(t, x.Health.Has(health.FolderFails), true, "said of the folder once other settings were changed: %v")
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
					early := j.State == office.JobFailed && (x.Now().Sub(j.Planned) <= failedAfter || j.Tries <= failedTries)
					if pause > 24*time.Hour || pause <= 0 || j.Problem.IsZero() || early {
						t.Fatalf("%s: asked for again after %v: %+v", j.Key(), pause, j)
					}
					time.Sleep(pause)
				}
				if asked < days || asked > 300 {
					t.Errorf("%s: asked for %d times in %d days", j.Key(), asked, days)
				}
			}
		}
		if !x.Health.Has(health.FilesRefused) || !x.Health.Has(health.FilesFailed) || len(x.told) == 0 {
			t.Errorf("health: %+v; told %+v", x.Health.List(), x.told)
		}
		j := x.plan("not asked for")[0]
		if err := x.refused(t.Context(), j, &loop.RenewalError{Err: &esign.Error{Kind: esign.Network}}); err == nil || x.job(j).Tries > 0 {
			t.Errorf("what concerns all is held against one: %v, %+v", err, x.job(j))
		}
		if err := x.RetryFailed(); err != nil || x.Health.Has(health.FilesFailed) {
			t.Errorf("asked for as new ones: %v, %+v", err, x.Health.List())
		}
	})
}

// A damaged record costs what is known of a package, never its signed document: that is saved, waits its turn, and people are told if
// it is withheld.
func TestADocumentIsSavedAndToldOfThoughTheRecordOfItsPackageCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.NameTemplate = "{document} {kind}"
		j, alone := x.plan("p")[0], office.Job{PackageID: "forgotten", DocumentID: "d", Kind: office.FileSigned, Folder: x.settings.SaveTo, Target: "alone.pdf"}
		x.update(func(tx *store.Tx) error { _, err := tx.PlanJob(alone); return err })
		looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
		for _, j := range []office.Job{j, alone} {
			noErr(t, x.refused(t.Context(), j, &esign.Error{Kind: esign.Forbidden, Status: 403}))
			if is := x.job(j); is.Tries != 1 || !is.NextTry.After(x.Now()) {
				t.Errorf("it is tried again at once: %+v", is)
			}
		}
		if _, known, err := x.Data.Package(""); err != nil || known {
			t.Errorf("of one without a record there is one now: %v", err)
		}
		for _, told := range []bool{false, true} {
			time.Sleep(office.WithheldAfter * 2 / 3)
			x.TellRefused()
			expect(t, x.Health.Has(health.FilesRefused), told, "told %v")
		}
		expect(t, x.Health.List()[0].Message, message.PackagesWithheld(2), "told %v")
		for _, j := range []office.Job{j, alone} {
			x.savedAs(j, "body")
			expect(t, x.job(j).State, office.JobDone, "it is saved, and its job is %q")
		}
		if x.Health.Has(health.FilesRefused) || len(inside(t, j.Folder)) != 2 {
			t.Errorf("given in the end: %+v; there are %q", x.Health.List(), inside(t, j.Folder))
		}
	})
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
	for _, many := range []int{99, 150} {
		x := newService(t)
		for _, j := range x.planMany(many) {
			x.Quarantine.Failed("file "+j.Key(), x.Now(), func(int) time.Duration { return time.Hour })
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
}

func TestFilesOfOneNameGetTheirOwnPlacesThoughOneOfThemCannotBeRead(t *testing.T) {
	x := newService(t)
	one := x.plan("p")[0].Target
	expect(t, x.plan("q")[0].Target, filename.Numbered(one, 2), "planned as %q")
	looptest.Spoil(t, &x.Base, "", "jobs")
	expect(t, x.plan("r")[0].Target, filename.Numbered(one, 3), "planned as %q")
	mine, err := x.mayHave(office.Job{Folder: x.settings.SaveTo}, one, "abc")
	expect(t, mine, false, "given to another document: %v, %v", err)
}

func TestAFileWhoseRecordCannotBeReadMakesNoLoopSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.plan("p")
		looptest.Spoil(t, &x.Base, "", "jobs")
		x.Session = looptest.Session{Client: esign.NewClient(esign.Config{BaseURL: "https://sign.test"}, nil)}
		looptest.AtRest(t, x.work, x.saveDue)
	})
}

// What cannot be read or kept is neither nothing nor done.
func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	type job struct {
		*testService
		office.Job
	}
	got, ofDraft := received("p"), office.Package{Source: office.Source{DraftID: "draft"}}
	beside := office.DefaultSettings()
	beside.BesideOriginal = true
	in := func(do func(x job, tx *store.Tx) error) func(job) error {
		return func(x job) error { return x.Data.Update(func(tx *store.Tx) error { return do(x, tx) }) }
	}
	plan := func(id string) func(job) error {
		return in(func(x job, tx *store.Tx) error {
			_, err := x.Plan(tx, &office.Package{ID: id, Documents: []office.Document{{ID: "d"}}}, x.settings, x.settings.SaveTo)
			return err
		})
	}
	inFolder := func(do func(x job, folder *archive.Folder) error) func(job) error {
		return func(x job) error {
			folder := must(archive.OpenFolder(x.Job.Folder))
			defer folder.Close()
			return do(x, folder)
		}
	}
	written := func(body string) func(job) error {
		return inFolder(func(x job, folder *archive.Folder) error {
			_, err := x.write(t.Context(), folder, &x.Job, &esign.Download{Body: io.NopCloser(strings.NewReader(body)), Length: int64(len(body))})
			if errors.Is(err, errOtherName) {
				return nil
			}
			return err
		})
	}
	orTold := func(do func(job) error) func(job) error { // in health alone, for it is looked at again
		return func(x job) error {
			err := do(x)
			if err == nil && x.Health.Has(health.DataNotRead) {
				return looptest.ErrFault
			}
			return err
		}
	}
	concluded := func(cause error) func(job) error {
		return orTold(inFolder(func(x job, folder *archive.Folder) error { return x.conclude(t.Context(), folder, x.Job, got, cause) }))
	}
	refused := func(kind esign.Kind) func(job) error {
		return orTold(func(x job) error { return x.refused(t.Context(), x.Job, &esign.Error{Kind: kind}) })
	}
	for name, c := range map[string]struct {
		do    func(x job) error
		needs bool // the record of the file
	}{
		"planned":                {plan("q"), false},
		"planned once more":      {plan("p"), true},
		"written":                {written(document("q")), true},
		"written, and there":     {written(document("p")), false},
		"got":                    {concluded(nil), true},
		"there already":          {concluded(archive.ErrExists), true},
		"there under its number": {concluded(errOtherName), true},
		"half":                   {concluded(archive.ErrNoEnd), true},
		"away":                   {concluded(archive.ErrMissing), false},
		"cut off":                {concluded(archive.ErrDownload), true},
		"there as named": {orTold(func(x job) error {
			x.Target, x.Size, x.Digest = filename.Numbered(x.WantedName(), 7), got.Size, got.Digest
			return x.save(t.Context(), nil, x.Job, limits{downloads: semaphore.NewWeighted(1)})
		}), true},
		"in another's place": {orTold(func(x job) error {
			x.Target = x.WantedName() // which was saved there
			return x.finish(x.Job, false)
		}), true},
		"renamed": {inFolder(func(x job, folder *archive.Folder) error {
			return x.rename(t.Context(), folder, x.Job, archive.Saved{})
		}), true},
		"not there yet":    {refused(esign.NotFound), true},
		"unusable":         {refused(esign.Invalid), true},
		"trouble":          {refused(esign.Server), true},
		"saved again":      {func(x job) error { return x.SaveAgain("p") }, true},
		"tried again":      {orTold(func(x job) error { return x.RetryFailed() }), false},
		"due":              {func(x job) error { _, _, err := x.jobsDue(nil, time.Hour); return err }, false},
		"told":             {func(x job) error { _, _, err := x.withheld(); return err }, false},
		"the latest":       {func(x job) error { _, err := x.Recent(9); return err }, false},
		"whose name it is": {func(x job) error { _, err := x.mayHave(x.Job, "x.pdf", "abc"); return err }, false},
		"the names":        {func(x job) error { _, err := x.Named(x.settings.SaveTo); return err }, false},
		"a name to come":   {func(x job) error { _, err := x.PreviewName(x.settings); return err }, false},
		"not listed":       {func(x job) error { _, _, err := x.missingLines(""); return err }, false},
		"in the folder":    {func(x job) error { _, err := x.savedIn(x.settings.SaveTo, "", 9); return err }, false},
		"listed":           {func(x job) error { return x.listAll(t.Context()) }, false},
		"exported":         {func(x job) error { _, err := x.Export(t.Context(), []string{"saved"}, t.TempDir()); return err }, false},
		"beside":           {func(x job) error { _, err := x.Service.Folder(beside, ofDraft); return err }, false},
		"moved": {in(func(x job, tx *store.Tx) error {
			MoveJobs(tx, x.settings.SaveTo, "/other", nil, x.Now())
			return nil
		}), false},
		"noted": {in(func(x job, tx *store.Tx) error {
			p, _, err := tx.Package("p")
			x.NoteFiles(tx, &p)
			return err
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			make := func() (job, *data.Data) {
				x := newService(t)
				x.settings.Index = true
				x.saved("saved", "body")
				x.list()
				noErr(t, os.Remove(filepath.Join(x.settings.SaveTo, archive.IndexName)))
				j := x.plan("p")[0]
				noErr(t, os.WriteFile(filepath.Join(j.Folder, filename.Numbered(j.WantedName(), 7)), []byte(document("p")), 0o600))
				x.update(func(tx *store.Tx) error { return tx.PutDoc(unlisted(j.Key()), j.Key()) }) // it is saved again
				return job{x, j}, x.Data
			}
			if name != "unusable" { // which is told first, and that may fail
				looptest.EachFault(t, make, c.do)
			}
			if !c.needs {
				return
			}
			x, _ := make()
			looptest.Spoil(t, &x.Base, "", "jobs")
			if err := c.do(x); err == nil || len(x.told) > 1 {
				t.Errorf("its record cannot be read: %v, told %+v", err, x.told)
			}
		})
	}
}

// That a folder can be opened again says nothing about its room, and a file that it took says all.
func TestAFullFolderWaitsUntilItHasTakenAFile(t *testing.T) {
	for _, c := range []struct {
		cause error
		took  bool
		waits bool
	}{{archive.ErrFull, false, true}, {archive.ErrFull, true, false}, {archive.ErrReadOnly, false, false}} {
		x := newService(t)
		x.block("folder", c.cause)
		expect(t, x.blocked("folder"), true, "%[2]v: it waits: %[1]v", c.cause)
		x.opened("folder", c.took)
		expect(t, x.blocked("folder"), c.waits, "%[2]v, took a file: %[3]v, it waits: %[1]v", c.cause, c.took)
	}
}
