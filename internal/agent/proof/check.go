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

// astray is what a look at the saved files has found of one that is not as it was saved.
type astray struct {
	Key     string          `json:"key"` // of its job
	Name    string          `json:"name"`
	Package string          `json:"package"`
	Text    message.Message `json:"text"`
	Renamed bool            `json:"renamed,omitempty"` // it is there, unchanged
}

// astrayFiles is what the last look has found.
type astrayFiles struct {
	Files []astray `json:"files"` // at most mostAstray
	Read  bool     `json:"read,omitempty"`
}

// looked is how far a look at the saved files has come.
type looked struct {
	After string          `json:"after"` // the job that was looked at last
	Found []astray        `json:"found"`
	Lost  []string        `json:"lost"`  // the jobs whose files are not in their places
	There map[string]bool `json:"there"` // the folders in which any file is
}

const (
	docAstray    = "files-astray"
	docLooked    = "files-looked-at"
	mostAstray   = 1000
	astrayNamed  = 5
	jobsTogether = 100
)

// checkFiles looks at all saved files, if the office wants that and the last look was long enough ago. It is never in a hurry, and says
// nothing of folders that are out of reach.
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
		_, err1 := tx.GetDoc(docAstray, &before)
		_, err2 := tx.GetDoc(docKept, &done)
		news = slices.DeleteFunc(slices.Clone(found), func(x astray) bool { return slices.Contains(before.Files, x) })
		done.Checked = today
		err := errors.Join(err1, err2, tx.PutDoc(docAstray, astrayFiles{found, before.Read && len(news) == 0}), tx.PutDoc(docKept, done), tx.PutDoc(docLooked, nil))
		for _, x := range news {
			err = errors.Join(err, tx.AddActivity(office.Activity{Time: r.Now(), Kind: "problem", PackageID: x.Package, Text: x.Text}))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, x := range news {
		r.Tell(office.Activity{Time: r.Now(), Kind: "problem", PackageID: x.Package, Text: x.Text})
	}
	return r.tellAstray()
}

// tellAstray keeps in step what health says of files that are not as they were saved.
func (r *Service) tellAstray() error {
	x, _, err := data.Doc[astrayFiles](r.Data, docAstray)
	text := x.text()
	if r.deps.Settings().CheckFiles == 0 {
		text = message.Message{} // nobody looks whether it is still so
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

// ReadAstray notes that somebody has read what health said of files, unless it says something else by now.
func (r *Service) ReadAstray(said message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		var x astrayFiles
		if _, err := tx.GetDoc(docAstray, &x); err != nil || x.text().String() != said.String() {
			return err
		}
		x.Read = true
		return tx.PutDoc(docAstray, x)
	})
	return errors.Join(err, r.tellAstray())
}

// lookAtAll looks at every saved file, one after the other, and goes on where it was stopped.
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
	for _, key := range x.Lost {
		j, failed := data.Read(r.Data, "a saved file", func(tx *store.Tx) (office.Job, error) { j, _, err := tx.Job(key); return j, err })
		lost[j.Folder], err = append(lost[j.Folder], j), errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	for _, folder := range slices.Sorted(maps.Keys(lost)) {
		if !x.There[folder] && disk.Empty(folder) { // also that of a job that is not there any more
			r.Log.Info("nothing is in a folder, as where a disk is not mounted: it is taken to be out of reach", "folder", folder)
			continue
		}
		missing, failed := r.findRenamed(ctx, folder, lost[folder])
		x.Found, err = append(x.Found, missing...), errors.Join(err, failed)
	}
	return x.Found[:min(len(x.Found), mostAstray)], err
}

// lookAt looks at the file of j. One whose folder is out of reach is passed over.
func (x *looked) lookAt(j office.Job) {
	same, err := isThere(j)
	switch {
	case errors.Is(err, errAway):
	case errors.Is(err, fs.ErrNotExist) && len(x.Lost) < mostAstray:
		x.Lost = append(x.Lost, j.Key())
	case err == nil && !same && len(x.Found) < mostAstray:
		x.Found = append(x.Found, astray{j.Key(), path.Base(j.Target), j.PackageID, message.FileNotAsSaved(j.Target), false})
	}
	if x.After = j.Key(); err == nil {
		if x.There == nil {
			x.There = map[string]bool{}
		}
		x.There[j.Folder] = true
	}
}

// isThere reports whether a saved file is there, byte for byte. Where its folder is out of reach that is errAway.
func isThere(j office.Job) (same bool, err error) {
	file, err := openThere(j)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return archive.IsSaved(file, j.Size, j.Digest)
}

// findRenamed looks for lost files under other names in their folder. A file of the same bytes that is another job's own is none.
func (r *Service) findRenamed(ctx context.Context, folder string, lost []office.Job) (found []astray, err error) {
	sizes, at := map[int64]bool{}, map[string][]string{}
	for _, j := range lost {
		sizes[j.Size] = true
	}
	err = filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
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
