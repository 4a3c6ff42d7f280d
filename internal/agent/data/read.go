package data

import (
	"errors"
	"fmt"

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
	_, known := s.failed.LoadOrStore(err.Error(), true)
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
