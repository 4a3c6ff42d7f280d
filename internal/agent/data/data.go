package data

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/store"
)

// Data is the office's store with an eye on what keeps it from working: a full disk or a damaged file shows in health
// for as long as it lasts, whichever loop met it. Safe for concurrent use.
type Data struct {
	Store *store.Store // for whoever ends it; what is in it goes through Read, Doc and Update
	// Committed is called after each commit. It must not block. Set it before anybody else uses the Data; nil for none.
	Committed func()

	log     *slog.Logger
	health  *health.Tracker
	now     func() time.Time
	damaged atomic.Bool // met while running; Close sets the file aside
	frozen  atomic.Pointer[message.Message]
	told    atomic.Int64 // how many unreadable records people were told of
	failed  remembered   // texts of the errors of reads, each of which is told once
	trying  sync.Mutex   // whether there is room
}

// Open opens the state in the file at path. A damaged file is set aside, never deleted; aside then names it, and what is open is
// empty. Every other error of store.Open is returned as it is, wrapped.
func Open(path string, log *slog.Logger, now func() time.Time, issues *health.Tracker) (st *Data, aside string, err error) {
	o := store.Options{Now: now, Log: log, Compact: true}
	file, err := store.Open(path, o)
	if errors.Is(err, store.ErrCorrupt) {
		log.Error("the data file is damaged and is set aside", "err", err)
		if aside, err = store.SetAside(path, now()); err != nil {
			return nil, "", fmt.Errorf("set the damaged state aside: %w", err)
		}
		file, err = store.Open(path, o)
	}
	if err != nil {
		return nil, "", fmt.Errorf("open the state: %w", err)
	}
	return &Data{Store: file, log: log, health: issues, now: now}, aside, nil
}

// Update is store.Update.
func (s *Data) Update(fn func(*store.Tx) error) error { return s.update(s.Store.Update, fn) }

// UpdateFirst is store.UpdateFirst.
func (s *Data) UpdateFirst(fn func(*store.Tx) error) error { return s.update(s.Store.UpdateFirst, fn) }

// Freeze has every Update fail with why, which is for people, until Thaw: the state is to stay as it is. One that has begun may
// still end; it has once an UpdateFrozen has.
func (s *Data) Freeze(why message.Message) { s.frozen.Store(&why) }

// Thaw ends that.
func (s *Data) Thaw() { s.frozen.Store(nil) }

// UpdateFrozen is Update for whoever has it frozen.
func (s *Data) UpdateFrozen(fn func(*store.Tx) error) error { return s.change(s.Store.Update, fn) }

func (s *Data) update(commit func(func(*store.Tx) error) error, fn func(*store.Tx) error) error {
	return s.change(commit, func(tx *store.Tx) error {
		if why := s.frozen.Load(); why != nil { // it may have waited for its turn until now
			return message.Error(*why, errFrozen)
		}
		return fn(tx)
	})
}

var errFrozen = errors.New("the state is not to change")

func (s *Data) change(commit func(func(*store.Tx) error) error, fn func(*store.Tx) error) error {
	var refused error // what fn said itself is no trouble of the disk
	err := commit(func(tx *store.Tx) error {
		refused = fn(tx)
		return refused
	})
	s.tellUnreadable()
	switch {
	case refused == nil, errors.Is(err, store.ErrCorrupt):
		s.Note(err)
		if err == nil && s.Committed != nil {
			s.Committed()
		}
	case store.OfOneRecord(err):
		err = OfObject(err)
	}
	return err
}

// tellUnreadable says in health that records are left out.
func (s *Data) tellUnreadable() {
	if n := int64(s.Store.Unreadable()); n > 0 && s.told.Swap(n) != n { // what somebody has read is not told again
		s.health.Set(health.RecordsUnreadable, message.RecordsUnreadable())
	}
}

// ObjectError is a failure that concerns one object: its record cannot be read or kept like that (store.OfOneRecord), or
// brought a bug to light. It says nothing about the disk, the service or any other object.
type ObjectError struct{ err error }

func (e *ObjectError) Error() string { return e.err.Error() }
func (e *ObjectError) Unwrap() error { return e.err }

// OfObject is err as an *ObjectError.
func OfObject(err error) error { return &ObjectError{err} }

// Note keeps the health issue about the state in step.
func (s *Data) Note(err error) {
	switch {
	case err == nil:
		// A small commit fits into what is free in the file, also that of having told people: it proves nothing for the next.
		if !s.damaged.Load() && s.health.Has(health.DataNotWritten) && s.hasRoom() {
			s.health.Clear(health.DataNotWritten)
		}
	case errors.Is(err, store.ErrClosed):
	case errors.Is(err, store.ErrCorrupt):
		s.damaged.Store(true)
		s.health.Set(health.DataDamaged, message.DataDamagedNow())
	case diskFull(err):
		s.health.Set(health.DataNotWritten, message.OwnDiskFull())
	default:
		s.health.Set(health.DataNotWritten, message.DataNotWritten())
	}
}

// Close closes the file, and sets one that proved damaged aside, so that the next start begins with a whole one.
func (s *Data) Close() error {
	path := s.Store.Path()
	err := s.Store.Close()
	if !s.damaged.Load() {
		return err
	}
	_, asideErr := store.SetAside(path, s.now())
	return errors.Join(err, asideErr)
}
