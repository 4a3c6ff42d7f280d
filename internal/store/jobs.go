package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/office"
	"countersign/internal/record"
)

// JobCounts counts save jobs by state.
type JobCounts struct {
	Done    int `json:"done"`
	Pending int `json:"pending"`
	Failed  int `json:"failed"`
}

func jobFacets(j office.Job) (f facets) {
	key := []byte(j.Key())
	f.entry(bucketTargets, key, targetKey(j.Folder, j.Target))
	f.count("jobs."+string(j.State), 1)
	if j.State == office.JobDone {
		f.entry(bucketJobsDone, nil, stamp(j.Done), key)
		f.fact("saved "+j.Digest, func() record.Fact { return savedFact(j) })
		if j.Seal.Due() {
			f.entry(bucketJobsUnproven, nil, stamp(j.Done), key)
		}
		if j.Seal.State != "" {
			f.fact("seal "+string(j.Seal.State)+" "+j.Seal.Signer+" "+j.Digest, func() record.Fact { return sealFact(j) })
		}
		if j.Wrong() && !j.Seal.Read {
			f.entry(bucketJobsWrong, nil, stamp(j.Done), key)
		}
		return f
	}
	if !j.Away {
		f.entry(bucketJobsDue, nil, stamp(j.NextTry), key)
	}
	if j.State == office.JobFailed {
		f.entry(bucketJobsFailed, nil, stamp(j.Planned), key)
	}
	if !j.Away && !j.Refused.IsZero() {
		f.entry(bucketJobsRefused, nil, stamp(j.Refused), key)
	}
	return f
}

// PlanJob stores a job. If its key exists, it changes nothing and returns false. It reserves the job's file name, and
// returns ErrTargetTaken if another job has it; so choose the name with JobAt in the same Update. An empty State becomes
// JobPending, a zero Planned becomes now.
func (tx *Tx) PlanJob(j office.Job) (planned bool, err error) {
	text := utf8.ValidString(j.PackageID) && utf8.ValidString(j.DocumentID) && utf8.ValidString(string(j.Kind))
	if j.PackageID == "" || j.Kind == "" || !text {
		return false, tx.fail(fmt.Errorf("plan job %q: %w", j.Key(), ErrBadID))
	}
	if _, ok, err := tx.Job(j.Key()); err != nil || ok {
		return false, tx.fail(err)
	}
	if j.State == "" {
		j.State = office.JobPending
	}
	if j.Planned.IsZero() {
		j.Planned = tx.now()
	}
	p, _, err := tx.Package(j.PackageID)
	if err != nil {
		return false, tx.fail(err)
	}
	j.Service = p.Service
	err = tx.putJob(j, facets{})
	return err == nil, err
}

// PutJob replaces a planned job, or returns ErrNotFound. If Folder or Target changes, the reservation moves; it returns
// ErrTargetTaken if another job has the name.
func (tx *Tx) PutJob(j office.Job) error {
	stored, ok, err := tx.Job(j.Key())
	switch {
	case err != nil:
		return tx.fail(err)
	case !ok:
		return tx.fail(fmt.Errorf("job %q: %w", j.Key(), ErrNotFound))
	}
	return tx.putJob(j, jobFacets(stored))
}

func (tx *Tx) putJob(j office.Job, old facets) error {
	owner := tx.get(bucketTargets, targetKey(j.Folder, j.Target))
	if owner != nil && string(owner) != j.Key() {
		return tx.fail(fmt.Errorf("reserve %q: %w", j.Target, ErrTargetTaken))
	}
	tx.home(&j.Home)
	inUTC(&j.Planned, &j.NextTry, &j.Done, &j.UnprovenAt, &j.Refused)
	value, err := encode(j)
	if err != nil {
		return tx.fail(fmt.Errorf("encode job %q: %w", j.Key(), err))
	}
	tx.put(bucketJobs, []byte(j.Key()), value)
	tx.refacet(old, jobFacets(j))
	if j.State == office.JobDone {
		tx.trimDone()
	}
	return tx.err
}

// mostRecent is how many finished jobs are indexed by time. All their records are kept.
const mostRecent = 100

// trimDone removes the entries beyond mostRecent from the index of finished jobs.
func (tx *Tx) trimDone() {
	var drop [][]byte
	kept := 0
	tx.newest(bucketJobsDone, "", func(key, _ []byte) bool {
		if kept++; kept > mostRecent {
			drop = append(drop, bytes.Clone(key))
		}
		return true
	})
	for _, key := range drop {
		tx.del(bucketJobsDone, key)
	}
}

// IsTaken reports whether a job has reserved this name in this folder. It does not read the job, because a name that
// includes only the year can have thousands of numbers.
func (tx *Tx) IsTaken(folder, target string) (bool, error) {
	return tx.get(bucketTargets, targetKey(folder, target)) != nil, tx.err
}

// JobAt returns the job, in any state, that has reserved this name in this folder. Names that differ only in case or Unicode
// normalisation are the same. An unreadable job is returned as done, without details: the file of that name may be its own,
// so the caller needs another name.
func (tx *Tx) JobAt(folder, target string) (office.Job, bool, error) {
	owner := tx.get(bucketTargets, targetKey(folder, target))
	if owner == nil {
		return office.Job{}, false, tx.err
	}
	j, err := at[office.Job](tx, bucketJobs, owner)
	if errors.Is(err, ErrRecord) {
		tx.leaveOut(err)
		j, err = unreadJob(owner, office.JobDone), nil
	}
	return j, err == nil, tx.fail(err)
}

