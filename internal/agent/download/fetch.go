package download

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// save brings one file to the folder. It returns an error only when the queue is to pause.
func (r *Service) save(ctx context.Context, client *esign.Client, j office.Job, l limits) error {
	if !l.downloads.Acquire(ctx) {
		return nil
	}
	received := sync.OnceFunc(l.downloads.Release)
	defer received()
	if r.blocked(j.Folder) || r.pausedFor() > 0 {
		return nil
	}
	folder, err := archive.OpenFolder(j.Folder)
	if err != nil {
		return r.blockFolder(j, err)
	}
	defer folder.Close()
	r.opened(j.Folder, false)
	folder.Syncs, folder.Cache = l.flushes, l.looks
	folder.Steps = func(step archive.Step, _ string) {
		r.deps.Crash("save " + string(step))
		if step == archive.StepWritten {
			received() // from here on only the disk is waited for
		}
	}

	if isThere(folder, j) {
		j.Found = true
		return r.finish(j, false)
	}
	// A name that only a Mac or a Windows computer takes for the same is taken all the same.
	if twin, err := folder.Twin(j.Target); err == nil && twin {
		return r.rename(folder, j, archive.Saved{})
	}
	body, err := client.Download(ctx, esign.FileKind(j.Kind), j.PackageID, j.DocumentID)
	if err != nil {
		return r.refused(ctx, j, err)
	}
	defer body.Body.Close()
	saved, err := r.write(ctx, folder, j, body)
	return r.conclude(ctx, folder, j, saved, err)
}

// isThere recognises j's file: its bytes were complete and it may have been given its name when the program ended.
func isThere(folder *archive.Folder, j office.Job) bool {
	if j.Digest == "" {
		return false
	}
	same, err := folder.Matches(j.Target, j.Size, j.Digest)
	return err == nil && same
}

// write brings what the service sends to j's place in the folder. With errOtherName it returns what was received.
func (r *Service) write(ctx context.Context, folder *archive.Folder, j office.Job, body *esign.Download) (archive.Saved, error) {
	var elsewhere archive.Saved
	saved, err := folder.Save(ctx, archive.Request{
		Target: j.Target, Key: r.tempKey(j), Declared: body.Length, Body: body.Body, Before: r.cameBefore(j, body.Length),
		Commit: func(s archive.Saved) error {
			if there, err := r.hasOtherName(folder, j, s); err != nil {
				return err
			} else if there {
				elsewhere = s
				return errOtherName
			}
			defer r.deps.Crash("save committed")
			return r.Data.Update(func(tx *store.Tx) error { return commitBytes(tx, j, s) })
		},
	})
	if errors.Is(err, errOtherName) {
		return elsewhere, err
	}
	return saved, err
}

// conclude records how writing j's file ended.
func (r *Service) conclude(ctx context.Context, folder *archive.Folder, j office.Job, saved archive.Saved, err error) error {
	switch {
	case err == nil:
		r.deps.Answered(ctx, nil)
		r.service.Worked("")
		r.opened(j.Folder, true)
		j.Size, j.Digest, j.Found = saved.Size, saved.Digest, false
		return r.finish(j, false)
	case errors.Is(err, archive.ErrExists), errors.Is(err, errOtherName):
		r.deps.Answered(ctx, nil)
		return r.rename(folder, j, saved)
	case errors.Is(err, archive.ErrNoEnd):
		return r.unproven(j, err, saved)
	}
	return r.notSaved(ctx, j, err)
}

// errMoved gives a save up whose job was sent to another folder meanwhile, or whose place is another document's.
var errMoved = errors.New("the file is to be saved elsewhere")

// errOtherName is a save given up because the file is there under another of its names.
var errOtherName = errors.New("the file is there under another name")

// commitBytes records what the file will be, so that it is recognised should the program end right after its rename.
func commitBytes(tx *store.Tx, j office.Job, s archive.Saved) error {
	stored, ok, err := tx.Job(j.Key())
	if err != nil {
		return err
	}
	if !ok || stored.Folder != j.Folder || stored.Target != j.Target {
		return errMoved
	}
	stored.Size, stored.Digest = s.Size, s.Digest
	return tx.PutJob(stored)
}

