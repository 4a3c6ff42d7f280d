package hotfolder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Folders returns the hot folders in the order of adding, each with its state.
func (r *Service) Folders() ([]office.HotFolderRow, error) {
	rows, err := data.Read(r.Data, "the folders that send", func(tx *store.Tx) (rows []office.HotFolderRow, err error) {
		intakes := intakesIn(tx)
		for _, f := range foldersIn(tx) {
			row := office.HotFolderRow{HotFolder: f}
			if m, _ := r.sender(f); !m.IsZero() {
				row.Confirm = true
			}
			for _, in := range intakes {
				switch place := in.Place(); {
				case in.Folder != f.ID:
				case place == office.HotWaiting || place == "":
					row.Waiting++
				case place == office.HotProblems:
					row.Refused++
				}
			}
			rows = append(rows, row)
		}
		return rows, nil
	})
	var nothingBack message.Message
	if r.deps.Settings().SavedElsewhere {
		nothingBack = message.SendFolderSavedElsewhere()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		rows[i].Problem = cmp.Or(r.problems[rows[i].ID], r.waiting[rows[i].ID], nothingBack)
	}
	return rows, err
}

// Put validates and stores a folder: a new one if its ID is empty, otherwise replacing the one with that ID. It returns the folder
// as stored, which from then on sends from the account signed in, unless it was only paused or resumed. A folder whose share is
// unavailable is stored anyway and never created anew in its place. Files in progress follow a folder that is no longer where it was.
// Errors about the input are *office.ConfigError.
func (r *Service) Put(f office.HotFolder) (office.HotFolder, error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	f = f.Normal()
	if _, err := r.check(f); err != nil {
		return f, err
	}
	real, err := disk.Real(f.Path)
	if err != nil {
		real = "" // its share is unavailable
	}
	all, err := r.folders()
	if err != nil {
		return f, err
	}
	before := slices.IndexFunc(all, func(x office.HotFolder) bool { return x.ID == f.ID })
	gone := before >= 0 && all[before].Path != f.Path && missing(all[before].Path)
	renamed := !missing(filepath.Join(f.Path, office.HotWaiting))
	if before < 0 || all[before].Path != f.Path {
		if err := r.deps.AcceptMount(f.Path); err != nil {
			return f, err
		}
	}
	if gone && !renamed {
		_ = disk.MkdirAll(filepath.Join(f.Path, office.HotSigned), 0o755) // or it counts as not there, see isThere
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		list := foldersIn(tx)
		kept := f
		kept.By = ""
		if i := slices.IndexFunc(list, func(x office.HotFolder) bool { return x.ID == f.ID }); i >= 0 && f.ID != "" {
			r.own(&kept, list[i])
			if kept.Real = real; real == "" || kept.Paused && list[i].Real != "" { // pausing is not a confirmation
				kept.Real = list[i].Real
			}
			if kept.Path != list[i].Path {
				kept.Real = real
			}
			if gone {
				r.follow(tx, list[i], kept, renamed)
			}
			list[i] = kept
		} else {
			r.own(&kept, office.HotFolder{Paused: f.Paused})
			kept.ID, kept.Real = uuid.NewString(), real
			list = append(list, kept)
		}
		f = kept
		return tx.PutDoc(DocFolders, list)
	})
	if err == nil {
		r.retries.Now()
		r.Wake()
		r.deps.Changed()
	}
	return f, err
}

