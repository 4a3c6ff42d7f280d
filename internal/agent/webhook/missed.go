package webhook

import (
	"maps"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docLost names the document that says since when the service reports to another computer, or to none.
const docLost = "endpoint-lost"

// MissedGrace is how long after something was found out its event may still come.
const MissedGrace = 2 * time.Minute

// missed finds out whether the service still reports to this computer. No call reads the endpoint, and the one that sets it
// replaces any other of the same client (interface.md, events/endpoints/set). But a signature or a finished package that a
// status call shows, and whose event did not come while this computer listened, was reported elsewhere. Safe for concurrent
// use.
type missed struct {
	mu    sync.Mutex
	since map[string]time.Time // packageId -> when it was found
	gone  time.Time            // since when the reports are known to go elsewhere; zero while they come here
}

func (s *missed) note(packageID string, now time.Time) {
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
func (s *missed) overdue(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.since {
		if now.Sub(since).Abs() >= MissedGrace { // a clock that was set back proves nothing, and waits for nothing
			return true
		}
	}
	return false
}

// expectSince forgets what was found before the address was open, zero for one that is not: until then no event could come, and the
// service may not try again.
func (s *missed) expectSince(open time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.since, func(_ string, found time.Time) bool { return open.IsZero() || found.Before(open) })
}

// lost is true while the reports are known to go elsewhere.
func (s *missed) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone.IsZero()
}

// notLaterThan corrects a moment that was noted by a clock that ran fast: no event would come after it.
func (s *missed) notLaterThan(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone.After(now) {
		s.gone = now
	}
}

func (s *missed) lose(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = since
}

// hears forgets what an event that came then explains, and reports whether it shows that the reports come here after all; one
// that came before they were taken for lost does not.
func (s *missed) hears(packageID string, received time.Time) (found bool) {
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

// expectNothing forgets what has not come yet.
func (s *missed) expectNothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.since)
}

func (s *missed) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.since)
	s.gone = time.Time{}
}

// ListeningSince is since when events could have come without a break; zero when they cannot now.
func (r *Service) ListeningSince() time.Time {
	r.mu.Lock()
	gap := r.gap
	r.mu.Unlock()
	return r.openSince(gap)
}

// openSince is since when the address is open and registered, but not before gap; zero when it is not now.
func (r *Service) openSince(gap time.Time) time.Time {
	e := r.endpoints.get()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e == nil || r.address.State != "up" {
		return time.Time{}
	}
	now := r.Now()
	var since time.Time
	for _, t := range []time.Time{r.address.Since, e.Registered, gap} {
		if t.After(since) && !t.After(now) { // what lies ahead was noted by a clock that was wrong
			since = t
		}
	}
	return since
}

// Missed notes that what a status answer told of a package should have come as an event.
func (r *Service) Missed(packageID string, now time.Time) { r.missed.note(packageID, now) }

// Tell keeps in step what becomes true with time alone: that an event has not come, that the address is closed for long.
// It is called now and then.
func (r *Service) Tell() {
	r.tellMissed()
	r.tellAddress()
}

// Heard is called for every event that was handled: the service does report to this computer, or did when it came.
func (r *Service) Heard(e esign.Event, received time.Time) {
	explains := e.PackageID
	if e.Action == esign.PackageAdd || e.Action == esign.PackageSent { // nobody's signature is found before these
		explains = ""
	}
	if !r.missed.hears(explains, received) {
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLost, nil) }); err != nil {
		r.Log.Error("record that events arrive again", "err", err)
		return
	}
	r.missed.end()
	r.Health.Clear(health.EndpointLost)
}

// tellMissed notes and says in health that the service does not report to this computer any more. From then on the
// service is asked more often, as without a public address. Where an office has chosen to have none, nothing is missed; what
// was lost before is said again once it has one.
func (r *Service) tellMissed() {
	now := r.Now()
	r.missed.expectSince(r.openSince(time.Time{}))
	switch {
	case r.Current().Settings.Tunnel == office.TunnelNone:
		r.missed.expectNothing()
		r.Health.Clear(health.EndpointLost)
		return
	case r.missed.lost():
		r.missed.notLaterThan(now)
		r.tellLost()
		return
	case !r.missed.overdue(now):
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLost, now) }); err != nil {
		r.Log.Error("record that events do not arrive", "err", err)
		return
	}
	r.missed.lose(now)
	r.tellLost()
	r.Sweep("events do not arrive")
}

func (r *Service) tellLost() {
	if !r.Health.Has(health.EndpointLost) {
		r.Health.Set(health.EndpointLost, message.EndpointLost())
	}
}

// recallMissed remembers what an earlier run knew.
func (r *Service) recallMissed() error {
	since, known, err := data.Doc[time.Time](r.Data, docLost)
	if known {
		r.missed.lose(since)
		r.tellMissed()
	}
	return err
}

// Deaf is true while no events can be expected.
func (r *Service) Deaf() bool { return r.endpoints.get() == nil || r.missed.lost() }
