package download

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// saved plans a package and has its file saved, with these bytes.
func (x *testService) saved(id, body string) office.Job {
	x.t.Helper()
	j := x.plan(id)[0]
	return x.savedAs(j, body)
}

func (x *testService) savedAs(j office.Job, body string) office.Job {
	x.t.Helper()
	f := must(archive.OpenFolder(j.Folder))
	defer f.Close()
	pdf := "%PDF-1.7\n" + body + "\n%%EOF\n"
	s := must(f.Save(x.t.Context(), archive.Request{Target: j.Target, Key: x.tempKey(j), Declared: int64(len(pdf)), Body: strings.NewReader(pdf)}))
	j.Size, j.Digest = s.Size, s.Digest
	noErr(x.t, x.finish(j, false))
	return x.job(j)
}

// index reads a folder's index as a spreadsheet does.
func index(t *testing.T, folder string, comma rune) (lines [][]string) {
	t.Helper()
	b := must(os.ReadFile(filepath.Join(folder, archive.IndexName)))
	text, ok := strings.CutPrefix(string(b), "\ufeff")
	if !ok || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Errorf("without the mark that Excel needs, or its line ends: %q", b)
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	lines = must(r.ReadAll())
	return lines
}

// wantListed checks that the folder's index lists these files, each once, with their sums.
func wantListed(t *testing.T, folder string, comma rune, jobs ...office.Job) {
	t.Helper()
	lines := index(t, folder, comma)
	expect(t, len(lines)-1, len(jobs), "%d lines for %d files: %q", len(jobs), lines)
	for _, j := range jobs {
		b := must(os.ReadFile(filepath.Join(j.Folder, j.Target)))
		sum := sha256.Sum256(b)
		n := 0
		for _, l := range lines[1:] {
			if l[len(l)-2] == j.Target && l[len(l)-1] == hex.EncodeToString(sum[:]) {
				n++
			}
		}
		expect(t, n, 1, "%d lines of "+j.Target+" in %q", lines)
	}
}

func (x *testService) list() {
	x.t.Helper()
	noErr(x.t, x.listAll(x.t.Context()))
}

