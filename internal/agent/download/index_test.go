package download

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/archive"
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
	if len(lines) != len(jobs)+1 {
		t.Errorf("%d lines for %d files: %q", len(lines)-1, len(jobs), lines)
	}
	for _, j := range jobs {
		b := must(os.ReadFile(filepath.Join(j.Folder, j.Target)))
		sum := sha256.Sum256(b)
		n := 0
		for _, l := range lines[1:] {
			if l[len(l)-2] == j.Target && l[len(l)-1] == hex.EncodeToString(sum[:]) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is listed %d times in %q", j.Target, n, lines)
		}
	}
}

func (x *testService) list() {
	x.t.Helper()
	noErr(x.t, x.listAll(x.t.Context()))
}

func TestEachSavedFileIsListedOnce(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	here := x.settings.SaveTo
	a := x.saved("a", "first")
	x.list()
	b, c := x.saved("b", "second"), x.saved("c", "third")
	x.list()
	x.list()
	wantListed(t, here, ',', a, b, c)

	// Erased, or emptied to its last lines by a person: what it lacks comes back with the next file.
	noErr(t, os.Remove(filepath.Join(here, archive.IndexName)))
	d := x.saved("d", "fourth")
	x.list()
	wantListed(t, here, ',', a, b, c, d)

	// Lost before it was listed, and saved again.
	e := x.saved("e", "fifth")
	noErr(t, os.Remove(filepath.Join(here, e.Target)))
	noErr(t, x.SaveAgain("e"))
	x.list()
	e = x.savedAs(x.job(e), "fifth")
	x.list()
	wantListed(t, here, ',', a, b, c, d, e)

	// The state was lost after the lines were written: the files are found, and the index has them.
	x.update(func(tx *store.Tx) error { return tx.PutDoc(docIndexes, nil) })
	for _, j := range []office.Job{a, b} {
		j = x.job(j)
		j.Listed = ""
		noErr(t, x.finish(j, true))
	}
	x.list()
	wantListed(t, here, ',', a, b, c, d, e)

	// Saved again under its name, with the same bytes, also where nothing is known of the index.
	for range 2 {
		noErr(t, os.Remove(filepath.Join(here, a.Target)))
		a = x.savedAs(x.job(a), "first")
		x.list()
		wantListed(t, here, ',', a, b, c, d, e)
		x.update(func(tx *store.Tx) error { return tx.PutDoc(docIndexes, nil) })
	}
}

func TestFilesAreListedInTheirOrderAndAKillBetweenTheLineAndItsRecordDoublesNone(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	var all []office.Job
	for _, id := range []string{"e", "a", "d", "b", "c"} {
		all = append(all, x.saved(id, id))
	}
	type killed struct{}
	x.Crash = func(point string) {
		if point == "index written" {
			panic(killed{})
		}
	}
	func() {
		defer func() {
			if recover() != (killed{}) {
				t.Error("it was not written")
			}
		}()
		_ = x.listAll(t.Context())
	}()
	x.Crash = func(string) {}
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
	again := x.saved("c", "third")
	again.State = office.JobPending
	x.update(func(tx *store.Tx) error { return tx.PutJob(again) })
	x.list()
	x.update(func(tx *store.Tx) error {
		waiting, err := tx.DocNames(docUnlisted)
		expect(t, waiting, []string(nil), "of one that is saved again before it has a line, %q still wait")
		return err
	})
}

// The index lists what was saved since a backup was made, but the backup does not know it.
func TestAFileThatIsFoundAgainIsNotListedTwice(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	known := x.saved("known", "known")
	x.list()
	var before map[string]archive.Mark
	x.update(func(tx *store.Tx) error { _, err := tx.GetDoc(docIndexes, &before); return err })
	since := []office.Job{x.saved("one", "one"), x.saved("two", "two")}
	x.list()
	x.update(func(tx *store.Tx) error { return tx.PutDoc(docIndexes, before) }) // it is restored
	for _, j := range since {
		j.State, j.Listed, j.Done = office.JobPending, "", time.Time{}
		x.update(func(tx *store.Tx) error { return tx.PutJob(j) })
	}
	x.list()
	for _, j := range since { // they are found, one after the other
		noErr(t, x.finish(j, true))
		x.list()
	}
	wantListed(t, x.settings.SaveTo, ',', known, x.job(since[0]), x.job(since[1]))
}

