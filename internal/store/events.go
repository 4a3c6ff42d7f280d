package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"countersign/internal/office"
	"countersign/internal/record"
)

var events = shelf{rows: bucketEvents, ids: bucketEventIDs}

type EventCounts struct {
	Received      int // distinct events
	Duplicates    int // further copies of them
	Pending       int // Outcome is EventPending
	Unprocessable int // Outcome is EventUnprocessable
}

func eventFacets(e office.Event, row []byte) (f facets) {
	f.count("events", 1)
	f.fact("event", func() record.Fact { return eventFact(e) })
	f.count("events.duplicates", int64(e.Copies))
	switch e.Outcome {
	case office.EventPending:
		f.entry(bucketEventsPending, nil, row)
		f.count("events.pending", 1)
	case office.EventUnprocessable:
		f.count("events.unprocessable", 1)
	}
	if forgettable(e) {
		f.entry(bucketEventsOld, nil, oldKey(e, row))
	}
	return f
}

// AddEvent stores a new event. If the event is already stored, it only counts the copy there and returns false. A zero
// Received becomes now.
func (tx *Tx) AddEvent(e office.Event) (added bool, err error) {
	row, value := tx.find(events, e.ID)
	switch {
	case value != nil:
		stored, err := decode[office.Event](bucketEvents, row, value)
		if tx.read(err) { // it is stored if unreadable, and a copy would not change that
			again := stored
			again.Copies++
			tx.putEvent(again, row, eventFacets(stored, row))
		}
		return false, tx.err
	case row != nil:
		return false, tx.forgottenAgain(e.ID, row)
	}
	if e.Service == "" {
		e.Service, _ = tx.Service()
	}
	if e.Received.IsZero() {
		e.Received = tx.now()
	}
	if e.Outcome != office.EventPending {
		e.Day, _ = tx.Day()
	}
	err = tx.putEvent(e, nil, facets{})
	return err == nil, err
}

func (tx *Tx) putEvent(e office.Event, row []byte, old facets) error {
	inUTC(&e.Time, &e.Received, &e.Handled)
	row = tx.place(events, e.ID, row, e.Received, e)
	return tx.refacet(old, eventFacets(e, row))
}

func (tx *Tx) Event(id string) (office.Event, bool, error) {
	row, value := tx.find(events, id)
	if value == nil {
		return office.Event{}, false, tx.err
	}
	e, err := decode[office.Event](bucketEvents, row, value)
	return e, err == nil, err
}

// KnowsEvent reports whether an event was ever stored under id, even if its contents were forgotten since, and whether it was
// another one, with another body.
func (tx *Tx) KnowsEvent(id string, body []byte) (known, other bool, err error) {
	row, value := tx.find(events, id)
	switch {
	case value != nil:
		stored, err := decode[office.Event](bucketEvents, row, value)
		other = tx.read(err) && !bytes.Equal(stored.Body, body) && !bytes.Equal(inOrder(stored.Body), inOrder(body))
	case row != nil:
		_, mark, _ := remains(row)
		other = mark != nil && !bytes.Equal(mark, bodyMark(body))
	}
	return row != nil, other, tx.err
}

// inOrder is JSON with its members sorted: a service may write those of an event in another order when it sends it again. Other bytes
// are returned as they are.
func inOrder(body []byte) []byte {
	var content any
	d := json.NewDecoder(bytes.NewReader(body))
	if d.UseNumber(); d.Decode(&content) != nil || d.More() {
		return body
	}
	sorted, err := json.Marshal(content)
	if err != nil {
		return body
	}
	return sorted
}

// SetEvent replaces a stored event, or returns ErrNotFound. It keeps the stored Copies, so that a copy that arrives while an
// event is being handled is counted; it sets Day when the event is done.
func (tx *Tx) SetEvent(e office.Event) error {
	row, value := tx.find(events, e.ID)
	if value == nil {
		return tx.fail(fmt.Errorf("event %q: %w", e.ID, ErrNotFound))
	}
	stored, err := decode[office.Event](bucketEvents, row, value)
	if err != nil {
		return tx.fail(err)
	}
	e.Copies, e.Day = stored.Copies, stored.Day
	switch {
	case e.Outcome == office.EventPending:
		e.Day = 0
	case stored.Outcome == office.EventPending:
		e.Day, _ = tx.Day()
	}
	return tx.putEvent(e, row, eventFacets(stored, row))
}

// pendingBodies limits the bytes of bodies read at once.
const pendingBodies = 8 << 20

// PendingEvents returns up to limit unhandled events after a cursor, oldest first, and the cursor of the last one. It stops
// earlier when their bodies reach pendingBodies.
func (tx *Tx) PendingEvents(after office.Cursor, limit int) (list []office.Event, last office.Cursor, err error) {
	bodies := pendingBodies
	start, err := cursorKey(after)
	if err != nil {
		return nil, after, err
	}
	last = after
	list, err = listed(tx, limit, func(each visit) {
		tx.between(bucketEventsPending, start, nil, func(row, value []byte) (more bool) {
			switch {
			case bytes.Equal(row, start):
				return true
			case bodies <= 0:
				return false
			}
			if more = each(row, value); more {
				last = cursorOf(row)
			}
			return more
		})
	}, func(row, _ []byte) (office.Event, error) {
		e, err := at[office.Event](tx, bucketEvents, row)
		bodies -= len(e.Body)
		return e, err
	})
	return list, last, err
}

