package store

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
)

func addEvent(t *testing.T, s *Store, e office.Event) bool {
	t.Helper()
	var added bool
	update(t, s, func(tx *Tx) (err error) {
		added, err = tx.AddEvent(e)
		return err
	})
	return added
}

func event(t *testing.T, s *Store, id string) office.Event {
	t.Helper()
	return read(t, s, func(tx *Tx) (office.Event, error) {
		e, ok, err := tx.Event(id)
		if !ok {
			t.Fatalf("event %s is not there", id)
		}
		return e, err
	})
}

func ids(events []office.Event) string {
	return names(events, func(e office.Event) string { return e.ID })
}

func TestAnEventComesBackAsItArrived(t *testing.T) {
	s := newTest(t)
	east := time.FixedZone("", 3600)
	body := []byte("{\"a\": \"\xff\x00 <raw>\"}\r\n")
	want := office.Event{ID: "e1", Action: "package_executed", PackageID: "p", Time: day.In(east), Received: day.Add(time.Nanosecond).In(east),
		Body: body, URL: "https://x/y/"}
	if !addEvent(t, s, want) {
		t.Fatal("not added")
	}
	want.Time, want.Received = want.Time.UTC(), want.Received.UTC()
	if got := event(t, s, "e1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestACopyThatArrivesWhileAnEventIsHandledIsNotForgotten(t *testing.T) {
	s := newTest(t)
	addEvent(t, s, office.Event{ID: "e"})
	working := event(t, s, "e")
	addEvent(t, s, office.Event{ID: "e"})
	working.Outcome, working.Handled = office.EventHandled, day
	update(t, s, func(tx *Tx) error { return tx.SetEvent(working) })
	if e := event(t, s, "e"); e.Copies != 1 || e.Outcome != office.EventHandled {
		t.Errorf("%+v", e)
	}
}

func TestPendingEventsComeOldestFirstUntilHandled(t *testing.T) {
	s := newTest(t)
	for i, id := range []string{"c", "a", "b", "d"} {
		addEvent(t, s, office.Event{ID: id, Received: at0(time.Duration(i) * time.Second)})
	}
	set := func(id string, o office.Outcome) {
		e := event(t, s, id)
		e.Outcome = o
		update(t, s, func(tx *Tx) error { return tx.SetEvent(e) })
	}
	pending := func(limit int) (got string) { // that many at a time
		for at, more := office.Cursor(""), true; more; {
			view(t, s, func(tx *Tx) error {
				l, last, err := tx.PendingEvents(at, limit)
				if more = len(l) > 0; more {
					at, got = last, got+" "+ids(l)
				}
				return err
			})
		}
		return got
	}
	set("a", office.EventHandled)
	set("b", office.EventUnprocessable)
	expect(t, pending(10), " c d", "pending: %s")
	expect(t, pending(1), " c d", "one after the other: %s")
	expect(t, read(t, s, (*Tx).EventCounts), EventCounts{Received: 4, Pending: 2, Unprocessable: 1}, "%+v")
	set("b", office.EventPending) // a person retries
	expect(t, pending(10), " c b d", "pending: %s")
}

func TestEventsAreReadPageByPageWhileMoreArrive(t *testing.T) {
	s := newTest(t)
	for i := range 7 {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: day}) // at the same time: the order of arrival decides
	}
	var got []string
	var cursor office.Cursor
	for {
		view(t, s, func(tx *Tx) error {
			page, next, err := tx.Events(cursor, 3)
			got = append(got, ids(page))
			cursor = next
			return err
		})
		if cursor == "" {
			break
		}
		addEvent(t, s, office.Event{ID: fmt.Sprint("new", len(got)), Received: day.Add(time.Hour)})
	}
	expect(t, strings.Join(got, " | "), "6 5 4 | 3 2 1 | 0", "pages %s")
	if err := s.View(func(tx *Tx) error { _, _, err := tx.Events("not a cursor!", 1); return err }); err == nil {
		t.Error("a wrong cursor was accepted")
	}
}

func TestStrangeIdentifiersAreKeptApart(t *testing.T) {
	s := newTest(t)
	strange := []string{" ", "../../etc/passwd", "\x00", "a/b", strings.Repeat("x", office.MaxID), strings.Repeat("x", 100_000), strings.Repeat("x", 100_001)}
	for _, id := range strange {
		expect(t, addEvent(t, s, office.Event{ID: id, Body: []byte(id)}), true, "%[2].20q is new: %[1]v", id)
	}
	for _, id := range strange {
		expect(t, string(event(t, s, id).Body), id, "%[2].20q holds the body of %.20[1]q", id)
	}
	for _, id := range []string{"", "\xff\xfe"} {
		refused(t, s, ErrBadID, func(tx *Tx) error { _, err := tx.AddEvent(office.Event{ID: id}); return err })
	}
	refused(t, s, ErrNotFound, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "unknown"}) })
}

func TestExtremeTimesKeepTheirOrder(t *testing.T) {
	s := newTest(t)
	for i, at := range []time.Time{
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), day, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: at})
		expect(t, event(t, s, fmt.Sprint(i)).Received, at, "%[2]v came back as %[1]v", at)
	}
	got := ids(read(t, s, func(tx *Tx) ([]office.Event, error) { e, _, err := tx.Events("", 10); return e, err }))
	expect(t, got, "0 2 3 1", "order %s") // those before 1970 in order of arrival
}

