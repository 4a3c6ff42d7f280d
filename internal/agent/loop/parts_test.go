package loop_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func TestWhoeverWatchesHearsOfEachThingOnceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w loop.Watchers[string]
		w.Signal("before anybody watches")
		first, stop := w.Watch()
		second, stopSecond := w.Watch()
		for _, x := range []string{"a", "b", "a", "c", "b"} {
			w.Signal(x)
		}
		synctest.Wait()
		for _, want := range []string{"a", "b", "c"} {
			expect(t, <-first, want, "heard %q")
		}
		w.Signal("a") // once more
		expect(t, <-first, "a", "heard %q")
		select {
		case x := <-first:
			t.Errorf("heard %q, which nobody said", x)
		case <-time.After(time.Hour):
		}
		stop()
		stop()
		w.Signal("d")
		if x, ok := <-first; ok {
			t.Errorf("heard %q after the end", x)
		}
		for _, want := range []string{"a", "b", "c", "a", "d"} { // which had the first before its eyes when it came again
			expect(t, <-second, want, "the other one heard %q")
		}
		w.Signal("nobody takes it")
		synctest.Wait()
		stopSecond()
	})
}

func TestAClockThatJumpedIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		passes, wall, pause time.Duration // by the timers, by the wall clock, and how long was to be waited
		want                time.Duration
	}{
		"steady":           {time.Minute, time.Minute, time.Minute, 0},
		"a little off":     {time.Minute, 2 * time.Minute, 2 * time.Minute, 0},
		"set ahead":        {time.Minute, time.Hour, time.Hour, 59 * time.Minute},
		"set back":         {time.Minute, -time.Hour, time.Minute, -61 * time.Minute},
		"slept, timers on": {time.Hour, time.Hour, time.Minute, 59 * time.Minute},
		"late by a moment": {2 * time.Minute, 2 * time.Minute, time.Minute, 0},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			now := time.Now()
			w := loop.WatchClock(now)
			w.Wait(now, c.pause)
			time.Sleep(c.passes)
			expect(t, w.Jumped(now.Add(c.wall)), c.want, "jumped by %v")
			w.Wait(now.Add(c.wall), time.Minute)
			time.Sleep(time.Minute)
			expect(t, w.Jumped(now.Add(c.wall+time.Minute)), time.Duration(0), "and again by %v")
		})
	}
}

func TestTroubleWithOneObjectLeavesItAloneAndTheRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := looptest.Base(t, func() {})
		noErr(t, b.One("x", func() error { return data.OfObject(errors.New("damaged")) }))
		expect(t, b.Health.Has(health.RecordsPutOff), true, "told of one: %v")
		noErr(t, b.One("y", func() error { panic("y") }))
		if !b.LeftAlone("x") || !b.LeftAlone("y") || b.LeftAlone("z") || !b.Health.Has(health.RecordsPutOff) {
			t.Errorf("health: %+v", b.Health.List())
		}
		if err := b.One("z", func() error { return io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) || b.LeftAlone("z") {
			t.Errorf("of everything: %v", err)
		}
		time.Sleep(loop.QuarantinePause)
		if b.TellQuarantine(); b.LeftAlone("x") || b.Health.Has(health.RecordsPutOff) {
			t.Errorf("for ever: %+v", b.Health.List())
		}
		noErr(t, b.One("x", func() error { return nil }))
		expect(t, b.Quarantine.Len(), 1, "%d are in quarantine")
		for pause, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 30 * time.Second: 30 * time.Second, time.Hour: time.Minute} {
			expect(t, b.PauseBeside(1, pause), want, "paused %v beside what is left alone")
			expect(t, b.PauseBeside(0, pause), pause, "paused %v")
		}
	})
}

