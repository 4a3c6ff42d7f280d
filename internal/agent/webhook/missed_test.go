package webhook

import (
	"testing"
	"time"
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
