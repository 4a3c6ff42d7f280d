package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/archive"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

const offerFile = "Offer - Offer 2026-118.pdf"

func TestWhatWaitsForAFolderIsSavedOnceItIsBackOrAnotherIsChosen(t *testing.T) {
	for name, then := range map[string]func(o *testOffice){
		"it is back": func(o *testOffice) {
			noErr(o.t, os.Rename(o.folder+"-away", o.folder))
			noErr(o.t, o.Act(o.t.Context(), Issue{ID: "service", Action: ActRetry}))
		},
		"another is chosen": func(o *testOffice) {
			o.folder = o.t.TempDir()
			s := o.Settings()
			s.SaveTo = o.folder
			noErr(o.t, o.Configure(o.t.Context(), s, office.Secrets{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, func(p *Params) { quick(p); p.Pace.Folder = time.Hour }, sandbox.Options{})
			id := o.send()
			noErr(t, os.Rename(o.folder, o.folder+"-away"))
			signAll(o, id)
			o.eventually("people are told", func() bool { return o.says("folder", "1 file is waiting") })
			then(o)
			o.eventually("saved", func() bool { return saved(o, id) && o.issue("folder") == nil })
			if row, _ := o.Package(id); !slices.Equal(o.files(), []string{offerFile}) || len(row.Files) != 1 || filepath.Dir(row.Files[0].Path) != o.folder {
				t.Errorf("files: %q; the package says %q", o.files(), row.Files)
			}
		})
	}
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
	if own := string(mustRead(t, other)) + string(mustRead(t, twin)); own != "the office's ownthe same on a Mac" {
		t.Errorf("the office's own files: %q", own)
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
			noErr(t, o.Data.Update(func(tx *store.Tx) error {
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
			}))
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

// What a folder sent since the backup is this office's own, and comes back to its folder, once.
func TestWhatAFolderSentSinceTheBackupComesBackToItAfterRestoring(t *testing.T) {
	o, f := sending(t)
	signed := func() int {
		names, err := filepath.Glob(filepath.Join(f.Path, "Signed", "*.pdf"))
		noErr(t, err)
		return len(names)
	}
	send := func(name string, n int) {
		t.Helper()
		o.drop(f, name, append(sampleDocument(t), name...))
		o.eventually("it is with the service", func() bool { return len(o.service.Packages()) == n })
		o.eventually("it lies in Sent", func() bool { return o.isThere(filepath.Join(f.Path, "Sent", name)) })
	}
	// The folder's packages by their names: the service lists them in no order.
	id := func(name string) string {
		t.Helper()
		for _, p := range o.service.Packages() {
			if p.Name == "Scan "+name {
				return p.PackageID
			}
		}
		t.Fatal("no package " + name)
		return ""
	}
	send("Known.pdf", 1)
	o.eventually("it is known", func() bool { return o.packageOrZero(id("Known")).ID != "" })
	noErr(t, o.backups.Make())
	send("Signed before.pdf", 2)
	noErr(t, o.service.SignAll(id("Known")))
	noErr(t, o.service.SignAll(id("Signed before")))
	o.eventually("both come back", func() bool { return signed() == 2 })
	send("Signed after.pdf", 3)
	o.loseData()
	o.open()
	o.run()
	o.eventually("everything is known again", func() bool { return o.Status().Packages.Total == 3 && o.Status().Packages.Saved == 2 })
	noErr(t, o.service.SignAll(id("Signed after")))
	o.eventually("that comes back, too", func() bool { return signed() == 3 && o.Status().Packages.Saved == 3 })
	for _, name := range []string{"Known", "Signed before", "Signed after"} {
		if p := o.packageRow(id(name)); p.Origin != office.MadeHere || p.Folder != f.ID && p.Folder != office.TagAt(p.Service, f.ID) {
			t.Errorf("%s: %+v", name, p.Package)
		}
	}
	o.eventually("nothing is on its way", func() bool { rows, err := o.HotFolders(); return err == nil && rows[0].Waiting == 0 })
	if n, m := signed(), len(o.service.Packages()); n != 3 || m != 3 {
		t.Errorf("%d came back of %d", n, m)
	}
}

// What waited to be sent when the state was lost is in the outbox afterwards, and waits for a person's word.
func TestWhatWaitedInAFolderIsInTheOutboxAfterRestoring(t *testing.T) {
	for name, lose := range map[string]func(o *testOffice){
		"from a backup": func(o *testOffice) { o.loseData() },
		"from nothing": func(o *testOffice) {
			o.loseData()
			noErr(t, os.RemoveAll(locations.Backups(o.data)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, f := sending(t)
			noErr(t, o.backups.Make())
			o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 503})
			o.drop(f, "Lease.pdf", sampleDocument(t))
			o.eventually("it waits", func() bool { return len(o.Drafts()) == 1 && !o.isThere(filepath.Join(f.Path, "Lease.pdf")) })
			lose(o)
			o.service.Heal(0)
			o.open()
			o.run()
			o.eventually("it is in the outbox", func() bool {
				rows, err := o.HotFolders()
				return err == nil && len(o.Drafts()) == 1 && o.Drafts()[0].State == office.DraftHeld && rows[0].Waiting == 1
			})
			if d := o.Drafts()[0]; d.Problem != message.FileOfBefore("Lease.pdf") || len(o.service.Packages()) != 0 {
				t.Errorf("it says %v, and %d were sent", d.Problem, len(o.service.Packages()))
			}
			noErr(t, o.Resolve(o.Drafts()[0].ID, true))
			o.eventually("a person sends it", func() bool { return o.isThere(filepath.Join(f.Path, "Sent", "Lease.pdf")) })
		})
	}
}

// downloads counts what was asked of the service. It notes a request after it has answered it.
func (o *testOffice) downloads() int {
	_, counts := o.service.Requests()
	n := 0
	for route, times := range counts {
		if strings.HasSuffix(route, "/download") {
			n += times
		}
	}
	return n
}

func TestADocumentThatWasCutOffIsNeverSaved(t *testing.T) {
	for _, framing := range []sandbox.Framing{sandbox.FramingClose, sandbox.FramingChunks, sandbox.FramingLength} {
		t.Run(string(framing), func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.SaveCAC, s.SaveMaster = true, true })
			const whole = 200 << 10
			o.service.PadDownloads(whole)
			id := o.send()
			for i, path := range []string{"*/executed/download", "*/cac/download", "/masterfiles/*"} {
				for n := range 3 { // each time at another place
					o.service.Inject(sandbox.Fault{Path: path, Times: 1, EndAfter: int64(1024*(n+1) + i), Framing: framing})
				}
			}
			signAll(o, id)
			o.eventually("saved, of the fourth download of each", func() bool { return saved(o, id) && o.downloads() == 12 && len(o.files()) == 3 })
			for _, name := range o.files() {
				b, err := os.ReadFile(filepath.Join(o.folder, name))
				if err != nil || !strings.Contains(string(b[max(0, len(b)-1024):]), "%%EOF") {
					t.Errorf("%s: %d bytes without an end, %v", name, len(b), err)
				}
			}
		})
	}
}