// killed has the program end when it has written lines for the nth time, before it can record them.
func (x *testService) killed(n int) {
	x.Crash = func(string) {
		if n--; n == 0 {
			runtime.Goexit()
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = x.listAll(x.t.Context())
	}()
	<-over
	x.Crash = func(string) {}
}

func (x *testService) marks() (marks map[string]archive.Mark) {
	x.update(func(tx *store.Tx) error { _, err := tx.GetDoc(docIndexes, &marks); return err })
	return marks
}

func TestEachSavedFileIsListedOnce(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	here := x.settings.SaveTo
	x.list()
	expect(t, inside(t, here), []string(nil), "before a file is saved there are %q")
	a := x.saved("a", "first")
	x.list()
	before := x.marks()
	b, c := x.saved("b", "second"), x.saved("c", "third")
	x.list()
	x.list()
	wantListed(t, here, ',', a, b, c)

	// Erased, or emptied to its last lines by a person: what it lacks comes back with the next file.
	noErr(t, os.Remove(filepath.Join(here, archive.IndexName)))
	d := x.saved("d", "fourth")
	x.list()
	wantListed(t, here, ',', a, b, c, d)
	expect(t, x.marks()[here].Size, must(os.Stat(filepath.Join(here, archive.IndexName))).Size(), "to be compared with all files again from byte %d")

	// Lost before it was listed, and saved again.
	e := x.saved("e", "fifth")
	noErr(t, os.Remove(filepath.Join(here, e.Target)))
	noErr(t, x.SaveAgain("e"))
	x.list()
	x.update(func(tx *store.Tx) error {
		waiting, err := tx.DocNames(docUnlisted)
		expect(t, waiting, []string(nil), "lines for %q still wait")
		return err
	})
	e = x.savedAs(x.job(e), "fifth")
	x.list()
	wantListed(t, here, ',', a, b, c, d, e)

	// The state was lost after the lines were written, or a backup was restored: the files are found, and the index has them.
	for _, mark := range []any{nil, before} {
		found := []office.Job{x.job(b), x.job(c)}
		x.update(func(tx *store.Tx) error {
			for i := range found {
				found[i].State, found[i].Listed, found[i].Done = office.JobPending, "", time.Time{}
				tx.PutJob(found[i])
			}
			return tx.PutDoc(docIndexes, mark)
		})
		x.list()
		for _, j := range found { // one after the other
			noErr(t, x.finish(j, true))
			x.list()
		}
		wantListed(t, here, ',', a, b, c, d, e)
	}

	// Saved again under its name, with the same bytes, also where nothing is known of the index.
	for range 2 {
		noErr(t, os.Remove(filepath.Join(here, a.Target)))
		a = x.savedAs(x.job(a), "first")
		x.list()
		wantListed(t, here, ',', a, b, c, d, e)
		x.update(func(tx *store.Tx) error { return tx.PutDoc(docIndexes, nil) })
	}

	// Renamed by a person several times, and the index as a whole is compared anew; then it is deleted.
	file := filepath.Join(here, archive.IndexName)
	rename := func(name string) {
		renamed := x.job(a)
		noErr(t, os.Rename(renamed.Path(), filepath.Join(here, name)))
		renamed.Renamed = name
		x.update(func(tx *store.Tx) error {
			tx.PutJob(renamed)
			return tx.PutDoc(docIndexes, nil)
		})
	}
	for range 2 {
		listed := string(must(os.ReadFile(file)))
		for _, name := range []string{"renamed.pdf", "renamed again.pdf", a.Target, "renamed once more.pdf"} {
			rename(name)
			x.list()
			expect(t, string(must(os.ReadFile(file))), listed, "with "+name+" the index is %q")
		}
		noErr(t, os.Remove(file))
		x.update(func(tx *store.Tx) error { return tx.PutDoc(docIndexes, nil) })
		x.list()
		expect(t, len(index(t, here, ',')), 6, "made anew it has %d lines")
	}
}

func TestARenamedFileIsListedOnceAlsoAfterAKill(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	here := x.settings.SaveTo
	file := filepath.Join(here, archive.IndexName)
	a := x.saved("a", "first")
	x.list()
	for kill := range 4 {
		noErr(t, os.Remove(file))
		for n := range 2 {
			renamed := x.job(a)
			noErr(t, os.Rename(renamed.Path(), filepath.Join(here, fmt.Sprint(kill, n, ".pdf"))))
			renamed.Renamed = fmt.Sprint(kill, n, ".pdf")
			x.update(func(tx *store.Tx) error {
				tx.PutJob(renamed)
				return tx.PutDoc(docIndexes, nil)
			})
			if n == 0 && kill > 0 { // between a line and its record, too
				x.killed(kill)
			}
			x.list()
			expect(t, len(index(t, here, ','))-1, 1, "killed at point %[2]d, it has %[1]d lines", kill)
		}
	}
}

func TestFilesAreListedInTheirOrderAndAKillBetweenTheLineAndItsRecordDoublesNone(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	var all []office.Job
	for _, id := range []string{"e", "a", "d", "b", "c"} {
		all = append(all, x.saved(id, id))
	}
	x.killed(1)
	expect(t, x.job(all[0]).Listed, "", "recorded before the kill: %q")
	x.list()
	wantListed(t, x.settings.SaveTo, ',', all...)
	for i, l := range index(t, x.settings.SaveTo, ',')[1:] {
		expect(t, l[8], all[i].PackageID, "saved as number %d was not %q", i)
	}
}

func TestAFileThatIsSavedAgainWhileItsLineIsWrittenHasALineOfItsOwn(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	a, b := x.saved("a", "first"), x.saved("b", "second")
	x.Crash = func(point string) {
		if point == "index written" {
			x.Crash = func(string) {}
			noErr(t, os.Remove(filepath.Join(a.Folder, a.Target)))
			a = x.savedAs(x.job(a), "another")
		}
	}
	x.list()
	x.list()
	lines := index(t, x.settings.SaveTo, ',')
	if last := lines[len(lines)-1]; len(lines) != 4 || last[11] != x.job(a).Listed || x.job(b).Listed == "" {
		t.Errorf("it is %q", lines)
	}
}

func TestWhatWasSavedBeforeTheIndexWasWantedIsListedToo(t *testing.T) {
	x := newService(t)
	a := x.saved("a", "first")
	x.list()
	expect(t, inside(t, x.settings.SaveTo), []string{a.Target}, "nobody wanted an index, and there are %q")
	gone := x.saved("gone", "moved away by a person")
	noErr(t, os.Remove(filepath.Join(gone.Folder, gone.Target)))
	x.settings.Index, x.settings.Language = true, "de"
	x.list()
	lines := index(t, x.settings.SaveTo, ';')
	if len(lines) != 3 || lines[0][0] != "Gespeichert" || lines[2][10] != gone.Target || lines[2][11] != "" || lines[1][10] != a.Target {
		t.Errorf("it is %q", lines)
	}
	x.list()
	x.settings.Language = "en" // the index keeps the language that it was begun in
	b := x.saved("b", "second")
	x.list()
	if after := index(t, x.settings.SaveTo, ';'); len(after) != 4 || after[3][10] != b.Target {
		t.Errorf("it is %q", after)
	}
}

func TestEachFolderHasItsOwnIndex(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	first := x.settings.SaveTo
	a := x.saved("a", "first")
	x.settings.SaveTo = t.TempDir()
	b := x.saved("b", "second")
	x.list()
	wantListed(t, first, ',', a)
	wantListed(t, x.settings.SaveTo, ',', b)

	// Beside the original is no folder of the office: the file is in the index of the folder that is.
	elsewhere := t.TempDir()
	c := x.plan("c")[0]
	c.Folder = elsewhere
	x.update(func(tx *store.Tx) error { return tx.PutJob(c) })
	x.savedAs(c, "third")
	x.list()
	lines := index(t, x.settings.SaveTo, ',')
	expect(t, lines[len(lines)-1][10], filepath.Join(elsewhere, c.Target), "it is listed as %q")
	expect(t, inside(t, elsewhere), []string{c.Target}, "beside the original there are %q")
	noErr(t, os.Remove(filepath.Join(elsewhere, c.Target))) // until that is the office's own
	x.settings.SaveTo = elsewhere
	c = x.savedAs(x.job(c), "third")
	x.list()
	wantListed(t, elsewhere, ',', c)
}

func TestAFolderThatNeverReturnsKeepsNoLineFromTheOthers(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	old, lost := x.settings.SaveTo, filepath.Join(t.TempDir(), "lost")
	listed := func(tx *store.Tx, from, to int) error {
		for n := from; n < to; n++ {
			j := office.Job{PackageID: "p", DocumentID: strconv.Itoa(n), Kind: office.FileSigned, Folder: lost, Target: strconv.Itoa(n) + ".pdf"}
			if _, err := tx.PlanJob(j); err != nil {
				return err
			}
			j.State, j.Done = office.JobDone, x.Now()
			if err := errors.Join(tx.PutJob(j), tx.PutDoc(unlisted(j.Key()), j.Key())); err != nil {
				return err
			}
		}
		return nil
	}
	x.update(func(tx *store.Tx) error { return listed(tx, 0, 3*indexBatch) })
	a := x.saved("a", "first")
	x.settings.SaveTo = t.TempDir()
	b, c := x.saved("b", "second"), x.saved("c", "third")
	x.list() // which the folder that was left does not fail
	wantListed(t, old, ',', a)
	wantListed(t, x.settings.SaveTo, ',', b, c)

	// The office's own folder is told of, and costs the others nothing either.
	here := x.settings.SaveTo
	d := x.saved("d", "fourth")
	x.settings.SaveTo = lost
	if err := x.listAll(t.Context()); !errors.Is(err, archive.ErrMissing) {
		t.Errorf("the office's own folder is away: %v", err)
	}
	wantListed(t, here, ',', b, c, d)
	noErr(t, os.Mkdir(lost, 0o700))
	for n := range 2 {
		x.list()
		expect(t, len(index(t, lost, ',')), (3+n*2)*indexBatch+1, "once it is back it has %d lines")
		x.update(func(tx *store.Tx) error { return listed(tx, 3*indexBatch, 5*indexBatch) })
	}
	noErr(t, os.Remove(filepath.Join(lost, archive.IndexName)))
	x.killed(3)
	x.list()
	expect(t, len(index(t, lost, ',')), 5*indexBatch+1, "after it was erased, and a kill, it has %d lines")
}

func TestTwoComputersShareAnIndex(t *testing.T) {
	x, y := newService(t), newService(t)
	x.settings.Index = true
	y.settings = x.settings
	y.settings.NameTemplate = "{package} - {document} of the other"
	a := x.saved("a", "first")
	x.list()
	b := y.saved("b of the other", "second")
	y.list()
	c := x.saved("c", "third")
	x.list()
	y.list()
	wantListed(t, x.settings.SaveTo, ',', a, b, c)
	noErr(t, os.Remove(filepath.Join(x.settings.SaveTo, archive.IndexName)))
	d := x.saved("d", "fourth")
	x.list()
	e := y.saved("e of the other", "fifth")
	y.list()
	wantListed(t, x.settings.SaveTo, ',', a, b, c, d, e)
}

func TestAnIndexThatIsOpenElsewhereCostsNoDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.Index = true
		f := must(archive.OpenFolder(x.settings.SaveTo))
		defer f.Close()
		defer x.run()()
		var jobs []office.Job
		for _, id := range []string{"a", "b", "c"} {
			open := must(f.OpenIndex(x.indexWords(x.settings).titles(), ',', archive.Mark{}))
			jobs = append(jobs, x.saved(id, id))
			synctest.Wait()
			if !x.Health.Has(health.IndexWaits) || x.job(jobs[0]).State != office.JobDone {
				t.Errorf("the files are %+v; told: %+v", jobs, x.Health.List())
			}
			noErr(t, open.Close())
			time.Sleep(indexBusy)
			synctest.Wait()
			if x.Health.Has(health.IndexWaits) {
				t.Errorf("told: %+v", x.Health.List())
			}
			wantListed(t, x.settings.SaveTo, ',', jobs...)
		}
		open := must(f.OpenIndex(x.indexWords(x.settings).titles(), ',', archive.Mark{}))
		x.saved("d", "d")
		synctest.Wait()
		noErr(t, open.Close())
		noErr(t, os.Rename(x.settings.SaveTo, x.settings.SaveTo+" away"))
		time.Sleep(time.Hour)
		synctest.Wait()
		expect(t, x.Health.List()[0].Message, message.FolderMissing(filepath.Base(x.settings.SaveTo)), "of a folder that is away it says %v")
		noErr(t, os.Rename(x.settings.SaveTo+" away", x.settings.SaveTo))
		time.Sleep(indexPause)
		synctest.Wait()
		expect(t, x.Health.List(), []health.Issue{}, "once it is back it says %v")
	})
}

