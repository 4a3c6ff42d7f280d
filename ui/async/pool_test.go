package async

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queue stands for a window's goroutine: what is handed to Do waits until the test runs it.
type queue struct {
	mu    sync.Mutex
	waits []func()
}

func (q *queue) Do(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waits = append(q.waits, f)
}

// Run runs what waits and says whether there was anything.
func (q *queue) Run() bool {
	q.mu.Lock()
	waits := q.waits
	q.waits = nil
	q.mu.Unlock()
	for _, f := range waits {
		f()
	}
	return len(waits) > 0
}

func TestResultsArriveOnTheOwnersGoroutine(t *testing.T) {
	var q queue
	p := NewPool(t.Context(), q.Do)
	defer p.Close()
	got := 0 // not guarded: the race detector is the assertion
	for range 10 {
		Then(p, func(context.Context) (int, error) { return 1, nil }, func(n int, _ error) { got += n })
	}
	p.Wait()
	q.Run()
	if got != 10 {
		t.Errorf("got %d results, want 10", got)
	}
}

func TestCancelledWorkStillReports(t *testing.T) {
	var q queue
	p := NewPool(t.Context(), q.Do)
	defer p.Close()
	var got error
	cancel := Then(p, func(ctx context.Context) (struct{}, error) {
		<-ctx.Done()
		return struct{}{}, ctx.Err()
	}, func(_ struct{}, err error) { got = err })
	cancel()
	p.Wait()
	q.Run()
	if !errors.Is(got, context.Canceled) {
		t.Errorf("got %v", got)
	}
}

func TestNothingIsShownAfterClose(t *testing.T) {
	var q queue
	p := NewPool(t.Context(), q.Do)
	Then(p, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, nil },
		func(int, error) { t.Error("shown after Close") })
	p.Close()
	q.Run()
}

func TestABurstOfQuestionsCostsTwoReadings(t *testing.T) {
	var q queue
	p := NewPool(t.Context(), q.Do)
	defer p.Close()
	value, shown := 0, 0
	r := NewReader(p, func(context.Context) (int, error) { value++; return value, nil }, func(v int, _ error) { shown = v })
	for range 1000 {
		r.Ask()
	}
	for {
		p.Wait()
		if !q.Run() {
			break
		}
	}
	if shown != 2 {
		t.Errorf("the last value shown is %d, want 2", shown)
	}
}

func TestWhoAsksWhileAValueIsReadHearsOfTheNextOne(t *testing.T) {
	var q queue
	p := NewPool(t.Context(), q.Do)
	defer p.Close()
	value, shown := 0, 0
	var heard []int
	r := NewReader(p, func(context.Context) (int, error) { value++; return value, nil }, func(v int, _ error) { shown = v })
	for range 2 {
		r.AskThen(func() { heard = append(heard, shown) })
	}
	for {
		p.Wait()
		if !q.Run() {
			break
		}
	}
	if !slices.Equal(heard, []int{1, 2}) {
		t.Errorf("heard of %v", heard)
	}
}
