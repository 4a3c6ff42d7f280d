package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/store"
)

// giveUpAfter is how long a file that the service does not give is asked for.
const giveUpAfter = 14 * 24 * time.Hour

// jobNotSaved handles a download that did not end as a file.
func (a *Agent) jobNotSaved(ctx context.Context, folder *archive.Folder, j store.Job, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, archive.ErrExists):
		return a.renameJob(folder, j)
	case errors.Is(err, archive.ErrFull), errors.Is(err, archive.ErrMissing),
		errors.Is(err, archive.ErrReadOnly), errors.Is(err, archive.ErrNotFolder):
		return a.blockFolder(j, err)
	default:
		return a.jobLater(j, archive.Sentence(err), 0)
	}
}

// renameJob is for a target that somebody took meanwhile: the same bytes are our own file of an earlier run, others
// are left alone and ours gets the next free name.
func (a *Agent) renameJob(folder *archive.Folder, j store.Job) error {
	if same, err := folder.Matches(j.Target, j.Size, j.SHA256); err == nil && same {
		return a.finishJob(j)
	}
	err := a.st.Update(func(tx *store.Tx) error {
		names := nameChooser{path: j.Folder, folder: folder}
		j.Target = names.free(tx, j.Wanted)
		j.NextTry = a.now()
		j.Size, j.SHA256 = 0, ""
		return tx.PutJob(j)
	})
	if err != nil {
		return err
	}
	poke(a.rings.save)
	return nil
}

// jobRefused handles an answer of the service that is not the file.
func (a *Agent) jobRefused(ctx context.Context, j store.Job, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	a.noteServiceError(err)
	var e *esign.Error
	if !errors.As(err, &e) {
		return err // signed out: the queue waits for the next sign-in
	}
	switch e.Kind {
	case esign.SignedOut:
		return err
	case esign.TooMany:
		if later := a.jobLater(j, "", e.RetryAfter); later != nil {
			return later
		}
		return err
	default:
		return a.jobLater(j, esign.Sentence(err), e.RetryAfter)
	}
}

// jobLater puts a job off: seconds at first, then minutes and hours, for days. After that a person decides.
func (a *Agent) jobLater(j store.Job, problem string, atLeast time.Duration) error {
	err := a.st.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Job(j.Key())
		if err != nil || !ok {
			return err
		}
		stored.Tries++
		stored.Problem = problem
		if err := setProblem(tx, j.PackageID, problem); err != nil {
			return err
		}
		stored.NextTry = a.now().Add(max(a.backoff(stored.Tries, 2*time.Second, 2*time.Hour), atLeast))
		if a.now().Sub(stored.Planned) > giveUpAfter {
			stored.State = store.JobFailed
		}
		return tx.PutJob(stored)
	})
	a.tellSaves()
	return err
}

// setProblem notes at a package what keeps its files from being saved; "" when nothing does.
func setProblem(tx *store.Tx, packageID, problem string) error {
	p, ok, err := tx.Package(packageID)
	if err != nil || !ok || p.Problem == problem {
		return err
	}
	p.Problem = problem
	return putPackage(tx, p)
}

// tellSaves keeps the health issue about files that wait for the service in step.
func (a *Agent) tellSaves() {
	var failed int
	err := a.st.View(func(tx *store.Tx) error {
		c, err := tx.JobCounts()
		failed = c.Failed
		return err
	})
	if err != nil || failed == 0 {
		a.health.clear("saves")
		return
	}
	a.health.set("saves", Problem, ActRetry, fmt.Sprintf(
		"%s could not be saved: the service did not give %s for two weeks. Try again, or fetch %s from the service's own pages.",
		plural(failed, "document", "documents"), plural2(failed, "it", "them"), plural2(failed, "it", "them")))
}

// blockFolder says once what is wrong with the folder and stops the queue until it is well again.
func (a *Agent) blockFolder(j store.Job, cause error) error {
	var waiting int
	if err := a.st.View(func(tx *store.Tx) error {
		c, err := tx.JobCounts()
		waiting = c.Pending
		return err
	}); err != nil {
		return err
	}
	name := quote(filepath.Base(j.Folder))
	wait := plural(waiting, "document waits", "documents wait")
	var text string
	action := ActChooseFolder
	switch {
	case errors.Is(cause, archive.ErrFull):
		text = fmt.Sprintf("The disk with %s is full. %s and will be saved when there is room.", name, wait)
		action = ActNone
	case errors.Is(cause, archive.ErrReadOnly):
		text = fmt.Sprintf("Countersign may not write to the folder %s. %s; change its permissions or choose another folder.", name, wait)
	case errors.Is(cause, archive.ErrMissing):
		text = fmt.Sprintf("The folder %s is not there. %s and will be saved when it is back; or choose another folder.", name, wait)
	default:
		text = archive.Sentence(cause) + " " + wait + "."
	}
	a.health.set("folder", Problem, action, text)
	return &folderBlocked{cause}
}

func plural(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural2(n, one, many)) }

func plural2(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
