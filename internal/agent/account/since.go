package account

import (
	"errors"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/store"
)

// sinceUnsure is how far back a first sign-in may lie whose moment was noted by a clock that was wrong.
const sinceUnsure = 90 * 24 * time.Hour

// MendSince puts the moment of the first sign-in right when it lies ahead: what was finished before it is not fetched,
// and nothing may be taken for that. by is how far the clock was set back, 0 when that is not known.
func (r *Service) MendSince(by time.Duration) {
	err := r.current.Change(func(o Current) (Current, error) {
		now, acc := r.Now(), &o.Account
		if !acc.Since.After(now.Add(loop.ClockSlack)) {
			return o, errNothing
		}
		if since := acc.Since.Add(by); by != 0 && !since.After(now) {
			acc.Since = since
		} else {
			acc.Since = now.Add(-sinceUnsure)
		}
		return o, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
	})
	if err == nil {
		r.Changed()
	} else if !errors.Is(err, errNothing) {
		r.Log.Error("record since when somebody is signed in", "err", err)
	}
}