// Nor does a name become a formula.
func TestATimeByWhichSomethingHadHappenedIsNoTimeAtWhichItDid(t *testing.T) {
	at := time.Date(2026, 11, 23, 20, 9, 0, 0, time.Local)
	p := office.Package{ID: "p", Name: "=HYPERLINK(\"http://x\")\r\n;=1", Source: office.Source{Reference: "2026-118"}, Due: at,
		Recipients: []office.Recipient{{FirstName: "Zoë"}}, Created: at.Add(-time.Hour), Executed: office.When{Time: at, By: true},
		Signers: []office.Signer{{ID: "j", FirstName: "@Jan"}, {ID: "a", FirstName: "Ana"},
			{ID: "d", FirstName: "Declined", Declined: office.When{Time: at}}}, History: []office.HistoryEntry{
			{Time: office.When{Time: at, By: true}, What: office.EntrySigned, Who: "j", Ref: "d"},
			{Time: office.When{Time: at.Add(-time.Minute)}, What: office.EntrySigned, Who: "a", Ref: "d"}}}
	for language, want := range map[string][8]string{
		"en": {"2026-118", "'@Jan (before 2026-11-23 20:09) / Ana (2026-11-23 20:08)", "Zoë", "2026-11-23 19:09", "2026-11-23 20:09", "before 2026-11-23 20:09", "p", "certificate"},
		"de": {"2026-118", "'@Jan (bis 2026-11-23 20:09) / Ana (2026-11-23 20:08)", "Zoë", "2026-11-23 19:09", "2026-11-23 20:09", "bis 2026-11-23 20:09", "p", "Zertifikat"},
	} {
		x := newService(t)
		x.settings.Language = language
		line := x.indexWords(x.settings).line(p,
			office.Job{PackageID: "p", Kind: office.FileCertificate, SavedFile: office.SavedFile{Done: at, Found: true}}, "Lease.pdf", "")
		if !strings.HasSuffix(line[0], " 2026-11-23 20:09") {
			t.Errorf("%s: a file that was there before was saved %q", language, line[0])
		}
		if strings.IndexAny(line[1], "=+-@") == 0 || strings.Contains(line[1], ";=") {
			t.Errorf("%q is a formula", line[1])
		}
		expect(t, [8]string(line[2:10]), want, language+": %q, want %q", want)
	}
}

