package hotfolder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// A file in Waiting of which there is no record, because the state was lost or is that of a backup, waits for a person: it may have
// been sent since. Which files in Waiting are this computer's, and not another one's on the same share, their subfolders tell.

// waitingTime is how the name of a file's subfolder in Waiting begins; a space and the beginning of the intake's id follow.
const waitingTime = "2006-01-02 1504"

// tagLength is how many characters of an intake's id say which installation took the file; shortID is how many of the whole id
// are in the name of its subfolder.
const tagLength, shortID = 8, tagLength + 1 + 8

// newID is the id of an intake of this installation.
func (r *Service) newID() string { return r.tag() + "-" + uuid.NewString() }

// tag is what the ids of all intakes of this installation begin with.
func (r *Service) tag() string {
	sum := sha256.Sum256([]byte(r.deps.Installation()))
	return hex.EncodeToString(sum[:])[:tagLength]
}

// ownPlace is where a file lies in Waiting: in a subfolder in which nobody puts another.
func ownPlace(in office.Intake) string {
	return path.Join(office.HotWaiting, in.Created.Local().Format(waitingTime)+" "+in.ID[:shortID], in.Name)
}

// ownSubfolder is what the name of a subfolder of Waiting tells of the intake that made it; ours is not set where that was
// another computer's.
func (r *Service) ownSubfolder(name string) (in office.Intake, ours bool) {
	at := strings.LastIndex(name, " ")
	if at < 0 || len(name)-at-1 != shortID || !strings.HasPrefix(name[at+1:], r.tag()+"-") {
		return in, false
	}
	made, err := time.ParseInLocation(waitingTime, name[:at], time.Local)
	return office.Intake{ID: name[at+1:] + "-" + uuid.NewString(), Created: made}, err == nil
}

// recover records the files in Waiting that nobody knows, once in the life of the program.
func (r *Service) recover(f office.HotFolder, dir *disk.Dir) error {
	if r.recovered[f.Path] || !isThere(dir) {
		return nil
	}
	found, err := r.unknownIn(f, dir)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		err = r.Data.Update(func(tx *store.Tx) error {
			for _, in := range found {
				if err := putIntake(tx, in); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		r.recovered[f.Path] = true
		if len(found) > 0 {
			r.Wake()
		}
	}
	return err
}

// unknownIn are the files in Waiting of which there is no record.
func (r *Service) unknownIn(f office.HotFolder, dir *disk.Dir) (found []office.Intake, err error) {
	all, err := r.intakes()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, in := range all {
		if in.Path == f.Path {
			known[in.At], known[in.Next] = true, true
		}
	}
	subfolders, err := list(dir, office.HotWaiting)
	for _, sub := range subfolders {
		like, ours := r.ownSubfolder(sub)
		if !ours {
			continue
		}
		place := path.Join(office.HotWaiting, sub)
		var names []string
		if names, err = list(dir, place); err != nil {
			break
		}
		for _, name := range names {
			in := like
			in.Folder, in.Path, in.Real, in.Name, in.At, in.Found = f.ID, f.Path, f.Real, name, path.Join(place, name), true
			info, err := dir.Find(in.At)
			if err == nil && info.Mode().IsRegular() && !known[in.At] && !ignored(name) && utf8.ValidString(name) {
				found = append(found, in)
			}
		}
	}
	if err != nil {
		return nil, trouble(f.Path, err)
	}
	return found, nil
}

// list is what is in a subfolder, by name. One that is none, or that is not there, has nothing in it.
func list(dir *disk.Dir, sub string) (names []string, err error) {
	at, err := dir.Sub(sub)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrLink) || errors.Is(err, disk.ErrNotFolder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer at.Close()
	entries, err := at.List()
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
