// Package data is the office's data on this computer: the store, monitored for disk trouble, and values that are cached in memory.
// It knows no rules about its contents.
package data

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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

// Data is the office's store. A full disk or a damaged file shows in health for as long as it lasts, whichever loop met it. Safe for
// concurrent use.
type Data struct {
	Store *store.Store // only for closing it; access its content through Read, Doc and Update
	// Committed is called after each commit with the activity that it added, and must not block. Set it before anybody else uses the
	// Data; may be nil.
	Committed func(added []office.Activity)

	log     *slog.Logger
	health  *health.Tracker
	now     func() time.Time
	damaged atomic.Bool // found while running; Close sets the file aside
	frozen  atomic.Pointer[message.Message]
	told    atomic.Int64 // number of unreadable records reported
	failed  remembered   // texts of read errors, each reported once
	trying  sync.Mutex   // held by hasRoom
}

// Open opens the state in the file at path. A damaged file is set aside, never deleted; aside then names it, also if Close did that,
// and the open state is empty. Other errors of store.Open are wrapped.
func Open(path string, log *slog.Logger, now func() time.Time, issues *health.Tracker) (st *Data, aside string, err error) {
	o := store.Options{Now: now, Log: log, Compact: true}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		said, _ := os.ReadFile(path + asideMark) // none if Close did not set it aside
		aside = string(said)
	}
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
	_ = os.Remove(path + asideMark)
	return &Data{Store: file, log: log, health: issues, now: now}, aside, nil
}

// asideMark plus the path of the state is the file with the path to which Close has moved it, until the next Open.
const asideMark = ".aside"

func (s *Data) Update(fn func(*store.Tx) error) error { return s.update(s.Store.Update, fn) }

func (s *Data) UpdateFirst(fn func(*store.Tx) error) error { return s.update(s.Store.UpdateFirst, fn) }

// Freeze makes every Update fail with why, which is for people, until Thaw, so that the state does not change. An Update already
// running may still finish, but has done so once a later UpdateFrozen returns.
func (s *Data) Freeze(why message.Message) { s.frozen.Store(&why) }

func (s *Data) Thaw() { s.frozen.Store(nil) }

// UpdateFrozen is Update for the caller of Freeze.
func (s *Data) UpdateFrozen(fn func(*store.Tx) error) error { return s.change(s.Store.Update, fn) }

func (s *Data) update(commit func(func(*store.Tx) error) error, fn func(*store.Tx) error) error {
	return s.change(commit, func(tx *store.Tx) error {
		if why := s.frozen.Load(); why != nil { // frozen while waiting for its turn
			return message.Error(*why, errFrozen)
		}
		return fn(tx)
	})
}

var errFrozen = errors.New("the state is not to change")

func (s *Data) change(commit func(func(*store.Tx) error) error, fn func(*store.Tx) error) error {
	var refused error // fn's own error is no disk problem
	var added []office.Activity
	err := commit(func(tx *store.Tx) error {
		before := len(tx.Added())
		refused = cmp.Or(fn(tx), tx.Err())
		added = tx.Added()[before:]
		return refused
	})
	s.tellUnreadable()
	switch {
	case refused == nil, errors.Is(err, store.ErrCorrupt):
		s.Note(err)
		if err == nil && s.Committed != nil {
			s.Committed(added)
		}
	case store.OfOneRecord(err):
		err = OfObject(err)
	}
	return err
}

func (s *Data) tellUnreadable() {
	if n := int64(s.Store.Unreadable()); n > 0 && s.told.Swap(n) != n { // not again once dismissed
		s.health.Set(health.RecordsUnreadable, message.RecordsUnreadable())
	}
}

// ObjectError is a failure that concerns one object: its record cannot be read or stored (store.OfOneRecord), or revealed a bug. It
// says nothing about the disk, the service or any other object.
type ObjectError struct{ err error }

func (e *ObjectError) Error() string { return e.err.Error() }
func (e *ObjectError) Unwrap() error { return e.err }

// OfObject returns err as an *ObjectError.
func OfObject(err error) error { return &ObjectError{err} }

// Note updates the health issue about the state.
func (s *Data) Note(err error) {
	switch {
	case err == nil:
		// A small commit, such as that of a notification, fits into the file's free space: its success proves nothing for the next
		// one.
		if !s.damaged.Load() && s.health.Has(health.DataNotWritten) && s.hasRoom() {
			s.health.Clear(health.DataNotWritten)
		}
	case errors.Is(err, store.ErrClosed):
	case errors.Is(err, store.ErrCorrupt):
		s.damaged.Store(true)
		s.health.Set(health.DataDamaged, message.DataDamagedNow())
	case errors.Is(err, store.ErrGone):
		s.health.Set(health.DataNotWritten, message.DataGone())
	case disk.Full(err):
		s.health.Set(health.DataNotWritten, message.OwnDiskFull())
	default:
		s.health.Set(health.DataNotWritten, message.DataNotWritten())
	}
}