// missing reports whether there is nothing at a path.
func missing(path string) bool {
	_, err := disk.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// follow moves the records of files in progress from where a folder was to where it is now. If it was not renamed, a file that is no
// draft yet stays where it was: it is nowhere else.
func (r *Service) follow(tx *store.Tx, was, now office.HotFolder, renamed bool) {
	for _, prefix := range []string{prefixIntake, prefixResting} {
		for doc, in := range maps.Collect(store.Docs[office.Intake](tx, prefix, "")) {
			if in.Folder != now.ID || in.Path != was.Path || in.Draft == "" && !renamed {
				continue
			}
			from := r.fileOf(in, in.At)
			in.Path, in.Real = now.Path, now.Real
			r.deps.Moved(tx, in.Draft, from, r.fileOf(in, in.At))
			tx.PutDoc(doc, in)
		}
	}
}

// Remove removes a folder from the list. Files already taken continue; its files and subfolders stay. It reports whether there was
// one with that id.
func (r *Service) Remove(id string) (known bool, err error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	err = r.Data.Update(func(tx *store.Tx) error {
		list := foldersIn(tx)
		left := slices.DeleteFunc(list, func(f office.HotFolder) bool { return f.ID == id })
		known = len(left) < len(list)
		return tx.PutDoc(DocFolders, left)
	})
	if err == nil {
		r.Wake()
		r.deps.Changed()
	}
	return known, err
}

// Try checks a folder like Put without storing it, and returns how many documents it contains. A folder that already sends must
// exist.
func (r *Service) Try(f office.HotFolder) (documents int, err error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	f = f.Normal()
	if f.ID != "" {
		if _, err := disk.Stat(f.Path); err != nil {
			return 0, trouble(f.Path, err)
		}
	}
	documents, err = r.check(f)
	r.retries.Now() // earlier problems may be solved
	r.Wake()
	return documents, err
}

func (r *Service) check(f office.HotFolder) (documents int, err error) {
	if bad := f.Check(); len(bad) > 0 {
		return 0, &office.ConfigError{Fields: bad}
	}
	all, err := r.folders()
	if err != nil {
		return 0, err
	}
	wrong := func(code office.Code, text message.Message) error {
		return &office.ConfigError{Fields: []office.FieldError{{Field: office.FieldHotPath, Code: code, Text: text}}}
	}
	if m := r.refusal(f, all); !m.IsZero() {
		return 0, wrong(office.CodeConflict, m)
	}
	sends := slices.ContainsFunc(all, func(x office.HotFolder) bool { return x.ID == f.ID && x.Path == f.Path })
	if sends {
		if _, err := disk.Stat(f.Path); err != nil {
			return 0, nil // its share is unavailable; it continues when that is back
		}
	} else if err := disk.MkdirAll(f.Path, 0o755); err != nil {
		return 0, wrong(office.CodeNotMade, message.SendFolderNotMade())
	}
	if m := r.refusal(f, all); !m.IsZero() { // checked again now that its links can be followed
		return 0, wrong(office.CodeConflict, m)
	}
	folder, err := archive.OpenFolder(f.Path)
	if err == nil {
		defer folder.Close()
		err = folder.Try()
	}
	if err != nil {
		return 0, wrong(office.CodeNotWritable, archive.Message(err))
	}
	documents = count(f.Path)
	if !sends && !f.Ask && documents > 0 {
		return documents, wrong(office.CodeConflict, message.SendFolderNotEmpty(documents))
	}
	return documents, nil
}

// count returns how many documents in a folder could be sent.
func count(path string) (n int) {
	dir, err := disk.OpenDir(path)
	if err != nil {
		return 0 // the error is reported elsewhere
	}
	defer dir.Close()
	entries, _ := dir.List()
	for _, e := range entries {
		if e.Type().IsRegular() && !ignored(e.Name()) && office.Sendable(e.Name()) {
			n++
		}
	}
	return n
}

// refusal returns why a folder must not send: it is, or is inside, a place with other traffic. It compares the folders' real paths,
// and is repeated with each scan because links, drives and settings change.
func (r *Service) refusal(f office.HotFolder, all []office.HotFolder) message.Message {
	if home, err := os.UserHomeDir(); filepath.Dir(f.Path) == f.Path || err == nil && disk.Same(f.Path, home) {
		return message.SendFolderTooWide()
	}
	if r.deps.DataDir != "" && (disk.Inside(f.Path, r.deps.DataDir) || disk.Inside(r.deps.DataDir, f.Path)) {
		return message.FolderHoldsData()
	}
	saveTo := r.deps.Settings().SaveTo
	if saveTo != "" && disk.Inside(f.Path, saveTo) {
		return message.SendFolderSavesTo()
	}
	for _, place := range []string{office.HotWaiting, office.HotSent, office.HotProblems} {
		if saveTo != "" && disk.Inside(saveTo, filepath.Join(f.Path, place)) {
			return message.SendFolderSavesTo()
		}
	}
	for _, other := range all {
		if other.ID == f.ID {
			continue
		}
		if disk.Inside(f.Path, other.Path) || disk.Inside(other.Path, f.Path) {
			return message.SendFolderOverlaps(other.Called())
		}
	}
	return message.Message{}
}

// Documents of this service:
const (
	// DocFolders is the document with the list of folders.
	DocFolders = "hot-folders"

	docNotSent   = "hot-folders-not-sent"
	prefixIntake = "hot-folder-intake/" // plus the intake's id
	prefixSeen   = "hot-folder-seen/"   // plus the file's SHA-256 in hex, a slash, and the folder's id, empty for another computer's
)

func (r *Service) folders() ([]office.HotFolder, error) {
	return data.Read(r.Data, "the folders that send", func(tx *store.Tx) ([]office.HotFolder, error) { return foldersIn(tx), nil })
}

func foldersIn(tx *store.Tx) (list []office.HotFolder) {
	tx.GetDoc(DocFolders, &list)
	return list
}

func folderIn(tx *store.Tx, id string) (office.HotFolder, bool) {
	list := foldersIn(tx)
	i := slices.IndexFunc(list, func(f office.HotFolder) bool { return f.ID == id })
	if i < 0 {
		return office.HotFolder{}, false
	}
	return list[i], true
}

// intakes returns the files in progress, oldest first.
func (r *Service) intakes() ([]office.Intake, error) {
	return data.Read(r.Data, "the files of folders that send", func(tx *store.Tx) ([]office.Intake, error) { return intakesIn(tx), nil })
}

func intakesIn(tx *store.Tx) (all []office.Intake) {
	for _, in := range store.Docs[office.Intake](tx, prefixIntake, "") { // the file of an unreadable one stays where it is
		all = append(all, in)
	}
	slices.SortStableFunc(all, func(a, b office.Intake) int { return a.Created.Compare(b.Created) })
	return all
}

// recorded returns the names of files in a folder that are already recorded but could not be moved yet.
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

// Unfinished returns the name of a folder that has taken a document of which there is no draft yet; empty for none.
func Unfinished(tx *store.Tx) (name string, err error) {
	for _, in := range intakesIn(tx) {
		if f, known := folderIn(tx, in.Folder); known && in.Draft == "" && in.Problem.IsZero() {
			name = f.Called()
		}
	}
	return name, nil
}

func putIntake(tx *store.Tx, in office.Intake) error { return tx.PutDoc(prefixIntake+in.ID, in) }

func (r *Service) put(in office.Intake) error {
	return r.Data.Update(func(tx *store.Tx) error { return putIntake(tx, in) })
}

func (r *Service) drop(in office.Intake) error {
	return r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(prefixIntake+in.ID, nil) })
}

