package backups

import (
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

	"countersign/internal/agent/luggage"
	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
)

// File is a backup. The number counts the backups of an office; the date is for people.
type File struct {
	Path   string
	Number int
	Date   string // such as 2026-11-22
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
		n, _ := strconv.Atoi(m[1])
		files = append(files, File{filepath.Join(folder, e.Name()), n, m[2]})
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
	f, err := private.CreateTemp(filepath.Dir(path), "*"+temporary)
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return disk.Create(f, path)
}

// write makes a sealed file.
func write(path string, fill func(io.Writer) error, keys ...safe.Key) error {
	return create(path, func(out io.Writer) error {
		w, err := safe.Seal(out, keys...)
		if err != nil {
			return err
		}
		if err := fill(w); err != nil {
			return err
		}
		return w.Close()
	})
}

// Unpack opens a sealed file and unpacks it into a new folder, unless one of the checks has something against its list.
func Unpack(path string, with safe.Opener, into string, checks ...func(luggage.Manifest) error) (m luggage.Manifest, err error) {
	p, done, err := open(path, with)
	if err != nil {
		return m, err
	}
	for _, check := range checks {
		if err := check(p.Manifest); err != nil {
			return m, errors.Join(err, done())
		}
	}
	return p.Manifest, errors.Join(p.Into(into), done())
}

// open opens a backup and reads its list.
func open(path string, with safe.Opener) (p *luggage.Packed, done func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	plain, err := safe.Open(f, with)
	if err == nil {
		p, err = luggage.Open(plain)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return p, f.Close, nil
}

// Document opens a document that lies apart, beside the backup at path, and writes it to a new file. Another one in its place
// is luggage.ErrDamaged.
func Document(path string, d luggage.Document, with safe.Opener, into string) error {
	in, err := os.Open(documentPath(filepath.Dir(path), d.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := safe.Open(in, with)
	if err != nil {
		return err
	}
	return create(into, func(out io.Writer) error {
		sum := sha256.New()
		_, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(plain, d.Size+1))
		if err == nil && hex.EncodeToString(sum.Sum(nil)) != d.SHA256 {
			err = fmt.Errorf("%w: %s", luggage.ErrDamaged, d.Name)
		}
		return err
	})
}

func documentPath(folder, name string) string {
	return filepath.Join(folder, documentsDir, name+ending)
}

// prune removes the backups that are not kept, and the documents that none of the others lists. What cannot be opened lists
// nobody knows what: then every document stays.
func prune(folder string, with safe.Opener) error {
	files, err := List(folder)
	if err != nil {
		return err
	}
	keep, drop := Kept(files)
	var failed []error
	for _, f := range drop {
		failed = append(failed, os.Remove(f.Path))
	}
	needed := map[string]bool{}
	for _, f := range keep {
		p, done, err := open(f.Path, with)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		failed = append(failed, done())
		for _, d := range p.Manifest.Documents {
			needed[d.Name+ending] = true
		}
	}
	entries, err := os.ReadDir(filepath.Join(folder, documentsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		failed = append(failed, err)
	}
	for _, e := range entries {
		if !needed[e.Name()] && strings.HasSuffix(e.Name(), ending) {
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
