package download

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// save downloads one file to the folder. It returns an error only if the queue should pause.
func (r *Service) save(ctx context.Context, client *esign.Client, j office.Job, l limits) error {
	if l.downloads.Acquire(ctx, 1) != nil {
		return nil
	}
	received := sync.OnceFunc(func() { l.downloads.Release(1) })
	defer received()
	if r.blocked(j.Folder) || r.pausedFor() > 0 {
		return nil
	}
	folder, err := r.open(j.Folder)
	if err != nil {
		r.blockFolder(j, err)
		return nil
	}
	defer folder.Close()
	if r.folders.Len() > 0 { // one that could be opened may refuse files all the same, above all on Windows
		if err := folder.Try(); err != nil {
			r.blockFolder(j, err)
			return nil
		}
	}
	r.opened(j.Folder, false)
	folder.Syncs, folder.Cache = l.flushes, l.looks
	folder.Steps = func(step archive.Step, _ string) {
		r.Crash("save " + string(step))
		if step == archive.StepWritten {
			received() // from here on it waits only for the disk
		}
	}

	if isThere(folder, j) {
		j.Found = true
		return r.finish(j, false)
	}
	// A name that only macOS or Windows considers equal counts as taken.
	if twin, err := folder.Twin(j.Target); err == nil && twin {
		return r.rename(ctx, folder, j, archive.Saved{})
	}
	body, err := fetch(ctx, client, j)
	if err != nil {
		return r.refused(ctx, j, err)
	}
	defer body.Body.Close()
	saved, err := r.write(ctx, folder, &j, body)
	return r.conclude(ctx, folder, j, saved, err)
}

// otherSpelling is how many tries there are from one that also asks for the document under other spellings of its ID to the next.
const otherSpelling = 5

// fetch requests j's file, now and then also under the other spellings of its document's ID, if the service knows none under the
// first one seen.
func fetch(ctx context.Context, client *esign.Client, j office.Job) (*esign.Download, error) {
	body, err := client.Download(ctx, j.Kind, j.PackageID, j.DocumentID)
	if e, _ := errors.AsType[*esign.Error](err); e == nil || e.Status != http.StatusNotFound || j.Tries%otherSpelling != 0 {
		return body, err
	}
	for _, id := range apply.Cases(j.DocumentID) {
		if id == j.DocumentID {
			continue
		}
		if other, err := client.Download(ctx, j.Kind, j.PackageID, id); err == nil {
			return other, nil
		}
	}
	return body, err
}

// isThere recognizes j's file: its bytes were complete, and it may have been named when the program ended.
func isThere(folder *archive.Folder, j office.Job) bool {
	if j.Digest == "" {
		return false
	}
	same, err := folder.Matches(j.Target, j.Size, j.Digest)
	return err == nil && same
}

// write stores what the service sends at j's place in the folder. With errOtherName it returns what was received.
func (r *Service) write(ctx context.Context, folder *archive.Folder, j *office.Job, body *esign.Download) (archive.Saved, error) {
	var elsewhere archive.Saved
	saved, err := folder.Save(ctx, archive.Request{
		Target: j.Target, Key: r.tempKey(*j), Declared: body.Length, Body: body.Body, Before: r.cameBefore(*j, body.Length),
		Commit: func(s archive.Saved) error {
			if s.NoEnd { // with archive.Any, its bytes are others than those of earlier tries
				j.Unproven = s.Digest
			}
			if there, err := r.hasOtherName(folder, *j, s); err != nil {
				return err
			} else if there {
				elsewhere = s
				return errOtherName
			}
			defer r.Crash("save committed")
			return r.Data.Update(func(tx *store.Tx) error { return commitBytes(tx, *j, s) })
		},
	})
	if errors.Is(err, errOtherName) {
		return elsewhere, err
	}
	return saved, err
}

