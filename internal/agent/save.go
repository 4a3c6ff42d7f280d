package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
)

// savesAtOnce is how many files are downloaded side by side.
const savesAtOnce = 4

// giveUpAfter is how long a file that the service does not give is asked for.
const giveUpAfter = 14 * 24 * time.Hour

// nameChooser chooses names that are free in the folder. Without a folder, because it is missing just now, only the
// names of other jobs are known; the save itself never overwrites.
type nameChooser struct {
	template archive.Template
	path     string
	folder   *archive.Folder
}

func (a *Agent) openNames(s Settings) nameChooser {
	t, err := archive.Parse(s.NameTemplate)
	if err != nil {
		t, _ = archive.Parse(archive.DefaultTemplate)
	}
	n := nameChooser{template: t, path: s.SaveTo}
	if f, err := archive.OpenFolder(s.SaveTo); err == nil {
		n.folder = f
	}
	return n
}

func (n nameChooser) close() {
	if n.folder != nil {
		n.folder.Close()
	}
}

// free is the first of rel, "rel (2)", "rel (3)" ... that no file and no other job has.
func (n nameChooser) free(tx *store.Tx, rel string) string {
	for i := 1; ; i++ {
		name := rel
		if i > 1 {
			name = archive.Numbered(rel, i)
		}
		if taken, err := tx.TargetTaken(n.path, name); err == nil && taken {
			continue
		}
		if n.folder != nil {
			if exists, err := n.folder.Exists(name); err == nil && exists {
				continue
			}
		}
		return name
	}
}

// plan records a job per wanted file of an executed package, each with its name, before the first byte is asked for.
func (a *Agent) plan(tx *store.Tx, p *store.Package, s Settings, names nameChooser) (planned int, err error) {
	add := func(d store.Document, kind archive.Kind) error {
		j := store.Job{
			PackageID: p.ID, DocumentID: d.ID, Kind: string(kind), Folder: s.SaveTo,
			State: store.JobPending, Planned: a.now(), NextTry: a.now(),
		}
		j.Target = names.free(tx, names.template.Name(archive.Fields{
			Date: p.Executed.Local(), Package: packageName(*p), Document: documentName(d), Signer: firstSigner(*p),
			Reference: reference(*p), Kind: kind,
		}))
		ok, err := tx.PlanJob(j)
		if ok {
			planned++
		}
		return err
	}
	for _, d := range p.Documents {
		if d.ID == "" {
			continue
		}
		if err := add(d, archive.Executed); err != nil {
			return planned, err
		}
		if s.SaveCAC {
			if err := add(d, archive.CAC); err != nil {
				return planned, err
			}
		}
	}
	if s.SaveMaster {
		if err := add(store.Document{}, archive.MasterFile); err != nil {
			return planned, err
		}
	}
	p.Planned = true
	return planned, nil
}

func firstSigner(p store.Package) string {
	if len(p.Signers) == 0 {
		return ""
	}
	return strings.TrimSpace(p.Signers[0].FirstName + " " + p.Signers[0].LastName)
}

// reference is the caller's own word for p, from its external data.
func reference(p store.Package) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.ExternalData, &members) != nil {
		return ""
	}
	for _, name := range []string{"reference", "value"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

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
	if n, err := f.Sweep(ctx, func(string) bool { return false }); err != nil {
		a.log.Warn("remove leftover files", "err", err)
	} else if n > 0 {
		a.log.Info("removed leftover files", "count", n)
	}
}

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
		Target: j.Target, Key: j.Key(), Declared: body.Length, Body: body.Body,
		Commit: func(s archive.Saved) error {
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
		if err := tx.PutPackage(p); err != nil {
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

func allDone(jobs []store.Job) bool {
	for _, j := range jobs {
		if j.State != store.JobDone {
			return false
		}
	}
	return len(jobs) > 0
}

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
		j.Target = names.free(tx, j.Target)
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
		stored.NextTry = a.now().Add(max(a.backoff(stored.Tries, 2*time.Second, 2*time.Hour), atLeast))
		if a.now().Sub(stored.Planned) > giveUpAfter {
			stored.State = store.JobFailed
		}
		return tx.PutJob(stored)
	})
	a.tellSaves()
	return err
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