// holdOld holds the draft of a file last changed before the state was restored, by the service's clock or this computer's: it may
// have been sent after the backup, so it is sent only when a person says so.
func (r *Service) holdOld(tx *store.Tx, d *office.Draft, changed time.Time, name string) {
	if changed.Before(r.Restored(tx)) || changed.Before(r.RestoredHere(tx)) {
		d.State, d.Problem = office.DraftHeld, message.FileOfBefore(name)
	}
}

// keepSeen is how many counted days sent files are remembered.
const keepSeen = 730

// Forget deletes what is remembered of files sent long ago: the same bytes then count as new, and later files of a completed package
// are not returned.
func (r *Service) Forget() error {
	return r.Data.Update(func(tx *store.Tx) error {
		today, _ := tx.Day()
		forget(tx, prefixSeen, func(s seen) bool { return today-s.Day > keepSeen })
		forget(tx, prefixResting, func(in office.Intake) bool {
			p, _, _ := tx.PackageByDraft(in.Draft)
			return today-in.Day > keepSeen && (p.ID == "" || p.State.Over())
		})
		return nil
	})
}

// forget deletes old documents with that prefix. An unreadable one stays: its name tells what was sent.
func forget[T any](tx *store.Tx, prefix string, old func(T) bool) {
	names, _ := tx.DocNames(prefix)
	for _, name := range names {
		var x T
		if known, _ := tx.GetDoc(name, &x); known && old(x) {
			tx.PutDoc(name, nil)
		}
	}
}

// A file in Waiting without a record, because the state was lost or restored from a backup, waits for a person: it may have been
// sent since. The names of the subfolders tell which files in Waiting belong to this computer rather than to another one on the same
// share.

// waitingTime is the beginning of the name of a file's subfolder in Waiting; a space and the beginning of the intake's id follow.
const waitingTime = "2006-01-02 1504"

// tagLength is how many characters of an intake's id identify the installation that took the file; shortID is how many of the whole
// id are in its subfolder's name.
const tagLength, shortID = 8, tagLength + 1 + 8

// newID returns an intake id of this installation.
func (r *Service) newID() string { return r.tag() + "-" + uuid.NewString() }

// tag is the beginning of all intake ids of this installation.
func (r *Service) tag() string {
	sum := sha256.Sum256([]byte(r.deps.Installation()))
	return hex.EncodeToString(sum[:])[:tagLength]
}

// ownPlace returns where a file lies in Waiting: in a subfolder of its own.
func ownPlace(in office.Intake) string {
	return path.Join(office.HotWaiting, in.Created.Local().Format(waitingTime)+" "+in.ID[:shortID], in.Name)
}

// ownSubfolder parses the name of a subfolder of Waiting; ours is false if another computer made it.
func (r *Service) ownSubfolder(name string) (in office.Intake, ours bool) {
	at := strings.LastIndex(name, " ")
	if at < 0 || len(name)-at-1 != shortID || !strings.HasPrefix(name[at+1:], r.tag()+"-") {
		return in, false
	}
	made, err := time.ParseInLocation(waitingTime, name[:at], time.Local)
	return office.Intake{ID: name[at+1:] + "-" + uuid.NewString(), Created: made}, err == nil
}

// recover records unknown files in Waiting, once per run of the program.
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
				putIntake(tx, in)
			}
			return nil
		})
		r.Wake()
	}
	r.recovered[f.Path] = err == nil
	return err
}

// unknownIn returns the files in Waiting without a record.
func (r *Service) unknownIn(f office.HotFolder, dir *disk.Dir) (found []office.Intake, err error) {
	all, err := r.intakes()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, in := range all {
		if in.Path == f.Path || in.Folder == f.ID {
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

// list returns the names in a subfolder, sorted. Something that is no folder, or is missing, is empty.
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
