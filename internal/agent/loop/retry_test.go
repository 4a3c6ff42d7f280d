package loop

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/trytest"
)

func TestPausesDoubleUpToTheirLimit(t *testing.T) {
	tools := Base{Jitter: func() float64 { return 0 }, Pace: Pace{}.Complete()}
	var got []time.Duration
	for n := 1; n <= 7; n++ {
		got = append(got, tools.Backoff(n, tools.Pace.Retry, time.Minute)/time.Second)
	}
	if want := []time.Duration{2, 4, 8, 16, 32, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("%d seconds, want %d", got, want)
	}
	if d := tools.Backoff(1_000_000, time.Second, 1000*time.Hour); d <= 0 || d > 1000*time.Hour {
		t.Errorf("after a million failures: %v", d)
	}
	tools.Jitter = func() float64 { return 1 }
	if d := tools.Backoff(100, time.Second, time.Minute); d != 72*time.Second || d > MaxWait(time.Minute) {
		t.Errorf("with the most jitter: %v", d)
	}
}

func TestWhatTheServiceAsksForIsTheLeastPause(t *testing.T) {
	tools := Base{Jitter: func() float64 { return 0 }, Pace: Pace{}.Complete()}
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{errors.New("no route"), 8 * time.Second},
		{&esign.Error{Kind: esign.TooMany, RetryAfter: time.Minute}, time.Minute},
		{&esign.Error{Kind: esign.TooMany, RetryAfter: time.Second}, 8 * time.Second},
	} {
		if got := tools.PauseAfter(c.err, 3, MaxRoundPause); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestWhatFailsIsLeftAloneByItselfAndNoLongerThanItsPause(t *testing.T) {
	var r Retries
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	fail := func(key string, now time.Time) int {
		tries, _ := r.Failed(key, now, func(tries int) time.Duration { return time.Duration(tries) * time.Minute })
		return tries
	}
	if fail("a", now) != 1 || fail("a", now.Add(59*time.Second)) != 1 || fail("a", now.Add(time.Minute)) != 2 {
		t.Error("failures side by side count once, later ones each")
	}
	now = now.Add(time.Minute)
	if !r.Waits("a", now.Add(119*time.Second)) || r.Waits("b", now) || r.Waits("a", now.Add(2*time.Minute)) || r.Waiting(now) != 1 {
		t.Error("it is left alone for two minutes, and it alone")
	}
	if r.Waits("a", now.Add(-time.Hour)) {
		t.Error("the clock was wrong, and it waits for that")
	}
	if r.Now(); r.Waits("a", now) || fail("a", now) != 1 {
		t.Error("a person wants it now; what fails then has failed once")
	}
	r.Worked("a")
	if fail("a", now) != 1 {
		t.Error("it has worked since")
	}
	for key, pause := range map[string]time.Duration{"b": time.Hour, "c": 0} {
		r.Failed(key, now, func(int) time.Duration { return pause })
	}
	if r.Next(now, 2*time.Hour) != time.Minute || r.Next(now, time.Second) != time.Second || r.Next(now.Add(time.Minute), 2*time.Hour) != 59*time.Minute || r.Len() != 3 {
		t.Errorf("the next one of %d is due in %v", r.Len(), r.Next(now, 2*time.Hour))
	}
	if !r.Worked("c") || r.Worked("c") || r.Len() != 2 {
		t.Error("it is not told once that something was wrong")
	}
	if r.Keep(func(string) bool { return false }); r.Len() != 0 {
		t.Error("what is no more is still known")
	}
}

func TestAServiceIsLeftAloneAsLongAsItAskedAndNoLonger(t *testing.T) {
	var b Breaker
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	b.Open(now, time.Hour)
	b.Open(now, time.Minute) // which it does not cut short
	if left := b.Left(now.Add(59 * time.Minute)); left != time.Minute {
		t.Errorf("after 59 minutes %v are left", left)
	}
	expect(t, b.Left(now.Add(time.Hour)), 0, "after an hour %v are left")
	b.Open(now, 100*MaxBreak)
	if left := b.Left(now); left != MaxBreak {
		t.Errorf("at its word it is left alone for %v", left)
	}
	if b.Close(); b.Left(now) != 0 {
		t.Error("it is still left alone")
	}
}

func TestWhatTheServiceSaysOfOneFileIsSaidOfIt(t *testing.T) {
	for id, unusable := range map[string]bool{"": false, "d": false, "../d": true} {
		if Unusable(office.Job{DocumentID: id}) != unusable {
			t.Errorf("%q: unusable %v", id, !unusable)
		}
	}
	for _, c := range []struct {
		err     *esign.Error
		alone   bool
		refuses bool
		want    message.Message
	}{
		{&esign.Error{Kind: esign.SignedOut}, false, true, message.DownloadForbidden()},
		{&esign.Error{Kind: esign.NotFound}, false, true, esign.Message(&esign.Error{Kind: esign.NotFound})},
		{&esign.Error{Kind: esign.TooMany}, true, false, esign.Message(&esign.Error{Kind: esign.TooMany})},
		{&esign.Error{Kind: esign.Network}, false, false, esign.Message(&esign.Error{Kind: esign.Network})},
		{&esign.Error{Kind: esign.Network}, true, true, esign.Message(&esign.Error{Kind: esign.Network})},
	} {
		if got := RefusalProblem(c.err); got != c.want || Refuses(c.err, c.alone) != c.refuses {
			t.Errorf("%v: %q, refused %v", c.err, got, !c.refuses)
		}
	}
}

func TestTroubleWithOneThingIsToldFromTroubleWithTheService(t *testing.T) {
	var r Retries
	alone := func() bool {
		_, alone := r.Failed("a", time.Time{}, nil)
		return alone
	}
	if alone() {
		t.Error("a first failure says nothing")
	}
	if alone() {
		t.Error("nothing else was answered between the two")
	}
	r.Answered()
	if !alone() || alone() {
		t.Error("an answer to something else makes the trouble that thing's own, once")
	}
	r.Answered()
	r.Worked("a")
	if alone() {
		t.Error("it worked between the two")
	}
}

func TestACooldownIsBelievedFromTheMomentItWasDecidedOn(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for at, want := range map[time.Duration]time.Duration{
		0: time.Hour, 20 * time.Minute: 40 * time.Minute, time.Hour: 0, 30 * time.Hour: 0,
		-ClockSlack: time.Hour + ClockSlack, -ClockSlack - 1: 0, -30 * time.Hour: 0,
	} {
		if got := CoolFor(now, time.Hour).Left(now.Add(at)); got != want {
			t.Errorf("%v on: %v left, want %v", at, got, want)
		}
	}
	if !(Cooldown{}).Over(now) {
		t.Error("the zero cooldown is not over")
	}
}

var expect = trytest.Expect

func TestWhatLiesAheadIsNotNewUntilItHasCome(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	tools := Base{Now: func() time.Time { return now }}
	for then, want := range map[time.Duration]time.Duration{
		-3 * time.Hour: 3 * time.Hour, -60 * 24 * time.Hour: 60 * 24 * time.Hour, 0: 0,
		5 * time.Second: 5 * time.Second, 10 * time.Hour: 10 * time.Hour, 400 * 24 * time.Hour: 24 * time.Hour,
	} {
		if age := tools.Age(now.Add(then)); age != want {
			t.Errorf("a moment %v ahead counts for %v old, want %v", then, age, want)
		}
	}
}

func TestAPauseOfNothingTakesTheRingAndEndsWithItsContext(t *testing.T) {
	ring := make(chan struct{}, 1)
	ended, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		Wake(ring)
		if !Wait(t.Context(), 0, ring) || len(ring) != 0 || Wait(ended, 0, ring) {
			t.Fatal("it rings again, or goes on after its end")
		}
	}
}