// Events returns up to limit events, newest first, and the cursor of the next page.
func (tx *Tx) Events(before office.Cursor, limit int) ([]office.Event, office.Cursor, error) {
	return page[office.Event](tx, bucketEvents, before, limit)
}

// EventCounts reads the counters; it does not scan.
func (tx *Tx) EventCounts() (c EventCounts, err error) {
	tx.counters(map[string]*int{
		"events":               &c.Received,
		"events.duplicates":    &c.Duplicates,
		"events.pending":       &c.Pending,
		"events.unprocessable": &c.Unprocessable,
	})
	return c, tx.err
}

// Events that are done and old are forgotten, except for their identifiers, by which a copy is still recognised. Age is
// counted in days on which the program ran (CountDay) and never computed from clocks: a clock that is fast or jumps by a
// year makes nothing more than a day older.

// The documents for counting days.
const (
	docDays  = "days"  // number of days counted
	docDates = "dates" // the latest of them, as days since 1970
)

// maxDates is how many dates are remembered, so that no date is counted twice if the clock goes back and forth.
const maxDates = 400

// Day is the number of days counted.
func (tx *Tx) Day() (n int, err error) {
	_, err = tx.GetDoc(docDays, &n)
	return n, err
}

// CountDay counts the date of now (in UTC) unless it was counted before, and reports whether it did.
func (tx *Tx) CountDay(now time.Time) (counted bool, err error) {
	var dates []int64
	tx.GetDoc(docDates, &dates)
	today := now.UTC().Truncate(24*time.Hour).Unix() / (24 * 60 * 60)
	if slices.Contains(dates, today) {
		return false, tx.err
	}
	dates = append(dates, today)
	tx.PutDoc(docDates, dates[max(0, len(dates)-maxDates):])
	n, _ := tx.Day()
	err = tx.PutDoc(docDays, n+1)
	return err == nil, err
}

// forgettable reports whether an event is done and its package is known. An event without a package is kept until somebody
// has examined it.
func forgettable(e office.Event) bool {
	return e.Outcome == office.EventHandled || e.Outcome == office.EventUnprocessable && e.PackageID != ""
}

func oldKey(e office.Event, row []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(max(e.Day, 0))), row...)
}

// ForgetEvents forgets up to limit events that were done more than keep counted days ago, and returns how many. They still
// count as received, and their copies as copies.
func (tx *Tx) ForgetEvents(keep, limit int) (forgotten int, err error) {
	days, err := tx.Day()
	if err != nil || days <= keep {
		return 0, err
	}
	var rows [][]byte
	end := binary.BigEndian.AppendUint32(nil, uint32(days-keep))
	tx.between(bucketEventsOld, nil, end, func(key, _ []byte) bool {
		if _, err := at[office.Event](tx, bucketEvents, key[4:]); tx.read(err) { // unreadable: left as it is
			rows = append(rows, slices.Clone(key[4:]))
		}
		return len(rows) < limit
	})
	for _, row := range rows {
		if e, err := at[office.Event](tx, bucketEvents, row); tx.read(err) {
			tx.del(bucketEvents, row)
			tx.putForgotten(e.ID, e.Copies, bodyMark(e.Body))
			tx.refacet(eventFacets(e, row), forgottenFacets(e.Copies))
		}
	}
	return len(rows), tx.err
}

// markLength is how many bytes of its body's hash remain of a forgotten event.
const markLength = 8

func bodyMark(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:markLength]
}

// forgotten encodes what remains of an event: the number of its copies and its body's mark. It is shorter than a row.
func forgotten(copies int, mark []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(min(max(copies, 0), math.MaxInt32))), mark...)
}

// remains decodes what remains of an event; mark is nil if it was forgotten without one.
func remains(left []byte) (copies int, mark []byte, err error) {
	n, size := binary.Uvarint(left)
	if size <= 0 || len(left) >= rowLength || len(left) != size && len(left) != size+markLength {
		return 0, nil, errUnreadable
	}
	if len(left) > size {
		mark = left[size:]
	}
	return int(n), mark, nil
}

func forgottenFacets(copies int) (f facets) {
	f.count("events", 1)
	f.count("events.duplicates", int64(copies))
	return f
}

// forgottenAgain counts another copy of a forgotten event.
func (tx *Tx) forgottenAgain(id string, left []byte) error {
	copies, mark, err := remains(left)
	if err != nil {
		return tx.fail(fmt.Errorf("%w: %s %q", errUnreadable, bucketEventIDs, id))
	}
	tx.putForgotten(id, copies+1, mark)
	return tx.refacet(forgottenFacets(copies), forgottenFacets(copies+1))
}

// putForgotten keeps what is left of an event.
func (tx *Tx) putForgotten(id string, copies int, mark []byte) {
	key, err := idKey(id)
	tx.fail(err)
	tx.put(bucketEventIDs, key, forgotten(copies, mark))
}