func TestADocumentThatNeverHadAnEndIsSavedWhenItComesTwiceTheSame(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "*/executed/download", EndAfter: -12, Framing: sandbox.FramingLength})
	signAll(o, id)
	o.eventually("saved, of the second download", func() bool { return saved(o, id) && o.downloads() == 2 && len(o.files()) == 1 })
	var told bool
	for _, line := range o.Activity(20) {
		told = told || line.Kind == "saved" && strings.Contains(line.Text.String(), "open it and check that it is complete")
	}
	if !told {
		t.Errorf("nobody is told: %+v", o.Activity(20))
	}
}

// What breaks connections at one place does so again a moment later.
func TestTwoTriesWithoutALengthConfirmEachOtherOnlyWhenTheyLieApart(t *testing.T) {
	o, clock := sleepy(t, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "*/executed/download", EndAfter: 2000, Framing: sandbox.FramingClose})
	signAll(o, id)
	var j office.Job
	waits := func() bool {
		err := o.Data.Store.View(func(tx *store.Tx) error {
			jobs, err := tx.JobsOf(id)
			if len(jobs) == 1 {
				j = jobs[0]
			}
			return err
		})
		return err == nil && j.Tries >= 2
	}
	o.eventually("it came twice", waits)
	if wait := j.NextTry.Sub(j.UnprovenAt); wait < time.Minute || len(o.files()) != 0 || o.downloads() != 2 {
		t.Errorf("tried again after %v, %d downloads, files %q", wait, o.downloads(), o.files())
	}
	clock.jump(2 * time.Minute)
	o.restart()
	o.eventually("saved, of the third download", func() bool { return saved(o, id) && o.downloads() == 3 })
}

