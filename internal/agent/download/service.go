// Package download brings planned files to the folder: it plans a job per file of an executed package, each with the name
// that it will have, downloads what is due, saves it durably and records it. What the service does not give is asked for
// more and more rarely, and never given up; trouble with one file or folder leaves the others alone; a file is neither
// overwritten nor saved twice.
//
// A job goes through here in this order: Plan (in the commit of whoever learned that everybody has signed), Run, NoteFiles,
// and RunIndex where the office keeps an index.
//
// It must not know how it became known that a package is executed, how people are told, nor how files are written durably
// (archive).
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
	"countersign/internal/office"
	"countersign/internal/store"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Settings     func() office.Settings
	Language     func() string // the system's, for an office that has chosen none
	Installation func() string // tells this data folder from every other one

	// Saved is the fact that p's files are saved, when people were not told yet. Announce tells it once it is
	// committed.
	Saved    func(tx *store.Tx, p office.Package, jobs []office.Job) ([]office.Fact, error)
	Announce func(...office.Fact)

	Ended func() // a file is not worked on any more
	Ask   func() // has the service asked about packages that are due
}

// Service downloads files. Safe for concurrent use.
type Service struct {
	loop.Base
	deps  Deps
	state state

	folders loop.Retries // that take no files just now, by what is wrong with them and their paths
	service loop.Retries // under the empty key: no download begins; under inRow: downloads that failed one after the other
	retried atomic.Int64 // how often everything was to be tried at once
	swept   sync.Map     // folders without temporary files of an earlier run

	work  chan struct{} // rings when there may be work
	index chan struct{} // rings when the index may lack a file
}

const inRow = "in a row"

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, state: state{underWay: map[string]bool{}}, work: make(chan struct{}, 1), index: make(chan struct{}, 1)}
}

// Wake has Run and RunIndex look for work.
func (r *Service) Wake() {
	loop.Wake(r.work)
	loop.Wake(r.index)
}

// Retry gives the service and every folder another chance at once.
func (r *Service) Retry() {
	r.retried.Add(1)
	r.service.Now()
	r.folders.Now()
}

// Resume lets downloads begin again that wait for the service.
func (r *Service) Resume() { r.service.Now() }

// FolderChosen is Retry when people have chosen next for documents, and had chosen old before. What was wrong with another
// folder is no news any more; with the same one it is wrong until a file was saved there.
func (r *Service) FolderChosen(old, next string) {
	if old == next {
		r.Retry()
		return
	}
	r.service.Now()
	r.folders.Keep(func(string) bool { return false })
	r.Health.Clear(health.FolderFails)
}

// UnderWay is how many files are worked on.
func (r *Service) UnderWay() int { return len(r.state.busy()) }

// Flowing reports whether downloads that are due begin: nothing is wrong with the service nor with any folder.
func (r *Service) Flowing() bool {
	_, online := r.Session.Online()
	return online && r.pausedFor() == 0 && r.folders.Waiting(r.Now()) == 0
}

// How many files are downloaded side by side, and how many are flushed; and how many of one package are worked on at once, so that
// one whose files come slowly does not hold up the others.
const (
	atOnce       = 4
	packageShare = atOnce - 1
)

// Run downloads what is planned. Trouble with a folder stops its files with one message and resumes by itself;
// trouble with one file leaves the others alone.
func (r *Service) Run(ctx context.Context) error {
	if s := r.deps.Settings(); s.SaveTo != "" {
		r.sweepFolder(ctx, s.SaveTo)
	}
	return loop.Repeat(ctx, r.work, r.saveDue)
}

// tempKey names a job's temporary file; no other computer's job has the same.
func (r *Service) tempKey(j office.Job) string { return r.deps.Installation() + "/" + j.Key() }

// saveDue works on all jobs that are due and returns how long nothing will be. Those that become due meanwhile do not
// wait for a large file, and that goes on when others fail.
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
				retried := r.retried.Load()
				err := r.One("file "+j.Key(), func() error { return r.save(ctx, client, j, limits) })
				if retried != r.retried.Load() { // what failed is older than the person's word
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

// pausedFor is how long no download begins, for the service is in trouble or asked for it.
func (r *Service) pausedFor() time.Duration {
	now := r.Now()
	return max(r.Breaker.Left(now), r.service.Left("", now))
}

// lookAgain is how often to look for what became due by the time while files are under way.
const lookAgain = time.Second

// limits bound what is done at once: the network and the disk are not faster with more.
type limits struct {
	downloads *semaphore.Weighted
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
	most := 100 + r.Quarantine.Waiting(r.Now())
	now := r.Now()
	defer func() {
		alone := len(due)
		due = slices.DeleteFunc(due, func(j office.Job) bool { return r.LeftAlone("file " + j.Key()) })
		pause = r.PauseBeside(alone-len(due), pause)
	}()
	if r.folders.Waiting(now) == 0 {
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
	next := now.Add(r.folders.Next(now, maxFolderPause))
	waiting, err := data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs)
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

// maxFolderPause is the longest pause between two looks at a folder that takes no files.
const maxFolderPause = 5 * time.Minute

type state struct {
	mu       sync.Mutex
	underWay map[string]bool // keys of jobs
	leftOut  bool            // some that are due were left out, for others of their package are under way
}

func (s *state) begin(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay[key] = true
}

// end notes that it is no longer, and reports whether to look for others that are due: no job is under way now, or some were left out.
func (s *state) end(key string) (look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.underWay, key)
	return len(s.underWay) == 0 || s.leftOut
}

// beyondShare is asked for the keys of jobs in turn, and tells which are not to be begun: those that are under way, and those of
// packages that have their share of what is, and of what it has let pass. One goroutine asks.
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

// A folder that takes no files is kept in folders under its path, or where it is there and has no room, under full and its path.
const full = "full "

// block leaves a folder alone, longer with each failure in a row. Downloads that fail side by side count once.
func (r *Service) block(folder string, cause error) {
	if errors.Is(cause, archive.ErrFull) {
		folder = full + folder
	}
	r.folders.Failed(folder, r.Now(), func(n int) time.Duration { return r.Backoff(n, r.Pace.Folder, maxFolderPause) })
}

func (r *Service) blocked(folder string) bool {
	return r.folders.Waits(folder, r.Now()) || r.folders.Waits(full+folder, r.Now())
}

// opened notes that a folder could be opened or, when took is set, has taken a file: that a full disk can be opened is no news.
func (r *Service) opened(folder string, took bool) {
	was := r.folders.Worked(folder)
	if took {
		was = r.folders.Worked(full+folder) || was
	}
	if was && r.folders.Len() == 0 {
		r.Health.Clear(health.FolderFails)
	}
}
