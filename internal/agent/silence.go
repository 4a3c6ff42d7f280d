package agent

import (
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docLost names the document that says since when the service reports to another computer, or to none.
const docLost = "endpoint-lost"

// silenceGrace is how long after something was found out its event may still come, and clockMargin how far the service's
// clock may be from ours.
const (
	silenceGrace = 2 * time.Minute
	clockMargin  = 15 * time.Minute
)

// silence tells whether the service still reports to this computer. Nobody can ask for that: there is no call that reads
// an endpoint, and the one that sets it replaces any other of the same client (interface.md, events/endpoints/set). What
// can be known is what happened while this computer listened and came without its event: a signature, a package that is
// finished. Safe for concurrent use.
type silence struct {
	mu    sync.Mutex
	since map[string]time.Time // packageId -> when it was found
	gone  time.Time            // since when the reports are known to go elsewhere; zero while they come here
}

func (s *silence) note(packageID string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[string]time.Time{}
	}
	if _, noted := s.since[packageID]; !noted {
		s.since[packageID] = now
	}
}

// overdue reports whether the event of some package has not come in its time.
func (s *silence) overdue(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.since {
		if now.Sub(since).Abs() >= silenceGrace { // a clock that was set back proves nothing, and waits for nothing
			return true
		}
	}
	return false
}

// lost is true while the reports are known to go elsewhere.
func (s *silence) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone.IsZero()
}

func (s *silence) lose(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = since
}

// hears tells whether an event that came then speaks against what was taken for lost, and forgets what it explains: one
// that was stored before proves nothing about the time since.
func (s *silence) hears(packageID string, received time.Time) (found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, packageID)
	for id, since := range s.since {
		if received.After(since) {
			delete(s.since, id)
		}
	}
	return received.After(s.gone) && !s.gone.IsZero()
}

func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.since)
	s.gone = time.Time{}
}

// listeningSince is since when events could have come without a break; zero when they cannot now.
func (a *Agent) listeningSince() time.Time {
	e := a.endpoints.get()
	a.mu.Lock()
	defer a.mu.Unlock()
	if e == nil || a.tunnel.State != "up" {
		return time.Time{}
	}
	now := a.Now()
	var since time.Time
	for _, t := range []time.Time{a.tunnel.Since, e.Registered, a.awake} {
		if t.After(since) && !t.After(now) { // what lies ahead was noted by a clock that was wrong
			since = t
		}
	}
	return since
}

// owesEvent reports whether what a status answer tells of p, which was before until now, should have come as an event
// since listening: of a package that was asked about since, whatever is new; of one that was not known, that it was
// finished since.
func owesEvent(before, p office.Package, moved bool, listening, now time.Time) bool {
	switch {
	case listening.IsZero():
		return false
	case !before.Checked.IsZero():
		return moved && before.Checked.After(listening)
	default:
		return p.State == office.PackageExecuted && before.State != p.State &&
			before.Executed.After(listening.Add(clockMargin)) && before.Executed.Before(now.Add(-clockMargin))
	}
}

// heard is called for every event that was handled: the service does report to this computer, or did when it came.
func (a *Agent) heard(e esign.Event, received time.Time) {
	explains := e.PackageID
	if e.Action == esign.PackageAdd || e.Action == esign.PackageSent { // nobody's signature is found before these
		explains = ""
	}
	if !a.silence.hears(explains, received) {
		return
	}
	if err := a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLost, nil) }); err != nil {
		a.Log.Error("record that events arrive again", "err", err)
		return
	}
	a.silence.end()
	a.Health.Clear(health.EndpointLost)
}

// tellSilence notes and says in health that the service does not report to this computer any more. From then on the
// service is asked more often, as without a public address.
func (a *Agent) tellSilence() {
	now := a.Now()
	if a.silence.lost() || !a.silence.overdue(now) {
		return
	}
	if err := a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLost, now) }); err != nil {
		a.Log.Error("record that events do not arrive", "err", err)
		return
	}
	a.silence.lose(now)
	a.tellLost()
	a.reconcileSoon("events do not arrive")
}

func (a *Agent) tellLost() {
	a.Health.Set(health.EndpointLost, message.Plain("The signing service did not report some signatures to this computer. The events might be going to another computer, or someone turned them off. Documents are still saved, but later."))
}

// recallSilence remembers what an earlier run knew.
func (a *Agent) recallSilence() error {
	var since time.Time
	var known bool
	err := a.Data.View(func(tx *store.Tx) (err error) {
		known, err = tx.GetDoc(docLost, &since)
		return err
	})
	if err == nil && known {
		a.silence.lose(since)
		a.tellLost()
	}
	return err
}

// deaf is true while no events can be expected.
func (a *Agent) deaf() bool { return a.endpoints.get() == nil || a.silence.lost() }