// Close closes the file and sets it aside if it proved damaged, so that the next start begins with a good one.
func (s *Data) Close() error {
	path := s.Store.Path()
	err := s.Store.Close()
	if !s.damaged.Load() {
		return err
	}
	aside, asideErr := store.SetAside(path, s.now())
	if asideErr == nil {
		asideErr = os.WriteFile(path+asideMark, []byte(aside), 0o600)
	}
	return errors.Join(err, asideErr)
}

// Read returns what read finds in the store; what names it in the error. All reads go through it: a failure is reported to health
// and returned as an error with a message for people, never as an empty list.
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

// Doc returns the document of that name; known is false if there is none.
func Doc[T any](s *Data, name string) (doc T, known bool, err error) {
	doc, err = Read(s, name, func(tx *store.Tx) (doc T, err error) {
		known, err = tx.GetDoc(name, &doc)
		return doc, err
	})
	return doc, known && err == nil, err
}

// docRestored is the document with when the state was restored from a backup, or came from another computer.
const docRestored = "restored"

// Restored is when the state was restored; a zero At for never.
type Restored struct {
	At     time.Time `json:"at"`              // by this computer's clock, which may have been wrong
	Served time.Time `json:"served,omitzero"` // by the service's; zero until it has answered
	Day    int       `json:"day"`             // the last one counted by then, see store.Tx.Day
}

// WhenRestored returns when the state was restored last. What depends on the service's times asks loop.Base.Restored.
func WhenRestored(tx *store.Tx) (x Restored) {
	tx.GetDoc(docRestored, &x)
	return x
}

// Lately reports whether that is fewer counted days ago: no clock makes them pass.
func (x Restored) Lately(tx *store.Tx, days int) bool {
	today, _ := tx.Day()
	return !x.At.IsZero() && today-x.Day < days
}

// Put stores when the state was restored.
func (x Restored) Put(tx *store.Tx) { tx.PutDoc(docRestored, x) }

// MarkRestored records that the state was restored at that time, or at its newest activity, if a wrong clock says that this was later.
func MarkRestored(tx *store.Tx, at time.Time) {
	day, _ := tx.Day()
	if newest, _, _ := tx.Activities("", 1); len(newest) > 0 && newest[0].Time.After(at) {
		at = newest[0].Time
	}
	Restored{At: at, Day: day}.Put(tx)
}

// Package returns a package; known is false if there is none with that id.
func (s *Data) Package(id string) (p office.Package, known bool, err error) {
	p, err = Read(s, "package "+id, func(tx *store.Tx) (p office.Package, err error) {
		p, known, err = tx.Package(id)
		return p, err
	})
	return p, known && err == nil, err
}

// Draft returns a draft; known is false if there is none with that id.
func (s *Data) Draft(id string) (d office.Draft, known bool, err error) {
	d, err = Read(s, "draft "+id, func(tx *store.Tx) (d office.Draft, err error) {
		d, known, err = tx.Draft(id)
		return d, err
	})
	return d, known && err == nil, err
}

// notRead reports a read error to health once, and returns err with a message for people.
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
		if !known { // not again once dismissed
			s.health.Set(health.RecordsUnreadable, message.RecordsUnreadable())
		}
		return message.Error(message.RecordNotRead(), OfObject(err))
	default:
		s.health.Set(health.DataNotRead, message.DataNotRead())
		return message.Error(message.DataNotRead(), err)
	}
}

// remembered is a set of reported texts. If it grows too large it starts over, so that errors with ever different texts do not
// accumulate; they may then be reported again.
type remembered struct {
	mu    sync.Mutex
	texts map[string]bool // at most mostRemembered
}

const mostRemembered = 1000

// has reports whether a text is in the set, and adds it.
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

// Kept is a value read from memory and stored on disk. Memory changes only after the commit has succeeded, so Change is the only way
// to change it. Safe for concurrent use.
type Kept[T any] struct {
	turn sync.Mutex // serializes changes, from reading the old value until memory has the new one
	mu   sync.Mutex // guards now, only briefly
	now  T
}

// Get returns a copy of the present value. After waiting for anything, get it again.
func (k *Kept[T]) Get() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// Change passes the present value to commit, which returns the new value once it is on disk; after an error nothing changes. Changes
// are serialized. commit must not change the same value.
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

// Set sets the value just read from disk.
func (k *Kept[T]) Set(now T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = now
}

// roomNeeded is how many bytes the disk must accept to count as repaired: more than any commit writes.
const roomNeeded = 1 << 20

// nothing is what hasRoom writes, repeatedly. It is a static block because a full disk is tested for hours.
var nothing [64 << 10]byte

// hasRoom reports whether the disk accepts a large commit, by writing that much to a file beside the state. The amount of free space
// would not show this user's quota.
func (s *Data) hasRoom() bool {
	s.trying.Lock()
	defer s.trying.Unlock()
	path := s.Store.Path() + ".room"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	defer os.Remove(path) // where an open file cannot be removed
	_ = os.Remove(path)   // elsewhere nothing remains if the program is killed now
	for left := roomNeeded; left > 0 && err == nil; left -= len(nothing) {
		_, err = file.Write(nothing[:])
	}
	return errors.Join(err, file.Sync(), file.Close()) == nil
}
