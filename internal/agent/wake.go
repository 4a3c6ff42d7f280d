package agent

import (
	"time"
)

// networkFree is called when somebody has signed in to the network: whatever it has kept waiting is tried at once.
func (a *Agent) networkFree() {
	a.Breaker.Close()
	a.webhook.Reopen()
	a.saves.Retry()
	a.Quarantine.Clear()
	a.packages.Sweep("the network is free")
	a.wakeAll()
}

// wokeUp is called when the wall clock has jumped by that much: whatever was under way before is over, and whatever waits
// for a moment by the clock of then is tried at once.
func (a *Agent) wokeUp(by time.Duration) {
	a.Log.Info("the computer slept, or its clock was set", "by", by.Round(time.Second))
	a.p.Network.Forget() // it may be another network
	a.webhook.WokeUp(by)
	a.account.WokeUp()
	if by < 0 {
		a.account.MendSince(by)
		a.Health.MendSince()
	}
	a.saves.Retry()
	a.Quarantine.Clear()
	a.packages.Sweep("the computer woke up")
	a.wakeAll()
}