func TestWhatWasSavedBeforeTheIndexWasWantedIsListedToo(t *testing.T) {
	x := newService(t)
	a := x.saved("a", "first")
	x.list()
	if _, err := os.Stat(filepath.Join(x.settings.SaveTo, archive.IndexName)); err == nil {
		t.Error("nobody wanted an index")
	}
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
	if last := lines[len(lines)-1]; last[10] != filepath.Join(elsewhere, c.Target) {
		t.Errorf("it is %q", lines)
	}
	if files, _ := os.ReadDir(elsewhere); len(files) != 1 {
		t.Errorf("beside the original there are %v", files)
	}
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
	x.update(func(tx *store.Tx) error {
		for n := range 3 * indexBatch {
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
	})
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
	x.list()
	if lines := index(t, lost, ','); len(lines) != 3*indexBatch+1 {
		t.Errorf("once it is back it has %d lines", len(lines))
	}
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
	x := newService(t)
	x.settings.Index = true
	f := must(archive.OpenFolder(x.settings.SaveTo))
	defer f.Close()
	open := must(f.OpenIndex((&Service{deps: x.deps}).indexWords(x.settings).titles(), ',', archive.Mark{}))
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- x.RunIndex(ctx) }()
	a := x.saved("a", "first")
	for !x.Health.Has(health.IndexWaits) {
		time.Sleep(time.Millisecond)
	}
	if j := x.job(a); j.State != office.JobDone {
		t.Errorf("the file is %s", j.State)
	}
	noErr(t, open.Close())
	b := x.saved("b", "second") // with which it is tried again
	for x.Health.Has(health.IndexWaits) {
		time.Sleep(time.Millisecond)
	}
	wantListed(t, x.settings.SaveTo, ',', a, b)
	stop()
	noErr(t, <-over)
}

func TestNoNameBecomesAFormula(t *testing.T) {
	x := newService(t)
	x.settings.Index = true
	j := x.plan("a")[0]
	x.update(func(tx *store.Tx) error {
		p, _, err := tx.Package("a")
		if err != nil {
			return err
		}
		p.Name = "=HYPERLINK(\"http://x\")\r\n;=1"
		p.Signers = []office.Signer{{ID: "s", FirstName: "@SUM(A1)", LastName: "Weber"}}
		return tx.PutPackage(p)
	})
	x.savedAs(j, "first")
	x.list()
	for _, cell := range index(t, x.settings.SaveTo, ',')[1] {
		if strings.IndexAny(cell, "=+-@") == 0 || strings.Contains(cell, ";=") {
			t.Errorf("%q is a formula", cell)
		}
	}
}

func TestATimeByWhichSomethingHadHappenedIsNoTimeAtWhichItDid(t *testing.T) {
	at := time.Date(2026, 11, 23, 20, 9, 0, 0, time.Local)
	p := office.Package{ID: "p", Name: "Lease", Source: office.Source{Reference: "2026-118"}, Due: at,
		Recipients: []office.Recipient{{FirstName: "Zoë"}}, Created: at.Add(-time.Hour), Executed: office.When{Time: at, By: true},
		Signers: []office.Signer{{ID: "j", FirstName: "Jan"}, {ID: "a", FirstName: "Ana"}}, History: []office.HistoryEntry{
			{Time: office.When{Time: at, By: true}, What: office.EntrySigned, Who: "j", Ref: "d"},
			{Time: office.When{Time: at.Add(-time.Minute)}, What: office.EntrySigned, Who: "a", Ref: "d"}}}
	for language, want := range map[string][8]string{
		"en": {"2026-118", "Jan (by 2026-11-23 20:09) / Ana (2026-11-23 20:08)", "Zoë", "2026-11-23 19:09", "2026-11-23 20:09", "by 2026-11-23 20:09", "p", "certificate"},
		"de": {"2026-118", "Jan (bis 2026-11-23 20:09) / Ana (2026-11-23 20:08)", "Zoë", "2026-11-23 19:09", "2026-11-23 20:09", "bis 2026-11-23 20:09", "p", "Zertifikat"},
	} {
		x := newService(t)
		x.settings.Language = language
		line := x.indexWords(x.settings).line(p,
			office.Job{PackageID: "p", Kind: office.FileCertificate, SavedFile: office.SavedFile{Done: at, Found: true}}, "Lease.pdf", "")
		if !strings.HasSuffix(line[0], " 2026-11-23 20:09") {
			t.Errorf("%s: a file that was there before was saved %q", language, line[0])
		}
		expect(t, [8]string(line[2:10]), want, language+": %q, want %q", want)
	}
}