// finish records a file that is on disk, and announces its package when that was what it waited for. recognised is a
// file that was there before this program saved it.
func (r *Service) finish(j office.Job, recognised bool) error {
	var facts []office.Fact
	var line office.Activity
	err := r.Data.Update(func(tx *store.Tx) error {
		facts, line = nil, office.Activity{}
		if mine, err := settle(tx, j); err != nil {
			return err
		} else if !mine {
			return errMoved
		}
		j.State, j.Done, j.Problem, j.NextTry = office.JobDone, r.Now(), message.Message{}, time.Time{}
		j.Refused, j.Found = time.Time{}, j.Found || recognised
		if err := r.planLine(tx, &j); err != nil {
			return err
		}
		if err := tx.PutJob(j); err != nil {
			return err
		}
		p, ok, err := tx.Package(j.PackageID)
		if errors.Is(err, store.ErrRecord) {
			ok = false // its file is saved all the same
		} else if err != nil {
			return err
		}
		if ok {
			p.AddHistory(office.HistoryEntry{Time: office.When{Time: r.Now(), By: recognised}, What: office.EntrySaved, Ref: j.Target})
			if facts, err = r.NoteFiles(tx, &p); err != nil {
				return err
			}
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		line = office.Activity{
			Time: r.Now(), Kind: "saved", PackageID: j.PackageID,
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
	r.Tell(line)
	r.deps.Announce(facts...)
	r.Asked.Worked(j.Key())
	r.TellGiven()
	loop.Wake(r.index)
	r.Signal(office.PackagesChanged)
	r.Signal(office.StatusChanged)
	return nil
}

// NoteFiles draws into p how far its files are, and returns the fact that it is saved, when people were not told yet.
func (r *Service) NoteFiles(tx *store.Tx, p *office.Package) ([]office.Fact, error) {
	jobs, err := tx.JobsOf(p.ID)
	if err != nil {
		return nil, err
	}
	p.Saved = p.Planned && office.AllSaved(jobs)
	p.Problem = office.FirstProblem(jobs)
	return r.deps.Saved(tx, *p, jobs)
}

// docFoldersLeft names the document with the folders that settings have left: temporary files of ours may still be in them.
const docFoldersLeft = "folders-left"

// leaveFolder remembers a folder for the next start.
func leaveFolder(tx *store.Tx, folder string) error {
	var left []string
	if _, err := tx.GetDoc(docFoldersLeft, &left); err != nil {
		return err
	}
	if slices.Contains(left, folder) {
		return nil
	}
	return tx.PutDoc(docFoldersLeft, append(left, folder))
}

// sweepAll removes temporary files that an earlier run left behind in the office's folder and in those it had
// before. A folder that is not there now is looked into once files are to be saved in it, or with the next start.
func (r *Service) sweepAll(ctx context.Context) {
	left, _, err := data.Doc[[]string](r.Data, docFoldersLeft)
	if err != nil {
		return // the next start sweeps them
	}
	if s := r.deps.Settings(); s.SaveTo != "" {
		r.sweepFolder(ctx, s.SaveTo)
	}
	remaining := slices.DeleteFunc(slices.Clone(left), func(folder string) bool { return r.sweepFolder(ctx, folder) })
	if len(remaining) == len(left) {
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docFoldersLeft, remaining) }); err != nil {
		r.Log.Warn("forget the folders left", "err", err)
	}
}

// sweepFolders does the same for the folders of jobs, once per run each. No save is under way.
func (r *Service) sweepFolders(ctx context.Context, jobs []office.Job) {
	for _, j := range jobs {
		if _, swept := r.swept.Load(j.Folder); !swept {
			r.sweepFolder(ctx, j.Folder)
		}
	}
}

// sweepFolder reports whether the folder could be looked through.
func (r *Service) sweepFolder(ctx context.Context, folder string) bool {
	f, err := archive.OpenFolder(folder)
	if err != nil {
		return false
	}
	defer f.Close()
	// Several computers may share the folder: only what belongs to jobs of ours goes.
	busy := r.state.busy()
	pending, err := data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs)
	if err != nil {
		return false
	}
	ours := map[string]bool{}
	for _, j := range pending {
		ours[archive.Token(r.tempKey(j))] = !busy[j.Key()]
	}
	n, err := f.Sweep(ctx, func(token string) bool { return !ours[token] })
	if err != nil {
		r.Log.Warn("remove leftover files", "err", err)
		return false
	}
	if n > 0 {
		r.Log.Info("removed leftover files", "count", n)
	}
	r.swept.Store(folder, nil)
	return true
}

// unprovenApart is how far apart two downloads lie that are to confirm each other where the service announces no length:
// trouble on the way that cut off the first one at some place should not be there any more.
const unprovenApart = time.Minute

// cameBefore is what an earlier try received, as archive.Request.Before, when the next one may confirm it. A service
// that announces the length, and keeps to it, is believed at the next try.
func (r *Service) cameBefore(j office.Job, declared int64) string {
	if declared < 0 && r.unprovenWait(j) > 0 {
		return ""
	}
	return j.Unproven
}

// unprovenWait is how long what j received may not be confirmed yet.
func (r *Service) unprovenWait(j office.Job) time.Duration {
	age := r.Now().Sub(j.UnprovenAt)
	return unprovenApart - min(max(0, age), unprovenApart)
}

// unproven puts off a job whose document came without its end. Most of these were cut off, so the next try is soon;
// when the same comes again, the one that may confirm it is the next.
func (r *Service) unproven(j office.Job, cause error, got archive.Saved) error {
	var wait time.Duration
	err := r.Data.Update(func(tx *store.Tx) error {
		wait = 0
		stored, ok, err := tx.Job(j.Key())
		if err != nil || !ok || stored.State == office.JobDone {
			return err
		}
		if stored.Unproven == got.Digest && !stored.UnprovenAt.After(r.Now()) { // else by a clock that was wrong
			wait = r.unprovenWait(stored)
			return nil
		}
		stored.Unproven, stored.UnprovenAt = got.Digest, r.Now()
		return tx.PutJob(stored)
	})
	if err != nil {
		return fmt.Errorf("record what came of %s: %w", j.Target, err)
	}
	return r.putOff(j, archive.Message(cause), wait, true)
}
