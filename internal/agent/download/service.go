// Package download saves planned files to the folder: it plans a job for each file of an executed package, including its name,
// downloads what is due, saves it durably and records it. What the service does not provide is requested at growing intervals, and
// never given up; problems with one file or folder do not affect others; no file is overwritten or saved twice.
//
// A job's steps are: Plan (in the commit that learns that everybody has signed), Run, NoteFiles, and RunIndex if the office keeps an
// index.
//
// It must not know how a package became known to be executed, how people are told, nor how files are written durably (archive).
package download

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Settings     func() office.Settings
	Language     func() string // the system's language, for an office that has chosen none
	Installation func() string // identifies this data folder

	// Lasts reports whether what is saved in a folder stays: it is not a place for temporary or dropped files.
	Lasts func(folder string) bool

	// Saved returns the fact that p's files are saved, unless already reported. Announce reports it after the commit.
	Saved    func(tx *store.Tx, p office.Package, jobs []office.Job) []office.Fact
	Announce func(...office.Fact)

	Ended func() // work on a file has ended
	Ask   func() // makes the status of due packages be requested
}

// Service downloads files. Safe for concurrent use.
type Service struct {
	loop.Base
	deps  Deps
	state state

	folders loop.Retries // folders that accept no files now, by path and kind of problem
	service loop.Retries // under the empty key: no downloads start; under inRow: downloads that failed one after the other
	retried atomic.Int64 // number of requests to retry everything
	mount   func(path string) (string, error)
	swept   sync.Map // folders cleaned of an earlier run's temporary files

	work  chan struct{} // signals that there may be work
	index chan struct{} // signals that the index may lack a file
}

const inRow = "in a row"

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, state: state{underWay: map[string]bool{}}, mount: disk.Mount, work: make(chan struct{}, 1), index: make(chan struct{}, 1)}
}

// Wake makes Run and RunIndex look for work.
func (r *Service) Wake() {
	loop.Wake(r.work)
	loop.Wake(r.index)
}

// Retry allows the service and every folder to be tried again at once.
func (r *Service) Retry() {
	r.retried.Add(1)
	r.service.Now()
	r.folders.Now()
}

// Resume lets downloads waiting for the service start again.
func (r *Service) Resume() { r.service.Now() }

// FolderChosen is Retry after people have changed the folder for documents from old to next. Another folder's problem no longer
// matters; the same folder's lasts until a file has been saved there.
func (r *Service) FolderChosen(old, next string) {
	if old == next {
		r.Retry()
		return
	}
	r.service.Now()
	r.folders.Keep(func(string) bool { return false })
	r.Health.Clear(health.FolderFails)
}

// UnderWay returns how many files are in progress.
func (r *Service) UnderWay() int { return len(r.state.busy()) }

// Flowing reports whether due downloads start: nothing is wrong with the service or any folder.
func (r *Service) Flowing() bool {
	_, online := r.Session.Online()
	return online && r.pausedFor() == 0 && r.folders.Waiting(r.Now()) == 0
}

// How many files are downloaded in parallel, and how many flushed; and how many of one package are in progress at once, so that one
// with slow files does not hold up the others.
const (
	atOnce       = 4
	packageShare = atOnce - 1
)

// Run downloads what is planned. A problem with a folder stops its files with one message and ends by itself; a problem with one
// file does not affect others.
func (r *Service) Run(ctx context.Context) error {
	if s := r.deps.Settings(); s.SaveTo != "" {
		r.sweepFolder(ctx, s.SaveTo)
	}
	return loop.Repeat(ctx, r.work, r.saveDue)
}

// tempKey names a job's temporary file, unique among all computers.
func (r *Service) tempKey(j office.Job) string { return r.deps.Installation() + "/" + j.Key() }

