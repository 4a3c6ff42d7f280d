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
	"time"

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
}

// astrayFiles is the result of the last check.
type astrayFiles struct {
	Files []astray `json:"files"`           // of a check at most mostAstray
	Away  []string `json:"away,omitempty"`  // folders out of reach when somebody asked for the check
	Read  []string `json:"read,omitempty"`  // folders of which somebody has read that; for files see office.SavedFile
	Asked int      `json:"asked,omitempty"` // how often somebody has asked
}

// looked is the progress of a check.
type looked struct {
	After    string          `json:"after"`    // the job checked last
	Suspects []string        `json:"suspects"` // jobs whose files were missing or changed
	There    map[string]bool `json:"there"`    // folders that contain any file

	asked bool            // by somebody
	away  map[string]bool // folders out of reach
	files int             // how many were checked, since the start
}

const (
	docAstray    = "files-astray"
	docLooked    = "files-looked-at"
	mostAstray   = 1000
	astrayNamed  = 3
	jobsTogether = 100
)

// checkFiles checks all saved files, if the office wants that and the last check is old enough; otherwise, whether what was found is
// back. It runs slowly, and reports nothing about unreachable folders.
func (r *Service) checkFiles(ctx context.Context) error {
	every := r.deps.Settings().CheckFiles
	done, today, err := r.today()
	if err != nil {
		return err
	}
	var now astrayFiles
	due := every > 0 && (done.Checked == 0 || today-done.Checked >= every)
	if due {
		x, _, err := data.Doc[looked](r.Data, docLooked)
		if err == nil {
			now.Files, err = r.lookAtAll(ctx, &x, breath, func() error {
				if x.files%jobsTogether != 0 {
					return nil
				}
				return r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docLooked, x) })
			})
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
		done.Checked = today
	}
	last, _, err := data.Doc[astrayFiles](r.Data, docAstray) // only now: somebody may have asked for a check meanwhile
	if now.Asked = last.Asked; err == nil {
		now.Files, err = r.stillAstray(now.Files, last.Files)
	}
	if err == nil {
		now.Away, err = r.followAll(ctx, slices.DeleteFunc(slices.Clone(last.Away), func(folder string) bool { return r.deps.FolderAway(folder) == nil }))
	}
	if err != nil || !due && len(now.Files)+len(now.Away) == len(last.Files)+len(last.Away) {
		return errors.Join(err, r.tellAstray())
	}
	return r.found(now, done.Checked, false)
}