// conclude records the outcome of writing j's file.
func (r *Service) conclude(ctx context.Context, folder *archive.Folder, j office.Job, saved archive.Saved, err error) error {
	switch {
	case err == nil:
		r.Session.Note(ctx, nil)
		r.service.Worked("")
		r.service.Worked(inRow)
		r.opened(j.Folder, true)
		j.Size, j.Digest, j.Found = saved.Size, saved.Digest, false
		return r.finish(j, false)
	case errors.Is(err, archive.ErrExists), errors.Is(err, errOtherName):
		r.Session.Note(ctx, nil)
		return r.rename(ctx, folder, j, saved)
	case errors.Is(err, archive.ErrNoEnd):
		return r.unproven(j, err, saved)
	}
	return r.notSaved(ctx, folder, j, err)
}

// errMoved aborts a save whose job was moved to another folder meanwhile, or whose place belongs to another document.
var errMoved = errors.New("the file is to be saved elsewhere")

// errOtherName aborts a save because the file exists under another of its names.
var errOtherName = errors.New("the file is there under another name")

// commitBytes records what the file will be, so that it is recognized if the program ends right after the rename.
func commitBytes(tx *store.Tx, j office.Job, s archive.Saved) error {
	stored, ok, err := tx.Job(j.Key())
	if err != nil {
		return err
	}
	if !ok || stored.Folder != j.Folder || stored.Target != j.Target {
		return errMoved
	}
	stored.Size, stored.Digest, stored.Unproven = s.Size, s.Digest, j.Unproven
	return tx.PutJob(stored)
}

// finish records a file that is on disk, and announces its package if it was waiting for that. recognised says that the file existed
// before this program saved it.
func (r *Service) finish(j office.Job, recognised bool) error {
	var facts []office.Fact
	err := r.Data.Update(func(tx *store.Tx) error {
		facts = nil
		if mine, err := settle(tx, j); err != nil {
			return err
		} else if !mine {
			return errMoved
		}
		again := !j.Done.IsZero() && !recognised
		j.State, j.Done, j.Seal, j.Problem, j.NextTry = office.JobDone, r.Latest(), office.Seal{}, message.Message{}, time.Time{}
		j.Refused, j.Found = time.Time{}, j.Found || recognised
		if j.Compared != j.Digest { // saved again, with other bytes
			j.Match = office.Match{}
		}
		r.planLine(tx, &j)
		tx.PutJob(j)
		if p, ok, _ := tx.Package(j.PackageID); ok { // otherwise the file is saved regardless
			entry := office.HistoryEntry{Time: office.When{Time: j.Done, By: recognised}, What: office.EntrySaved, Ref: j.Target}
			if again {
				entry.What = office.EntryAgain
			}
			p.AddHistory(entry)
			facts = r.NoteFiles(tx, &p)
			tx.PutPackage(p)
		}
		line := office.Activity{
			Time: r.Now(), Kind: office.ActivitySaved, PackageID: j.PackageID,
			Text: message.Saved(j.Target, j.Folder),
		}
		if recognised {
			line.Text = message.SavedBefore(j.Target, j.Folder)
		}
		if j.Unproven != "" && j.Unproven == j.Digest {
			line.Text = message.Then(line.Text, message.EndUnproven())
		}
		return tx.AddActivity(line)
	})
	switch {
	case errors.Is(err, errMoved) && !recognised:
		return r.putOff(j, message.Message{}, 0, false)
	case err != nil:
		return fmt.Errorf("record the saved file %s: %w", j.Target, err)
	}
	r.deps.Announce(facts...)
	r.Asked.Worked(j.Key())
	r.TellGiven()
	loop.Wake(r.index)
	r.Signal(office.PackagesChanged)
	r.Signal(office.StatusChanged)
	return nil
}

// NoteFiles updates p with the state of its files, and returns the fact that it is saved, unless already reported.
func (r *Service) NoteFiles(tx *store.Tx, p *office.Package) []office.Fact {
	jobs, _ := tx.JobsOf(p.ID)
	p.Saved = p.Planned && (office.AllSaved(jobs) || len(jobs) == 0 && r.deps.Settings().SavedElsewhere)
	p.Problem = office.FirstProblem(jobs)
	return r.deps.Saved(tx, *p, jobs)
}

