package store

import (
	"bytes"
	"fmt"

	"countersign/internal/office"
)

// maxActivities is how many lines the activity list keeps.
const maxActivities = 20_000

// AddActivity adds a line to the activity list and drops the oldest ones beyond the newest 20,000. A zero
// Time becomes now.
func (tx *Tx) AddActivity(a office.Activity) error {
	if a.Time.IsZero() {
		a.Time = tx.now()
	}
	inUTC(&a.Time)
	value, err := encode(a)
	if err != nil {
		return fmt.Errorf("encode activity: %w", err)
	}
	row, err := tx.newRow(bucketActivity, a.Time)
	if err != nil {
		return err
	}
	if err := tx.put(bucketActivity, row, value); err != nil {
		return err
	}
	if err := tx.add("activity", 1); err != nil {
		return err
	}
	return tx.trimActivity()
}

func (tx *Tx) trimActivity() error {
	have, err := tx.counter("activity")
	if err != nil || have <= maxActivities {
		return err
	}
	var drop [][]byte
	if err := tx.oldest(bucketActivity, nil, func(key, _ []byte) (bool, error) {
		drop = append(drop, bytes.Clone(key))
		return int64(len(drop)) < have-maxActivities, nil
	}); err != nil {
		return err
	}
	for _, key := range drop {
		if err := tx.del(bucketActivity, key); err != nil {
			return err
		}
	}
	return tx.add("activity", -int64(len(drop)))
}

// Activities returns up to limit lines of the activity list, newest first, and the cursor of the next page.
func (tx *Tx) Activities(before office.Cursor, limit int) ([]office.Activity, office.Cursor, error) {
	return page[office.Activity](tx, bucketActivity, before, limit)
}
