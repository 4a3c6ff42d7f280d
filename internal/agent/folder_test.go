package agent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/archive"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

const offerFile = "Offer - Offer 2026-118.pdf"

func TestFilesThatWaitMoveToTheNewFolder(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	old := o.folder
	noErr(t, os.Rename(old, old+"-away"))
	signAll(o, id)
	o.eventually("people are told", func() bool { return o.issue("folder") != nil })
	o.folder = t.TempDir()
	s := o.Settings()
	s.SaveTo = o.folder
	noErr(t, o.Configure(t.Context(), s, office.Secrets{}))
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 && o.issue("folder") == nil })
	if got := o.files(); !slices.Equal(got, []string{offerFile}) {
		t.Errorf("files: %q", got)
	}
	if row, _ := o.Package(id); len(row.Files) != 1 || filepath.Dir(row.Files[0].Path) != o.folder {
		t.Errorf("the package says %q", row.Files)
	}
}

func TestAFolderThatChangesInTheMiddleOfSavesLosesNothing(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.service.PadDownloads(2 << 20)
	folders := []string{o.folder, t.TempDir(), t.TempDir()}
	var ids []string
	for range 6 {
		ids = append(ids, o.send())
	}
	for i, id := range ids {
		signAll(o, id)
		s := o.Settings()
		s.SaveTo = folders[i%len(folders)]
		noErr(t, o.Configure(t.Context(), s, office.Secrets{}))
	}
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == len(ids) })
	var total int
	for _, folder := range folders {
		o.folder = folder
		for _, name := range o.files() {
			if strings.HasSuffix(name, ".pdf") {
				total++
			}
		}
	}
	if total != len(ids) {
		t.Errorf("%d files", total)
	}
	for _, id := range ids {
		row, _ := o.Package(id)
		for _, f := range row.Files {
			path := f.Path
			if info, err := os.Stat(path); err != nil || info.Size() < 2<<20 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
	}
}

func TestAFolderThatIsBackIsNotReportedAnyMoreWhoeverAsked(t *testing.T) {
	o := newOfficeWith(t, func(p *Params) { quick(p); p.Pace.Folder = time.Hour }, sandbox.Options{})
	id := o.send()
	noErr(t, os.Rename(o.folder, o.folder+"-away"))
	signAll(o, id)
	o.eventually("people are told", func() bool { return o.issue("folder") != nil })
	noErr(t, os.Rename(o.folder+"-away", o.folder))
	noErr(t, o.Act(t.Context(), Issue{ID: "service", Action: ActRetry}))
	o.eventually("saved", func() bool { return saved(o, id) && o.issue("folder") == nil })
}

func TestOneFolderInTroubleLeavesTheOthersAlone(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.BesideOriginal = true })
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	d := o.draft()
	state, err := o.Send(t.Context(), d, nil)
	noErr(t, err)
	beside := filepath.Dir(d.Files[0])
	o.service.Inject(sandbox.Fault{Path: "/packages/*/download", Status: 500, Times: 2})
	signAll(o, state.PackageID)
	o.eventually("its file is planned", func() bool { row, _ := o.Package(state.PackageID); return row.Planned })
	// On Windows a folder in use, if only for a try, cannot be moved.
	o.eventually("the folder is moved", func() bool { return os.Rename(beside, beside+"-away") == nil })
	o.eventually("people are told", func() bool { return o.issue("folder") != nil })
	foreign := o.foreign("Elsewhere")
	signAll(o, foreign)
	o.eventually("the other one is saved", func() bool { row, _ := o.Package(foreign); return row.Saved })
	noErr(t, os.Rename(beside+"-away", beside))
	o.eventually("and so is this", func() bool { return o.Status().Packages.Saved == 2 && o.issue("folder") == nil })
}

