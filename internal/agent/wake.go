package agent

import (
	"errors"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/store"
)

// wokeUp is called when the wall clock has jumped by that much: whatever was under way before is over, and whatever waits
// for a moment by the clock of then is tried at once.
func (a *Agent) wokeUp(by time.Duration) {
	a.Log.Info("the computer slept, or its clock was set", "by", by.Round(time.Second))
	a.webhook.WokeUp(by)
	if by < 0 {
		a.mendSince(by)
	}
	a.saves.Retry()
	a.Quarantine.Clear()
	a.reconcileSoon("the computer woke up")
	a.wakeAll()
}

// sinceUnsure is how far back a first sign-in may lie whose moment was noted by a clock that was wrong.
const sinceUnsure = 90 * 24 * time.Hour

// mendSince puts the moment of the first sign-in right when it lies ahead: what was finished before it is not fetched,
// and nothing may be taken for that. by is how far the clock was set back, 0 when that is not known.
func (a *Agent) mendSince(by time.Duration) {
	err := a.current.Change(func(o current) (current, error) {
		now, acc := a.Now(), &o.account
		if !acc.Since.After(now.Add(loop.ClockSlack)) {
			return o, errUnchanged
		}
		if since := acc.Since.Add(by); by != 0 && !since.After(now) {
			acc.Since = since
		} else {
			acc.Since = now.Add(-sinceUnsure)
		}
		return o, a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docAccount, o.account) })
	})
	if err == nil {
		a.keepPrecious()
	} else if !errors.Is(err, errUnchanged) {
		a.Log.Error("record since when somebody is signed in", "err", err)
	}
}
