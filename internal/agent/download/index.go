package download

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// A folder's index lists each saved file once. In the commit that records the file, its line is marked as missing; the line is
// written and flushed; then the line is recorded as present. A line found in the index when it is written again was written before
// an interruption between the last two steps. If the index is not as we left it, because people or another computer changed it, it
// was deleted, or the folder is a different one, all files are compared with it, and missing ones are added.

const (
	docUnlisted = "unlisted/" // plus the hash of a job's key: a file whose line is missing
	docIndexes  = "indexes"   // where the indexes ended, by folder
)

const (
	indexBatch = 100              // lines written at once
	indexBusy  = 30 * time.Second // pause after another program had the index open, doubling up to:
	indexPause = 5 * time.Minute
)

// unlisted names the document that marks j's line as missing.
func unlisted(key string) string {
	sum := sha256.Sum256([]byte(key))
	return docUnlisted + hex.EncodeToString(sum[:16])
}

// planLine marks j's line as missing in the index, in the commit that records j as saved.
func (r *Service) planLine(tx *store.Tx, j *office.Job) {
	s := r.deps.Settings()
	j.ListIn = ""
	if s.SaveTo != j.Folder {
		j.ListIn = s.SaveTo
	}
	if s.Index {
		tx.PutDoc(unlisted(j.Key()), j.Key())
	}
}

// RunIndex keeps the indexes up to date if the office wants them, separately from saving: a file that somebody has open in a
// spreadsheet delays no document.
func (r *Service) RunIndex(ctx context.Context) error {
	for tries := 0; ; {
		pause := time.Hour
		switch err := r.listAll(ctx); {
		case err == nil:
			tries = 0
			r.Health.Clear(health.IndexWaits)
		case ctx.Err() != nil:
			return nil
		default:
			tries++
			pause = r.Backoff(tries, indexBusy, indexPause)
			r.Log.Debug("the index waits", "err", err, "pause", pause)
			text := message.IndexWaits()
			if errors.Is(err, archive.ErrMissing) && !errors.Is(err, archive.ErrBusy) {
				text = archive.Message(err)
			}
			r.Health.Set(health.IndexWaits, text)
		}
		if !loop.Wait(ctx, pause, r.index) {
			return nil
		}
	}
}

// listAll writes the missing lines of every index. A folder that accepts no lines does not affect others; one that the office has
// left and that does not exist is not reported: its lines wait for it.
func (r *Service) listAll(ctx context.Context) error {
	var failed []error
	away := map[string]bool{}
	for after, first := "", true; ctx.Err() == nil; first = false {
		s := r.deps.Settings()
		if !s.Index || s.SaveTo == "" {
			return nil
		}
		missing, next, err := r.missingLines(after)
		if err != nil {
			return err
		}
		marks, _, err := data.Doc[map[string]archive.Mark](r.Data, docIndexes)
		if err != nil {
			return err
		}
		folders := map[string][]office.Job{}
		for _, j := range missing {
			folders[j.IndexFolder()] = append(folders[j.IndexFolder()], j)
		}
		if _, begun := marks[s.SaveTo]; first && !begun && len(folders[s.SaveTo]) == 0 { // just turned on, or a new folder
			folders[s.SaveTo] = nil
		}
		for folder, jobs := range folders {
			if away[folder] {
				continue
			}
			err := r.list(ctx, s, folder, jobs, marks[folder])
			if away[folder] = err != nil; err != nil && (folder == s.SaveTo || !errors.Is(err, archive.ErrMissing)) {
				failed = append(failed, err)
			}
		}
		if next == "" {
			return errors.Join(failed...)
		}
		after = next
	}
	return ctx.Err()
}

