package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/internal/office"
)

// What is done and old is forgotten but for its identifier, by which a copy is still known. How old something is, is
// counted in days on which the program ran (CountDay), never computed from clocks: a clock that runs fast, or jumps by a
// year, makes nothing older than one day more.

// Documents of the count.
const (
	docDays  = "days"  // how many there were
	docDates = "dates" // the last of them, as days since 1970
)

// maxDates is how many dates are remembered, so that a clock that goes back and forth counts no date twice.
const maxDates = 400

// Day is how many days were counted.
func (tx *Tx) Day() (int, error) { return tx.days() }

// CountDay counts the date of now (in UTC) unless it was counted before, and reports whether it did.
func (tx *Tx) CountDay(now time.Time) (counted bool, err error) {
	var dates []int64
	if _, err := tx.GetDoc(docDates, &dates); err != nil {
		return false, err
	}
	today := now.UTC().Truncate(24*time.Hour).Unix() / (24 * 60 * 60)
	if slices.Contains(dates, today) {
		return false, nil
	}
	dates = append(dates, today)
	if err := tx.PutDoc(docDates, dates[max(0, len(dates)-maxDates):]); err != nil {
		return false, err
	}
	n, err := tx.days()
	if err != nil {
		return false, err
	}
	return true, tx.PutDoc(docDays, n+1)
}

// days is how many days were counted.
func (tx *Tx) days() (n int, err error) {
	_, err = tx.GetDoc(docDays, &n)
	return n, err
}

// forgettable: it is done, and what it was about is known. An event that names no package stays until somebody has
// looked into it.
func forgettable(e office.Event) bool {
	return e.Outcome == office.EventHandled || e.Outcome == office.EventUnprocessable && e.PackageID != ""
}

func oldKey(e office.Event, row []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(max(e.Day, 0))), row...)
}

// ForgetEvents forgets up to limit events that have been done for more than so many counted days, and returns how many.
// They still count as received, and a copy of one is still a copy.
func (tx *Tx) ForgetEvents(keep, limit int) (forgotten int, err error) {
	days, err := tx.days()
	if err != nil || days <= keep {
		return 0, err
	}
	var rows [][]byte
	end := binary.BigEndian.AppendUint32(nil, uint32(days-keep))
	err = tx.between(bucketEventsOld, nil, end, func(key, _ []byte) (bool, error) {
		rows = append(rows, slices.Clone(key[4:]))
		return len(rows) < limit, nil
	})
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if err := tx.forgetEvent(row); err != nil {
			return 0, fmt.Errorf("forget an event: %w", err)
		}
	}
	return len(rows), nil
}

func (tx *Tx) forgetEvent(row []byte) error {
	e, err := at[office.Event](tx, bucketEvents, row)
	if errors.Is(err, ErrRecord) {
		tx.leaveOut(err)
		return nil // it stays as it is
	}
	if err != nil {
		return err
	}
	key, err := idKey(e.ID)
	if err != nil {
		return err
	}
	if err := tx.del(bucketEvents, row); err != nil {
		return err
	}
	if err := tx.put(bucketEventIDs, key, forgotten(e.Copies)); err != nil {
		return err
	}
	return tx.refacet(eventFacets(e, row), forgottenFacets(e.Copies))
}

// forgotten is what is left of an event: how often it came again. It is shorter than a row.
func forgotten(copies int) []byte { return binary.AppendUvarint(nil, uint64(max(copies, 0))) }

// copiesOf reads what is left of an event.
func copiesOf(left []byte) (int, error) {
	copies, size := binary.Uvarint(left)
	if size != len(left) || len(left) >= rowLength {
		return 0, errUnreadable
	}
	return int(copies), nil
}

func forgottenFacets(copies int) (f facets) {
	f.count("events", 1)
	f.count("events.duplicates", int64(copies))
	return f
}

// forgottenAgain counts a copy of a forgotten event.
func (tx *Tx) forgottenAgain(id string, left []byte) error {
	copies, err := copiesOf(left)
	if err != nil {
		return fmt.Errorf("%w: %s %q", errUnreadable, bucketEventIDs, id)
	}
	key, err := idKey(id)
	if err != nil {
		return err
	}
	if err := tx.put(bucketEventIDs, key, forgotten(copies+1)); err != nil {
		return err
	}
	return tx.refacet(forgottenFacets(copies), forgottenFacets(copies+1))
}