// keepFile stores a package with a saved file of a name and content.
func (x *testService) keepFile(id, name, content string) office.Job {
	x.t.Helper()
	j := x.plan(id)[0]
	j.Target = name
	x.update(func(tx *store.Tx) error { return tx.PutJob(j) })
	return x.savedAs(j, content)
}

func inside(t *testing.T, folder string) (names []string) {
	t.Helper()
	noErr(t, filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			rel, _ := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	return names
}

func TestAnExportCopiesWhatIsSavedAndReplacesNothing(t *testing.T) {
	x := newService(t)
	x.keepFile("p", "Lease/Lease.pdf", "lease")
	x.keepFile("q", "Offer.pdf", "offer")
	x.plan("waits")
	noErr(t, os.Rename(filepath.Join(x.settings.SaveTo, "Lease/Lease.pdf"), filepath.Join(x.settings.SaveTo, "Lease/renamed.pdf")))
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		jobs, _ := tx.JobsOf("p")
		jobs[0].Renamed = "Lease/renamed.pdf" // by a person, as a check found
		return tx.PutJob(jobs[0])
	}))
	to := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(to, "offer.PDF"), []byte("another one"), 0o600))
	for range 2 { // the second time everything is there
		got, err := x.Export(t.Context(), []string{"p", "q", "waits", "unknown"}, to)
		if want := (office.Exported{Packages: 2, Files: 2, Copied: 2}); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		expect(t, inside(t, to), []string{"Lease/Lease.pdf", "Offer (2).pdf", "offer.PDF"}, "there are %q")
	}
	for name, want := range map[string]string{"offer.PDF": "another one", "Offer (2).pdf": "%PDF-1.7\noffer\n%%EOF\n"} {
		expect(t, string(must(os.ReadFile(filepath.Join(to, name)))), want, name+" is %q")
	}
	own := must(os.Stat(filepath.Join(x.settings.SaveTo, "Offer.pdf")))
	expect(t, must(os.Stat(filepath.Join(to, "Offer (2).pdf"))).Mode(), own.Mode(), "the copy may be read by %v, the document by %v", own.Mode())
}