// refusalsOfOne are the ways in which a service may refuse one object and not the others.
func refusalsOfOne() map[string]sandbox.Fault {
	page := map[string]string{"Content-Type": "text/html"}
	return map[string]sandbox.Fault{
		"401":               {Status: 401, Body: `{"error":"unauthorized","message":"No."}`},
		"403":               {Status: 403, Body: `{"error":"package_not_authorized","message":"No."}`},
		"404 with a code":   {Status: 404, Body: `{"error":"package_not_found","message":"No."}`},
		"404 without":       {Status: 404, Body: `<h1>Not found</h1>`, Headers: page},
		"400":               {Status: 400, Body: `{"error":"package_invalid_state","message":"No."}`},
		"410":               {Status: 410, Body: `{"error":"package_not_found","message":"No."}`},
		"500":               {Status: 500},
		"no document named": {Status: 200, Body: `{"state":"executed","documents":[]}`},
		"no PDF":            {Status: 200, Body: "PK: something else", Headers: map[string]string{"Content-Type": "application/pdf"}},
	}
}

// wakes lets d pass so often; each time, what is refused of a package is asked for once more.
func (o *testOffice) wakes(c *wallClock, id string, times int, d time.Duration) {
	o.t.Helper()
	for range times {
		before := o.asked(id)
		o.wake(c, d)
		o.eventually("it is asked for again", func() bool {
			c.jump(5 * time.Second) // for what was asked just before
			o.packages.Wake()
			o.saves.Wake()
			return o.asked(id) != before
		})
	}
}

// asked changes whenever an answer about a package, or one of its files, is recorded.
func (o *testOffice) asked(id string) string {
	p := o.packageOrZero(id)
	if !p.Planned {
		return p.NextCheck.String() + p.Refused.String()
	}
	j := o.job(id)
	return fmt.Sprint(j.Tries, j.Refused)
}

func TestWhatEverybodySignedIsAskedForUntilItComesWhateverTheRefusal(t *testing.T) {
	for name, fault := range refusalsOfOne() {
		for what, path := range map[string]string{"status": "/packages/*/status", "file": "*/executed/download"} {
			if fault.Status == 200 && (what == "file") != (name == "no PDF") {
				continue
			}
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				o, c := sleepy(t, sandbox.Options{})
				id := o.send()
				o.eventually("it was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
				fault := fault // those of the status and of the file run side by side
				fault.Path = path
				o.service.Inject(fault)
				signAll(o, id)
				o.eventually("its end is known", func() bool { return o.packageOrZero(id).State == office.PackageExecuted })
				o.eventually("it is refused", func() bool {
					p := o.packageOrZero(id)
					return !p.Refused.IsZero() || p.Planned && !o.job(id).Refused.IsZero()
				})
				o.wakes(c, id, 1, 30*time.Minute)
				if i := o.issue("withheld"); i != nil {
					t.Fatalf("told after half an hour: %+v", i)
				}
				o.wakes(c, id, 1, 31*time.Minute)
				o.eventually("people are told", func() bool { return o.issue("withheld") != nil })
				if i := o.issue("withheld"); i.Action != ActRetry || !strings.Contains(i.Text(), "Everyone has signed “Offer”, but") {
					t.Errorf("told: %+v", i)
				}
				o.wakes(c, id, 32, 13*time.Hour)
				o.eventually("it is still asked for", func() bool {
					p := o.packageOrZero(id)
					return !p.Final() || !o.nextJob().IsZero()
				})
				if row, _ := o.Package(id); row.Problem.IsZero() {
					t.Error("the list does not say that something is wrong")
				}
				o.service.Heal(0)
				noErr(t, o.Act(t.Context(), *o.issue("withheld")))
				o.eventually("saved", func() bool { return saved(o, id) })
				o.eventually("nothing is wrong any more", func() bool {
					row, _ := o.Package(id)
					return o.issue("withheld") == nil && o.issue("saves") == nil && row.Problem.IsZero() && row.Refused.IsZero()
				})
			})
		}
	}
}

