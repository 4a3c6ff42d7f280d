package store

import (
	"bytes"
	"errors"
	"fmt"

	"countersign/internal/office"
)

var events = shelf{rows: bucketEvents, ids: bucketEventIDs}

// EventCounts counts stored events.
type EventCounts struct {
	Received   int // distinct events
	Duplicates int // how often one came again
	Pending    int // Outcome is EventPending
	Odd        int // Outcome is EventOdd
}

func eventFacets(e office.Event, row []byte) (f facets) {
	f.count("events", 1)
	f.count("events.duplicates", int64(e.Copies))
	switch e.Outcome {
	case office.EventPending:
		f.entry(bucketEventsPending, nil, row)
		f.count("events.pending", 1)
	case office.EventUnprocessable:
		f.entry(bucketEventsOdd, nil, row)
		f.count("events.odd", 1)
	}
	if forgettable(e) {
		f.entry(bucketEventsOld, nil, oldKey(e, row))
	}
	return f
}

// AddEvent stores an event that is not there yet. For one that is, it only counts the copy on the stored event and
// returns false. A zero Received becomes now.
func (tx *Tx) AddEvent(e office.Event) (added bool, err error) {
	row, value, err := tx.find(events, e.ID)
	if err != nil {
		return false, err
	}
	switch {
	case value != nil:
		stored, err := recall[office.Event](tx, bucketEvents, row, value)
		if errors.Is(err, ErrRecord) { // it is there, and its copy would not be another
			tx.leaveOut(err)
			return false, nil
		}
		if err != nil {
			return false, err
		}
		again := stored
		again.Copies++
		return false, tx.putEvent(again, row, eventFacets(stored, row))
	case row != nil:
		return false, tx.forgottenAgain(e.ID, row)
	}
	if e.Service == "" {
		if e.Service, err = tx.Service(); err != nil {
			return false, err
		}
	}
	if e.Received.IsZero() {
		e.Received = tx.now()
	}
	if e.Outcome != office.EventPending {
		if e.Day, err = tx.days(); err != nil {
			return false, err
		}
	}
	return true, tx.putEvent(e, nil, facets{})
}

func (tx *Tx) putEvent(e office.Event, row []byte, old facets) error {
	inUTC(&e.Time, &e.Received, &e.Handled)
	row, err := tx.place(events, e.ID, row, e.Received, e)
	if err != nil {
		return fmt.Errorf("store event: %w", err)
	}
	return tx.refacet(old, eventFacets(e, row))
}

// Event returns a stored event.
func (tx *Tx) Event(id string) (office.Event, bool, error) {
	row, value, err := tx.find(events, id)
	if err != nil || value == nil {
		return office.Event{}, false, err
	}
	e, err := recall[office.Event](tx, bucketEvents, row, value)
	if err == nil && tx.bolt.Writable() {
		tx.event = keptEvent{string(row), e}
	}
	return e, err == nil, err
}

// SetEvent replaces a stored event, or returns ErrNotFound. Copies stays as it is stored, so that a copy that arrives
// while an event is handled is not forgotten; Day is set when the event is done.
func (tx *Tx) SetEvent(e office.Event) error {
	row, value, err := tx.find(events, e.ID)
	if err != nil {
		return err
	}
	if value == nil {
		return fmt.Errorf("event %q: %w", e.ID, ErrNotFound)
	}
	stored := tx.event.Event
	if tx.event.row != string(row) {
		if stored, err = recall[office.Event](tx, bucketEvents, row, value); err != nil {
			return err
		}
	}
	e.Copies, e.Day = stored.Copies, stored.Day
	switch {
	case e.Outcome == office.EventPending:
		e.Day = 0
	case stored.Outcome == office.EventPending:
		if e.Day, err = tx.days(); err != nil {
			return err
		}
	}
	return tx.putEvent(e, row, eventFacets(stored, row))
}

// pendingBodies is how many bytes of bodies are read at once.
const pendingBodies = 8 << 20

// PendingEvents returns up to limit events that wait to be handled, oldest first, of those behind after, and where it came to. There
// are fewer once their bodies have pendingBodies.
func (tx *Tx) PendingEvents(after office.Cursor, limit int) (list []office.Event, last office.Cursor, err error) {
	bodies := pendingBodies
	start, err := cursorKey(after)
	if err != nil {
		return nil, after, err
	}
	last = after
	list, err = listed(tx, limit, func(each visit) error {
		return tx.between(bucketEventsPending, start, nil, func(row, value []byte) (bool, error) {
			switch {
			case bytes.Equal(row, start):
				return true, nil
			case bodies <= 0:
				return false, nil
			}
			more, err := each(row, value)
			if more {
				last = cursorOf(row)
			}
			return more, err
		})
	}, func(row []byte) (office.Event, error) {
		e, err := tx.eventAt(row)
		bodies -= len(e.Body)
		return e, err
	})
	return list, last, err
}

func (tx *Tx) eventAt(row []byte) (office.Event, error) {
	return at[office.Event](tx, bucketEvents, row)
}

// OddEvents returns up to limit events with which nothing could be done, newest first.
func (tx *Tx) OddEvents(limit int) ([]office.Event, error) {
	return listed(tx, limit, func(each visit) error { return tx.newest(bucketEventsOdd, "", each) }, tx.eventAt)
}

// Events returns up to limit events, newest first, and the cursor of the next page.
func (tx *Tx) Events(before office.Cursor, limit int) ([]office.Event, office.Cursor, error) {
	return page[office.Event](tx, bucketEvents, before, limit)
}

// EventCounts reads the counters; it does not scan.
func (tx *Tx) EventCounts() (c EventCounts, err error) {
	err = tx.counters(map[string]*int{
		"events":            &c.Received,
		"events.duplicates": &c.Duplicates,
		"events.pending":    &c.Pending,
		"events.odd":        &c.Odd,
	})
	return c, err
}

// at decodes the record that an index leads to.
func at[T any](tx *Tx, bucket string, row []byte) (T, error) {
	value, err := tx.get(bucket, row)
	if err != nil {
		var none T
		return none, err
	}
	return recall[T](tx, bucket, row, value)
}