// sweepFolders removes temporary files of an earlier run from the folders of jobs, once per run and folder.
func (r *Service) sweepFolders(ctx context.Context, jobs []office.Job) {
	for _, j := range jobs {
		if _, swept := r.swept.Load(j.Folder); !swept {
			r.sweepFolder(ctx, j.Folder)
		}
	}
}

// sweepFolder cleans one folder. A missing one is cleaned when files are to be saved in it.
func (r *Service) sweepFolder(ctx context.Context, folder string) {
	f, err := r.open(folder)
	if err != nil {
		return
	}
	defer f.Close()
	// Several computers may share the folder, so only files of our jobs are removed.
	busy := r.state.busy()
	pending, err := data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs)
	if err != nil {
		return
	}
	ours := map[string]bool{}
	for _, j := range pending {
		ours[archive.Token(r.tempKey(j))] = !busy[j.Key()]
	}
	n, err := f.Sweep(ctx, func(token string) bool { return !ours[token] })
	if n > 0 || err != nil {
		r.Log.Info("removed leftover files", "count", n, "err", err)
	}
	r.swept.Store(folder, nil)
}

// unprovenApart is how far apart two downloads must be to confirm each other if the service announces no length: a network problem
// that cut off the first should have passed.
const unprovenApart = time.Minute

// cameBefore returns what an earlier try received, for archive.Request.Before, if the next try may confirm it. If the service
// announces the length and keeps to it, the next try is enough, and in the end even one with other bytes, if it makes the document
// anew for each request.
func (r *Service) cameBefore(j office.Job, declared int64) string {
	switch {
	case declared < 0 && r.unprovenWait(j) > 0:
		return ""
	case declared >= 0 && j.UnprovenTries >= unprovenEnough:
		return archive.Any
	}
	return j.Unproven
}

// unprovenEnough is after how many tries to accept a document that comes without its end, and with different bytes each time: over
// two hours, by when a service that is still writing the file has finished it.
const unprovenEnough = 12

// unprovenWait returns how long until what j received may be confirmed.
func (r *Service) unprovenWait(j office.Job) time.Duration {
	age := r.Now().Sub(j.UnprovenAt)
	return unprovenApart - min(max(0, age), unprovenApart)
}

// unproven postpones a job whose document came without its end. Most such documents were cut off, so the next try is soon; once the
// same content comes again, the try after that may confirm it.
func (r *Service) unproven(j office.Job, cause error, got archive.Saved) error {
	var wait time.Duration
	err := r.Data.Update(func(tx *store.Tx) error {
		wait = 0
		stored, ok, err := tx.Job(j.Key())
		if !ok || stored.State == office.JobDone {
			return err
		}
		if stored.Unproven == got.Digest && !stored.UnprovenAt.After(r.Now()) { // otherwise recorded by a wrong clock
			wait = r.unprovenWait(stored)
			return nil
		}
		stored.Unproven, stored.UnprovenAt = got.Digest, r.Now()
		stored.UnprovenTries++
		return tx.PutJob(stored)
	})
	if err != nil {
		return fmt.Errorf("record what came of %s: %w", j.Target, err)
	}
	return r.putOff(j, archive.Message(cause), wait, true)
}

// A file that the service has not provided for this long, despite this many requests (a computer that was off for weeks has made
// none), is requested about once a day. It is never given up.
const (
	failedAfter = 14 * 24 * time.Hour
	failedTries = 30
)

// The longest pauses between two tries: while a file is expected, and after it has failed.
const (
	maxSavePause   = 2 * time.Hour
	maxFailedPause = 20 * time.Hour
)