// nextJob is when the next file is asked for; zero when none is wanted.
func (o *testOffice) nextJob() (next time.Time) {
	o.t.Helper()
	noErr(o.t, o.Data.Store.View(func(tx *store.Tx) (err error) {
		next, err = tx.NextJob()
		return err
	}))
	return next
}

func TestWhatTheListShowsAsExecutedIsFetchedThoughItWasOverHere(t *testing.T) {
	for _, over := range []office.PackageState{office.PackageExpired, office.PackageRescinded} {
		t.Run(string(over), func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			o.eventually("it was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
			o.stop()
			o.service.Hold() // its event never comes
			signAll(o, id)
			o.open()
			noErr(t, o.Data.Update(func(tx *store.Tx) error {
				p, _, err := tx.Package(id)
				p.State = over
				if err != nil {
					return err
				}
				return tx.PutPackage(p)
			}))
			// A status call that refuses it as well only holds it up.
			o.service.Inject(sandbox.Fault{Path: "/packages/*/status", Status: 404, Times: 2, Body: `{"error":"package_not_found","message":"No."}`})
			o.run()
			o.eventually("saved", func() bool { o.packages.Wake(); return saved(o, id) })
			o.eventually("told", func() bool { return o.count("Everyone has signed “Offer”.") == 1 })
		})
	}
}

// errUnchanged stands for an error where there is none to return.
var errUnchanged = errors.New("nothing changed")

func TestMemoryNeverLeadsTheCommit(t *testing.T) {
	tests := map[string]func(o *testOffice) error{
		"sign-out": func(o *testOffice) error { return o.SignOut(o.t.Context()) },
		"settings": func(o *testOffice) error {
			s := o.Settings()
			s.SaveTo, s.ClientID, s.Scopes = o.t.TempDir(), "another", []string{"profile"}
			return o.Configure(o.t.Context(), s, office.Secrets{ClientSecret: "another"})
		},
		"sign-in": func(o *testOffice) error {
			return o.SignIn(o.t.Context(), SignInOptions{Prompt: "login"}, visit)
		},
		"endpoint": func(o *testOffice) error {
			return o.webhook.Register(o.t.Context(), true)
		},
		"snooze": func(o *testOffice) error {
			o.Snooze(time.Now().Add(time.Hour))
			return errUnchanged // it has no error to return
		},
		"lapse": func(o *testOffice) error {
			if err := o.service.ExpireAccessTokens(); err != nil {
				return err
			}
			if err := o.service.RevokeRefreshTokens(); err != nil {
				return err
			}
			o.status(o.t.Context(), "p") // by which the program notices
			o.eventually("the lapse is said", func() bool { return o.Health.Has(health.SignInLapsed) })
			return errUnchanged
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			noErr(t, o.Data.Store.Close()) // nothing can be committed from here on
			was, snoozed := o.account.Current(), o.Snoozed()
			endpoint, _, _ := o.webhook.Endpoint()
			if err := do(o); err == nil {
				t.Error("it went well without a commit")
			}
			same := func(when string) {
				is := o.account.Current()
				if !reflect.DeepEqual(is.Settings, was.Settings) || !reflect.DeepEqual(is.Account, was.Account) {
					t.Errorf("%s: %+v %+v, was %+v %+v", when, is.Settings, is.Account, was.Settings, was.Account)
				}
				if id, _, _ := o.webhook.Endpoint(); id != endpoint {
					t.Errorf("%s: the endpoint is %q", when, id)
				}
				if !o.Snoozed().Equal(snoozed) {
					t.Errorf("%s: snoozed until %v", when, o.Snoozed())
				}
			}
			same("in memory")
			is := o.account.Current()
			client, _ := o.account.OnlineIn(is)
			if before, _ := o.account.OnlineIn(was); client != before {
				t.Error("another service is in use")
			}
			o.stop()
			o.open()
			same("after a restart")
		})
	}
}

