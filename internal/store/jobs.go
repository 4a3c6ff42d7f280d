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

// PlanJob stores a job unless its key is there already; then it changes nothing and returns false. It reserves the
// job's file name: ErrTargetTaken when another job has it, so choose the name with JobAt in the same Update. An
// empty State becomes JobPending, a zero Planned becomes now.
func (tx *Tx) PlanJob(j office.Job) (planned bool, err error) {
	text := utf8.ValidString(j.PackageID) && utf8.ValidString(j.DocumentID) && utf8.ValidString(string(j.Kind))
	if j.PackageID == "" || j.Kind == "" || !text {
		return false, fmt.Errorf("plan job %q: %w", j.Key(), ErrBadID)
	}
	if _, ok, err := tx.Job(j.Key()); err != nil || ok {
		return false, err
	}
	if j.State == "" {
		j.State = office.JobPending
	}
	if j.Planned.IsZero() {
		j.Planned = tx.now()
	}
	p, _, err := tx.Package(j.PackageID)
	if err != nil {
		return false, err
	}
	j.Service = p.Service
	return true, tx.putJob(j, facets{})
}

// PutJob replaces a planned job, or returns ErrNotFound. A changed Folder or Target moves the reservation:
// ErrTargetTaken when another job has it.
func (tx *Tx) PutJob(j office.Job) error {
	stored, ok, err := tx.Job(j.Key())
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("job %q: %w", j.Key(), ErrNotFound)
	}
	return tx.putJob(j, jobFacets(stored))
}

func (tx *Tx) putJob(j office.Job, old facets) error {
	owner, err := tx.get(bucketTargets, targetKey(j.Folder, j.Target))
	if err != nil {
		return err
	}
	if owner != nil && string(owner) != j.Key() {
		return fmt.Errorf("reserve %q: %w", j.Target, ErrTargetTaken)
	}
	if err := tx.home(&j.Home); err != nil {
		return err
	}
	inUTC(&j.Planned, &j.NextTry, &j.Done, &j.UnprovenAt, &j.Refused)
	value, err := encode(j)
	if err != nil {
		return fmt.Errorf("encode job %q: %w", j.Key(), err)
	}
	if err := tx.put(bucketJobs, []byte(j.Key()), value); err != nil {
		return err
	}
	if err := tx.refacet(old, jobFacets(j)); err != nil || j.State != office.JobDone {
		return err
	}
	return tx.trimDone()
}

// mostRecent is how many jobs that are done are kept in the order of time. Their records stay, all of them.
const mostRecent = 100

// trimDone drops what is beyond mostRecent from the index of jobs that are done.
func (tx *Tx) trimDone() error {
	var drop [][]byte
	kept := 0
	err := tx.newest(bucketJobsDone, "", func(key, _ []byte) (bool, error) {
		if kept++; kept > mostRecent {
			drop = append(drop, bytes.Clone(key))
		}
		return true, nil
	})
	for _, key := range drop {
		err = errors.Join(err, tx.del(bucketJobsDone, key))
	}
	return err
}

// IsTaken reports whether a job has reserved this name in this folder, without reading it: one name in a year has thousands
// of numbers.
func (tx *Tx) IsTaken(folder, target string) (bool, error) {
	owner, err := tx.get(bucketTargets, targetKey(folder, target))
	return owner != nil, err
}

// JobAt returns the job, of whatever state, that has reserved this name in this folder. Names that differ only in case
// or Unicode normalisation are the same. One that cannot be read counts as done, and nothing more is known of it: the file
// of that name may be its own, and whoever looks for a name needs another one.
func (tx *Tx) JobAt(folder, target string) (office.Job, bool, error) {
	owner, err := tx.get(bucketTargets, targetKey(folder, target))
	if err != nil || owner == nil {
		return office.Job{}, false, err
	}
	j, err := at[office.Job](tx, bucketJobs, owner)
	if errors.Is(err, ErrRecord) {
		tx.leaveOut(err)
		j, err = unreadJob(owner, office.JobDone), nil
	}
	return j, err == nil, err
}

// unreadJob is what the key of a job tells when its record cannot be read.
func unreadJob(key []byte, state office.JobState) office.Job {
	parts := strings.Split(string(key), "/")
	j := office.Job{PackageID: parts[0], Kind: office.FileKind(parts[len(parts)-1]), State: state}
	if len(parts) > 2 {
		j.DocumentID = parts[1]
	}
	return j
}

// Job returns the job with this [Job.Key].
func (tx *Tx) Job(key string) (office.Job, bool, error) {
	value, err := tx.get(bucketJobs, []byte(key))
	if err != nil || value == nil {
		return office.Job{}, false, err
	}
	j, err := decode[office.Job](bucketJobs, []byte(key), value)
	return j, err == nil, err
}

