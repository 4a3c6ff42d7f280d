package announce

import (
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docSnooze names the document with the two ends of the snooze.
const docSnooze = "paused"

// Load reads what is kept, once it may be another than New has read.
func (r *Service) Load() error { return r.loadSnooze() }

func (r *Service) loadSnooze() error {
	kept, _, err := data.Doc[[2]time.Time](r.Data, docSnooze)
	if err != nil {
		return err
	}
	r.snooze.Set(loop.Cooldown{From: kept[0], Until: kept[1]})
	return nil
}

// Snooze raises no notifications until then, also after a restart; a moment gone by ends the snooze.
func (r *Service) Snooze(until time.Time) {
	next := loop.Cooldown{From: r.Now().Round(0), Until: until.Round(0)}
	err := r.snooze.Change(func(loop.Cooldown) (loop.Cooldown, error) {
		return next, r.Data.Update(func(tx *store.Tx) error {
			return tx.PutDoc(docSnooze, [2]time.Time{next.From, next.Until})
		})
	})
	if err != nil { // which health says
		r.Log.Error("snooze notifications", "err", err)
	}
	r.Signal(office.StatusChanged)
}

// Snoozed returns until when no notifications are raised; zero when they are.
func (r *Service) Snoozed() time.Time {
	snooze := r.snooze.Get()
	if snooze.Over(r.Now()) {
		return time.Time{}
	}
	return snooze.Until
}

// muted reports that f is not to be raised: people chose not to be told, or not now. What happened stays in the
// activity list.
func (r *Service) muted(f office.Fact) bool {
	s := r.deps.Settings()
	switch {
	case s.Notify == office.NotifyNone, s.Notify == office.NotifyExecuted && f.Kind == office.FactSigned:
		return true
	default:
		return r.Silent()
	}
}

// Silent reports that people want to hear nothing for now: a snooze, or quiet hours.
func (r *Service) Silent() bool {
	return !r.Snoozed().IsZero() || r.deps.Settings().QuietAt(r.Now().Local())
}