// unreadJob is what the key of an unreadable job tells.
func unreadJob(key []byte, state office.JobState) office.Job {
	parts := strings.Split(string(key), "/")
	j := office.Job{PackageID: parts[0], Kind: office.FileKind(parts[len(parts)-1]), State: state}
	if len(parts) > 2 {
		j.DocumentID = parts[1]
	}
	return j
}

func (tx *Tx) Job(key string) (office.Job, bool, error) {
	value := tx.get(bucketJobs, []byte(key))
	if value == nil {
		return office.Job{}, false, tx.err
	}
	j, err := decode[office.Job](bucketJobs, []byte(key), value)
	return j, err == nil, err
}

// JobsOf returns all jobs of a package. An unreadable one is returned as JobFailed, without details: without it the package
// must not look complete.
func (tx *Tx) JobsOf(packageID string) ([]office.Job, error) {
	var list []office.Job
	tx.oldest(bucketJobs, []byte(office.KeyPart(packageID)+"/"), func(key, value []byte) bool {
		j, err := decode[office.Job](bucketJobs, key, value)
		if !tx.read(err) {
			j = unreadJob(key, office.JobFailed)
			j.PackageID = packageID
		}
		list = append(list, j)
		return true
	})
	return list, tx.err
}

// JobsAfter returns up to limit jobs after a key for which want is true, in key order.
func (tx *Tx) JobsAfter(key string, limit int, want func(office.Job) bool) (list []office.Job, err error) {
	start := []byte(key)
	if key != "" {
		start = append(start, 0)
	}
	behind := func(v visit) { tx.between(bucketJobs, start, nil, v) }
	job := func(key, value []byte) (office.Job, error) { return decode[office.Job](bucketJobs, key, value) }
	err = each(tx, behind, job, func(j office.Job) bool {
		if want(j) {
			list = append(list, j)
		}
		return len(list) < limit
	})
	return list, err
}

// JobsDue returns up to limit unfinished jobs whose NextTry is due, longest due first. It leaves out those for whose key
// skip returns true; nil skips none.
func (tx *Tx) JobsDue(d Due, limit int, skip func(key string) bool) ([]office.Job, error) {
	return tx.jobs(limit, func(each visit) {
		tx.due(bucketJobsDue, d, func(key, value []byte) bool {
			return skip != nil && skip(string(key[8:])) || each(key, value)
		})
	})
}

// jobs returns the jobs to whose keys walk leads in an index by time.
func (tx *Tx) jobs(limit int, walk func(visit)) ([]office.Job, error) {
	return listed(tx, limit, walk, behind[office.Job](tx, 8, bucketJobs))
}

// UnfinishedJobs returns all unfinished jobs of any service. It reads all jobs.
func (tx *Tx) UnfinishedJobs() ([]office.Job, error) {
	return tx.JobsAfter("", math.MaxInt, func(j office.Job) bool { return j.State != office.JobDone })
}

// PendingJobs returns all unfinished jobs of the service in use, in the order of NextTry.
func (tx *Tx) PendingJobs() ([]office.Job, error) {
	return tx.jobs(-1, func(each visit) { tx.oldest(bucketJobsDue, nil, each) })
}

// NextJob is the earliest NextTry of all unfinished jobs: 1970 if one is due immediately, the zero time if all are finished.
func (tx *Tx) NextJob() (time.Time, error) { return tx.first(bucketJobsDue) }

// JobsRefused returns the jobs that the service has refused since then or longer, the longest first.
func (tx *Tx) JobsRefused(since time.Time) ([]office.Job, error) {
	return tx.jobs(-1, func(each visit) { tx.between(bucketJobsRefused, nil, after(since), each) })
}

// FailedJobs returns all jobs in JobFailed, latest planned first.
func (tx *Tx) FailedJobs() ([]office.Job, error) {
	return tx.jobs(-1, tx.in(bucketJobsFailed))
}

// RecentSaved returns up to n finished jobs, latest first; it finds at most the newest 100.
func (tx *Tx) RecentSaved(n int) ([]office.Job, error) {
	return tx.jobs(n, tx.in(bucketJobsDone))
}

// JobsToExamine returns up to limit finished jobs whose files must be examined, latest first, without those for which skip
// returns true.
func (tx *Tx) JobsToExamine(limit int, skip func(office.Job) bool) (list []office.Job, err error) {
	err = each(tx, tx.in(bucketJobsUnproven), behind[office.Job](tx, 8, bucketJobs), func(j office.Job) bool {
		if !skip(j) {
			list = append(list, j)
		}
		return len(list) < limit
	})
	return list, err
}

// JobsWrong returns the jobs whose files differ from what was sealed or sent and whose warning nobody has read yet, latest
// first.
func (tx *Tx) JobsWrong() ([]office.Job, error) {
	return tx.jobs(-1, tx.in(bucketJobsWrong))
}

// JobCounts reads the counters; it does not scan.
func (tx *Tx) JobCounts() (c JobCounts, err error) {
	tx.counters(map[string]*int{
		"jobs." + string(office.JobPending): &c.Pending,
		"jobs." + string(office.JobDone):    &c.Done,
		"jobs." + string(office.JobFailed):  &c.Failed,
	})
	return c, tx.err
}