// countDays counts that many days, beginning with from, and returns the next one.
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

// arrive stores events with this outcome.
func arrive(t testing.TB, s *Store, outcome office.Outcome, ids ...string) {
	t.Helper()
	for _, id := range ids {
		update(t, s, func(tx *Tx) error {
			e := office.Event{ID: id, PackageID: "p", Body: []byte("{}")}
			tx.AddEvent(e)
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
	addEvent(t, s, office.Event{ID: "b"})
	addEvent(t, s, office.Event{ID: "unreadable", Outcome: office.EventUnprocessable})
	before := read(t, s, (*Tx).EventCounts)
	tomorrow = countDays(t, s, tomorrow, 90)
	expect(t, forget(t, s, 90), 0, "%d events were forgotten a day too early")
	countDays(t, s, tomorrow, 1)
	expect(t, forget(t, s, 90), 3, "%d events were forgotten, want 3")
	view(t, s, func(tx *Tx) error {
		left, _, err := tx.Events("", 10)
		expect(t, ids(left), "unreadable waits", "left are %s")
		if _, known, err := tx.Event("a"); known || err != nil {
			t.Errorf("a is still there, or %v", err)
		}
		return err
	})
	for _, id := range []string{"a", "b", "odd", "waits", "unreadable"} {
		expect(t, addEvent(t, s, office.Event{ID: id, Body: []byte("{}")}), false, "a copy of %[2]s is taken for new: %[1]v", id)
	}
	refused(t, s, ErrNotFound, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "a"}) })
	after := read(t, s, (*Tx).EventCounts)
	if after.Received != before.Received || after.Duplicates != before.Duplicates+5 || after.Pending != 1 || after.Unprocessable != 1 {
		t.Errorf("counted %+v, then %+v", before, after)
	}
	recount(t, s)
}

func TestAnotherEventUnderAKnownIDIsToldFromACopy(t *testing.T) {
	s := newTest(t)
	tomorrow := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a")
	knows := func(id, body string, wantKnown, wantOther bool) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			known, other, err := tx.KnowsEvent(id, []byte(body))
			if known != wantKnown || other != wantOther {
				t.Errorf("%s %s: known %v, another %v", id, body, known, other)
			}
			return err
		})
	}
	both := func() {
		t.Helper()
		knows("a", "{}", true, false)
		knows("a", "{ }", true, true)
		knows("b", "{}", false, false)
	}
	both()
	countDays(t, s, tomorrow, 91)
	expect(t, forget(t, s, 90), 1, "%d were forgotten")
	both()
	addEvent(t, s, office.Event{ID: "a", Body: []byte("{}")})
	both()
	update(t, s, func(tx *Tx) error { tx.putForgotten("a", 1, nil); return nil }) // forgotten before marks were kept
	knows("a", "{ }", true, false)
}

func TestEventsThatCannotBeReadAreNotCountedAsForgotten(t *testing.T) {
	s := newTest(t)
	tomorrow := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a", "b", "c")
	countDays(t, s, tomorrow, 91)
	update(t, s, func(tx *Tx) error {
		for _, id := range []string{"a", "b"} {
			tx.put(bucketEvents, tx.get(bucketEventIDs, []byte(id)), []byte("{"))
		}
		return nil
	})
	for _, want := range []int{1, 0} {
		update(t, s, func(tx *Tx) error {
			n, err := tx.ForgetEvents(90, 1)
			expect(t, n, want, "%d events were forgotten, want %d")
			return err
		})
	}
}

// A clock that is a year fast, or that jumps back and forth at every start, must not cause recent events to be forgotten.
func TestAClockThatJumpsForgetsNothingFresh(t *testing.T) {
	s := newTest(t)
	countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "fresh")
	for start := range 200 {
		for _, clock := range []time.Time{day, day.AddDate(10, 0, 0), day.AddDate(-10, 0, 0), {}, day.Add(time.Duration(start) * time.Minute)} {
			update(t, s, func(tx *Tx) error { _, err := tx.CountDay(clock); return err })
			expect(t, forget(t, s, 5), 0, "%d are forgotten at start %d, at %v", start, clock)
		}
	}
}

func TestAnEventThatIsHandledAgainIsFreshAgain(t *testing.T) {
	s := newTest(t)
	next := countDays(t, s, day, 1)
	set := func(o office.Outcome) {
		update(t, s, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "a", PackageID: "p", Outcome: o}) })
	}
	arrive(t, s, office.EventHandled, "a")
	next = countDays(t, s, next, 8)
	set(office.EventPending)
	next = countDays(t, s, next, 8)
	expect(t, forget(t, s, 5), 0, "%d events that wait were forgotten")
	set(office.EventHandled)
	next = countDays(t, s, next, 5)
	expect(t, forget(t, s, 5), 0, "%d were forgotten too early")
	countDays(t, s, next, 1)
	expect(t, forget(t, s, 5), 1, "%d were forgotten")
}
