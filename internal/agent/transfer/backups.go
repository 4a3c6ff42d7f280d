package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// A backup is made on each day on which the program runs, so that a lost or damaged data file costs at most a day. The last seven
// are kept, and four weekly ones before them, in the data folder, sealed with a key derived from the one in the keyring.
//
// The documents waiting to be sent are in separate files beside the backups, each stored once for as long as any kept backup lists
// it, however long it waits. Their names say which key they are sealed with, because a key may be replaced.
//
// A backup contains no sign-in: yesterday's tokens are used up, and presenting one again looks like theft. The second file of the
// office (agent/backup.go) has today's.

// Options are what Backups needs from others. The functions are called on one goroutine.
type Options struct {
	Folder    string // folder of the backups
	Documents string // folder of the documents waiting to be sent

	Header func() Header                     // describes the maker of the backup
	Key    func() (key safe.Secret, ok bool) // the key to seal with; not ok while the keyring is locked
	Busy   func() bool                       // a backup should wait
}

// When a backup is made: settling after the start or after other work, for which it waits at most patience; again after a failure,
// which is reported once it has lasted for tellFor.
const (
	settling = time.Minute
	patience = time.Hour
	again    = time.Hour
	tellFor  = 6 * time.Hour
)

// docLast is the document with the day number of the last backup.
const docLast = "backup"

// Forget makes the next backup due at once, because the store now holds another office's data, or data of another day.
func Forget(tx *store.Tx) { tx.PutDoc(docLast, nil) }

// Backups makes the backups. Its methods are safe for concurrent use.
type Backups struct {
	loop.Base
	options Options
	wake    chan struct{}
}

func NewBackups(t loop.Base, o Options) *Backups {
	return &Backups{Base: t, options: o, wake: make(chan struct{}, 1)}
}

// Wake retries a backup that is due at once.
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
			continue // health reports it
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

var errLocked = errors.New("the key is out of reach")

// tell words for people why a backup could not be made.
func tell(err error) message.Message {
	if m, known := message.Of(err); known {
		return message.Then(message.BackupFails(), m)
	}
	return message.BackupFails()
}

// due reports whether there is no backup of today yet.
func (b *Backups) due() (bool, error) {
	return data.Read(b.Data, "the last backup", func(tx *store.Tx) (bool, error) {
		var last int
		known, _ := tx.GetDoc(docLast, &last)
		today, err := tx.Day()
		return !known || last != today, err
	})
}

// Make makes a backup now. A failure to tidy up afterwards is not returned.
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
	if err := private.WriteFile(filepath.Join(folder, name), disk.Create, func(w io.Writer) error { return b.write(w, key, h) }); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	b.Crash("backup written")
	err = b.Data.Update(func(tx *store.Tx) error {
		today, _ := tx.Day()
		return tx.PutDoc(docLast, today)
	})
	if err := prune(folder, key); err != nil {
		b.Log.Warn("remove old backups", "err", err)
	}
	return err
}

