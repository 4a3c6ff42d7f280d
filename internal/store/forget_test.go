package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/internal/office"
)

// countDays counts so many days from the first on, and returns the day after the last.
func countDays(t testing.TB, s *Store, from time.Time, days int) time.Time {
	t.Helper()
	for range days {
		update(t, s, func(tx *Tx) error {
			counted, err := tx.CountDay(from)
			if err == nil && !counted {
				return fmt.Errorf("%v was counted before", from)
			}
			return err
		})
		from = from.AddDate(0, 0, 1)
	}
	return from
}

func forget(t testing.TB, s *Store, keep int) (forgotten int) {
	t.Helper()
	update(t, s, func(tx *Tx) (err error) {
		forgotten, err = tx.ForgetEvents(keep, 100)
		return err
	})
	return forgotten
}

// arrive stores events that end as the outcome says.
func arrive(t testing.TB, s *Store, outcome office.Outcome, ids ...string) {
	t.Helper()
	for _, id := range ids {
		update(t, s, func(tx *Tx) error {
			e := office.Event{ID: id, PackageID: "p", Body: []byte("{}")}
			if _, err := tx.AddEvent(e); err != nil {
				return err
			}
			e.Outcome = outcome
			return tx.SetEvent(e)
		})
	}
}

func TestAHandledEventIsForgottenInTimeAndItsCopyIsStillACopy(t *testing.T) {
	s := newTest(t)
	tomorrow := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a", "b")
	arrive(t, s, office.EventUnprocessable, "odd")
	arrive(t, s, office.EventPending, "waits")
	update(t, s, func(tx *Tx) error {
		_, err := tx.AddEvent(office.Event{ID: "b"})
		return errors.Join(err, func() error {
			_, err := tx.AddEvent(office.Event{ID: "unreadable", Outcome: office.EventUnprocessable})
			return err
		}())
	})
	before := read(t, s, (*Tx).EventCounts)
	tomorrow = countDays(t, s, tomorrow, 90)
	if n := forget(t, s, 90); n != 0 {
		t.Errorf("%d events were forgotten a day too early", n)
	}
	countDays(t, s, tomorrow, 1)
	if n := forget(t, s, 90); n != 3 {
		t.Errorf("%d events were forgotten, want 3", n)
	}
	view(t, s, func(tx *Tx) error {
		left, _, err := tx.Events("", 10)
		if len(left) != 2 {
			t.Errorf("left are %+v", left)
		}
		if _, known, err := tx.Event("a"); known || err != nil {
			t.Errorf("a is still there, or %v", err)
		}
		return err
	})
	update(t, s, func(tx *Tx) error {
		for _, id := range []string{"a", "b", "odd", "waits", "unreadable"} {
			if added, err := tx.AddEvent(office.Event{ID: id, Body: []byte("{}")}); added || err != nil {
				t.Errorf("a copy of %s is taken for new, or %v", id, err)
			}
		}
		if err := tx.SetEvent(office.Event{ID: "a"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("a forgotten event is set: %v", err)
		}
		return nil
	})
	after := read(t, s, (*Tx).EventCounts)
	if after.Received != before.Received || after.Duplicates != before.Duplicates+5 || after.Pending != 1 || after.Odd != 1 {
		t.Errorf("counted %+v, then %+v", before, after)
	}
	recount(t, s)
}

// A clock that is a year fast, or that goes back and forth with every start, must not cost what is fresh.
func TestAClockThatJumpsForgetsNothingFresh(t *testing.T) {
	s := newTest(t)
	countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "fresh")
	for start := range 200 {
		for _, clock := range []time.Time{day, day.AddDate(10, 0, 0), day.AddDate(-10, 0, 0), {}, day.Add(time.Duration(start) * time.Minute)} {
			update(t, s, func(tx *Tx) error { _, err := tx.CountDay(clock); return err })
			if n := forget(t, s, 5); n != 0 {
				t.Fatalf("forgotten at start %d, at %v", start, clock)
			}
		}
	}
}

func TestAnEventThatIsHandledAgainIsFreshAgain(t *testing.T) {
	s := newTest(t)
	next := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a")
	next = countDays(t, s, next, 8)
	update(t, s, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "a", PackageID: "p"}) })
	next = countDays(t, s, next, 8)
	if n := forget(t, s, 5); n != 0 {
		t.Error("an event that waits was forgotten")
	}
	update(t, s, func(tx *Tx) error {
		return tx.SetEvent(office.Event{ID: "a", PackageID: "p", Outcome: office.EventHandled})
	})
	next = countDays(t, s, next, 5)
	if n := forget(t, s, 5); n != 0 {
		t.Error("forgotten too early")
	}
	countDays(t, s, next, 1)
	if n := forget(t, s, 5); n != 1 {
		t.Error("not forgotten")
	}
}

func TestForgettingNothingWritesNothing(t *testing.T) {
	s := newTest(t)
	countDays(t, s, day, 10)
	arrive(t, s, office.EventHandled, "a")
	before := readFile(t, s.Path())
	update(t, s, func(tx *Tx) error {
		if _, err := tx.CountDay(day); err != nil {
			return err
		}
		_, err := tx.ForgetEvents(90, 100)
		return err
	})
	if string(before) != string(readFile(t, s.Path())) {
		t.Error("the file was written")
	}
}
