package store

import (
	"bytes"
	"fmt"
)

// facets are everything that follows from one record: its entries in the indexes and its share of the counters. They
// are computed from the record alone, so the way from the old facets to the new ones is the same for every change,
// and indexes and counters cannot drift from the records.
type facets struct {
	entries []entry
	counts  []count
}

type entry struct {
	bucket     string
	key, value []byte
}

type count struct {
	name string
	n    int64
}

func (f *facets) entry(bucket string, value []byte, key ...[]byte) {
	f.entries = append(f.entries, entry{bucket, join(key...), value})
}

func (f *facets) count(name string, n int64) {
	if n != 0 {
		f.counts = append(f.counts, count{name, n})
	}
}

// mostFollowed is how many facets a transaction remembers. That is more than one update asks for.
const mostFollowed = 100

// follow remembers what follows from a record that was just read or written: whoever changes it next need not read it once
// more for that.
func (tx *Tx) follow(bucket string, key []byte, f facets) facets {
	if tx.followed == nil || len(tx.followed) >= mostFollowed {
		tx.followed = map[string]facets{}
	}
	tx.followed[bucket+string(key)] = f
	return f
}

// refacet replaces what followed from the old record by what follows from the new one.
func (tx *Tx) refacet(old, new facets) error {
	for _, e := range old.entries {
		if !new.has(e, false) {
			if err := tx.del(e.bucket, e.key); err != nil {
				return err
			}
		}
	}
	for _, e := range new.entries {
		if !old.has(e, true) {
			if err := tx.put(e.bucket, e.key, e.value); err != nil {
				return err
			}
		}
	}
	net := map[string]int64{}
	for _, c := range old.counts {
		net[c.name] -= c.n
	}
	for _, c := range new.counts {
		net[c.name] += c.n
	}
	for name, n := range net {
		if err := tx.add(name, n); err != nil {
			return err
		}
	}
	return nil
}

func (f facets) has(e entry, sameValue bool) bool {
	for _, own := range f.entries {
		if own.bucket == e.bucket && bytes.Equal(own.key, e.key) && (!sameValue || bytes.Equal(own.value, e.value)) {
			return true
		}
	}
	return false
}

// add changes a counter.
func (tx *Tx) add(name string, n int64) error {
	if n == 0 {
		return nil
	}
	have, err := tx.counter(name)
	if err != nil {
		return err
	}
	return tx.put(bucketCounts, []byte(name), encodeCount(have+n))
}

func (tx *Tx) counter(name string) (int64, error) {
	v, err := tx.get(bucketCounts, []byte(name))
	if err != nil {
		return 0, err
	}
	return decodeCount(v), nil
}

// counters reads several counters at once.
func (tx *Tx) counters(into map[string]*int) error {
	for name, to := range into {
		n, err := tx.counter(name)
		if err != nil {
			return fmt.Errorf("read counter %s: %w", name, err)
		}
		*to = int(n)
	}
	return nil
}
