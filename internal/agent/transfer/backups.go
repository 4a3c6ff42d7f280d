package transfer

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
	"countersign/internal/message"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// A backup is made on each day on which the program runs, so that a data file that is lost or damaged costs a day at most. Seven are
// kept, and four of the weeks before, in the data folder, sealed for a key that follows from the one in the keyring.
//
// The documents that wait to be sent are in files of their own beside, each once for as long as a backup that is kept lists it: what
// waits for weeks costs its size once. Their names tell which key they are sealed for, because a key may be made anew.
//
// A backup has no sign-in: the tokens of yesterday are used up, and whoever shows one again is taken for a thief. The second
// file of the office (agent/backup.go) has those of today.

// Options are what a Backups takes from others. The functions are called by one goroutine.
type Options struct {
	Folder    string // where the backups are
	Documents string // where the documents are that wait to be sent

	Header func() Header                     // who makes the backup
	Key    func() (key safe.Secret, ok bool) // what it is sealed for; not while the keyring is locked
	Busy   func() bool                       // a backup had better wait
	Crash  func(point string)                // tests end the process there
}

// When a backup is made: so long after the start, or after something that was under way, but for that it waits no longer than
// patience; and so long after a failure, which is told once it has gone on for a while.
const (
	settling = time.Minute
	patience = time.Hour
	again    = time.Hour
	tellFor  = 6 * time.Hour
)

// docLast names the document with the last backup that was made.
const docLast = "backup"

// last is the last backup that was made.
type last struct {
	Day  int       `json:"day"` // the counted day
	Time time.Time `json:"time"`
}

// Forget has the next backup made at once: what is stored is another office's, or one of another day.
func Forget(tx *store.Tx) error { return tx.PutDoc(docLast, nil) }

// Backups makes them. Its methods are safe for concurrent use.
type Backups struct {
	loop.Base
	options Options
	wake    chan struct{}
}

// NewBackups makes a Backups.
func NewBackups(t loop.Base, o Options) *Backups {
	return &Backups{Base: t, options: o, wake: make(chan struct{}, 1)}
}

// Wake has a backup that is due tried at once.
func (b *Backups) Wake() { loop.Wake(b.wake) }

// Run makes a backup on each day, until ctx ends.
func (b *Backups) Run(ctx context.Context) error {
	var waited, failing time.Duration
	for pause := settling; loop.Wait(ctx, pause, b.wake); {
		due, err := b.due()
		switch {
		case err != nil:
			return err
		case !due:
			pause = again
			continue
		case b.options.Busy() && waited < patience:
			waited, pause = waited+settling, settling
			continue
		}
		waited, pause = 0, again
		if err := b.Make(); errors.Is(err, errLocked) {
			continue // which health says
		} else if err != nil {
			b.Log.Warn("back up the state", "err", err)
			failing += again
			if failing >= tellFor {
				b.Health.Set(health.BackupFails, tell(err))
			}
			continue
		}
		failing = 0
		b.Health.Clear(health.BackupFails)
	}
	return nil
}

// errLocked is a backup that waits for the key.
var errLocked = errors.New("the key is out of reach")

// tell is what people are told of a backup that could not be made.
func tell(err error) message.Message {
	if m, known := message.Of(err); known {
		return message.Then(message.BackupFails(), m)
	}
	return message.BackupFails()
}

// due reports whether no backup was made on this day.
func (b *Backups) due() (bool, error) {
	return data.Read(b.Data, "the last backup", func(tx *store.Tx) (bool, error) {
		var l last
		known, err := tx.GetDoc(docLast, &l)
		if err != nil {
			return false, err
		}
		today, err := tx.Day()
		return !known || l.Day != today, err
	})
}

// Make makes a backup now. What cannot be tidied up afterwards is no failure of it.
func (b *Backups) Make() error {
	key, ok := b.options.Key()
	if !ok {
		return errLocked
	}
	folder := b.options.Folder
	for _, dir := range []string{folder, filepath.Join(folder, documentsDir)} {
		if err := private.Folder(dir); err != nil && !errors.Is(err, private.ErrStaysOpen) {
			return fmt.Errorf("make the folder of the backups: %w", err)
		}
	}
	sweep(folder)
	h := b.options.Header()
	h.Kind, h.Made = Backup, b.Now().UTC()
	files, err := List(folder)
	if err != nil {
		return err
	}
	number := 1
	if len(files) > 0 {
		number = files[0].Number + 1
	}
	name := fmt.Sprintf("%06d-%s%s", number, h.Made.Format(time.DateOnly), ending)
	if err := create(filepath.Join(folder, name), func(w io.Writer) error { return b.write(w, key, h) }); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	b.options.Crash("backup written")
	err = b.Data.Update(func(tx *store.Tx) error {
		today, err := tx.Day()
		if err != nil {
			return err
		}
		return tx.PutDoc(docLast, last{today, h.Made})
	})
	if err := prune(folder, key); err != nil {
		b.Log.Warn("remove old backups", "err", err)
	}
	return err
}

// write writes everything that is kept, and the documents that wait beside it.
func (b *Backups) write(w io.Writer, key safe.Secret, h Header) error {
	out, err := Write(w, key, h)
	if err != nil {
		return err
	}
	documents, err := data.Read(b.Data, "what is to be backed up", func(tx *store.Tx) ([]Document, error) {
		documents, err := b.waiting(tx)
		for _, d := range documents { // first, so that prune need not read on
			if err == nil {
				err = out.put(kindBytes, d)
			}
		}
		if err != nil {
			return nil, err
		}
		return documents, tx.Export(out.Put)
	})
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return err
	}
	b.options.Crash("backup copied")
	defer b.options.Crash("backup documents")
	return b.keepDocuments(documents, key)
}

// waiting are the documents of the drafts that are not packages yet.
func (b *Backups) waiting(tx *store.Tx) (list []Document, err error) {
	drafts, err := tx.Drafts(Waiting...)
	seen := map[string]bool{}
	for _, d := range drafts {
		for _, f := range d.Files {
			if f.Copy != "" && f.SHA256 != "" && !seen[f.Copy] {
				seen[f.Copy] = true
				list = append(list, Document{Name: f.Copy, Size: f.Size, SHA256: f.SHA256, Apart: true})
			}
		}
	}
	return list, err
}

// keepDocuments seals the documents that are not there yet.
func (b *Backups) keepDocuments(documents []Document, key safe.Secret) error {
	for _, d := range documents {
		path := documentPath(b.options.Folder, d.Name, key)
		if _, err := os.Lstat(path); err == nil {
			continue // the bytes of a copy never change
		}
		in, err := os.Open(filepath.Join(b.options.Documents, d.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was sent a moment ago
		}
		if err != nil {
			return err
		}
		err = create(path, func(out io.Writer) error {
			w, err := safe.Seal(out, key)
			if err != nil {
				return err
			}
			_, err = io.Copy(w, in)
			return errors.Join(err, w.Close())
		})
		if err = errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("back up a document: %w", err)
		}
	}
	return nil
}