func TestTheSameDocumentIsRecognisedAndOthersAreNumbered(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	first := o.send()
	signAll(o, first)
	o.eventually("saved", func() bool { return saved(o, first) })
	second := o.send()
	other := filepath.Join(o.folder, "Offer - Offer 2026-118 (2).pdf")
	noErr(t, os.WriteFile(other, []byte("the office's own"), 0o600))
	twin := filepath.Join(o.folder, strings.ToUpper("Offer - Offer 2026-118 (3)")+".PDF")
	noErr(t, os.WriteFile(twin, []byte("the same on a Mac"), 0o600))
	signAll(o, second)
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 2 })
	if got := o.files(); len(got) != 4 || !slices.Contains(got, "Offer - Offer 2026-118 (4).pdf") {
		t.Errorf("files: %q", got)
	}
	// The whole state is lost; the folder is not.
	o.loseState()
	o.eventually("both are found again", func() bool { return o.Status().Packages.Saved == 2 })
	if got := o.files(); len(got) != 4 {
		t.Errorf("files: %q", got)
	}
}

func TestADocumentIsRecognisedUnderANameThatAnotherOneHasReserved(t *testing.T) {
	const first, twin, second = "Offer - Offer 2026-118.pdf", "OFFER - Offer 2026-118 (2).pdf", "Offer - Offer 2026-118 (3).pdf"
	for name, reserve := range map[string]func(a, b *office.Job){ // how the two are planned anew after a loss
		"crosswise": func(a, b *office.Job) { a.Target, b.Target = second, first },
		"crosswise, with other bytes promised": func(a, b *office.Job) {
			a.Target, b.Target = second, first
			b.Size, b.Digest = 1, strings.Repeat("0", 64)
		},
		"a name that a Mac takes for taken": func(a, b *office.Job) { a.Target, b.Target = "Offer - Offer 2026-118 (2).pdf", first },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			noErr(t, os.WriteFile(filepath.Join(o.folder, twin), []byte("the office's own"), 0o600))
			var ids []string
			for n, file := range []string{first, second} {
				ids = append(ids, o.send())
				signAll(o, ids[n])
				o.eventually("saved", func() bool { return slices.Contains(o.files(), file) && o.Status().Packages.Saved == n+1 })
			}
			a, b := o.job(ids[0]), o.job(ids[1])
			o.stop()
			o.open()
			err := o.Data.Update(func(tx *store.Tx) error {
				before := []office.Job{a, b}
				for _, j := range []*office.Job{&a, &b} {
					j.State, j.NextTry, j.Size, j.Digest = office.JobPending, time.Now(), 0, ""
				}
				reserve(&a, &b)
				for i, j := range []*office.Job{&a, &b} { // no name is reserved twice, not even for a moment
					before[i].Target = "away " + j.PackageID
					if err := tx.PutJob(before[i]); err != nil {
						return err
					}
				}
				for _, j := range []office.Job{a, b} {
					p, _, err := tx.Package(j.PackageID)
					if err != nil {
						return err
					}
					p.Saved = false
					if err := errors.Join(tx.PutJob(j), tx.PutPackage(p)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			o.run()
			o.eventually("both are found again", func() bool { return o.Status().Packages.Saved == 2 })
			if got := o.files(); len(got) != 3 {
				t.Errorf("files: %q", got)
			}
			if a, b := o.job(ids[0]), o.job(ids[1]); a.Target != first || b.Target != second {
				t.Errorf("%q and %q", a.Target, b.Target)
			}
		})
	}
}

// job is the one file of a package.
func (o *testOffice) job(packageID string) office.Job {
	o.t.Helper()
	var jobs []office.Job
	err := o.Data.Store.View(func(tx *store.Tx) (err error) {
		jobs, err = tx.JobsOf(packageID)
		return err
	})
	if err != nil || len(jobs) != 1 {
		o.t.Fatalf("jobs: %+v, %v", jobs, err)
	}
	return jobs[0]
}

// loseState ends the agent, damages its data file and starts another agent.
func (o *testOffice) loseState() {
	o.t.Helper()
	o.stop()
	noErr(o.t, os.Truncate(locations.State(o.data), 5000))
	o.open()
	o.run()
}

func TestADocumentIsFoundThoughPeopleTookOneOfTheSameNameAway(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	var ids []string
	for i := range 3 {
		o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
		d := o.draft()
		d.Signers[1].LastName += strconv.Itoa(i) // so that no two documents are the same
		sent, err := o.Send(t.Context(), d, nil)
		noErr(t, err)
		signAll(o, sent.PackageID)
		o.eventually("saved", func() bool { return o.Status().Packages.Saved == i+1 })
		ids = append(ids, sent.PackageID)
	}
	before := o.files()
	if len(before) != 3 {
		t.Fatalf("files: %q", before)
	}
	for _, id := range ids[:2] {
		noErr(t, os.Remove(o.packageRow(id).Files[0].Path))
	}
	// Which document gets which number is up to who is quicker, so that the one that is there may be planned elsewhere.
	moved := filepath.Join(o.folder, "Offer - Offer 2026-118 (7).pdf")
	noErr(t, os.Rename(o.packageRow(ids[2]).Files[0].Path, moved))
	kept, err := os.ReadFile(moved)
	noErr(t, err)
	o.loseState()
	o.eventually("the packages are read again", func() bool { return o.Status().Packages.Saved == 3 })
	if after := o.files(); len(after) != len(before) {
		t.Errorf("files: %q, were %q", after, before)
	}
	if found := o.packageRow(ids[2]).Files[0].Path; found != moved {
		t.Errorf("the document that was there is saved as %s", found)
	}
	for _, id := range ids[:2] {
		if again, err := os.ReadFile(o.packageRow(id).Files[0].Path); err != nil || bytes.Equal(again, kept) {
			t.Errorf("the document that was there is there twice: %v", err)
		}
	}
}

func TestLinksAndSubfoldersDoNotLeadOutOfTheFolder(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.NameTemplate = "{package}/{document}" })
	outside := t.TempDir()
	link := filepath.Join(o.folder, "Offer")
	if err := os.Symlink(outside, link); err != nil {
		t.Skip("no links here: ", err)
	}
	if info, err := os.Stat(link); err != nil || !info.IsDir() {
		t.Skip("links lead nowhere here, as under Wine: ", err)
	}
	id := o.send()
	signAll(o, id)
	o.eventually("people are told", func() bool { return !o.packageOrZero(id).Problem.IsZero() })
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	noErr(t, os.Remove(link))
	o.eventually("saved", func() bool { return saved(o, id) })
	if _, err := os.Stat(filepath.Join(o.folder, "Offer", "Offer 2026-118.pdf")); err != nil {
		t.Error(err)
	}
}

