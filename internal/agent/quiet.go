package agent

import (
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docPause names the document with the two ends of the pause of notifications.
const docPause = "paused"

// Pause raises no notifications until then, also after a restart; a moment gone by ends the pause.
func (a *Agent) Pause(until time.Time) {
	pause := loop.Cooldown{From: a.Now().Round(0), Until: until.Round(0)}
	err := a.pause.Change(func(loop.Cooldown) (loop.Cooldown, error) {
		return pause, a.Data.Update(func(tx *store.Tx) error {
			return tx.PutDoc(docPause, [2]time.Time{pause.From, pause.Until})
		})
	})
	if err != nil { // which health says
		a.Log.Error("pause notifications", "err", err)
	}
	a.Signal(office.StatusChanged)
}

// Paused returns until when notifications are paused; zero when they are not.
func (a *Agent) Paused() time.Time {
	pause := a.pause.Get()
	if pause.Over(a.Now()) {
		return time.Time{}
	}
	return pause.Until
}

// silenced reports that f is not to be raised: people chose not to be told, or not now. What happened stays in the
// activity list.
func (a *Agent) silenced(f fact) bool {
	s := a.Settings()
	switch {
	case s.Notify == office.NotifyNone, s.Notify == office.NotifyExecuted && f.kind == factSigned:
		return true
	case !a.Paused().IsZero():
		return true
	default:
		return s.QuietAt(a.Now().Local())
	}
}