// notSaved handles a download that did not become a file.
func (r *Service) notSaved(ctx context.Context, folder *archive.Folder, j office.Job, err error) error {
	switch {
	case ctx.Err() != nil, errors.Is(err, errMoved):
		return nil
	case folder.Refuses(err):
		r.blockFolder(j, err)
		return nil
	case errors.Is(err, archive.ErrDownload):
		return r.fail(j, err, archive.Message(err), true)
	default:
		// The content was complete but wrong: that is the service's doing, and may repeat.
		sent := errors.Is(err, archive.ErrNotPDF) || errors.Is(err, archive.ErrShort) || errors.Is(err, archive.ErrLong)
		return r.putOff(j, archive.Message(err), 0, sent)
	}
}

// rename handles a taken target. A file with exactly these bytes is the document, saved before the state was lost, or by hand;
// others are left alone, and the job gets the next name. saved is what was received, zero for nothing.
func (r *Service) rename(ctx context.Context, folder *archive.Folder, j office.Job, saved archive.Saved) error {
	wanted := j.WantedName()
	if saved.Digest != "" {
		if err := r.recognise(folder, j, wanted, saved); !errors.Is(err, errMoved) {
			return err
		}
	}
	inUse, err := namesThere(folder, wanted)
	if err != nil {
		return r.notSaved(ctx, folder, j, err)
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Job(j.Key())
		if !ok || stored.Folder != j.Folder || stored.Target != j.Target { // it has been moved meanwhile, see settle
			return err
		}
		// Its own reservation does not block the name, but the file there does.
		stored.Target = freeName(tx, j.Folder, wanted, inUse)
		stored.Size, stored.Digest = 0, ""
		if saved.Digest != "" && !stored.Problem.IsZero() { // the service provides it after all
			stored.Tries, stored.Problem = 0, message.Message{}
		}
		// If the folder keeps refusing, pause before the next try.
		if stored.Tries++; stored.Tries > 3 {
			stored.NextTry = r.Now().Add(r.Backoff(stored.Tries-3, r.Pace.Retry, time.Hour))
		}
		return tx.PutJob(stored)
	})
	if err != nil {
		return fmt.Errorf("choose another name for %s: %w", j.Target, err)
	}
	return nil
}

// recognise gives j the file of that name, possibly with a number, which has exactly these bytes. It fails with errMoved if there is
// none.
func (r *Service) recognise(folder *archive.Folder, j office.Job, wanted string, saved archive.Saved) error {
	there, err := folder.Series(wanted)
	if err != nil {
		return errMoved
	}
	for _, name := range there {
		same, err := folder.Matches(name, saved.Size, saved.Digest)
		if err != nil || !same {
			continue
		}
		found := j
		found.Target, found.Size, found.Digest = name, saved.Size, saved.Digest
		err = r.finish(found, true)
		if !errors.Is(err, errMoved) { // belongs to another document that only looks the same
			return err
		}
	}
	return errMoved
}

// refused handles an answer of the service that is not the file.
func (r *Service) refused(ctx context.Context, j office.Job, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	r.Session.Note(ctx, err)
	if loop.ConcernsAll(err) || r.Session.SignedOut(err) {
		return err // not the fault of this file
	}
	e, _ := errors.AsType[*esign.Error](err)
	_, alone := r.Asked.Failed(j.Key(), r.Now(), nil)
	refused := loop.Refuses(e, alone)
	switch e.Kind {
	case esign.Invalid: // the service was not called
		problem := message.Then(esign.Message(err), message.LookOnItsPages())
		r.TellUnusable(j.Key(), j.PackageID, problem)
		return r.putOff(j, problem, loop.UnusablePause, true)
	case esign.TooMany:
		return errors.Join(r.putOff(j, message.Message{}, e.RetryAfter, refused), err)
	case esign.Network, esign.Server, esign.BadAnswer:
		return r.fail(j, err, esign.Message(err), refused)
	default:
		return r.putOff(j, loop.RefusalProblem(e), e.RetryAfter, refused)
	}
}