func TestASnoozeOutlivesARestart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	until := time.Now().Add(time.Hour).Round(0)
	o.Snooze(until)
	o.restart()
	if got := o.Snoozed(); !got.Equal(until) {
		t.Errorf("snoozed until %v", got)
	}
	o.Snooze(time.Time{})
	o.restart()
	if got := o.Snoozed(); !got.IsZero() {
		t.Errorf("snoozed until %v", got)
	}
}

// exchanges is an HTTP client that notes the refresh tokens that were given out, by grant_type, and those that were spent.
type exchanges struct {
	http.Transport
	mu    sync.Mutex
	given map[string][]string
	spent []string
}

func (x *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/connect/token" {
		return x.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body))
	res, err := x.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	var said struct {
		Refresh string `json:"refresh_token"`
	}
	json.Unmarshal(answer, &said)
	x.mu.Lock()
	defer x.mu.Unlock()
	kind := form.Get("grant_type")
	x.given[kind] = append(x.given[kind], said.Refresh)
	if token := form.Get("refresh_token"); token != "" {
		x.spent = append(x.spent, token)
	}
	return res, nil
}

func TestSigningInAgainWhileTheOldSignInIsRenewedKeepsTheNewToken(t *testing.T) {
	for _, point := range []string{"renewed", "renewal kept"} {
		t.Run(point, func(t *testing.T) {
			x := &exchanges{given: map[string][]string{}}
			t.Cleanup(x.CloseIdleConnections)
			reached, release := make(chan struct{}), make(chan struct{})
			var armed sync.Mutex
			arm := false
			o := newOfficeWith(t, func(p *Params) {
				quick(p)
				p.HTTP = &http.Client{Transport: x}
				p.Crash = func(here string) {
					armed.Lock()
					hold := arm && here == point
					arm = arm && !hold
					armed.Unlock()
					if hold {
						close(reached)
						<-release
					}
				}
			}, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			armed.Lock()
			arm = true
			armed.Unlock()
			noErr(t, o.service.ExpireAccessTokens())
			client, _ := o.account.Online()
			go client.Organization(t.Context())
			<-reached
			signedIn := make(chan error, 1)
			go func() { signedIn <- o.SignIn(t.Context(), SignInOptions{Prompt: "login"}, visit) }()
			o.eventually("the code is exchanged", func() bool {
				x.mu.Lock()
				defer x.mu.Unlock()
				return len(x.given["authorization_code"]) == 2
			})
			close(release)
			noErr(t, <-signedIn)
			kept, err := o.account.Vault().Get(issuer.Refresh.Of(issuer.Of(o.Settings())))
			if err != nil || string(kept) != x.given["authorization_code"][1] {
				t.Errorf("another token than the new one is kept (%v)", err)
			}
			o.restart()
			o.eventually("the sign-in goes on", func() bool {
				client, online := o.account.Online()
				if !online {
					return false
				}
				_, err := client.Organization(t.Context())
				return err == nil
			})
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.spent) != 2 || x.spent[1] != x.given["authorization_code"][1] {
				t.Errorf("%d tokens were spent, and the last is not the new one", len(x.spent))
			}
		})
	}
}