// CheckFiles is that check when somebody asks for it: at once, from the beginning, showing its progress, and telling which folders are
// out of reach.
func (r *Service) CheckFiles(ctx context.Context, show func(done, all int)) error {
	_, today, err := r.today()
	counts, err2 := data.Read(r.Data, "how many files are saved", (*store.Tx).JobCounts)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	x := looked{asked: true, away: map[string]bool{}}
	found, err := r.lookAtAll(ctx, &x, 0, func() error {
		show(min(x.files, counts.Done), counts.Done)
		return nil
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	last, _, err := data.Doc[astrayFiles](r.Data, docAstray)
	if err == nil {
		found, err = r.stillAstray(found, last.Files)
	}
	if err != nil {
		return err
	}
	defer r.Wake() // to notice when a folder is back
	return r.found(astrayFiles{Files: found, Away: slices.Sorted(maps.Keys(x.away))}, today, true)
}

// found records what a check found, with the jobs and packages as well; but a check that somebody asked for meanwhile stands. What
// somebody has read stays read until there is more, or until somebody asks for a check.
func (r *Service) found(now astrayFiles, checked int, asked bool) error {
	var news []office.Activity
	err := r.Data.Update(func(tx *store.Tx) error {
		var before astrayFiles
		var done kept
		tx.GetDoc(docAstray, &before)
		tx.GetDoc(docKept, &done)
		switch news = nil; {
		case asked:
			now.Asked = before.Asked + 1
		case now.Asked != before.Asked:
			now = before
		default:
			now.Read = before.Read
		}
		for _, x := range now.Files {
			if j, _, _ := tx.Job(x.Key); j.Astray != x.Text {
				news = append(news, office.Activity{Time: r.Now(), Kind: office.ActivityProblem, PackageID: x.Package, Text: x.Text})
			}
		}
		for _, x := range before.Files {
			if !slices.Contains(now.Files, x) {
				r.noteAstray(tx, astray{Key: x.Key}, false)
			}
		}
		for _, x := range now.Files {
			if asked || len(news) > 0 {
				r.noteAstray(tx, x, false)
			}
		}
		done.Checked = checked
		tx.PutDoc(docAstray, now)
		tx.PutDoc(docKept, done)
		tx.PutDoc(docLooked, nil)
		for _, x := range news {
			tx.AddActivity(x)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Signal(office.PackagesChanged)
	return r.tellAstray()
}

// noteAstray notes with a saved file, and its package, what a check found of it, and whether somebody has read that.
func (r *Service) noteAstray(tx *store.Tx, x astray, read bool) {
	j, ok, _ := tx.Job(x.Key)
	if !ok || j.State != office.JobDone {
		return
	}
	was := j.SavedFile
	j.Astray, j.AstrayRead = x.Text, read
	var found []office.HistoryEntry
	if !x.Text.IsZero() && x.Text != was.Astray {
		entry := office.HistoryEntry{Time: office.When{Time: r.Now()}, What: office.EntryMissing, Ref: j.At()}
		if x.Text == message.FileNotAsSaved(j.At()) {
			entry.What = office.EntryChanged
		}
		found = append(found, entry)
	}
	if j.SavedFile != was {
		tx.PutJob(j)
		tellPackage(tx, j.PackageID, found...)
	}
}

// stillAstray adds to what a check found what was found before, except what is back, or saved again.
func (r *Service) stillAstray(found, before []astray) (still []astray, err error) {
	still = found
	for _, x := range before {
		j, failed := r.job(x.Key)
		if err = errors.Join(err, failed); j.State != office.JobDone || slices.ContainsFunc(found, func(f astray) bool { return f.Key == x.Key }) {
			continue
		}
		if same, failed := r.isThere(j); !same && !r.follow(j, failed) {
			still = append(still, x)
		}
	}
	return still, err
}

// missing reports whether err of isThere says that the file, or its folder, is not there.
func missing(err error) bool { return errors.Is(err, errAway) || errors.Is(err, fs.ErrNotExist) }

// follow records that j's file, which isThere did not find, is in the folder for documents under the same name, or has its first name
// again, if it is unchanged there: people move their folder, and then choose it.
func (r *Service) follow(j office.Job, why error) bool {
	if !missing(why) && j.Renamed == "" {
		return false
	}
	for _, folder := range []string{r.deps.Settings().SaveTo, j.Folder} {
		for _, name := range slices.Compact([]string{j.Renamed, ""}) {
			to := j
			if to.Folder, to.Renamed = folder, name; to.Path() == j.Path() {
				continue
			}
			if same, _ := r.isThere(to); same {
				if moved, _ := r.moved(j, to); moved {
					return true
				}
			}
		}
	}
	return false
}

// moved records that j's file is unchanged where to has it, unless j was saved again meanwhile, or one of its names there is another
// job's; and what news there is of that.
func (r *Service) moved(j, to office.Job, news ...office.Activity) (done bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Job(j.Key())
		done = ok && saved(stored) == saved(j) && stored.Path() == j.Path()
		for _, name := range []string{to.Target, to.At()} {
			other, taken, failed := tx.JobAt(to.Folder, name)
			done, err = done && (!taken || other.Key() == j.Key()), errors.Join(err, failed)
		}
		if err != nil || !done {
			return err
		}
		stored.Folder, stored.Renamed = to.Folder, to.Renamed
		tx.PutJob(stored)
		r.noteAstray(tx, astray{Key: j.Key()}, false)
		for _, x := range news {
			tx.AddActivity(x)
		}
		return nil
	})
	if done = done && err == nil; done {
		r.Signal(office.PackagesChanged)
	}
	return done, err
}

// followAll follows all files of folders out of reach, and returns the folders in which some still are.
func (r *Service) followAll(ctx context.Context, away []string) (still []string, err error) {
	for after, jobs := "", make([]office.Job, len(away)); err == nil && len(jobs) > 0; {
		jobs, err = data.Read(r.Data, "the files out of reach", func(tx *store.Tx) ([]office.Job, error) {
			return tx.JobsAfter(after, jobsTogether, func(j office.Job) bool {
				return j.State == office.JobDone && slices.Contains(away, j.Folder)
			})
		})
		for _, j := range jobs {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if after = j.Key(); !r.follow(j, errAway) && !slices.Contains(still, j.Folder) {
				still = append(still, j.Folder)
			}
		}
	}
	return still, err
}

func (r *Service) job(key string) (office.Job, error) {
	return data.Read(r.Data, "a saved file", func(tx *store.Tx) (office.Job, error) { j, _, err := tx.Job(key); return j, err })
}

// tellAstray updates the health issue about missing or changed files.
func (r *Service) tellAstray() error {
	state, folder := health.FilesAstray, r.deps.Settings().SaveTo
	text, err := data.Read(r.Data, "what the last check found", func(tx *store.Tx) (message.Message, error) {
		_, told, text, err := lastCheck(tx)
		if slices.Contains(told.Away, folder) {
			state = health.FolderAway
		}
		return text, err
	})
	if err == nil {
		r.Health.Update(state, text)
	}
	return err
}

// lastCheck returns what the last check found, and what of it to tell, and how, to somebody who has not read it: of one folder out of
// reach, or else of the files in other folders.
func lastCheck(tx *store.Tx) (x, told astrayFiles, text message.Message, err error) {
	_, err = tx.GetDoc(docAstray, &x)
	for _, folder := range x.Away {
		if !slices.Contains(x.Read, folder) {
			told.Away = []string{folder}
			return x, told, message.FolderMissing(filepath.Base(folder)), err
		}
	}
	var names []string
	for _, f := range x.Files {
		if j, _, _ := tx.Job(f.Key); j.Troubles() && !slices.Contains(x.Away, j.Folder) {
			told.Files, names = append(told.Files, f), append(names, f.Name)
		}
	}
	if len(names) > 0 {
		text = message.FilesAstray(len(names), names[:min(len(names), astrayNamed)])
	}
	return x, told, text, err
}

// ReadAstray records that somebody has read what that issue tells, unless its message has changed.
func (r *Service) ReadAstray(said message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		x, told, text, err := lastCheck(tx)
		if err != nil || text.String() != said.String() {
			return err
		}
		for _, f := range told.Files {
			r.noteAstray(tx, f, true)
		}
		x.Read = append(x.Read, told.Away...)
		return tx.PutDoc(docAstray, x)
	})
	r.Signal(office.PackagesChanged)
	return errors.Join(err, r.tellAstray())
}

// lookAtAll checks every saved file after x.After, one after the other, and calls done after each.
func (r *Service) lookAtAll(ctx context.Context, x *looked, pause time.Duration, done func() error) (found []astray, err error) {
	for there := []office.Job{{}}; err == nil && len(there) > 0; {
		there, err = data.Read(r.Data, "the saved files", func(tx *store.Tx) ([]office.Job, error) {
			return tx.JobsAfter(x.After, jobsTogether, func(j office.Job) bool { return j.State == office.JobDone })
		})
		for _, j := range there {
			for r.deps.Busy() && loop.Sleep(ctx, busyPause) {
			}
			if !loop.Sleep(ctx, pause) {
				return nil, ctx.Err()
			}
			r.checkFile(x, j)
			err = errors.Join(err, done())
		}
	}
	lost := map[string][]office.Job{} // by folder
	for _, key := range x.Suspects {
		j, failed := r.job(key)
		if err = errors.Join(err, failed); j.State != office.JobDone {
			continue // it is saved again
		}
		switch same, failed := r.isThere(j); { // it may be back
		case errors.Is(failed, fs.ErrNotExist) && !errors.Is(failed, errAway):
			lost[j.Folder] = append(lost[j.Folder], j)
		case failed == nil && !same:
			found = append(found, astray{j.Key(), path.Base(j.At()), j.PackageID, message.FileNotAsSaved(j.At())})
		}
	}
	if err != nil {
		return nil, err
	}
	for _, folder := range slices.Sorted(maps.Keys(lost)) {
		if !x.asked && !x.There[folder] && disk.Empty(folder) {
			r.Log.Info("nothing is in a folder, as where a disk is not mounted: it is taken to be out of reach", "folder", folder)
			continue
		}
		missing, failed := r.findRenamed(ctx, pause, folder, lost[folder])
		found, err = append(found, missing...), errors.Join(err, failed)
	}
	return found, err
}

// checkFile checks j's file, unless its folder is unreachable.
func (r *Service) checkFile(x *looked, j office.Job) {
	x.After, x.files = j.Key(), x.files+1
	same, err := false, errAway
	if !x.away[j.Folder] {
		same, err = r.isThere(j)
	}
	switch away := errors.Is(err, errAway); {
	case !same && r.follow(j, err):
	case away && x.asked:
		x.away[j.Folder] = true
	case !away && !same && len(x.Suspects) < mostAstray:
		x.Suspects = append(x.Suspects, j.Key())
	}
	if err == nil {
		if x.There == nil {
			x.There = map[string]bool{}
		}
		x.There[j.Folder] = true
	}
}

// isThere reports whether a saved file is unchanged, byte for byte. If its folder is unreachable, the error is errAway.
func (r *Service) isThere(j office.Job) (same bool, err error) {
	file, err := r.openThere(j)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return archive.IsSaved(file, j.Size, j.Digest)
}

// findRenamed looks for lost files under other names in their folder, records the names, and returns what stays lost. A file with the
// same bytes that belongs to another job does not count.
func (r *Service) findRenamed(ctx context.Context, pause time.Duration, folder string, lost []office.Job) (found []astray, err error) {
	sizes, at, others := map[int64]bool{}, map[string][]string{}, map[string]bool{}
	for _, j := range lost {
		sizes[j.Size] = true
	}
	_, err = data.Read(r.Data, "the renamed files", func(tx *store.Tx) ([]office.Job, error) {
		return tx.JobsAfter("", 1, func(j office.Job) bool {
			if j.Folder == folder && j.Renamed != "" {
				others[j.Path()] = true
			}
			return false
		})
	})
	if err != nil {
		return nil, err
	}
	err = walk(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.EqualFold(filepath.Ext(name), ".pdf") || others[name] {
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
		if !loop.Sleep(ctx, pause) {
			return ctx.Err()
		}
		return nil
	})
	for _, j := range lost {
		if names := at[j.Digest]; len(names) > 0 {
			to := j
			to.Renamed, at[j.Digest] = filepath.ToSlash(names[0]), names[1:]
			text := message.FileRenamed(j.Target, names[0])
			moved, failed := r.moved(j, to, office.Activity{Time: r.Now(), Kind: office.ActivityRenamed, PackageID: j.PackageID, Text: text})
			if err = errors.Join(err, failed); moved {
				continue
			}
		}
		found = append(found, astray{j.Key(), path.Base(j.Target), j.PackageID, message.FileLost(j.Target, folder)})
	}
	return found, err
}