func TestAnExportGoesOnAfterAFileThatIsLostOrChangedAndSaysSo(t *testing.T) {
	x := newService(t)
	lost, changed := x.keepFile("p", "Lease.pdf", "lease"), x.keepFile("c", "Changed.pdf", "sealed")
	x.keepFile("q", "Offer.pdf", "offer")
	noErr(t, os.Remove(filepath.Join(lost.Folder, lost.Target)))
	noErr(t, os.WriteFile(filepath.Join(changed.Folder, changed.Target), []byte(document("forged")), 0o600))
	to := t.TempDir()
	got, err := x.Export(t.Context(), []string{"c", "p", "q"}, to)
	if want := (office.Exported{Packages: 3, Files: 3, Copied: 1, Lost: 2}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	expect(t, inside(t, to), []string{"Offer.pdf"}, "copied are %q")
	for into, copied := range map[string]int{"a/new one": 1, "Offer.pdf": 0} { // the latter is no folder
		if got, err := x.Export(t.Context(), []string{"q"}, filepath.Join(to, into)); (err != nil) != (copied == 0) || got.Copied != copied {
			t.Errorf("%s gets %+v, %v", into, got, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got, err := x.Export(ended, []string{"q"}, t.TempDir()); err != nil || got.Copied != 0 || got.Problem.IsZero() {
		t.Errorf("one that was ended says %+v, %v", got, err)
	}
}