// fail postpones a job whose file the service failed to provide. If several fail in a row, the files are not to blame, and the queue
// pauses.
func (r *Service) fail(j office.Job, cause error, problem message.Message, refused bool) error {
	var after time.Duration
	if e, answered := errors.AsType[*esign.Error](cause); answered {
		after = e.RetryAfter
	}
	if err := r.putOff(j, problem, after, refused); err != nil {
		return err
	}
	if tries, _ := r.service.Failed(inRow, r.Now(), nil); tries > atOnce {
		return cause
	}
	return nil
}

// putOff postpones a job: by seconds at first, then minutes, hours, and finally about a day. refused says that the service is to
// blame.
func (r *Service) putOff(j office.Job, problem message.Message, atLeast time.Duration, refused bool) error {
	var facts []office.Fact
	changed := false
	err := r.Data.Update(func(tx *store.Tx) error {
		facts, changed = nil, false
		stored, ok, err := tx.Job(j.Key())
		if !ok || stored.State == office.JobDone {
			return err
		}
		stored.Tries++
		stored.Problem = problem
		now, most := r.Now(), maxSavePause
		if refused {
			office.RefusedFor(&stored.Refused, now)
		}
		if now.Sub(stored.Planned) > failedAfter && stored.Tries > failedTries {
			stored.State, most = office.JobFailed, maxFailedPause
		}
		stored.NextTry = now.Add(max(r.Backoff(stored.Tries, r.Pace.Retry, most), atLeast))
		tx.PutJob(stored)
		p, ok, err := tx.Package(j.PackageID)
		if errors.Is(err, store.ErrRecord) {
			return nil // the job is retried like any other
		}
		if !ok {
			return err
		}
		jobs, err := tx.JobsOf(j.PackageID)
		if err != nil {
			return err
		}
		if problem := office.FirstProblem(jobs); p.Problem != problem {
			p.Problem, changed = problem, true
			tx.PutPackage(p)
		}
		facts = r.deps.Saved(tx, p, jobs)
		return nil
	})
	if err == nil {
		r.deps.Announce(facts...)
		if changed {
			r.Signal(office.PackagesChanged)
		}
	}
	r.TellRefused()
	return err
}

// TellRefused updates the health issue about files that the service does not provide: signed documents after an hour, whatever the
// reason; their companion files after weeks, because some documents have none.
func (r *Service) TellRefused() {
	packages, extras, err := r.withheld()
	if err != nil {
		return // the issue stays unchanged
	}
	var withheld, failed message.Message
	for _, name := range packages {
		withheld = message.PackageWithheld(name)
	}
	if len(packages) > 1 {
		withheld = message.PackagesWithheld(len(packages))
	}
	if extras > 0 {
		failed = message.FilesGivenUp(extras)
	}
	r.Health.Update(health.FilesRefused, withheld)
	r.Health.Update(health.FilesFailed, failed)
}

// withheld returns, by id, the names of packages whose signed documents the service does not provide, and the number of other files.
func (r *Service) withheld() (packages map[string]string, extras int, err error) {
	packages, err = data.Read(r.Data, "what the service does not give", func(tx *store.Tx) (map[string]string, error) {
		names := map[string]string{}
		since := r.Now().Add(-office.WithheldAfter)
		packages, _ := tx.PackagesRefused(since)
		for _, p := range packages {
			names[p.ID] = p.DisplayName()
		}
		jobs, _ := tx.JobsRefused(since)
		for _, j := range jobs {
			if _, known := names[j.PackageID]; j.Kind != office.FileSigned || known {
				continue
			}
			p, _, err := tx.Package(j.PackageID) // without its name if unreadable
			if err != nil && !store.OfOneRecord(err) {
				return nil, err
			}
			names[j.PackageID] = p.DisplayName()
		}
		failed, err := tx.FailedJobs()
		for _, j := range failed {
			if j.Kind != office.FileSigned {
				extras++
			}
		}
		return names, err
	})
	return packages, extras, err
}

// TellGiven is TellRefused for when something arrived that may have been withheld.
func (r *Service) TellGiven() {
	if r.Health.Has(health.FilesRefused) || r.Health.Has(health.FilesFailed) {
		r.TellRefused()
	}
}

