package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
)

// savesAtOnce is how many files are downloaded side by side, and how many are flushed.
const savesAtOnce = 4

// runSaves downloads what is planned. Trouble with a folder stops its files with one message and resumes by itself;
// trouble with one file leaves the others alone.
func (a *Agent) runSaves(ctx context.Context) error {
	a.sweepLeftovers(ctx)
	for {
		pause, err := a.saveDue(ctx)
		if err != nil {
			return err
		}
		if !loop.Wait(ctx, pause, a.rings.save) {
			return nil
		}
	}
}

// tempKey names a job's temporary file; no other computer's job has the same.
func (a *Agent) tempKey(j office.Job) string { return a.installation + "/" + j.Key() }

// saveDue works on all jobs that are due and returns how long nothing will be. Those that become due meanwhile do not
// wait for a large file, and that goes on when others fail.
func (a *Agent) saveDue(ctx context.Context) (pause time.Duration, err error) {
	const idle = time.Hour
	var g errgroup.Group
	g.SetLimit(loop.MaxCommits)
	limits := saveLimits{downloads: loop.NewSemaphore(savesAtOnce), flushes: loop.NewSemaphore(savesAtOnce)}
	for ctx.Err() == nil {
		client, online := a.online()
		if !online {
			pause = idle
			break
		}
		var due []office.Job
		busy := a.saves.busy()
		if pause = a.savesRest(); pause == 0 {
			due, pause, err = a.jobsDue(busy, idle)
			due = slices.DeleteFunc(due, func(j office.Job) bool { return j.Service != client.Home() }) // changed just now
		}
		if err != nil || len(due)+len(busy) == 0 {
			break
		}
		a.sweepFolders(ctx, due)
		for _, j := range due {
			a.saves.begin(j.Key())
			g.Go(func() error {
				defer a.saveEnds(j)
				err := a.One(ctx, "file "+j.Key(), func() error { return a.saveJob(ctx, client, j, limits) })
				if err != nil {
					a.saves.hold(a.Now(), func(n int) time.Duration { return a.PauseAfter(err, n) })
				}
				return nil
			})
		}
		if len(due) == 0 {
			loop.Wait(ctx, lookAgain, a.rings.save)
		}
	}
	g.Wait()
	return pause, err
}

// savesRest is how long no download begins, for the service is in trouble or asked for it.
func (a *Agent) savesRest() time.Duration {
	now := a.Now()
	return max(a.rest.Left(now), a.saves.held.Left(now))
}

// lookAgain is how often to look for what became due by the time while files are under way.
const lookAgain = time.Second

// saveLimits bound what is done at once: the network and the disk are not faster with more.
type saveLimits struct{ downloads, flushes loop.Semaphore }

// saveEnds is called when nobody works on j any more. It may be due again, under another name.
func (a *Agent) saveEnds(j office.Job) {
	if last := a.saves.end(j.Key()); last {
		loop.Wake(a.rings.save)
	}
	a.announcer.WorkEnded()
}

// jobsDue returns the jobs that can be worked on now, a hundred at most; without any, how long there will be none. Those
// that were busy before it was called are left out, even if they have ended since.
func (a *Agent) jobsDue(busy map[string]bool, idle time.Duration) (due []office.Job, pause time.Duration, err error) {
	most := 100 + a.Quarantine.Len()
	now := a.Now()
	defer func() {
		alone := len(due)
		due = slices.DeleteFunc(due, func(j office.Job) bool { return a.LeftAlone("file " + j.Key()) })
		pause = a.PauseBeside(alone-len(due), pause)
		due = slices.DeleteFunc(due, func(j office.Job) bool { return busy[j.Key()] })
	}()
	if !a.saves.blocking(now) {
		var next time.Time
		err = a.Data.View(func(tx *store.Tx) error {
			if due, err = tx.JobsDue(a.Due(loop.MaxJobWait), most); err != nil {
				return err
			}
			next, err = tx.NextJob()
			return err
		})
		return due, loop.UntilNext(now, next, idle), err
	}
	// Jobs of a folder that takes no files stay due, so that the others have to be looked for among them.
	next := a.saves.nextTry(now)
	err = a.Data.View(func(tx *store.Tx) error {
		due = nil
		all, err := tx.PendingJobs()
		for _, j := range all {
			if a.saves.isBlocked(j.Folder, now) {
				continue
			}
			if a.Due(loop.MaxJobWait).Left(j.NextTry) > 0 {
				if j.NextTry.Before(next) {
					next = j.NextTry
				}
				continue
			}
			if due = append(due, j); len(due) == most {
				break
			}
		}
		return err
	})
	return due, loop.UntilNext(now, next, idle), err
}

