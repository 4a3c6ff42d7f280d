package proof

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// astray is a saved file that a check found missing or changed.
type astray struct {
	Key     string          `json:"key"` // its job's key
	Name    string          `json:"name"`
	Package string          `json:"package"`
	Text    message.Message `json:"text"`
	Renamed bool            `json:"renamed,omitempty"` // unchanged, under another name
}

// astrayFiles is the result of the last check.
type astrayFiles struct {
	Files []astray `json:"files"` // at most mostAstray
	Read  bool     `json:"read,omitempty"`
}

// looked is the progress of a check.
type looked struct {
	After    string          `json:"after"`    // the job checked last
	Suspects []string        `json:"suspects"` // jobs whose files were missing or changed
	There    map[string]bool `json:"there"`    // folders that contain any file
}

const (
	docAstray    = "files-astray"
	docLooked    = "files-looked-at"
	mostAstray   = 1000
	astrayNamed  = 5
	jobsTogether = 100
)

// checkFiles checks all saved files, if the office wants that and the last check is old enough. It runs slowly, and reports nothing
// about unreachable folders.
func (r *Service) checkFiles(ctx context.Context) error {
	every := r.deps.Settings().CheckFiles
	done, today, err := r.today()
	if err != nil {
		return err
	}
	if every == 0 || done.Checked > 0 && today-done.Checked < every {
		return r.tellAstray()
	}
	found, err := r.lookAtAll(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	var news []astray
	err = r.Data.Update(func(tx *store.Tx) error {
		var before astrayFiles
		var done kept
		tx.GetDoc(docAstray, &before)
		tx.GetDoc(docKept, &done)
		news = slices.DeleteFunc(slices.Clone(found), func(x astray) bool { return slices.Contains(before.Files, x) })
		done.Checked = today
		tx.PutDoc(docAstray, astrayFiles{found, before.Read && len(news) == 0})
		tx.PutDoc(docKept, done)
		tx.PutDoc(docLooked, nil)
		for _, x := range news {
			tx.AddActivity(office.Activity{Time: r.Now(), Kind: office.ActivityProblem, PackageID: x.Package, Text: x.Text})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range news {
		r.Tell(office.Activity{Time: r.Now(), Kind: office.ActivityProblem, PackageID: x.Package, Text: x.Text})
	}
	return r.tellAstray()
}

// tellAstray updates the health issue about missing or changed files.
func (r *Service) tellAstray() error {
	x, _, err := data.Doc[astrayFiles](r.Data, docAstray)
	text := x.text()
	if r.deps.Settings().CheckFiles == 0 {
		text = message.Message{} // no longer checked
	}
	if err == nil {
		r.Health.Update(health.FilesAstray, text)
	}
	return err
}

func (x astrayFiles) text() (text message.Message) {
	var names []string
	for _, f := range x.Files {
		if !f.Renamed {
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 && !x.Read {
		text = message.FilesAstray(len(names), names[:min(len(names), astrayNamed)])
	}
	return text
}

// ReadAstray records that somebody has read that issue, unless its message has changed.
func (r *Service) ReadAstray(said message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		var x astrayFiles
		if tx.GetDoc(docAstray, &x); x.text().String() != said.String() {
			return nil
		}
		x.Read = true
		return tx.PutDoc(docAstray, x)
	})
	return errors.Join(err, r.tellAstray())
}

// lookAtAll checks every saved file, one after the other, continuing where it was interrupted.
func (r *Service) lookAtAll(ctx context.Context) (found []astray, err error) {
	x, _, err := data.Doc[looked](r.Data, docLooked)
	for there := []office.Job{{}}; err == nil && len(there) > 0; {
		there, err = data.Read(r.Data, "the saved files", func(tx *store.Tx) ([]office.Job, error) {
			return tx.JobsAfter(x.After, jobsTogether, func(j office.Job) bool { return j.State == office.JobDone })
		})
		for _, j := range there {
			for r.deps.Busy() && loop.Sleep(ctx, busyPause) {
			}
			if !loop.Sleep(ctx, breath) {
				return nil, ctx.Err()
			}
			x.lookAt(j)
		}
		if err == nil {
			err = r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLooked, x) })
		}
	}
	lost := map[string][]office.Job{} // by folder
	for _, key := range x.Suspects {
		j, failed := data.Read(r.Data, "a saved file", func(tx *store.Tx) (office.Job, error) { j, _, err := tx.Job(key); return j, err })
		if err = errors.Join(err, failed); j.State != office.JobDone {
			continue // it is saved again
		}
		switch same, failed := isThere(j); { // it may be back
		case errors.Is(failed, fs.ErrNotExist) && !errors.Is(failed, errAway):
			lost[j.Folder] = append(lost[j.Folder], j)
		case failed == nil && !same:
			found = append(found, astray{j.Key(), path.Base(j.Target), j.PackageID, message.FileNotAsSaved(j.Target), false})
		}
	}
	if err != nil {
		return nil, err
	}
	for _, folder := range slices.Sorted(maps.Keys(lost)) {
		if !x.There[folder] && disk.Empty(folder) {
			r.Log.Info("nothing is in a folder, as where a disk is not mounted: it is taken to be out of reach", "folder", folder)
			continue
		}
		missing, failed := r.findRenamed(ctx, folder, lost[folder])
		found, err = append(found, missing...), errors.Join(err, failed)
	}
	return found, err
}

// lookAt checks j's file, unless its folder is unreachable.
func (x *looked) lookAt(j office.Job) {
	same, err := isThere(j)
	if !same && !errors.Is(err, errAway) && len(x.Suspects) < mostAstray {
		x.Suspects = append(x.Suspects, j.Key())
	}
	if x.After = j.Key(); err == nil {
		if x.There == nil {
			x.There = map[string]bool{}
		}
		x.There[j.Folder] = true
	}
}

// isThere reports whether a saved file is unchanged, byte for byte. If its folder is unreachable, the error is errAway.
func isThere(j office.Job) (same bool, err error) {
	file, err := openThere(j)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return archive.IsSaved(file, j.Size, j.Digest)
}

// findRenamed looks for lost files under other names in their folder. A file with the same bytes that belongs to another job does
// not count.
func (r *Service) findRenamed(ctx context.Context, folder string, lost []office.Job) (found []astray, err error) {
	sizes, at := map[int64]bool{}, map[string][]string{}
	for _, j := range lost {
		sizes[j.Size] = true
	}
	err = walk(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.EqualFold(filepath.Ext(name), ".pdf") {
			return ctx.Err()
		}
		info, err := e.Info()
		if err != nil || !sizes[info.Size()] {
			return ctx.Err()
		}
		rel, _ := filepath.Rel(folder, name)
		taken, err := data.Read(r.Data, "the saved files", func(tx *store.Tx) (bool, error) { return tx.IsTaken(folder, filepath.ToSlash(rel)) })
		if err != nil || taken {
			return errors.Join(err, ctx.Err())
		}
		if file, _, err := disk.OpenFile(name); err == nil {
			saved, _, err := archive.Sums(io.LimitReader(file, info.Size()+1))
			if file.Close(); err == nil {
				at[saved.Digest] = append(at[saved.Digest], rel)
			}
		}
		if !loop.Sleep(ctx, breath) {
			return ctx.Err()
		}
		return nil
	})
	for _, j := range lost {
		x := astray{j.Key(), path.Base(j.Target), j.PackageID, message.FileLost(j.Target, folder), false}
		if names := at[j.Digest]; len(names) > 0 {
			x.Text, x.Renamed = message.FileRenamed(j.Target, names[0]), true
			at[j.Digest] = names[1:]
		}
		found = append(found, x)
	}
	return found, err
}
