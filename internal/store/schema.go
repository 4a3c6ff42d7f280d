package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// The buckets. Records lie in the order of time under "stamp sequence" (16 bytes), so that lists are read in
// order without a look-up; a bucket of identifiers leads to them.
const (
	bucketMeta   = "meta"   // "schema": decimal
	bucketCounts = "counts" // counter name -> int64, big-endian

	bucketEvents        = "events"         // row -> Event
	bucketEventIDs      = "event_ids"      // id -> row, or what is left of a forgotten event, see forgotten
	bucketEventsPending = "events_pending" // row
	bucketEventsOdd     = "events_odd"     // row
	bucketEventsOld     = "events_old"     // Event.Day as four bytes, row: events that can be forgotten in time

	bucketPackages        = "packages"         // row -> Package
	bucketPackageIDs      = "package_ids"      // id -> row
	bucketPackageLines    = "package_lines"    // row -> PackageLine
	bucketPackagesDue     = "packages_due"     // stamp of NextCheck, row
	bucketPackagesRefused = "packages_refused" // stamp of Refused, row: signed by everyone, and not planned
	bucketPackagesByDraft = "packages_drafts"  // draft id -> row
	bucketWithdrawalsDue  = "withdrawals_due"  // stamp of Withdrawal.NextTry, row: pending
	bucketJobs            = "jobs"             // Job.Key -> Job
	bucketJobsDue         = "jobs_due"         // stamp of NextTry, Job.Key
	bucketJobsRefused     = "jobs_refused"     // stamp of Refused, Job.Key: not done
	bucketJobsFailed      = "jobs_failed"      // stamp of Planned, Job.Key
	bucketJobsDone        = "jobs_done"        // stamp of Done, Job.Key: the newest mostRecent
	bucketTargets         = "targets"          // targetKey -> Job.Key
	bucketDrafts          = "drafts"           // row -> Draft
	bucketDraftIDs        = "draft_ids"        // id -> row
	bucketDraftStates     = "drafts_by_state"  // state, 0, row
	bucketDraftsDue       = "drafts_due"       // stamp of NextTry, row
	bucketActivity        = "activity"         // row -> Activity
	bucketOnce            = "facts"            // hash of a fact
	bucketSealed          = "sealed"           // name -> bytes
	bucketDocs            = "docs"             // name -> JSON
)

// migration brings the schema from version-1 to version. It must do so from whatever any earlier release left behind.
type migration struct {
	version int
	apply   func(*bolt.Tx) error
}

// migrations are all of them, in order, without gaps. A release never changes one that has shipped; it adds one. Where an
// earlier program stored what people were told as a text, it stays one and is read as it is: see message.UnmarshalJSON.
var migrations = []migration{
	{1, createBuckets},
	{2, prepareForgetting},
	{3, nothingIsGivenUp},
	{4, indexWithdrawals},
	{5, countDeclined},
}

// createBuckets is schema 1.
func createBuckets(tx *bolt.Tx) error {
	for _, name := range []string{
		bucketCounts,
		bucketEvents, bucketEventIDs, bucketEventsPending, bucketEventsOdd,
		bucketPackages, bucketPackageIDs, bucketPackageLines, bucketPackagesDue, bucketPackagesByDraft,
		bucketJobs, bucketJobsDue, bucketJobsFailed, bucketJobsDone, bucketTargets,
		bucketDrafts, bucketDraftIDs, bucketDraftStates, bucketDraftsDue,
		bucketActivity, bucketFacts1, bucketSealed, bucketDocs,
	} {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	return nil
}

// bucketFacts1 is where schema 1 kept facts: fact -> time.
const bucketFacts1 = "once"

// prepareForgetting is schema 2: events that are done are in the index by which they are forgotten, as of a day before
// the first that is counted; facts take sixteen bytes each instead of their whole text.
func prepareForgetting(tx *bolt.Tx) error {
	old, err := tx.CreateBucketIfNotExists([]byte(bucketEventsOld))
	if err != nil {
		return err
	}
	err = tx.Bucket([]byte(bucketEvents)).ForEach(func(row, value []byte) error {
		e, err := decode[office.Event](bucketEvents, row, value)
		if errors.Is(err, ErrRecord) {
			return nil // an event that cannot be read is never forgotten, and keeps nothing from being brought up to date
		}
		if err != nil || !forgettable(e) {
			return err
		}
		return old.Put(oldKey(e, row), nil)
	})
	if err != nil {
		return err
	}
	facts, err := tx.CreateBucketIfNotExists([]byte(bucketOnce))
	if err != nil {
		return err
	}
	err = tx.Bucket([]byte(bucketFacts1)).ForEach(func(fact, _ []byte) error { return facts.Put(factKey(fact), noted) })
	if err != nil {
		return err
	}
	return tx.DeleteBucket([]byte(bucketFacts1))
}

var keySchema = []byte("schema")

// migrate brings the file to the newest schema in one transaction: a step that fails leaves the file as it was. It
// writes nothing when there is nothing to do.
func migrate(db *bolt.DB, path string, steps []migration) error {
	have, err := schemaOf(db)
	if err != nil {
		return &CorruptError{Path: path, Reason: err.Error()}
	}
	newest := steps[len(steps)-1].version
	switch {
	case have > newest:
		return fmt.Errorf("%w: %s has schema %d, this version knows %d", ErrNewer, path, have, newest)
	case have == newest:
		return nil
	}
	return db.Update(func(tx *bolt.Tx) error {
		for _, step := range steps {
			if step.version <= have {
				continue
			}
			if err := step.apply(tx); err != nil {
				return fmt.Errorf("bring %s to schema %d: %w", path, step.version, err)
			}
		}
		return tx.Bucket([]byte(bucketMeta)).Put(keySchema, []byte(strconv.Itoa(newest)))
	})
}

// schemaOf reads the schema version; 0 is a file that createIfMissing has just begun.
func schemaOf(db *bolt.DB) (version int, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketMeta))
		if b == nil {
			return errors.New("not a Countersign data file")
		}
		v := b.Get(keySchema)
		if v == nil {
			return nil
		}
		if version, err = strconv.Atoi(string(v)); err != nil || version < 1 {
			return fmt.Errorf("schema version %q", v)
		}
		return nil
	})
	return version, err
}

func encodeCount(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func decodeCount(v []byte) int64 {
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}
