package hotfolder

import (
	"os"
	"path/filepath"
	"slices"

	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// Folders are the folders that send, in the order in which they were added, each with how it stands.
func (r *Service) Folders() ([]office.HotFolderRow, error) {
	rows, err := read(r, "the folders that send", func(tx *store.Tx) (rows []office.HotFolderRow, err error) {
		list, err := foldersIn(tx)
		if err != nil {
			return nil, err
		}
		intakes, err := intakesIn(tx)
		for _, f := range list {
			row := office.HotFolderRow{HotFolder: f}
			if m, _ := r.sender(f); !m.IsZero() {
				row.Confirm = true
			}
			for _, in := range intakes {
				if in.Folder == f.ID && (in.Place() == office.HotWaiting || in.Place() == "") {
					row.Waiting++
				}
			}
			rows = append(rows, row)
		}
		return rows, err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		if rows[i].Problem = r.problems[rows[i].ID]; rows[i].Problem.IsZero() {
			rows[i].Problem = r.waiting[rows[i].Path]
		}
	}
	return rows, err
}

// Put checks and keeps a folder: a new one when its ID is empty, else in place of the one of that ID. It returns the folder
// as it is kept. From then on it sends from the account that is signed in, unless it was only paused or resumed. One whose share
// is away is kept all the same, and is never made anew in its place. What is wrong is an *office.ConfigError.
func (r *Service) Put(f office.HotFolder) (office.HotFolder, error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	f = f.Normal()
	if _, err := r.check(f); err != nil {
		return f, err
	}
	real, err := disk.Real(f.Path)
	if err != nil {
		real = "" // its share is away
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		list, err := foldersIn(tx)
		if err != nil {
			return err
		}
		kept := f
		kept.By = ""
		if i := slices.IndexFunc(list, func(x office.HotFolder) bool { return x.ID == f.ID }); i >= 0 && f.ID != "" {
			r.own(&kept, list[i])
			if kept.Real = real; real == "" || kept.Paused && list[i].Real != "" { // a pause confirms nothing
				kept.Real = list[i].Real
			}
			if kept.Path != list[i].Path {
				kept.Real = real
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

// Remove takes a folder from the list. What it has taken goes its way; its files and subfolders stay. It reports whether there
// was one of that id.
func (r *Service) Remove(id string) (known bool, err error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	err = r.Data.Update(func(tx *store.Tx) error {
		list, err := foldersIn(tx)
		if err != nil {
			return err
		}
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

// Try checks a folder as Put does, and keeps nothing. It returns how many documents are in the folder. One that sends already
// has to be there.
func (r *Service) Try(f office.HotFolder) (documents int, err error) {
	r.changes.Lock()
	defer r.changes.Unlock()
	f = f.Normal()
	if f.ID != "" {
		if _, err := os.Stat(f.Path); err != nil {
			return 0, trouble(f.Path, err)
		}
	}
	documents, err = r.check(f)
	r.retries.Now() // what was wrong before may be over
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
		if _, err := os.Stat(f.Path); err != nil {
			return 0, nil // its share is away; it goes on when that is back
		}
	} else if err := disk.MkdirAll(f.Path, 0o755); err != nil {
		return 0, wrong(office.CodeNotMade, message.SendFolderNotMade())
	}
	if m := r.refusal(f, all); !m.IsZero() { // now that its links can be followed
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

// count is how many documents are in a folder that could be sent.
func count(path string) (n int) {
	dir, err := disk.OpenDir(path)
	if err != nil {
		return 0 // which is told elsewhere
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

// refusal is why a folder cannot send: it is, or lies in, a place where other files come and go. It goes by where the folders
// really are, and asks again with each look: links, drives and settings change.
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
