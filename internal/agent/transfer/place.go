package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// File is a backup. The number counts the backups of an office; the date is for people.
type File struct {
	Path   string
	Number int
	Date   string    // such as 2026-11-22
	Made   time.Time // as the file system says
}

const (
	ending       = office.BackupEnding
	documentsDir = "documents" // the documents that wait in any of the backups, a sealed file each
	temporary    = ".new"
)

var fileName = regexp.MustCompile(`^(\d{6,9})-(\d{4}-\d\d-\d\d)` + regexp.QuoteMeta(ending) + `$`)

// List are the backups in a folder, newest first. A folder that is not there has none.
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
			continue // it was removed a moment ago
		}
		n, _ := strconv.Atoi(m[1])
		files = append(files, File{filepath.Join(folder, e.Name()), n, m[2], info.ModTime()})
	}
	slices.SortFunc(files, func(a, b File) int { return b.Number - a.Number })
	return files, nil
}

// Kept says which of the files, newest first, are kept: the newest seven, and of those before every seventh, four of them. A
// wrong clock costs none: it is numbers that count.
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

// create makes a file of its owner's under its name, whole or not at all.
func create(path string, fill func(io.Writer) error) error {
	f, err := private.CreateTemp(filepath.Dir(path), ".countersign-*"+temporary)
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return disk.Create(f, path)
}

// documentPath is where a document is sealed for that key.
func documentPath(folder, name string, key safe.Secret) string {
	return filepath.Join(folder, documentsDir, name+documentEnding(key))
}

func documentEnding(key safe.Secret) string {
	sum := sha256.Sum256(append([]byte("countersign backup documents 1"), key[:]...))
	return "." + hex.EncodeToString(sum[:4]) + ending
}

// CheckBackup reads a backup to its end, and returns the documents that it lists.
func CheckBackup(path string, with safe.Opener) (h Header, documents []Document, err error) {
	err = readBackup(path, with, &h, Reading{
		Record:   func(store.Record) error { return nil },
		Document: func(d Document, _ io.Reader) error { documents = append(documents, d); return nil },
	})
	return h, documents, err
}

// ImportBackup puts all that is in a backup in the place of everything in tx. After an error tx is not to be committed.
func ImportBackup(tx *store.Tx, from io.ReadSeeker, with safe.Opener) error {
	_, err := from.Seek(0, io.SeekStart)
	if err == nil {
		err = tx.Clear()
	}
	if err == nil {
		_, _, err = Read(from, with, Backup, Reading{Record: tx.Import})
	}
	return err
}

func readBackup(path string, with safe.Opener, h *Header, to Reading) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	*h, _, err = Read(f, with, Backup, to)
	return errors.Join(err, f.Close())
}

// RestoreDocument opens a document that lies apart, beside the backup at path, and writes it to a new file. Another one in its place
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
	return create(into, func(out io.Writer) error { _, err := io.Copy(out, checked(plain, d)); return err })
}

// errEnough ends a reading of which the rest is of no use.
var errEnough = errors.New("that was enough")

// prune removes the backups that are not kept, and the documents that none of the others lists. What a backup lists that this key
// does not open nobody knows: then the documents of other keys stay, too.
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

// sweep removes what an interrupted backup left behind.
func sweep(folder string) {
	for _, pattern := range []string{"*" + temporary, documentsDir + "/*" + temporary} {
		left, _ := filepath.Glob(filepath.Join(folder, pattern)) // fails for a wrong pattern alone
		for _, path := range left {
			_ = os.Remove(path) // else the next one
		}
	}
}