// Recent returns the files saved last, newest first.
func (r *Service) Recent(limit int) ([]office.Job, error) {
	return data.Read(r.Data, "the saved files", func(tx *store.Tx) ([]office.Job, error) { return tx.RecentSaved(limit) })
}

// SaveAgain downloads the files of an executed package again. A missing file gets its old name; an unchanged one stays; beside a
// changed one the next free name is used.
func (r *Service) SaveAgain(packageID string) error {
	s := r.deps.Settings()
	p, _, err := r.Data.Package(packageID)
	if err == nil && p.Away {
		return message.Error(message.AtAnotherService(), nil)
	}
	var folder string
	if err == nil {
		folder, err = r.Folder(s, p)
	}
	var inUse map[string]map[string]bool
	if err == nil {
		inUse, err = r.namesInUse(packageID, folder)
	}
	if err != nil {
		return fmt.Errorf("save package %s again: %w", packageID, err)
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if !ok {
			return err
		}
		jobs, _ := tx.JobsOf(packageID)
		for _, j := range jobs {
			r.anew(&j)
			j.Size, j.Digest = 0, ""
			j.Unproven, j.UnprovenAt, j.UnprovenTries = "", time.Time{}, 0
			if j.Folder != s.SaveTo {
				j.Folder = folder
			}
			nameAgain(tx, &j, inUse[j.Folder])
			tx.PutJob(j)
		}
		p.Saved, p.Planned, p.Problem, p.Astray = false, p.Planned && len(jobs) > 0, message.Message{}, false
		p.NextCheck = r.Now() // if nothing is planned, ask the service again
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("save package %s again: %w", packageID, err)
	}
	loop.Wake(r.work)
	r.deps.Ask()
	r.Signal(office.PackagesChanged)
	return nil
}

// anew makes j due now, and requested as often as a new one.
func (r *Service) anew(j *office.Job) {
	j.State, j.Planned, j.NextTry, j.Tries, j.Problem = office.JobPending, r.Now(), r.Now(), 0, message.Message{}
	j.Astray, j.AstrayRead, j.Renamed, j.ListedAs = message.Message{}, false, "", ""
}

// namesInUse returns, by folder, the names in use among those that a package's files may get. If a folder is unreachable, only the
// names of other jobs are known; the save itself never overwrites.
func (r *Service) namesInUse(packageID, next string) (map[string]map[string]bool, error) {
	jobs, err := data.Read(r.Data, "the files of a package", func(tx *store.Tx) ([]office.Job, error) { return tx.JobsOf(packageID) })
	inUse := map[string]map[string]bool{}
	for _, j := range jobs {
		for _, at := range []string{j.Folder, next} {
			folder, err := archive.OpenFolder(at)
			if err != nil {
				continue
			}
			if inUse[at] == nil {
				inUse[at] = map[string]bool{}
			}
			for _, name := range []string{j.Target, j.WantedName()} {
				there, err := namesThere(folder, name)
				if err != nil {
					folder.Close()
					return nil, err
				}
				maps.Copy(inUse[at], there)
			}
			folder.Close()
		}
	}
	return inUse, err
}

// nameAgain keeps j's name if no file or other job has it, and otherwise chooses the next free one.
func nameAgain(tx *store.Tx, j *office.Job, inUse map[string]bool) {
	other, taken, _ := tx.JobAt(j.Folder, j.Target)
	if taken && other.Key() != j.Key() || inUse[j.Target] {
		j.Target = freeName(tx, j.Folder, j.WantedName(), inUse)
	}
}

// RetryFailed requests now, and again as often as new ones, the files that the service has not provided for weeks.
func (r *Service) RetryFailed() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		failed, _ := tx.FailedJobs()
		for _, j := range failed {
			r.anew(&j)
			tx.PutJob(j)
		}
		return nil
	})
	r.TellRefused()
	if err != nil {
		return fmt.Errorf("try the failed files again: %w", err)
	}
	return nil
}