func TestLeftoversOfAFormerFolderAreRemovedWithTheNextStart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	old := o.folder
	o.service.Inject(sandbox.Fault{Path: "/packages/*/download", Status: 500})
	signAll(o, id)
	o.eventually("it is planned", func() bool { row, _ := o.Package(id); return row.Planned })
	left := o.leftover(old)
	s := o.Settings()
	s.SaveTo = t.TempDir()
	noErr(t, o.Configure(t.Context(), s, office.Secrets{}))
	o.restart()
	o.eventually("it is gone", func() bool { _, err := os.Stat(left); return os.IsNotExist(err) })
}

// leftover leaves a temporary file of the one job in the folder, as a crash would.
func (o *testOffice) leftover(folder string) (path string) {
	o.t.Helper()
	var jobs []office.Job
	err := o.Data.Store.View(func(tx *store.Tx) (err error) {
		jobs, err = tx.PendingJobs()
		return err
	})
	if err != nil || len(jobs) != 1 {
		o.t.Fatalf("jobs: %+v, %v", jobs, err)
	}
	path = filepath.Join(folder, ".countersign-"+archive.Token(o.installation+"/"+jobs[0].Key())+"-0123456789abcdef.part")
	noErr(o.t, os.WriteFile(path, []byte("half a document"), 0o600))
	return path
}