// missingLines returns the next files, after a document, whose lines are missing, in the order of saving, and the document after
// which there are more; "" for none. A file being saved again has no line until then.
func (r *Service) missingLines(after string) (missing []office.Job, next string, err error) {
	var stale []string
	missing, err = data.Read(r.Data, "the files to be listed", func(tx *store.Tx) (jobs []office.Job, err error) {
		read := 0
		for name, key := range store.Docs[string](tx, docUnlisted, after) {
			if j, _, _ := tx.Job(key); j.State == office.JobDone { // the zero one when there is none, or it cannot be read
				jobs = append(jobs, j)
			} else {
				stale = append(stale, name)
			}
			if read++; read == indexBatch {
				next = name
				break
			}
		}
		return jobs, nil
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(missing, func(a, b office.Job) int { return cmp.Or(a.Done.Compare(b.Done), cmp.Compare(a.Key(), b.Key())) })
	if len(stale) == 0 {
		return missing, next, nil
	}
	return missing, next, r.Data.Update(func(tx *store.Tx) error {
		for _, name := range stale {
			tx.PutDoc(name, nil)
		}
		return nil
	})
}

// list adds these files' missing lines to one index, and, if the index is not as we left it, those of all others.
func (r *Service) list(ctx context.Context, s office.Settings, folder string, missing []office.Job, mark archive.Mark) error {
	f, err := r.open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	w := r.indexWords(s)
	if mark.Name == "" && len(missing) == 0 {
		if first, err := r.savedIn(folder, "", 1); err != nil || len(first) == 0 {
			return err // no files to start an index
		}
	}
	x, err := f.OpenIndex(w.titles(), w.comma, mark)
	if err != nil {
		return err
	}
	defer x.Close()
	if x.Others() || slices.ContainsFunc(missing, func(j office.Job) bool { return j.Listed != "" }) {
		if err := x.ReadAll(); err != nil {
			return err
		}
	}
	if err := r.writeLines(folder, x, missing, w, !x.Whole()); err != nil || !x.Whole() {
		return err
	}
	for after := ""; ctx.Err() == nil; {
		jobs, err := r.savedIn(folder, after, indexBatch)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return r.writeLines(folder, x, nil, w, true)
		}
		after = jobs[len(jobs)-1].Key()
		jobs = slices.DeleteFunc(jobs, func(j office.Job) bool {
			at, listed := listedAs(x, folder, j, listedSum(j))
			return j.Listed != "" && listed && at == j.ListedAs
		})
		if len(jobs) == 0 {
			continue
		}
		if err := r.writeLines(folder, x, jobs, w, false); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// savedIn returns the next files listed in the folder's index, sorted by key.
func (r *Service) savedIn(folder, after string, most int) ([]office.Job, error) {
	return data.Read(r.Data, "the saved files", func(tx *store.Tx) ([]office.Job, error) {
		return tx.JobsAfter(after, most, func(j office.Job) bool { return j.State == office.JobDone && j.IndexFolder() == folder })
	})
}

// listedSum returns the checksum under which the index already lists j.
func listedSum(j office.Job) string {
	if j.Listed == noSum {
		return ""
	}
	return j.Listed
}

// noSum replaces the checksum of a file that was moved or changed before it was listed, or that may already be listed.
const noSum = "-"

// writeLines appends these files' missing lines and records them as present; with done, it also records where the index ends, which
// means that it is complete up to there.
func (r *Service) writeLines(folder string, x *archive.Index, jobs []office.Job, w indexWords, done bool) error {
	var lines [][]string
	packages := map[string]office.Package{}
	listed := map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		sum := r.sumOf(*j)
		j.Listed = cmp.Or(sum, noSum)
		path := pathIn(folder, *j)
		if at, yes := listedAs(x, folder, *j, sum); yes || listed[path+"\x00"+sum] {
			j.ListedAs = cmp.Or(at, path)
			continue
		}
		p, known := packages[j.PackageID]
		if !known {
			var err error
			if p, _, err = r.Data.Package(j.PackageID); err != nil && !store.OfOneRecord(err) {
				return err
			}
			packages[j.PackageID] = p
		}
		listed[path+"\x00"+sum], j.ListedAs = true, path
		lines = append(lines, w.line(p, *j, path, sum))
	}
	mark, err := x.Append(lines)
	if err != nil {
		return err
	}
	r.Crash("index written")
	err = r.Data.Update(func(tx *store.Tx) error {
		if done {
			keepMark(tx, folder, mark)
		}
		for _, j := range jobs {
			now, ok, _ := tx.Job(j.Key())
			if !ok || now.State != office.JobDone || !now.Done.Equal(j.Done) {
				continue // unreadable, or saved again meanwhile, with its own line
			}
			now.Listed, now.ListedAs = j.Listed, j.ListedAs
			tx.PutJob(now)
			tx.PutDoc(unlisted(j.Key()), nil)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record what is listed: %w", err)
	}
	return nil
}

// keepMark records where a folder's index ends.
func keepMark(tx *store.Tx, folder string, mark archive.Mark) {
	marks := map[string]archive.Mark{}
	tx.GetDoc(docIndexes, &marks)
	marks[folder] = mark
	tx.PutDoc(docIndexes, marks)
}

// pathIn returns a file's path for a folder's index: relative with slashes if below it, otherwise absolute.
func pathIn(folder string, j office.Job) string {
	if j.Folder == folder {
		return office.Cell(j.At())
	}
	return office.Cell(j.Path())
}

// listedAs returns the path by which the index lists j: that of its name or of one that it had before somebody renamed it.
func listedAs(x *archive.Index, folder string, j office.Job, sum string) (path string, listed bool) {
	first := j
	first.Renamed = ""
	for _, path := range []string{pathIn(folder, j), pathIn(folder, first), j.ListedAs} {
		if x.Has(path, sum) {
			return path, true
		}
	}
	return "", false
}

// sumOf returns the SHA-256 of the saved file; empty if it has been replaced or is gone.
func (r *Service) sumOf(j office.Job) string {
	f, err := archive.OpenFolder(j.Folder)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum, err := f.SHA256(j.At(), j.Size, j.Digest)
	if err != nil {
		return ""
	}
	return sum
}

// indexWords are the words of an index in the office's language. An existing index keeps its own.
type indexWords struct {
	*message.Printer
	comma byte
}

var printers = sync.OnceValue(func() map[string]*message.Printer {
	all := map[string]*message.Printer{}
	for _, code := range message.Languages() {
		p, err := message.NewPrinter(code)
		if err != nil {
			panic(err) // the words are embedded, and a test reads them
		}
		all[code] = p
	}
	return all
})

func (r *Service) indexWords(s office.Settings) indexWords {
	code := cmp.Or(s.Language, r.deps.Language(), "en")
	p, known := printers()[code]
	if !known {
		p, code = printers()["en"], "en"
	}
	return indexWords{p, office.Comma(code)}
}

// titles returns the column titles except the last, which archive knows.
func (w indexWords) titles() (list []string) {
	for _, m := range []message.Message{message.IndexSaved(), message.IndexPackage(), message.IndexReference(), message.IndexPeople(), message.IndexCopies(),
		message.IndexSent(), message.IndexDue(), message.IndexSigned(), message.IndexNumber(), message.IndexKind(), message.IndexFile()} {
		list = append(list, w.Text(m))
	}
	return list
}

func (w indexWords) line(p office.Package, j office.Job, path, sum string) []string {
	var people, copies []string
	plain := strings.NewReplacer(",", " ", ";", " ")
	for _, s := range p.Signers {
		if !p.Signed(s) {
			continue
		}
		who := plain.Replace(s.DisplayName())
		if when := w.when(p.SignedAt(s.ID)); when != "" {
			who += " (" + when + ")"
		}
		people = append(people, who)
	}
	for _, r := range p.Recipients {
		copies = append(copies, plain.Replace(r.DisplayName()))
	}
	kind := map[office.FileKind]message.Message{office.FileSigned: message.IndexDocument(), office.FileCertificate: message.FileCertificate(),
		office.FileMaster: message.FileMaster()}[j.Kind]
	return []string{w.when(office.When{Time: j.Done, By: j.Found}), office.Cell(p.DisplayName()), office.Cell(p.Reference),
		office.Cell(strings.Join(people, " / ")), office.Cell(strings.Join(copies, " / ")), w.when(p.Sent()), indexTime(p.Due),
		w.when(p.Executed), office.Cell(j.PackageID), w.Text(kind), path, sum}
}

// when writes a time for a cell; empty if unknown.
func (w indexWords) when(at office.When) string {
	text := indexTime(at.Time)
	if at.By {
		text = w.Text(message.ByTime(text))
	}
	return text
}

// indexTime writes a time in this computer's zone, readable for spreadsheets in every language.
func indexTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// exportSpare is how many bytes an export leaves free on the disk.
const exportSpare = 16 << 20

// Export copies the packages' saved files into a folder, which is created if needed, under their names below the office's folder. It
// overwrites nothing: an identical existing file stays, and beside a different one of the same name the copy gets a number. It
// continues after a file that cannot be copied, unless the folder accepts no more. An error means that nothing could be started.
func (r *Service) Export(ctx context.Context, packageIDs []string, folder string) (x office.Exported, err error) {
	var jobs []office.Job
	for _, id := range packageIDs {
		saved, err := data.Read(r.Data, "the saved files", func(tx *store.Tx) (done []office.Job, err error) {
			all, err := tx.JobsOf(id)
			for _, j := range all {
				if j.State == office.JobDone {
					done = append(done, j)
				}
			}
			return done, err
		})
		if err != nil {
			return x, err
		}
		if len(saved) > 0 {
			x.Packages++
		}
		jobs = append(jobs, saved...)
	}
	x.Files = len(jobs)
	if err := disk.MkdirAll(folder, 0o755); err != nil {
		r.Log.Warn("make a folder to export to", "err", err) // opening it then fails with the error
	}
	to, err := archive.OpenFolder(folder)
	if err != nil {
		return x, message.Error(archive.Message(err), err)
	}
	defer to.Close()
	for _, j := range jobs {
		err := export(ctx, to, j)
		switch {
		case err == nil:
			x.Copied++
		case errors.Is(err, errChanged), errors.Is(err, fs.ErrNotExist) && !errors.Is(err, archive.ErrMissing):
			x.Lost++
		default:
			r.Log.Warn("export a file", "err", err)
			if x.Problem = archive.Message(err); ctx.Err() != nil || to.Refuses(err) {
				return x, nil
			}
		}
	}
	return x, nil
}

var errChanged = errors.New("the file is not as it was saved")

// export copies one file under the first free name.
func export(ctx context.Context, to *archive.Folder, j office.Job) error {
	source, err := archive.OpenSaved(j.Folder, j.At())
	if err != nil {
		return err
	}
	defer source.Close()
	if same, err := archive.IsSaved(source, j.Size, j.Digest); err != nil || !same {
		return cmp.Or(err, errChanged)
	}
	for n := 1; ; n++ {
		name := filename.Numbered(j.Target, n)
		taken, err := to.Exists(name)
		if err != nil {
			return err
		}
		if taken {
			if same, err := to.Matches(name, j.Size, j.Digest); err == nil && same {
				return nil
			}
			continue
		}
		if _, err := to.Take(ctx, archive.Taking{Target: name, Source: source, Spare: exportSpare, Shared: true}); !errors.Is(err, archive.ErrExists) {
			return err
		}
	}
}
