package hotfolder

import (
	"errors"
	"slices"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// The documents of this service.
const (
	// DocFolders names the document with the list of folders.
	DocFolders = "hot-folders"

	prefixIntake = "hot-folder-intake/" // and its id
	prefixSeen   = "hot-folder-seen/"   // and the id of the folder, a slash, and the SHA-256 of the file in hex
)

// folders are the folders that send.
func (r *Service) folders() ([]office.HotFolder, error) {
	return read(r, "the folders that send", foldersIn)
}

func foldersIn(tx *store.Tx) (list []office.HotFolder, err error) {
	_, err = tx.GetDoc(DocFolders, &list)
	return list, err
}

// folderIn is the folder of that id.
func folderIn(tx *store.Tx, id string) (office.HotFolder, bool, error) {
	list, err := foldersIn(tx)
	i := slices.IndexFunc(list, func(f office.HotFolder) bool { return f.ID == id })
	if err != nil || i < 0 {
		return office.HotFolder{}, false, err
	}
	return list[i], true, nil
}

// intakes are the files that are on their way, oldest first.
func (r *Service) intakes() ([]office.Intake, error) {
	return read(r, "the files of folders that send", intakesIn)
}

func intakesIn(tx *store.Tx) (list []office.Intake, err error) {
	names, err := tx.DocNames(prefixIntake)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var in office.Intake
		known, err := tx.GetDoc(name, &in)
		if err != nil {
			return nil, err
		}
		if known { // else it cannot be read; the file stays where it is
			list = append(list, in)
		}
	}
	slices.SortStableFunc(list, func(a, b office.Intake) int { return a.Created.Compare(b.Created) })
	return list, nil
}

// recorded are the names of the files of a folder that are known already, and could not be moved yet.
func (r *Service) recorded(folder string) (map[string]bool, error) {
	all, err := r.intakes()
	names := map[string]bool{}
	for _, in := range all {
		if in.Path == folder && in.Place() == "" {
			names[in.At] = true
		}
	}
	return names, err
}

func putIntake(tx *store.Tx, in office.Intake) error { return tx.PutDoc(prefixIntake+in.ID, in) }

func (r *Service) put(in office.Intake) error {
	return r.Data.Update(func(tx *store.Tx) error { return putIntake(tx, in) })
}

// drop ends the way of a file.
func (r *Service) drop(in office.Intake) error {
	return r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(prefixIntake+in.ID, nil) })
}

// docRestored names the document with when the state was restored from a backup.
const docRestored = "hot-folder-restored"

// MarkRestored notes that the state is that of a backup, as of now: a file that was there before may have been sent in the time
// that the backup does not know, and is sent at a person's word alone.
func MarkRestored(tx *store.Tx, now time.Time) error { return tx.PutDoc(docRestored, now) }

// holdOld holds the draft of a file that was changed last before the state was restored. A moment that is still to come was noted by a
// wrong clock: it was at the latest now.
func holdOld(tx *store.Tx, d *office.Draft, changed time.Time, name string, now time.Time) error {
	var restored time.Time
	known, err := tx.GetDoc(docRestored, &restored)
	if err == nil && restored.After(now) {
		restored, err = now, MarkRestored(tx, now)
	}
	if err != nil || !known {
		return err
	}
	if changed.Before(restored) {
		d.State, d.Problem = office.DraftHeld, message.FileOfBefore(name)
	}
	return nil
}

// keepSeen is for how many counted days the files are known that were sent.
const keepSeen = 730

// Forget forgets what was sent from folders long ago: the same bytes are taken for new ones then, and what comes back of a package
// that is over is not given back.
func (r *Service) Forget() error {
	return r.Data.Update(func(tx *store.Tx) error {
		today, err := tx.Day()
		if err != nil {
			return err
		}
		return errors.Join(
			forget(tx, prefixSeen, func(s seen) (bool, error) { return today-s.Day > keepSeen, nil }),
			forget(tx, prefixResting, func(in office.Intake) (bool, error) {
				p, _, err := tx.PackageByDraft(in.Draft)
				return today-in.Day > keepSeen && (p.ID == "" || p.State.Over()), err
			}))
	})
}

// forget removes the documents whose names begin so and that are old. One that cannot be read stays: its name tells what was sent.
func forget[T any](tx *store.Tx, prefix string, old func(T) (bool, error)) error {
	names, err := tx.DocNames(prefix)
	for _, name := range names {
		var x T
		var known, gone bool
		if known, err = tx.GetDoc(name, &x); err == nil && known {
			gone, err = old(x)
		}
		if err == nil && gone {
			err = tx.PutDoc(name, nil)
		}
		if err != nil {
			break
		}
	}
	return err
}