// saveDue processes all due jobs and returns how long until the next. Jobs that become due meanwhile do not wait for a large file,
// and one job's failure does not stop others.
func (r *Service) saveDue(ctx context.Context) (pause time.Duration, err error) {
	const idle = time.Hour
	var g errgroup.Group
	g.SetLimit(loop.MaxCommits)
	limits := limits{downloads: semaphore.NewWeighted(atOnce), flushes: archive.NewSyncLimiter(atOnce), looks: &archive.DirCache{}}
	for ctx.Err() == nil {
		client, online := r.Session.Online()
		if !online {
			pause = idle
			break
		}
		var due []office.Job
		underWay := r.state.busy()
		if pause = r.pausedFor(); pause == 0 {
			due, pause, err = r.jobsDue(underWay, idle)
			due = slices.DeleteFunc(due, func(j office.Job) bool { return j.Service != client.Home() }) // just changed
		}
		if err != nil || len(due)+len(underWay) == 0 {
			break
		}
		r.sweepFolders(ctx, due)
		for _, j := range due {
			r.state.begin(j.Key())
			g.Go(func() error {
				defer r.ended(j)
				retried := r.retried.Load()
				err := r.One("file "+j.Key(), func() error { return r.save(ctx, client, j, limits) })
				if retried != r.retried.Load() { // the failure predates the person's request to retry
					r.again(j)
				} else if err != nil {
					r.service.Failed("", r.Now(), func(n int) time.Duration { return r.PauseAfter(err, n, loop.MaxRoundPause) })
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

func (r *Service) again(j office.Job) {
	err := r.Data.Update(func(tx *store.Tx) error {
		stored, _, err := tx.Job(j.Key())
		if err != nil || stored.State == office.JobDone || !stored.NextTry.After(r.Now()) {
			return err
		}
		stored.NextTry = r.Now()
		return tx.PutJob(stored)
	})
	if err != nil {
		r.Log.Warn("try a file again", "err", err)
	}
}

// pausedFor returns how long no downloads start because the service has problems or asked for a pause.
func (r *Service) pausedFor() time.Duration {
	now := r.Now()
	return max(r.Breaker.Left(now), r.service.Left("", now))
}

// lookAgain is how often to look for newly due jobs while files are in progress.
const lookAgain = time.Second

// limits bound concurrency: more would make neither network nor disk faster.
type limits struct {
	downloads *semaphore.Weighted
	flushes   *archive.SyncLimiter
	looks     *archive.DirCache
}

// ended is called when work on j has ended. It may be due again under another name, and others of its package may be waiting for it.
func (r *Service) ended(j office.Job) {
	if more := r.state.end(j.Key()); more {
		r.Wake()
	}
	r.deps.Ended()
}

// jobsDue returns at most a hundred jobs that can be started now; if there are none, how long until the next. It leaves out those in
// progress when it was called, even if they have ended since, and those beyond their package's share.
func (r *Service) jobsDue(underWay map[string]bool, idle time.Duration) (due []office.Job, pause time.Duration, err error) {
	most := 100 + r.Quarantine.Waiting(r.Now())
	now := r.Now()
	defer func() {
		alone := len(due)
		due = slices.DeleteFunc(due, func(j office.Job) bool { return r.LeftAlone("file " + j.Key()) })
		pause = r.PauseBeside(alone-len(due), pause)
	}()
	var waiting []office.Job
	trouble := r.folders.Len() > 0 // which another file may begin meanwhile
	if trouble {
		if waiting, err = data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs); err != nil {
			return nil, 0, err
		}
		r.forgetFolders(waiting)
	}
	if !trouble || r.folders.Waiting(now) == 0 {
		var next time.Time
		due, err = data.Read(r.Data, "the files that are due", func(tx *store.Tx) (due []office.Job, err error) {
			skip := r.state.beyondShare(underWay)
			next, _ = tx.NextJob()
			return tx.JobsDue(r.Due(loop.MaxJobWait), most, skip)
		})
		return due, loop.UntilNext(now, next, idle), err
	}
	// Jobs of a blocked folder stay due, so the others must be found among them.
	next := now.Add(r.folders.Next(now, maxFolderPause))
	skip := r.state.beyondShare(underWay)
	for _, j := range waiting {
		if r.blocked(j.Folder) {
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

// maxFolderPause is the longest pause before a blocked folder is tried again.
const maxFolderPause = 5 * time.Minute

type state struct {
	mu       sync.Mutex
	underWay map[string]bool // job keys
	leftOut  bool            // due jobs were left out because others of their package are in progress
}

func (s *state) begin(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay[key] = true
}

// end marks a job as ended, and reports whether to look for other due jobs: none is in progress now, or some were left out.
func (s *state) end(key string) (look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.underWay, key)
	return len(s.underWay) == 0 || s.leftOut
}

// beyondShare returns a function that is called with job keys in turn and reports which not to start: those in progress, and those
// of packages whose share is used up by jobs in progress and jobs it has let pass. Only one goroutine may use it.
func (s *state) beyondShare(underWay map[string]bool) (skip func(key string) bool) {
	share := map[string]int{}
	of := func(key string) string {
		pack, _, _ := strings.Cut(key, "/")
		return pack
	}
	for key := range underWay {
		share[of(key)]++
	}
	s.mu.Lock()
	s.leftOut = false
	s.mu.Unlock()
	return func(key string) bool {
		switch {
		case underWay[key]:
			return true
		case share[of(key)] >= packageShare:
			s.mu.Lock()
			s.leftOut = true
			s.mu.Unlock()
			return true
		}
		share[of(key)]++
		return false
	}
}

func (s *state) busy() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.underWay)
}

// A blocked folder is recorded in folders under its path, or, if it exists but has no space, under full plus its path.
const full = "full "

// block postpones a folder, longer with each failure in a row. Concurrent failures count once.
func (r *Service) block(folder string, cause error) {
	if errors.Is(cause, archive.ErrFull) {
		folder = full + folder
	}
	r.folders.Failed(folder, r.Now(), func(n int) time.Duration { return r.Backoff(n, r.Pace.Folder, maxFolderPause) })
}

// forgetFolders drops blocked folders for which none of the files that wait does so any more.
func (r *Service) forgetFolders(waiting []office.Job) {
	r.folders.Keep(func(folder string) bool {
		return slices.ContainsFunc(waiting, func(j office.Job) bool { return j.Folder == strings.TrimPrefix(folder, full) })
	})
	if r.folders.Len() == 0 {
		r.Health.Clear(health.FolderFails)
	}
}

func (r *Service) blocked(folder string) bool {
	return r.folders.Waits(folder, r.Now()) || r.folders.Waits(full+folder, r.Now())
}

// Held returns the ids of the packages whose files wait for a folder that takes none.
func (r *Service) Held() (map[string]bool, error) {
	held := map[string]bool{}
	if r.folders.Len() == 0 {
		return held, nil
	}
	waiting, err := data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs)
	for _, j := range waiting {
		if r.folders.Has(j.Folder) || r.folders.Has(full+j.Folder) {
			held[j.PackageID] = true
		}
	}
	return held, err
}

// opened records that a folder could be opened or, with took, has accepted a file. Opening alone does not end a full disk's block.
func (r *Service) opened(folder string, took bool) {
	was := r.folders.Worked(folder)
	if took {
		was = r.folders.Worked(full+folder) || was
	}
	if was && r.folders.Len() == 0 {
		r.Health.Clear(health.FolderFails)
	}
}
