package download

import (
	"context"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
)

// How many files are downloaded side by side, and how many are flushed; and how many of one package are worked on at once, so that
// one whose files come slowly does not hold up the others.
const (
	atOnce       = 4
	packageShare = atOnce - 1
)

// Run downloads what is planned. Trouble with a folder stops its files with one message and resumes by itself;
// trouble with one file leaves the others alone.
func (r *Service) Run(ctx context.Context) error {
	r.sweepAll(ctx)
	for {
		pause, err := r.saveDue(ctx)
		if err != nil {
			return err
		}
		if !loop.Wait(ctx, pause, r.work) {
			return nil
		}
	}
}

// tempKey names a job's temporary file; no other computer's job has the same.
func (r *Service) tempKey(j office.Job) string { return r.deps.Installation() + "/" + j.Key() }

// saveDue works on all jobs that are due and returns how long nothing will be. Those that become due meanwhile do not
// wait for a large file, and that goes on when others fail.
func (r *Service) saveDue(ctx context.Context) (pause time.Duration, err error) {
	const idle = time.Hour
	var g errgroup.Group
	g.SetLimit(loop.MaxCommits)
	limits := limits{downloads: loop.NewSemaphore(atOnce), flushes: archive.NewSyncLimiter(atOnce), looks: &archive.DirCache{}}
	for ctx.Err() == nil {
		client, online := r.deps.Online()
		if !online {
			pause = idle
			break
		}
		var due []office.Job
		underWay := r.state.busy()
		if pause = r.pausedFor(); pause == 0 {
			due, pause, err = r.jobsDue(underWay, idle)
			due = slices.DeleteFunc(due, func(j office.Job) bool { return j.Service != client.Home() }) // changed just now
		}
		if err != nil || len(due)+len(underWay) == 0 {
			break
		}
		r.sweepFolders(ctx, due)
		for _, j := range due {
			r.state.begin(j.Key())
			g.Go(func() error {
				defer r.ended(j)
				err := r.One(ctx, "file "+j.Key(), func() error { return r.save(ctx, client, j, limits) })
				if err != nil {
					r.state.trip(r.Now(), func(n int) time.Duration { return r.PauseAfter(err, n, loop.MaxRoundPause) })
				}
				return nil
			})
		}
		if len(due) == 0 {
			loop.Wait(ctx, lookAgain, r.work)
		}
	}
	g.Wait()
	return pause, err
}

// pausedFor is how long no download begins, for the service is in trouble or asked for it.
func (r *Service) pausedFor() time.Duration {
	now := r.Now()
	return max(r.Breaker.Left(now), r.state.breaker.Left(now))
}

// lookAgain is how often to look for what became due by the time while files are under way.
const lookAgain = time.Second

// limits bound what is done at once: the network and the disk are not faster with more.
type limits struct {
	downloads loop.Semaphore
	flushes   *archive.SyncLimiter
	looks     *archive.DirCache
}

// ended is called when nobody works on j any more. It may be due again, under another name, and others of its package may be waiting
// for it.
func (r *Service) ended(j office.Job) {
	if more := r.state.end(j.Key()); more {
		r.Wake()
	}
	r.deps.Ended()
}

// jobsDue returns the jobs that can be worked on now, a hundred at most; without any, how long there will be none. Those
// that were under way before it was called are left out, even if they have ended since, and those beyond their package's share.
func (r *Service) jobsDue(underWay map[string]bool, idle time.Duration) (due []office.Job, pause time.Duration, err error) {
	most := 100 + r.Quarantine.Len()
	now := r.Now()
	defer func() {
		alone := len(due)
		due = slices.DeleteFunc(due, func(j office.Job) bool { return r.LeftAlone("file " + j.Key()) })
		pause = r.PauseBeside(alone-len(due), pause)
	}()
	if !r.state.blocking(now) {
		var next time.Time
		due, err = data.Read(r.Data, "the files that are due", func(tx *store.Tx) (due []office.Job, err error) {
			skip := r.state.beyondShare(underWay)
			if next, err = tx.NextJob(); err != nil {
				return nil, err
			}
			return tx.JobsDue(r.Due(loop.MaxJobWait), most, skip)
		})
		return due, loop.UntilNext(now, next, idle), err
	}
	// Jobs of a folder that takes no files stay due, so that the others have to be looked for among them.
	next := r.state.nextTry(now)
	waiting, err := data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs)
	skip := r.state.beyondShare(underWay)
	for _, j := range waiting {
		if r.state.isBlocked(j.Folder, now) {
			continue
		}
		if r.Due(loop.MaxJobWait).Left(j.NextTry) > 0 {
			if j.NextTry.Before(next) {
				next = j.NextTry
			}
			continue
		}
		if skip(j.Key()) {
			continue
		}
		if due = append(due, j); len(due) == most {
			break
		}
	}
	return due, loop.UntilNext(now, next, idle), err
}