func TestAnIDThatCannotBeUsedIsToldOnceAndNotWhereItCannotBeKept(t *testing.T) {
	b := looptest.Base(t, func() {})
	var shown []office.Activity
	signals := 0
	b.Show = func(a office.Activity) { shown = append(shown, a) }
	b.Signal = func(office.Change) { signals++ }
	b.Data.Committed = b.Committed
	for range 2 {
		b.TellUnusable("x", "p", message.NoSigner())
	}
	b.Record(office.Activity{Kind: "event", Text: message.NobodySignedIn()})
	lines, err := b.Activity(9)
	if err != nil || len(shown) != 2 || len(lines) != 2 || shown[0].Text != message.NoSigner() || shown[0].Kind != "problem" || shown[1].Time.IsZero() || signals != 2 {
		t.Errorf("shown %+v, kept %+v, %v", shown, lines, err)
	}
	noErr(t, b.Data.Close())
	b.TellUnusable("y", "p", message.NoSigner())
	expect(t, len(shown), 2, "%d are shown")
}

func TestWhenTheStateWasRestoredIsNotChangedByTheClock(t *testing.T) {
	service := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct{ then, later time.Duration }{
		"right": {}, "behind": {then: -7 * 365 * 24 * time.Hour}, "ahead": {then: 40 * 24 * time.Hour}, "behind later": {later: -7 * 365 * 24 * time.Hour},
	} {
		b := looptest.Base(t, func() {})
		at := func(passed, wrong time.Duration, answers bool) (at time.Time) {
			b.Now = func() time.Time { return service.Add(passed + wrong) }
			if answers {
				b.Served.Note(service.Add(passed))
			}
			noErr(t, b.Data.Update(func(tx *store.Tx) error { at = b.Restored(tx); return nil }))
			return at
		}
		expect(t, at(0, 0, false).IsZero(), true, "%[2]s: before it was ever restored: %[1]v", name)
		noErr(t, b.Data.Update(func(tx *store.Tx) error { data.MarkRestored(tx, service.Add(c.then)); return nil }))
		expect(t, at(0, 0, false).After(service), false, "%[2]s: before the service has answered, in the future: %[1]v", name)
		expect(t, at(0, c.then, true), service, "%[2]s: restored at %[1]v", name)
		expect(t, at(300*24*time.Hour, c.later, true), service, "%[2]s: a year later, at %[1]v", name)
		b.Served.Note(service.Add(-30 * 24 * time.Hour)) // one answer of a cache, or of a server whose clock is behind
		expect(t, at(300*24*time.Hour, 0, false), service, "%[2]s: after an old answer, at %[1]v", name)
		b.Served = &loop.Served{}
		expect(t, at(300*24*time.Hour, c.later, false), service, "%[2]s: after the next start, before the service answers, at %[1]v", name)
	}
}

func TestADayIsBegunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := looptest.Base(t, func() {})
		ctx, stop := context.WithCancel(t.Context())
		var days atomic.Int64
		failed := errors.New("full")
		over := make(chan error, 1)
		go func() {
			over <- b.Daily(ctx, func(context.Context) error {
				if days.Add(1) == 4 {
					return failed
				}
				return nil
			})
		}()
		for want := int64(1); want <= 3; want++ {
			time.Sleep(12 * time.Hour)
			synctest.Wait()
			expect(t, days.Load(), want, "begun %d")
			time.Sleep(12 * time.Hour)
		}
		if err := <-over; !errors.Is(err, failed) {
			t.Errorf("a day that failed: %v", err)
		}
		stop()
		noErr(t, b.Daily(ctx, func(context.Context) error { return nil }))
	})
}

func TestWhatIsDueIsDoneAgainAfterItsPauseOrAtAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ring, began := make(chan struct{}, 1), time.Now()
		var done atomic.Int64
		over := make(chan error, 1)
		due := func(context.Context) (time.Duration, error) {
			if done.Add(1) == 4 {
				return 0, io.EOF
			}
			return time.Hour, nil
		}
		go func() { over <- loop.Repeat(ctx, ring, due) }()
		synctest.Wait()
		loop.Wake(ring)
		synctest.Wait()
		expect(t, done.Load(), 2, "done %d times")
		if err := <-over; err != io.EOF || done.Load() != 4 || time.Since(began) != 2*time.Hour {
			t.Errorf("done %d times in %v, %v", done.Load(), time.Since(began), err)
		}
		stop()
		if loop.Sleep(ctx, time.Hour) || loop.Repeat(ctx, nil, func(context.Context) (time.Duration, error) { return time.Hour, nil }) != nil {
			t.Error("it waits though it has ended")
		}
	})
}

