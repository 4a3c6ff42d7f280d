package outbox

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
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What was sent is kept to compare it with what comes back. The sweep that would remove its copies moves them from the outbox to a
// folder of their own: the draft is recorded as sent first, so that a kill in between loses nothing. They are deleted as many
// counted days after their package has ended as events are kept. The hashes stay with the draft. The copies are neither backed up
// nor moved to another computer.

func (r *Service) sentDir() string { return locations.Sent(r.deps.DataDir) }

// OpenSent opens the bytes sent, or to send, for f, and fails with fs.ErrNotExist once they are deleted.
func (r *Service) OpenSent(f office.DraftFile) (*os.File, error) {
	for _, dir := range []string{r.copiesDir(), r.sentDir()} { // in this order: it may be moved meanwhile
		file, err := openCopyIn(dir, f)
		if _, gone := errors.AsType[*DraftError](err); gone {
			continue
		}
		if err != nil {
			return nil, err
		}
		same, err := isGiven(file, f)
		if same {
			_, err = file.Seek(0, io.SeekStart)
			return file, err
		}
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", f.Name, fs.ErrNotExist)
}

// isGiven reports whether a file holds the bytes given for f.
func isGiven(file io.Reader, f office.DraftFile) (bool, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, f.Size+1))
	return err == nil && n == f.Size && hex.EncodeToString(sum.Sum(nil)) == f.SHA256, err
}

// Original returns the path of f's original if that still holds the bytes given for f.
func (r *Service) Original(f office.DraftFile) (string, error) {
	file, err := openSame(f)
	if err == nil {
		defer file.Close()
		var same bool
		if same, err = isGiven(file, f); same {
			return f.Path, nil
		}
	}
	return "", message.Error(message.OriginalChanged(f.Name), err)
}

// draftOfCopy returns the id of the draft for which a copy of this name was made.
func draftOfCopy(name string) string { return name[:max(strings.LastIndexByte(name, '-'), 0)] }

func has(d office.Draft, name string) bool {
	return slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { return f.Copy == name })
}

// keepSent moves a copy to the folder of what was sent, if it was.
func (r *Service) keepSent(name string) (kept bool, err error) {
	d, err := data.Read(r.Data, "whose copy it is", func(tx *store.Tx) (office.Draft, error) {
		d, _, err := tx.Draft(draftOfCopy(name))
		return d, err
	})
	if err != nil || d.State != office.DraftSent || !has(d, name) {
		return false, err
	}
	if err := disk.MkdirAll(r.sentDir(), 0o700); err != nil {
		return false, err
	}
	return true, disk.Rename(filepath.Join(r.copiesDir(), name), filepath.Join(r.sentDir(), name))
}

const draftsAtOnce = 200

// ForgetSent deletes what was sent in packages that ended and were compared more than that many counted days ago. A package that
// cannot be compared, because its files were moved away, keeps them twice as long. Copies that belong to no known draft, as after a
// restore, are judged by age.
func (r *Service) ForgetSent(ctx context.Context, keep int) error {
	entries, err := os.ReadDir(r.sentDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	copies := map[string][]fs.DirEntry{}
	var ids []string
	for _, e := range entries {
		id := draftOfCopy(e.Name())
		if len(copies[id]) == 0 {
			ids = append(ids, id)
		}
		copies[id] = append(copies[id], e)
	}
	for some := range slices.Chunk(ids, draftsAtOnce) {
		if ctx.Err() != nil {
			return nil
		}
		var unneeded []fs.DirEntry
		err := r.Data.Update(func(tx *store.Tx) error {
			unneeded = nil
			for _, id := range some {
				d, known, err := tx.Draft(id)
				if store.OfOneRecord(err) {
					continue // it may be repaired later
				}
				if err == nil && known {
					err = letGo(tx, &d, keep)
				}
				if err != nil {
					return err
				}
				for _, e := range copies[id] {
					if known && !has(d, e.Name()) || !known && r.isOld(e, keep) {
						unneeded = append(unneeded, e)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if r.Data.Store.Unreadable() > 0 {
			continue
		}
		for _, e := range unneeded {
			if err := os.Remove(filepath.Join(r.sentDir(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// isOld reports whether a copy was made more than that many days ago.
func (r *Service) isOld(e fs.DirEntry, days int) bool {
	info, err := e.Info()
	return err == nil && r.Now().Sub(info.ModTime()) > time.Duration(days)*24*time.Hour
}

// letGo drops the sent copies of d, whose package has ended, once they have been kept long enough.
func letGo(tx *store.Tx, d *office.Draft, keep int) error {
	p, _, err := tx.Package(d.PackageID)
	if store.OfOneRecord(err) {
		return nil
	}
	if err != nil {
		return err
	}
	jobs, _ := tx.JobsOf(d.PackageID)
	today, _ := tx.Day()
	ended := p.State.Over() || p.Gone || p.State == "declined" || p.State == office.PackageExecuted && p.Saved
	compared := !slices.ContainsFunc(jobs, func(j office.Job) bool { return j.Match.State == "" })
	switch {
	case !ended && d.Day == 0, ended && d.Day > 0 && today-d.Day <= keep, ended && d.Day > 0 && !compared && today-d.Day <= 2*keep:
		return nil
	case !ended:
		d.Day = 0
	case d.Day == 0:
		d.Day = today
	default:
		for i := range d.Files {
			d.Files[i].Copy = ""
		}
	}
	return tx.PutDraft(*d)
}
