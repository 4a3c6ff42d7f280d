// Package data is the data of the office on this computer: the store with an eye on the disk below it, and what is kept in
// memory as well as there. It knows no rules about what it keeps.
package data

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
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

func (s *Data) Update(fn func(*store.Tx) error) error { return s.update(s.Store.Update, fn) }

func (s *Data) UpdateFirst(fn func(*store.Tx) error) error { return s.update(s.Store.UpdateFirst, fn) }

// Freeze has every Update fail with why, which is for people, until Thaw: the state is to stay as it is. One that has begun may
// still end; it has once an UpdateFrozen has.
func (s *Data) Freeze(why message.Message) { s.frozen.Store(&why) }

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
	case disk.Full(err):
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

// docRestored names the document with when the state was restored from a backup.
const docRestored = "restored"

// MarkRestored notes that the state is that of a backup, as of now.
func MarkRestored(tx *store.Tx, now time.Time) error { return tx.PutDoc(docRestored, now) }

// Restored is when the state was restored; zero for never. A moment that is still to come was noted by a wrong clock: it was at the
// latest now.
func Restored(tx *store.Tx, now time.Time) (at time.Time, err error) {
	if _, err = tx.GetDoc(docRestored, &at); err == nil && at.After(now) {
		return now, MarkRestored(tx, now)
	}
	return at, err
}

// Package returns one package; known is false when there is none of that id.
func (s *Data) Package(id string) (p office.Package, known bool, err error) {
	p, err = Read(s, "package "+id, func(tx *store.Tx) (p office.Package, err error) {
		p, known, err = tx.Package(id)
		return p, err
	})
	return p, known && err == nil, err
}

// Draft returns one draft; known is false when there is none of that id.
func (s *Data) Draft(id string) (d office.Draft, known bool, err error) {
	d, err = Read(s, "draft "+id, func(tx *store.Tx) (d office.Draft, err error) {
		d, known, err = tx.Draft(id)
		return d, err
	})
	return d, known && err == nil, err
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

// remembered are texts that were told. When there are many they are told again when they come again: what fails in ever other
// words is no reason to keep all of them.
type remembered struct {
	mu    sync.Mutex
	texts map[string]bool // at most mostRemembered
}

const mostRemembered = 1000

// has reports whether a text is remembered, and remembers it.
func (m *remembered) has(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.texts[text]
	if m.texts == nil || len(m.texts) == mostRemembered {
		m.texts = map[string]bool{}
	}
	m.texts[text] = true
	return known
}

// Kept is a value that is read from memory and kept on disk. It changes in memory only after the commit has succeeded, so
// Change is the one way to change it. Safe for concurrent use.
type Kept[T any] struct {
	turn sync.Mutex // held from reading what is to be changed until memory has followed the commit
	mu   sync.Mutex // guards now, for a moment
	now  T
}

// Get returns the value as of now. It is a copy: after waiting for anything, it is got again.
func (k *Kept[T]) Get() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// Change gives the value as it is to commit, which returns what it is now, on disk; after an error nothing changes. Changes
// happen one after the other. commit must not change the same value.
func (k *Kept[T]) Change(commit func(T) (T, error)) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	next, err := commit(k.Get())
	if err != nil {
		return err
	}
	k.Set(next)
	return nil
}

// Set is for what was just read from disk.
func (k *Kept[T]) Set(now T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = now
}

// roomNeeded is how much the disk must take, in bytes, before it counts as mended: more than a commit ever writes.
const roomNeeded = 1 << 20

// nothing is what is written to find out: one page of it after the other, for a disk that is full is tried for hours.
var nothing [64 << 10]byte

// hasRoom reports whether the disk takes what a large commit needs, by writing as much to a file beside the state. How much is
// free would say nothing of how much this user may have.
func (s *Data) hasRoom() bool {
	s.trying.Lock()
	defer s.trying.Unlock()
	path := s.Store.Path() + ".room"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	defer os.Remove(path) // where an open file keeps its name
	_ = os.Remove(path)   // elsewhere nothing is left, should the program end right now
	for left := roomNeeded; left > 0 && err == nil; left -= len(nothing) {
		_, err = file.Write(nothing[:])
	}
	return errors.Join(err, file.Sync(), file.Close()) == nil
}
