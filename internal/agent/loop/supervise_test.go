package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
)

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