func TestWhatAFailedCallSays(t *testing.T) {
	renewal := &loop.RenewalError{Err: &esign.Error{Kind: esign.Server}}
	for _, c := range []struct {
		err  error
		all  bool // it says nothing about what was asked
		says bool // that one thing is refused
	}{
		{io.EOF, true, false}, {renewal, true, true}, {&esign.Error{Kind: esign.BadClient}, true, true}, {&esign.Error{Kind: esign.NotKept}, true, true},
		{&esign.Error{Kind: esign.Interrupted}, true, true}, {&esign.Error{Kind: esign.Server}, false, true}, {&esign.Error{Kind: esign.NotFound}, false, true},
		{&esign.Error{Kind: esign.TooMany}, false, false}, {&esign.Error{Kind: esign.Network}, false, false},
	} {
		if got := loop.ConcernsAll(c.err); got != c.all {
			t.Errorf("%v concerns all: %v", c.err, got)
		}
		if e, ok := errors.AsType[*esign.Error](c.err); ok && loop.Refuses(e, false) != c.says {
			t.Errorf("%v refuses one: %v", c.err, !c.says)
		}
	}
	if !loop.Refuses(&esign.Error{Kind: esign.Network}, true) || loop.Refuses(&esign.Error{Kind: esign.TooMany}, true) || renewal.Error() == "" {
		t.Error("with something else answered meanwhile")
	}
	if loop.RefusalProblem(&esign.Error{Kind: esign.SignedOut, Status: http.StatusUnauthorized}) != message.DownloadForbidden() {
		t.Error("a refusal of one file ends no sign-in")
	}
}

func TestNothingStoredWaitsLongerThanItWasMeantTo(t *testing.T) {
	now := time.Now()
	c := loop.CoolFor(now, time.Hour)
	for at, want := range map[time.Duration]time.Duration{
		0: time.Hour, 59 * time.Minute: time.Minute, time.Hour: 0, 2 * time.Hour: 0, -loop.ClockSlack: time.Hour + loop.ClockSlack, -loop.ClockSlack - time.Second: 0,
	} {
		if left := c.Left(now.Add(at)); left != want || c.Over(now.Add(at)) != (want == 0) {
			t.Errorf("%v later %v is left", at, left)
		}
	}
	if !(loop.Cooldown{}).Over(now) {
		t.Error("none lasts")
	}
	for next, want := range map[time.Duration]time.Duration{-time.Hour: 10 * time.Second, 0: 10 * time.Second, 1: loop.MinPause, time.Minute: time.Minute, 2 * time.Hour: time.Hour} {
		expect(t, loop.UntilNext(now, now.Add(next), time.Hour), want, "until %v: %v", next)
	}
	expect(t, loop.UntilNext(now, time.Time{}, time.Hour), time.Hour, "without a next: %v")
}

func TestALoopThatFailsRestsLongerAndLongerAndIsReportedUntilItIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := looptest.Base(t, func() {})
		fails, starts := true, 0
		supervise := func(span time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), span)
			defer cancel()
			base.Supervise(ctx, loop.Loop{Name: "test", Run: func(ctx context.Context) error {
				if starts++; fails && starts%2 == 0 {
					panic("a bug")
				} else if fails {
					return errors.New("a failure")
				}
				<-ctx.Done()
				return nil
			}})
		}
		supervise(time.Hour)
		if starts < 50 || starts > 80 || !base.Health.Has(health.Stopped("test")) {
			t.Errorf("%d starts in an hour; health: %+v", starts, base.Health.List())
		}
		fails = false
		if supervise(3 * time.Minute); base.Health.Has(health.Stopped("test")) {
			t.Error("still reported")
		}
	})
}
