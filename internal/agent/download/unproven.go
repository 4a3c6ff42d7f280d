package download

import (
	"fmt"
	"time"

	"countersign/internal/archive"
	"countersign/internal/office"
	"countersign/internal/store"
)

// unprovenApart is how far apart two downloads lie that are to confirm each other where the service announces no length:
// trouble on the way that cut off the first one at some place should not be there any more.
const unprovenApart = time.Minute

// cameBefore is what an earlier try received, as archive.Request.Before, when the next one may confirm it. A service
// that announces the length, and keeps to it, is believed at the next try.
func (r *Service) cameBefore(j office.Job, declared int64) string {
	if declared < 0 && r.unprovenWait(j) > 0 {
		return ""
	}
	return j.Unproven
}

// unprovenWait is how long what j received may not be confirmed yet.
func (r *Service) unprovenWait(j office.Job) time.Duration {
	age := r.Now().Sub(j.UnprovenAt)
	return unprovenApart - min(max(0, age), unprovenApart)
}

// unproven puts off a job whose document came without its end. Most of these were cut off, so the next try is soon;
// when the same comes again, the one that may confirm it is the next.
func (r *Service) unproven(j office.Job, cause error, got archive.Saved) error {
	var wait time.Duration
	err := r.Data.Update(func(tx *store.Tx) error {
		wait = 0
		stored, ok, err := tx.Job(j.Key())
		if err != nil || !ok || stored.State == office.JobDone {
			return err
		}
		if stored.Unproven == got.Digest && !stored.UnprovenAt.After(r.Now()) { // else by a clock that was wrong
			wait = r.unprovenWait(stored)
			return nil
		}
		stored.Unproven, stored.UnprovenAt = got.Digest, r.Now()
		return tx.PutJob(stored)
	})
	if err != nil {
		return fmt.Errorf("record what came of %s: %w", j.Target, err)
	}
	return r.putOff(j, archive.Message(cause), wait, true)
}
