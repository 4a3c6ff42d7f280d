package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
)

// savesAtOnce is how many files are downloaded side by side.
const savesAtOnce = 4

// runSaves downloads what is planned. Trouble with the folder stops the whole queue with one message and resumes by
// itself; trouble with one file leaves the others alone.
func (a *Agent) runSaves(ctx context.Context) error {
	a.sweepLeftovers(ctx)
	for {
		pause, err := a.saveDue(ctx)
		if err != nil {
			return err
		}
		if !wait(ctx, pause, a.rings.save) {
			return nil
		}
	}
}

// sweepLeftovers removes temporary files that an earlier run left behind.
func (a *Agent) sweepLeftovers(ctx context.Context) {
	s := a.Settings()
	if s.SaveTo == "" {
		return
	}
	f, err := archive.OpenFolder(s.SaveTo)
	if err != nil {
		return
	}
	defer f.Close()
	// Several computers may share the folder: only what belongs to jobs of ours goes.
	ours := map[string]bool{}
	err = a.st.View(func(tx *store.Tx) error {
		pending, err := tx.JobsDue(endOfTime, math.MaxInt)
		for _, j := range pending {
			ours[archive.Token(a.tempKey(j))] = true
		}
		return err
	})
	if err != nil {
		a.log.Warn("read the pending files", "err", err)
		return
	}
	if n, err := f.Sweep(ctx, func(token string) bool { return !ours[token] }); err != nil {
		a.log.Warn("remove leftover files", "err", err)
	} else if n > 0 {
		a.log.Info("removed leftover files", "count", n)
	}
}

// endOfTime is later than anything is due.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// tempKey names a job's temporary file; no other computer's job has the same.
func (a *Agent) tempKey(j store.Job) string { return a.installation + "/" + j.Key() }

// saveDue works on all jobs that are due and returns how long nothing will be.
func (a *Agent) saveDue(ctx context.Context) (time.Duration, error) {
	const idle = time.Hour
	for ctx.Err() == nil {
		client, online := a.online()
		if !online {
			return idle, nil
		}
		var due []store.Job
		var next time.Time
		err := a.st.View(func(tx *store.Tx) error {
			var err error
			if due, err = tx.JobsDue(a.now(), 100); err != nil {
				return err
			}
			next, err = tx.NextJob()
			return err
		})
		if err != nil {
			return 0, err
		}
		if len(due) == 0 {
			return untilNext(a.now(), next, idle), nil
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(savesAtOnce)
		for _, j := range due {
			if gctx.Err() != nil {
				break
			}
			g.Go(func() error { return a.saveJob(gctx, client, j) })
		}
		err = g.Wait()
		var blocked *folderBlocked
		switch {
		case ctx.Err() != nil || errors.Is(err, esign.ErrSignedOut):
			return idle, nil
		case errors.As(err, &blocked):
			return 10 * time.Second, nil
		case err != nil:
			if pause, stop := pauseFor(err); stop {
				return pause, nil
			}
		default:
			a.health.clear("folder")
		}
	}
	return idle, nil
}

// folderBlocked stops the queue: the folder cannot take any file now.
type folderBlocked struct{ cause error }

func (e *folderBlocked) Error() string { return "save: " + e.cause.Error() }
func (e *folderBlocked) Unwrap() error { return e.cause }

// saveJob brings one file to the folder. It returns an error only when the queue is to pause.
func (a *Agent) saveJob(ctx context.Context, client *esign.Client, j store.Job) error {
	folder, err := archive.OpenFolder(j.Folder)
	if err != nil {
		return a.blockFolder(j, err)
	}
	defer folder.Close()
	folder.Steps = func(step archive.Step, _ string) { a.p.Crash("save " + string(step)) }

	// The bytes were complete and the rename may have happened when the program ended: the file is recognised.
	if j.SHA256 != "" {
		if same, err := folder.Matches(j.Target, j.Size, j.SHA256); err == nil && same {
			return a.finishJob(j)
		}
	}
	body, err := client.Download(ctx, esign.FileKind(j.Kind), j.PackageID, j.DocumentID)
	if err != nil {
		return a.jobRefused(ctx, j, err)
	}
	defer body.Body.Close()
	saved, err := folder.Save(ctx, archive.Request{
		Target: j.Target, Key: a.tempKey(j), Declared: body.Length, Body: body.Body,
		Commit: func(s archive.Saved) error {
			defer a.p.Crash("save committed")
			j.Size, j.SHA256 = s.Size, s.SHA256
			return a.st.Update(func(tx *store.Tx) error { return tx.PutJob(j) })
		},
	})
	if err == nil {
		a.noteServiceError(nil)
		j.Size, j.SHA256 = saved.Size, saved.SHA256
		return a.finishJob(j)
	}
	return a.jobNotSaved(ctx, folder, j, err)
}

// finishJob records a file that is on disk, and announces its package when it was the last one.
func (a *Agent) finishJob(j store.Job) error {
	var facts []fact
	var line store.Activity
	err := a.st.Update(func(tx *store.Tx) error {
		facts, line = nil, store.Activity{}
		j.State, j.Done, j.Problem, j.NextTry = store.JobDone, a.now(), "", time.Time{}
		if err := tx.PutJob(j); err != nil {
			return err
		}
		p, ok, err := tx.Package(j.PackageID)
		if err != nil || !ok {
			return err
		}
		addMoment(&p, store.Moment{Time: a.now(), What: momentSaved, Ref: j.Target})
		jobs, err := tx.JobsOf(j.PackageID)
		if err != nil {
			return err
		}
		p.Saved = allDone(jobs)
		p.Problem = firstProblem(jobs)
		if err := putPackage(tx, p); err != nil {
			return err
		}
		line = store.Activity{
			Time: a.now(), Kind: "saved", PackageID: p.ID,
			Text: fmt.Sprintf("Saved %s in %s.", quote(j.Target), j.Folder),
		}
		if err := tx.AddActivity(line); err != nil {
			return err
		}
		if !p.Saved {
			return nil
		}
		f := savedFact(p, jobs)
		first, err := tx.Once(f.key, a.now())
		if err == nil && first {
			// A package that was executed long before it was saved here is news of a moment gone by.
			f.quiet = a.now().Sub(p.Executed) > 10*time.Minute
			facts = append(facts, f)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record the saved file %s: %w", j.Target, err)
	}
	a.tell(line)
	a.announce(facts...)
	a.watchers.signal(PackagesChanged)
	a.watchers.signal(StatusChanged)
	return nil
}

func firstProblem(jobs []store.Job) string {
	for _, j := range jobs {
		if j.State != store.JobDone && j.Problem != "" {
			return j.Problem
		}
	}
	return ""
}

func allDone(jobs []store.Job) bool {
	for _, j := range jobs {
		if j.State != store.JobDone {
			return false
		}
	}
	return len(jobs) > 0
}
