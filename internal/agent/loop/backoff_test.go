package loop

import (
	"errors"
	"slices"
	"testing"
	"time"

	"countersign/internal/esign"
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
