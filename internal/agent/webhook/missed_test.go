package webhook

import (
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/tunnel"
)

func TestAnEventEndsTheDoubtItExplains(t *testing.T) {
	found := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	missing := func() *missed {
		s := &missed{}
		s.note("a", found)
		s.note("b", found)
		return s
	}
	late := found.Add(MissedGrace)
	s := missing()
	if s.overdue(late.Add(-1)) || !s.overdue(late) || !s.overdue(found.Add(-time.Hour)) {
		t.Error("overdue at the wrong time")
	}
	if s.hears("c", found.Add(-time.Minute)); !s.overdue(late) {
		t.Error("an event that was stored before it was found explains nothing")
	}
	if s.hears("a", found.Add(-time.Minute)); !s.overdue(late) {
		t.Error("the event of one package explains the other")
	}
	if s.hears("b", found.Add(-time.Minute)); s.overdue(late) {
		t.Error("an event of its own does not explain a package")
	}
	s = missing()
	if s.hears("c", found.Add(time.Second)); s.overdue(late) {
		t.Error("an event that comes after it does not end the doubt")
	}
	s.lose(late)
	if s.hears("c", late.Add(-time.Second)) || !s.hears("c", late.Add(time.Second)) {
		t.Error("what is known to be lost is found by the wrong event")
	}
	if (&missed{}).hears("c", found) {
		t.Error("nothing was lost")
	}
}

// A clock that was a year fast when the reports were taken for lost does not have them lost for a year.
func TestReportsAreFoundAgainThoughTheClockWasFastWhenTheyWereLost(t *testing.T) {
	for name, then := range map[string]func(*testService){
		"in one run":      func(*testService) {},
		"noticed at once": func(x *testService) { x.WokeUp(-365 * 24 * time.Hour) },
		"after a restart": func(x *testService) {
			x.missed.end()
			must(t, x.recallMissed())
		},
	} {
		x := newService(t)
		x.up("https://office.test")
		x.register(t)
		const year = 365 * 24 * time.Hour
		x.later(year)
		x.Missed("p", x.Now())
		x.later(MissedGrace)
		if x.Tell(); !x.Health.Has(health.EndpointLost) {
			t.Fatalf("%s: nothing is lost", name)
		}
		x.later(-year)
		then(x)
		x.Tell()
		x.later(time.Minute)
		if x.Heard(esign.Event{Action: esign.DocumentSigned, PackageID: "p"}, x.Now()); x.Health.Has(health.EndpointLost) || x.missed.lost() {
			t.Errorf("%s: an event came, and people are still told that none does", name)
		}
	}
}

// An event that could not come in its time is not taken for one that went elsewhere.
func TestNothingIsTakenForLostThatCouldNotCome(t *testing.T) {
	for name, then := range map[string]func(*testService){
		"the address is closed": func(x *testService) { x.setState(tunnel.State{Phase: tunnel.Down}, string(tunnel.Down)) },
		"the address was closed": func(x *testService) {
			x.setState(tunnel.State{Phase: tunnel.Down}, string(tunnel.Down))
			x.later(time.Minute)
			x.up("https://office.test")
		},
		"the computer slept": func(x *testService) {
			x.later(8 * time.Hour)
			x.WokeUp(8 * time.Hour)
		},
	} {
		x := newService(t)
		x.up("https://office.test")
		x.register(t)
		x.later(time.Hour)
		x.Missed("p", x.Now())
		x.later(time.Minute)
		then(x)
		x.later(MissedGrace)
		if x.Tell(); x.Health.Has(health.EndpointLost) {
			t.Errorf("%s: people are told that another computer may get the reports", name)
		}
		x.up("https://office.test")
		x.later(time.Minute)
		x.Missed("q", x.Now())
		x.later(MissedGrace)
		if x.Tell(); !x.Health.Has(health.EndpointLost) {
			t.Errorf("%s: what is missed later is not told", name)
		}
	}
}
