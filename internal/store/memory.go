package store

import (
	"bytes"
	"sync"
)

// How many records are kept as they were decoded, more than an office has in hand at once, how long one of them may be in bytes, and
// all of them together: a decoded record takes up to some fifteen times the room of the bytes it was made of.
const (
	mostRemembered    = 500
	longestRemembered = 16 << 10
	roomRemembered    = 1 << 20
)

// memory keeps the records that were decoded last: what is asked about all day is read again and again, and JSON is the most of that.
// A record counts for as long as the bytes it was made of are those in the file. Safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	known map[place]remembered
	order []place // the oldest first
	bytes int     // of all values
}

// place is where a record lies.
type place struct{ bucket, key string }

type remembered struct {
	value  []byte
	record any // of which everybody gets a clone
}

// recall is decode of what is there under key, unless it is remembered.
func recall[T any](tx *Tx, bucket string, key, value []byte) (T, error) {
	if tx.memory == nil || len(value) > longestRemembered {
		return decode[T](bucket, key, value)
	}
	if known, ok := tx.memory.at(bucket, key, value).(cloner[T]); ok {
		return known.Clone(), nil
	}
	record, err := decode[T](bucket, key, value)
	if c, ok := any(record).(cloner[T]); ok && err == nil {
		tx.memory.keep(bucket, key, value, c.Clone())
	}
	return record, err
}

// cloner is a record that can be remembered.
type cloner[T any] interface{ Clone() T }

// at is the record that was made of value, nil where that is not known.
func (m *memory) at(bucket string, key, value []byte) any {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.known[place{bucket, string(key)}]; ok && bytes.Equal(r.value, value) {
		return r.record
	}
	return nil
}

func (m *memory) keep(bucket string, key, value []byte, record any) {
	at := place{bucket, string(key)}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, known := m.known[at]
	if m.known == nil {
		m.known = map[place]remembered{}
	}
	if !known {
		m.order = append(m.order, at)
	}
	m.known[at] = remembered{bytes.Clone(value), record}
	m.bytes += len(value) - len(old.value)
	for len(m.order) > mostRemembered || m.bytes > roomRemembered {
		oldest := m.order[0]
		m.order = m.order[1:]
		m.bytes -= len(m.known[oldest].value)
		delete(m.known, oldest)
	}
}
