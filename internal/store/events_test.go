package store

import (
	"bytes"
	"errors"
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
	var all []string
	for _, e := range events {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

func TestAnEventComesBackAsItArrived(t *testing.T) {
	s := newTest(t)
	east := time.FixedZone("", 3600)
	body := []byte("{\"a\": \"\xff\x00 <raw>\"}\r\n")
	want := office.Event{ID: "e1", Action: "package_executed", PackageID: "p", Time: day.In(east), Received: day.Add(time.Nanosecond).In(east),
		Body: body, URL: "https://x/y/", Extra: []byte(`{"x":1}`)}
	if !addEvent(t, s, want) {
		t.Fatal("not added")
	}
	want.Time, want.Received = want.Time.UTC(), want.Received.UTC()
	if got := event(t, s, "e1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestADuplicateIsCountedAndChangesNothingElse(t *testing.T) {
	s := newTest(t)
	addEvent(t, s, office.Event{ID: "e", Body: []byte("first")})
	for range 3 {
		if addEvent(t, s, office.Event{ID: "e", Body: []byte("again")}) {
			t.Error("added again")
		}
	}
	if e := event(t, s, "e"); e.Copies != 3 || !bytes.Equal(e.Body, []byte("first")) || !e.Received.Equal(day) {
		t.Errorf("%+v", e)
	}
	if c := read(t, s, (*Tx).EventCounts); c != (EventCounts{Received: 1, Duplicates: 3, Pending: 1}) {
		t.Errorf("%+v", c)
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
	set("a", office.EventHandled)
	set("b", office.EventUnprocessable)
	pending := func(limit int) string {
		return ids(read(t, s, func(tx *Tx) ([]office.Event, error) { l, _, err := tx.PendingEvents("", limit); return l, err }))
	}
	if got := pending(10); got != "c d" {
		t.Errorf("pending: %s", got)
	}
	if got := pending(1); got != "c" {
		t.Errorf("first pending: %s", got)
	}
	if got := ids(read(t, s, func(tx *Tx) ([]office.Event, error) { return tx.OddEvents(10) })); got != "b" {
		t.Errorf("odd: %s", got)
	}
	if c := read(t, s, (*Tx).EventCounts); c != (EventCounts{Received: 4, Pending: 2, Odd: 1}) {
		t.Errorf("%+v", c)
	}
	set("b", office.EventPending) // a person tries again
	if got := pending(10); got != "c b d" {
		t.Errorf("pending: %s", got)
	}
}

func TestEventsAreReadPageByPageWhileMoreArrive(t *testing.T) {
	s := newTest(t)
	for i := range 7 {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: day}) // all at once: arrival decides
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
	if pages := strings.Join(got, " | "); pages != "6 5 4 | 3 2 1 | 0" {
		t.Errorf("pages %s", pages)
	}
	if err := s.View(func(tx *Tx) error { _, _, err := tx.Events("not a cursor!", 1); return err }); err == nil {
		t.Error("a wrong cursor was accepted")
	}
}

func TestStrangeIdentifiersAreKeptApart(t *testing.T) {
	s := newTest(t)
	strange := []string{" ", "../../etc/passwd", "\x00", "a/b", strings.Repeat("x", office.MaxID), strings.Repeat("x", 100_000), strings.Repeat("x", 100_001)}
	for _, id := range strange {
		if !addEvent(t, s, office.Event{ID: id, Body: []byte(id)}) {
			t.Errorf("%.20q was taken for another", id)
		}
	}
	for _, id := range strange {
		if e := event(t, s, id); string(e.Body) != id {
			t.Errorf("%.20q holds the body of %.20q", id, e.Body)
		}
	}
	for _, id := range []string{"", "\xff\xfe"} {
		if err := s.Update(func(tx *Tx) error { _, err := tx.AddEvent(office.Event{ID: id}); return err }); !errors.Is(err, ErrBadID) {
			t.Errorf("id %q: %v, want ErrBadID", id, err)
		}
	}
	if err := s.Update(func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "unknown"}) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestExtremeTimesKeepTheirOrder(t *testing.T) {
	s := newTest(t)
	for i, at := range []time.Time{
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), day, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: at})
		if e := event(t, s, fmt.Sprint(i)); !e.Received.Equal(at) {
			t.Errorf("%v came back as %v", at, e.Received)
		}
	}
	got := ids(read(t, s, func(tx *Tx) ([]office.Event, error) { e, _, err := tx.Events("", 10); return e, err }))
	if got != "0 2 3 1" { // those before 1970 by arrival
		t.Errorf("order %s", got)
	}
}
