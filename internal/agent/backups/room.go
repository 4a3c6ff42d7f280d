// Package backups keeps sealed copies of the office's state, so that a data file that is lost or damaged costs a day at most:
// one copy on each day on which the program runs, of which seven are kept, and four of the weeks before. They lie in the data
// folder and are sealed for the key in the keyring.
//
// A copy has the data file as it was at one moment, and a list of the documents that wait to be sent. These are in files of
// their own beside, each once, for as long as a copy that is kept lists it: what waits for weeks costs its size once.
//
// It promises that a copy is there whole or not at all; that it is made while nothing much is under way; that it costs no disk
// while there is none to make; that there are never more than eleven. That none could be made is told after a while.
//
// A copy has no sign-in: the tokens of yesterday are used up, and whoever shows one again is taken for a thief. The second
// file of the office (agent/backup.go) has those of today.
//
// It must not know what becomes of a copy: restoring is the agent's.
package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/luggage"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// Needs are what the room takes from others. The functions are called by one goroutine.
type Needs struct {
	Folder    string // where the copies are
	Documents string // where the documents are that wait to be sent

	Label func() luggage.Manifest           // who makes the copy
	Key   func() (key safe.Secret, ok bool) // what it is sealed for; not while the keyring is locked
	Busy  func() bool                       // a copy had better wait
	Crash func(point string)                // tests end the process there
}

// When a copy is made: so long after the start, or after something that was under way, but for that it waits no longer than
// patience; and so long after a failure, which is told once it has gone on for a while.
const (
	settling = time.Minute
	patience = time.Hour
	again    = time.Hour
	tellFor  = 6 * time.Hour
)

// docLast names the document with the last copy that was made.
const docLast = "backup"

// last is the last copy that was made.
type last struct {
	Day  int       `json:"day"` // the counted day
	Time time.Time `json:"time"`
}

// Room makes backups. Its methods are safe for concurrent use.
type Room struct {
	loop.Tools
	needs Needs
	wake  chan struct{}
}

// New makes the room.
func New(t loop.Tools, needs Needs) *Room {
	return &Room{Tools: t, needs: needs, wake: make(chan struct{}, 1)}
}

// Wake has the room try at once.
func (r *Room) Wake() { loop.Wake(r.wake) }

// Run makes a copy on each day, until ctx ends.
func (r *Room) Run(ctx context.Context) error {
	var waited, failing time.Duration
	for pause := settling; loop.Wait(ctx, pause, r.wake); {
		due, err := r.due()
		switch {
		case err != nil:
			return err
		case !due:
			pause = again
			continue
		case r.needs.Busy() && waited < patience:
			waited, pause = waited+settling, settling
			continue
		}
		waited, pause = 0, again
		if err := r.Make(); errors.Is(err, errLocked) {
			continue // which health says
		} else if err != nil {
			r.Log.Warn("back up the state", "err", err)
			failing += again
			if failing >= tellFor {
				r.Health.Set(health.BackupFails, tell(err))
			}
			continue
		}
		failing = 0
		r.Health.Clear(health.BackupFails)
	}
	return nil
}

// errLocked is a copy that waits for the key.
var errLocked = errors.New("the key is out of reach")

// tell is what people are told of a copy that could not be made.
func tell(err error) message.Message {
	if m, known := message.Of(err); known {
		return message.Then(message.BackupFails(), m)
	}
	return message.BackupFails()
}

// due reports whether no copy was made on this day.
func (r *Room) due() (bool, error) {
	return data.Read(r.Data, "the last backup", func(tx *store.Tx) (bool, error) {
		var l last
		known, err := tx.GetDoc(docLast, &l)
		if err != nil {
			return false, err
		}
		today, err := tx.Day()
		return !known || l.Day != today, err
	})
}

// Make makes a copy now.
func (r *Room) Make() error {
	key, ok := r.needs.Key()
	if !ok {
		return errLocked
	}
	folder := r.needs.Folder
	for _, dir := range []string{folder, filepath.Join(folder, documentsDir)} {
		if err := private.Folder(dir); err != nil && !errors.Is(err, private.ErrStaysOpen) {
			return fmt.Errorf("make the folder of the backups: %w", err)
		}
	}
	sweep(folder)
	m := r.needs.Label()
	m.ID, m.Made, m.Apart = uuid.NewString(), r.Now().UTC(), true
	snapshot := filepath.Join(folder, "state"+temporary)
	if err := r.Data.Store.Snapshot(snapshot); err != nil {
		return err
	}
	defer os.Remove(snapshot)
	r.needs.Crash("backup copied")
	documents, err := Waiting(snapshot, r.needs.Documents)
	if err != nil {
		return err
	}
	m.Documents = documents
	if err := r.keepDocuments(m.Documents, key); err != nil {
		return err
	}
	r.needs.Crash("backup documents")
	files, err := List(folder)
	if err != nil {
		return err
	}
	number := 1
	if len(files) > 0 {
		number = files[0].Number + 1
	}
	name := fmt.Sprintf("%06d-%s%s", number, m.Made.Format(time.DateOnly), ending)
	err = write(filepath.Join(folder, name), func(w io.Writer) error { return luggage.Pack(w, m, snapshot, "") }, key)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	r.needs.Crash("backup written")
	err = r.Data.Update(func(tx *store.Tx) error {
		today, err := tx.Day()
		if err != nil {
			return err
		}
		return tx.PutDoc(docLast, last{today, m.Made})
	})
	return errors.Join(err, prune(folder, key))
}

// keepDocuments seals the documents that are not there yet.
func (r *Room) keepDocuments(documents []luggage.Document, key safe.Secret) error {
	for _, d := range documents {
		path := documentPath(r.needs.Folder, d.Name)
		if _, err := os.Lstat(path); err == nil {
			continue // the bytes of a copy never change
		}
		in, err := os.Open(filepath.Join(r.needs.Documents, d.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was sent a moment ago
		}
		if err != nil {
			return err
		}
		err = write(path, func(w io.Writer) error { _, err := io.Copy(w, in); return err }, key)
		if err = errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("back up a document: %w", err)
		}
	}
	return nil
}

// Waiting are the documents of the drafts in a data file, which is not open, that are not packages yet, as far as their copies
// are in the folder.
func Waiting(state, copies string) (list []luggage.Document, err error) {
	st, err := store.Open(state, store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	err = st.View(func(tx *store.Tx) error {
		drafts, err := tx.Drafts(office.DraftHeld, office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftFailed)
		if err != nil {
			return err
		}
		list = nil
		seen := map[string]bool{}
		for _, d := range drafts {
			for _, f := range d.Files {
				if f.Copy == "" || f.SHA256 == "" || seen[f.Copy] {
					continue
				}
				if _, err := os.Stat(filepath.Join(copies, f.Copy)); errors.Is(err, fs.ErrNotExist) {
					continue
				}
				seen[f.Copy] = true
				list = append(list, luggage.Document{Name: f.Copy, Size: f.Size, SHA256: f.SHA256})
			}
		}
		return nil
	})
	return list, err
}

// Forget has the next copy made at once: what is stored is another office's, or one of another day.
func Forget(tx *store.Tx) error { return tx.PutDoc(docLast, nil) }
