package store

import (
	"encoding/binary"
	"fmt"
	"strconv"

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

// schema is the version of all this. Before the first release it stays 1 and may change.
const schema = 1

var keySchema = []byte("schema")

// createBuckets makes an empty file one of this schema.
func createBuckets(tx *bolt.Tx) error {
	for _, name := range []string{
		bucketMeta, bucketCounts,
		bucketEvents, bucketEventIDs, bucketEventsPending, bucketEventsOdd, bucketEventsOld,
		bucketPackages, bucketPackageIDs, bucketPackageLines, bucketPackagesDue, bucketPackagesRefused, bucketPackagesByDraft, bucketWithdrawalsDue,
		bucketJobs, bucketJobsDue, bucketJobsRefused, bucketJobsFailed, bucketJobsDone, bucketTargets,
		bucketDrafts, bucketDraftIDs, bucketDraftStates, bucketDraftsDue,
		bucketActivity, bucketOnce, bucketSealed, bucketDocs,
	} {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	return tx.Bucket([]byte(bucketMeta)).Put(keySchema, []byte(strconv.Itoa(schema)))
}

// checkSchema refuses a file of a newer schema, and one that is none of ours.
func checkSchema(db *bolt.DB, path string) error {
	return db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketMeta))
		if b == nil {
			return &CorruptError{Path: path, Reason: "not a Countersign data file"}
		}
		v := b.Get(keySchema)
		have, err := strconv.Atoi(string(v))
		switch {
		case err != nil || have < schema:
			return &CorruptError{Path: path, Reason: fmt.Sprintf("schema version %q", v)}
		case have > schema:
			return fmt.Errorf("%w: %s has schema %d, this version knows %d", ErrNewer, path, have, schema)
		}
		return nil
	})
}

func encodeCount(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func decodeCount(v []byte) int64 {
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}