// JobsOf returns all jobs of a package. One that cannot be read is JobFailed, and nothing more is known of it: a package
// must not look complete without it.
func (tx *Tx) JobsOf(packageID string) ([]office.Job, error) {
	var list []office.Job
	err := tx.oldest(bucketJobs, []byte(office.KeyPart(packageID)+"/"), func(key, value []byte) (bool, error) {
		j, err := decode[office.Job](bucketJobs, key, value)
		if errors.Is(err, ErrRecord) {
			tx.leaveOut(err)
			j, err = unreadJob(key, office.JobFailed), nil
			j.PackageID = packageID
		}
		list = append(list, j)
		return true, err
	})
	return list, err
}

// JobsAfter returns up to limit jobs for which want is true and whose keys come behind one, in the order of the keys.
func (tx *Tx) JobsAfter(key string, limit int, want func(office.Job) bool) (list []office.Job, err error) {
	start := []byte(key)
	if key != "" {
		start = append(start, 0)
	}
	behind := func(v visit) error { return tx.between(bucketJobs, start, nil, v) }
	job := func(key, value []byte) (office.Job, error) { return decode[office.Job](bucketJobs, key, value) }
	err = each(tx, behind, job, func(j office.Job) bool {
		if want(j) {
			list = append(list, j)
		}
		return len(list) < limit
	})
	return list, err
}

// JobsDue returns up to limit jobs that are not done and due by their NextTry, longest due first, without those of whose
// keys skip says so; nil skips none.
func (tx *Tx) JobsDue(d Due, limit int, skip func(key string) bool) ([]office.Job, error) {
	return tx.jobs(limit, func(each visit) error {
		return tx.due(bucketJobsDue, d, func(key, value []byte) (bool, error) {
			if skip != nil && skip(string(key[8:])) {
				return true, nil
			}
			return each(key, value)
		})
	})
}

// jobs lists those whose keys in an index by time walk leads to.
func (tx *Tx) jobs(limit int, walk func(visit) error) ([]office.Job, error) {
	return listed(tx, limit, walk, func(key []byte) (office.Job, error) { return at[office.Job](tx, bucketJobs, key[8:]) })
}

// UnfinishedJobs returns all jobs of any service that are not done. It reads all there are.
func (tx *Tx) UnfinishedJobs() ([]office.Job, error) {
	return tx.JobsAfter("", math.MaxInt, func(j office.Job) bool { return j.State != office.JobDone })
}

// PendingJobs returns all jobs of the service in use that are not done, in the order of NextTry.
func (tx *Tx) PendingJobs() ([]office.Job, error) {
	return tx.jobs(-1, func(each visit) error { return tx.oldest(bucketJobsDue, nil, each) })
}

// NextJob is the earliest NextTry of all jobs that are not done: 1970 when one has none and is due at once, the zero
// time when all are done.
func (tx *Tx) NextJob() (time.Time, error) { return tx.first(bucketJobsDue) }

// JobsRefused returns the jobs that the service has not given since then or longer, the longest refused first.
func (tx *Tx) JobsRefused(since time.Time) ([]office.Job, error) {
	return tx.jobs(-1, func(each visit) error { return tx.between(bucketJobsRefused, nil, after(since), each) })
}

// FailedJobs returns all jobs in JobFailed, latest planned first.
func (tx *Tx) FailedJobs() ([]office.Job, error) {
	return tx.jobs(-1, func(each visit) error { return tx.newest(bucketJobsFailed, "", each) })
}

// RecentSaved returns up to n jobs that are done, latest first; no more than the newest 100 are found.
func (tx *Tx) RecentSaved(n int) ([]office.Job, error) {
	return tx.jobs(n, func(each visit) error { return tx.newest(bucketJobsDone, "", each) })
}

// JobsToExamine returns up to limit jobs that are done and whose files are to be examined, latest first, without those of
// which skip says so.
func (tx *Tx) JobsToExamine(limit int, skip func(office.Job) bool) (list []office.Job, err error) {
	unproven := func(v visit) error { return tx.newest(bucketJobsUnproven, "", v) }
	job := func(key, _ []byte) (office.Job, error) { return at[office.Job](tx, bucketJobs, key[8:]) }
	err = each(tx, unproven, job, func(j office.Job) bool {
		if !skip(j) {
			list = append(list, j)
		}
		return len(list) < limit
	})
	return list, err
}

// JobsWrong returns the jobs whose files are not what was sealed or sent, of which nobody has read yet, latest first.
func (tx *Tx) JobsWrong() ([]office.Job, error) {
	return tx.jobs(-1, func(each visit) error { return tx.newest(bucketJobsWrong, "", each) })
}

// JobCounts reads the counters; it does not scan.
func (tx *Tx) JobCounts() (c JobCounts, err error) {
	err = tx.counters(map[string]*int{
		"jobs." + string(office.JobPending): &c.Pending,
		"jobs." + string(office.JobDone):    &c.Done,
		"jobs." + string(office.JobFailed):  &c.Failed,
	})
	return c, err
}