func TestASignInDoesNotOutliveTheSettingsItBeganWith(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	err := o.SignIn(t.Context(), SignInOptions{}, func(address string) error {
		s := o.Settings()
		s.ClientID = "another"
		if err := o.Configure(t.Context(), s, office.Secrets{ClientSecret: "another"}); err != nil {
			return err
		}
		return visit(address)
	})
	if Message(err) != message.SettingsChanged() {
		t.Errorf("signed in: %v", err)
	}
}

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}

// What a person has pressed is stored as pressed: a program that ends while it can still be undone sends it at its next start.
func TestWhatWasPressedIsSentByTheNextStart(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	pressed := func(undo time.Duration) string {
		ctx, end := context.WithCancel(t.Context())
		d := o.draft()
		d.Undo = undo
		id := make(chan string, 1)
		go o.Send(ctx, d, func(s office.SendState) {
			if s.Undo {
				select {
				case id <- s.DraftID:
				default:
				}
			}
		})
		defer end()
		return <-id
	}
	id := pressed(time.Minute)
	if held := o.Drafts(); len(held) != 1 || held[0].State != office.DraftHeld || o.Status().Packages.Total != 0 {
		t.Fatalf("while it can be undone there is %+v", held)
	}
	if inTime, err := o.Cancel(id); err != nil || !inTime || len(o.Drafts()) != 0 {
		t.Errorf("undone: %v, %v, %d left", inTime, err, len(o.Drafts()))
	}
	pressed(300 * time.Millisecond)
	o.restart()
	o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 1 && len(o.Drafts()) == 0 })
}

func TestWhatIsHeldGoesOutAsItWas(t *testing.T) {
	for name, send := range map[string]func(o *testOffice, d office.NewPackage, held string) error{
		"at once": func(o *testOffice, _ office.NewPackage, held string) error { return o.Resolve(held, true) },
		"after a while": func(o *testOffice, _ office.NewPackage, held string) error {
			return o.Decide(held, true, 100*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keeping(t, nil)
			d := o.draft()
			given := mustRead(t, d.Files[0])
			held, err := o.Hold(d)
			noErr(t, err)
			noErr(t, os.WriteFile(d.Files[0], bytes.Replace(given, []byte("%PDF-1."), []byte("%PDF-2."), 1), 0o600))
			o.restart()
			noErr(t, send(o, d, held))
			o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 1 })
			if got := o.uploaded(); len(got) != 1 || !bytes.Equal(got[0], given) {
				t.Error("other bytes went out")
			}
			o.eventually("the copy is gone", func() bool { return len(o.kept()) == 0 })
		})
	}
}

// Cancelling is taken back as easily: what was taken from the queue is there, as it was, until a person decides.
func TestWhatIsStoppedInTheQueueCanBeSentAfterAll(t *testing.T) {
	for name, c := range map[string]struct {
		send bool
		want int
	}{"sent after all": {true, 1}, "discarded": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keeping(t, nil)
			d := o.draft()
			given := mustRead(t, d.Files[0])
			if err := o.SignOut(t.Context()); o.Status().SignedIn { // so that it waits
				t.Fatal(err)
			}
			d.Patience = time.Nanosecond
			state, err := o.Send(t.Context(), d, nil)
			if err == nil || state.DraftID == "" {
				t.Fatalf("%+v, %v", state, err)
			}
			noErr(t, os.Remove(d.Files[0]))
			if inTime, err := o.Stop(state.DraftID); err != nil || !inTime {
				t.Fatalf("stopped: %v, %v", inTime, err)
			}
			o.restart()
			if held := o.Drafts(); len(held) != 1 || held[0].State != office.DraftHeld || !held[0].Stopped {
				t.Fatalf("after a restart there is %+v", held)
			}
			noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
			if n := len(o.service.Packages()); n != 0 {
				t.Fatalf("%d packages are sent all the same", n)
			}
			noErr(t, o.Resolve(state.DraftID, c.send))
			o.eventually("the copy is gone", func() bool { return len(o.kept()) == 0 })
			if got := o.uploaded(); len(got) != c.want || c.send && !bytes.Equal(got[0], given) {
				t.Errorf("%d files went out, want %d, as they were given", len(got), c.want)
			}
		})
	}
}
