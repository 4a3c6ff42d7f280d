package data

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/store"
)

// Read returns what read finds in the store; what names it in the error. Everything is read this way: a failure is told in
// health, and comes back as an error that carries a message for people, never as an empty list.
func Read[T any](s *Data, what string, read func(*store.Tx) (T, error)) (found T, err error) {
	err = s.Store.View(func(tx *store.Tx) (err error) {
		found, err = read(tx)
		return err
	})
	s.tellUnreadable()
	if err == nil {
		return found, nil
	}
	var none T
	return none, s.notRead(fmt.Errorf("read %s: %w", what, err))
}

// Doc returns the document of that name; known is false when there is none.
func Doc[T any](s *Data, name string) (doc T, known bool, err error) {
	doc, err = Read(s, name, func(tx *store.Tx) (doc T, err error) {
		known, err = tx.GetDoc(name, &doc)
		return doc, err
	})
	return doc, known && err == nil, err
}

// notRead tells once in health why something could not be read, and returns err with what people are told of it.
func (s *Data) notRead(err error) error {
	if errors.Is(err, store.ErrClosed) {
		return message.Error(message.Closing(), err)
	}
	known := s.failed.has(err.Error())
	if !known {
		s.log.Error("something that is kept cannot be read", "err", err)
	}
	switch {
	case errors.Is(err, store.ErrCorrupt):
		s.Note(err)
		return message.Error(message.DataDamagedNow(), err)
	case store.OfOneRecord(err):
		if !known { // what somebody has read is not told again
			s.health.Set(health.RecordsUnreadable, message.RecordsUnreadable())
		}
		return message.Error(message.RecordNotRead(), OfObject(err))
	default:
		s.health.Set(health.DataNotRead, message.DataNotRead())
		return message.Error(message.DataNotRead(), err)
	}
}

// remembered are the latest texts that were told. Those before them are told again when they come again: what fails in ever
// other words is no reason to keep all of them.
type remembered struct {
	mu    sync.Mutex
	texts []string // oldest first, at most mostRemembered
}

// mostRemembered is how many texts are remembered.
const mostRemembered = 1000

// has reports whether a text is remembered, and remembers it.
func (m *remembered) has(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.texts, text) {
		return true
	}
	if len(m.texts) == mostRemembered {
		m.texts = slices.Delete(m.texts, 0, 1)
	}
	m.texts = append(m.texts, text)
	return false
}