// write writes the whole store, and the waiting documents beside it.
func (b *Backups) write(w io.Writer, key safe.Secret, h Header) error {
	out, err := Write(w, key, h)
	if err != nil {
		return err
	}
	documents, err := data.Read(b.Data, "what is to be backed up", func(tx *store.Tx) ([]Document, error) {
		documents, err := b.waiting(tx)
		for _, d := range documents { // first, so that prune need not read further
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
	b.Crash("backup copied")
	defer b.Crash("backup documents")
	return b.keepDocuments(documents, key)
}

// waiting returns the documents of drafts that are not packages yet.
func (b *Backups) waiting(tx *store.Tx) (list []Document, err error) {
	drafts, err := tx.Drafts(office.DraftsKept...)
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

func (b *Backups) keepDocuments(documents []Document, key safe.Secret) error {
	for _, d := range documents {
		path := documentPath(b.options.Folder, d.Name, key)
		if _, err := os.Lstat(path); err == nil {
			continue // a copy's bytes never change
		}
		in, err := os.Open(filepath.Join(b.options.Documents, d.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // sent a moment ago
		}
		if err != nil {
			return err
		}
		err = private.WriteFile(path, disk.Create, func(out io.Writer) error {
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

// File is a backup. The number counts the office's backups; the date is for people.
type File struct {
	Path   string
	Number int
	Date   string    // such as 2026-11-22
	Made   time.Time // according to the file system
}

const (
	ending       = office.BackupEnding
	documentsDir = "documents" // the waiting documents of all backups, one sealed file each
)

var fileName = regexp.MustCompile(`^(\d{6,9})-(\d{4}-\d\d-\d\d)` + regexp.QuoteMeta(ending) + `$`)

// List returns the backups in a folder, newest first. A missing folder has none.
func List(folder string) (files []File, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		m := fileName.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed a moment ago
		}
		n, _ := strconv.Atoi(m[1])
		files = append(files, File{filepath.Join(folder, e.Name()), n, m[2], info.ModTime()})
	}
	slices.SortFunc(files, func(a, b File) int { return b.Number - a.Number })
	return files, nil
}

// Kept splits files, newest first, into those to keep and those to drop: it keeps the newest seven, and four of those before whose
// number is divisible by seven. Because numbers count, not dates, a wrong clock costs no backup.
func Kept(files []File) (keep, drop []File) {
	const daily, weekly = 7, 4
	weeks := 0
	for i, f := range files {
		switch {
		case i < daily:
			keep = append(keep, f)
		case f.Number%daily == 0 && weeks < weekly:
			weeks++
			keep = append(keep, f)
		default:
			drop = append(drop, f)
		}
	}
	return keep, drop
}

func documentPath(folder, name string, key safe.Secret) string {
	return filepath.Join(folder, documentsDir, name+documentEnding(key))
}

func documentEnding(key safe.Secret) string {
	sum := sha256.Sum256(append([]byte("countersign backup documents 1"), key[:]...))
	return "." + hex.EncodeToString(sum[:4]) + ending
}

// CheckBackup reads a backup to its end and returns the documents it lists.
func CheckBackup(path string, with safe.Key) (h Header, documents []Document, err error) {
	err = readBackup(path, with, &h, Reading{
		Record:   func(store.Record) error { return nil },
		Document: func(d Document, _ io.Reader) error { documents = append(documents, d); return nil },
	})
	return h, documents, err
}

// ImportBackup replaces everything in tx with the content of a backup. After an error tx must not be committed.
func ImportBackup(tx *store.Tx, from io.ReadSeeker, with safe.Key) error {
	_, err := from.Seek(0, io.SeekStart)
	if err == nil {
		err = tx.Clear()
	}
	if err == nil {
		_, _, err = Read(from, with, Backup, Reading{Record: tx.Import})
	}
	return err
}

func readBackup(path string, with safe.Key, h *Header, to Reading) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	*h, _, err = Read(f, with, Backup, to)
	return errors.Join(err, f.Close())
}

// RestoreDocument opens a document stored beside the backup at path and writes it to a new file. If it is a different one, the error
// is ErrDamaged.
func RestoreDocument(path string, d Document, key safe.Secret, into string) error {
	in, err := os.Open(documentPath(filepath.Dir(path), d.Name, key))
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := safe.Open(in, key)
	if err != nil {
		return err
	}
	return private.WriteFile(into, disk.Create, private.From(checked(plain, d)))
}

// errEnough stops reading when the rest is not needed.
var errEnough = errors.New("that was enough")

// prune removes backups that are not kept, and documents that no kept backup lists. If this key does not open a backup, its list is
// unknown, so documents sealed with other keys stay, too.
func prune(folder string, key safe.Secret) error {
	files, err := List(folder)
	if err != nil {
		return err
	}
	keep, drop := Kept(files)
	var failed []error
	for _, f := range drop {
		failed = append(failed, os.Remove(f.Path))
	}
	ours, others := documentEnding(key), false
	needed := map[string]bool{}
	for _, f := range keep {
		err := readBackup(f.Path, key, new(Header), Reading{
			Record:   func(store.Record) error { return errEnough },
			Document: func(d Document, _ io.Reader) error { needed[d.Name+ours] = true; return nil },
		})
		others = others || err != nil && !errors.Is(err, errEnough)
	}
	entries, err := os.ReadDir(filepath.Join(folder, documentsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		failed = append(failed, err)
	}
	for _, e := range entries {
		mine := strings.HasSuffix(e.Name(), ours)
		if strings.HasSuffix(e.Name(), ending) && !needed[e.Name()] && (mine || !others) {
			failed = append(failed, os.Remove(filepath.Join(folder, documentsDir, e.Name())))
		}
	}
	return errors.Join(failed...)
}

// sweep removes the remains of an interrupted backup.
func sweep(folder string) {
	private.Sweep(folder)
	private.Sweep(filepath.Join(folder, documentsDir))
}
