package loop

import (
	"testing"
	"time"
)

func TestWhatFailsIsLeftAloneByItselfAndNoLongerThanItsPause(t *testing.T) {
	var r Retries
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	pause := func(tries int) time.Duration { return time.Duration(tries) * time.Minute }
	if !r.Failed("a", now, pause) || r.Failed("a", now, pause) {
		t.Error("the first failure is the first")
	}
	if !r.Rests("a", now.Add(119*time.Second)) || r.Rests("b", now) || r.Rests("a", now.Add(2*time.Minute)) {
		t.Error("it rests for two minutes, and it alone")
	}
	if r.Rests("a", now.Add(-time.Hour)) {
		t.Error("the clock was wrong, and it waits for that")
	}
	if r.Now(); r.Rests("a", now) {
		t.Error("a person wants it now")
	}
	r.Worked("a")
	if !r.Failed("a", now, pause) {
		t.Error("it has worked since")
	}
	if r.Keep(func(string) bool { return false }); len(r.list) != 0 {
		t.Error("what is no more is still known")
	}
}
