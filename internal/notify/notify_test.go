package notify

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/office"
	"countersign/internal/trytest"
)

// raising is a Notifier with a function in place of the desktop.
func raising(raise func(office.Notice) error) *Notifier {
	n := New(Options{})
	n.raise = func(_ context.Context, notice office.Notice) error { return raise(notice) }
	return n
}

func TestRaiseGetsHarmlessText(t *testing.T) {
	var title, body string
	n := raising(func(n office.Notice) error { title, body = n.Title, n.Body; return nil })
	defer n.Close()
	noErr(t, n.Notify(office.Notice{Title: "$x\n", Body: strings.Repeat("a", 10000)}))
	if title != "＄x" || body != strings.Repeat("a", maxBody-1)+"…" {
		t.Errorf("got %q, %q", title, body)
	}
}

func TestErrorsAndPanicsOfTheDesktopComeBack(t *testing.T) {
	broken := errors.New("no display")
	n := raising(func(n office.Notice) error {
		if n.Title == "panic" {
			panic("nil icon")
		}
		return broken
	})
	defer n.Close()
	if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := n.Notify(office.Notice{Title: "panic", Body: "b"}); err == nil || !strings.Contains(err.Error(), "nil icon") {
		t.Errorf("got %v", err)
	}
	if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, broken) {
		t.Errorf("after a panic: got %v", err)
	}
}

func TestAHangingDesktopHoldsUpNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var outstanding atomic.Int32
		n := raising(func(office.Notice) error {
			outstanding.Add(1)
			defer outstanding.Add(-1)
			<-hang
			return nil
		})
		start := time.Now()
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, ErrTimeout) {
			t.Errorf("first: got %v", err)
		}
		if took := time.Since(start); took != limit {
			t.Errorf("first took %v", took)
		}
		for range 3 {
			start := time.Now()
			if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, ErrBusy) || time.Since(start) != limit {
				t.Errorf("later: got %v after %v", err, time.Since(start))
			}
		}
		synctest.Wait()
		expect(t, outstanding.Load(), 1, "%d goroutines wait")
		close(hang)
		synctest.Wait()
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); err != nil {
			t.Errorf("when it is back: got %v", err)
		}
		n.Close()
	})
}

func TestNotificationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int32
		n := raising(func(office.Notice) error {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(time.Second) // of the bubble's clock
			at.Add(-1)
			return nil
		})
		results := make(chan error, 4)
		for range cap(results) {
			go func() { results <- n.Notify(office.Notice{Title: "a", Body: "b"}) }()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		expect(t, most.Load(), 1, "%d at once")
		n.Close()
	})
}

func TestCloseEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		n := raising(func(office.Notice) error { <-hang; return nil })
		result := make(chan error, 2)
		go func() { result <- n.Notify(office.Notice{Title: "a", Body: "b"}) }()
		synctest.Wait()
		go func() { result <- n.Notify(office.Notice{Title: "a", Body: "b"}) }()
		synctest.Wait()
		n.Close()
		n.Close()
		for range cap(result) {
			if err := <-result; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, ErrClosed) {
			t.Errorf("after: got %v", err)
		}
		close(hang)
	})
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// A notification that the desktop accepted is no failure, however fast that was.
func TestWhatIsShownAtOnceIsNoFailure(t *testing.T) {
	n := raising(func(office.Notice) error { return nil })
	defer n.Close()
	for i := range 50_000 {
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); err != nil {
			t.Fatalf("notification %d: %v", i, err)
		}
	}
}