// saveJob brings one file to the folder. It returns an error only when the queue is to pause.
func (a *Agent) saveJob(ctx context.Context, client *esign.Client, j office.Job, limits saveLimits) error {
	if !limits.downloads.Acquire(ctx) {
		return nil
	}
	received := sync.OnceFunc(limits.downloads.Release)
	defer received()
	if a.saves.isBlocked(j.Folder, a.Now()) || a.savesRest() > 0 {
		return nil
	}
	folder, err := archive.OpenFolder(j.Folder)
	if err != nil {
		return a.blockFolder(j, err)
	}
	defer folder.Close()
	if a.saves.open(j.Folder, false) {
		a.Health.Clear(health.FolderFails)
	}
	folder.Flushes = limits.flushes
	folder.Steps = func(step archive.Step, _ string) {
		a.p.Crash("save " + string(step))
		if step == archive.StepWritten {
			received() // from here on only the disk is waited for
		}
	}

	// The bytes were complete and the rename may have happened when the program ended: the file is recognised.
	if j.SHA256 != "" {
		if same, err := folder.Matches(j.Target, j.Size, j.SHA256); err == nil && same {
			return a.finishJob(j, false)
		}
	}
	// A name that only a Mac or a Windows computer takes for the same is taken all the same.
	if twin, err := hasTwin(folder, j.Target); err == nil && twin {
		return a.renameJob(folder, j, archive.Saved{})
	}
	body, err := client.Download(ctx, esign.FileKind(j.Kind), j.PackageID, j.DocumentID)
	if err != nil {
		return a.jobRefused(ctx, j, err)
	}
	defer body.Body.Close()
	var elsewhere archive.Saved
	saved, err := folder.Save(ctx, archive.Request{
		Target: j.Target, Key: a.tempKey(j), Declared: body.Length, Body: body.Body, Before: a.cameBefore(j, body.Length),
		Commit: func(s archive.Saved) error {
			if a.hasOtherName(folder, j, s) {
				elsewhere = s
				return errOtherName
			}
			defer a.p.Crash("save committed")
			return a.Data.Update(func(tx *store.Tx) error { return commitBytes(tx, j, s) })
		},
	})
	switch {
	case err == nil:
		a.noteServiceError(ctx, nil)
		a.saves.worked()
		if a.saves.open(j.Folder, true) {
			a.Health.Clear(health.FolderFails)
		}
		j.Size, j.SHA256 = saved.Size, saved.SHA256
		return a.finishJob(j, false)
	case errors.Is(err, archive.ErrExists):
		a.noteServiceError(ctx, nil)
		return a.renameJob(folder, j, saved)
	case errors.Is(err, errOtherName):
		a.noteServiceError(ctx, nil)
		return a.renameJob(folder, j, elsewhere)
	case errors.Is(err, archive.ErrNoEnd):
		return a.jobUnproven(j, err, saved)
	}
	return a.jobNotSaved(ctx, j, err)
}

// hasTwin reports whether something has the name rel on a Mac or a Windows computer, but not to the letter here.
func hasTwin(folder *archive.Folder, rel string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(folder.Dir(), filepath.FromSlash(rel))); err == nil {
		return false, nil
	}
	return folder.Exists(rel)
}

// errMoved gives a save up whose job was sent to another folder meanwhile, or whose place is another document's.
var errMoved = errors.New("the file is to be saved elsewhere")

// errOtherName is a save given up because the file is there under the name that it has in another language.
var errOtherName = errors.New("the file has a name in another language")

// commitBytes records what the file will be, so that it is recognised should the program end right after its rename.
func commitBytes(tx *store.Tx, j office.Job, s archive.Saved) error {
	stored, ok, err := tx.Job(j.Key())
	if err != nil {
		return err
	}
	if !ok || stored.Folder != j.Folder || stored.Target != j.Target {
		return errMoved
	}
	stored.Size, stored.SHA256 = s.Size, s.SHA256
	return tx.PutJob(stored)
}

// finishJob records a file that is on disk, and announces its package when that was what it waited for. recognised is a
// file that was there before this program saved it.
func (a *Agent) finishJob(j office.Job, recognised bool) error {
	var facts []office.Fact
	var line office.Activity
	err := a.Data.Update(func(tx *store.Tx) error {
		facts, line = nil, office.Activity{}
		if mine, err := settle(tx, j); err != nil {
			return err
		} else if !mine {
			return errMoved
		}
		j.State, j.Done, j.Problem, j.NextTry = office.JobDone, a.Now(), message.Message{}, time.Time{}
		j.Refused = time.Time{}
		if err := tx.PutJob(j); err != nil {
			return err
		}
		p, ok, err := tx.Package(j.PackageID)
		if err != nil || !ok {
			return err
		}
		p.AddMoment(office.Moment{Time: a.Now(), What: office.MomentSaved, Ref: j.Target})
		if facts, err = a.noteFiles(tx, &p, recognised); err != nil {
			return err
		}
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		line = office.Activity{
			Time: a.Now(), Kind: "saved", PackageID: p.ID,
			Text: message.Saved(j.Target, j.Folder),
		}
		if recognised {
			line.Text = message.SavedBefore(j.Target, j.Folder)
		}
		if j.Unproven != "" && j.Unproven == j.SHA256 {
			line.Text = message.Then(line.Text, message.EndUnproven())
		}
		return tx.AddActivity(line)
	})
	switch {
	case errors.Is(err, errMoved) && !recognised:
		return a.jobLater(j, message.Message{}, 0, false)
	case err != nil:
		return fmt.Errorf("record the saved file %s: %w", j.Target, err)
	}
	a.Tell(line)
	a.announcer.Announce(facts...)
	a.Suspects.Clear(j.Key())
	a.tellHandedOut()
	a.Signal(office.PackagesChanged)
	a.Signal(office.StatusChanged)
	return nil
}
