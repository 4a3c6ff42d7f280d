package loop

import (
	"context"
	"testing"
	"time"

	"countersign/internal/trytest"
)

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
