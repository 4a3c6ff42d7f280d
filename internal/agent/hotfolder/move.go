package hotfolder

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// What is done to the files of a hot folder goes from one open folder to another by direct names, for others swap in what they like.

// realOf is where the folder of in led when a person saved it last, or, of one that sends no more, when the file was found.
func (r *Service) realOf(in office.Intake) (string, error) {
	return data.Read(r.Data, "a folder that sends", func(tx *store.Tx) (string, error) {
		f, known, err := folderIn(tx, in.Folder)
		if known && f.Path == in.Path {
			return f.Real, err
		}
		return in.Real, err
	})
}

// silence is how long a folder may take to be opened.
const silence = 5 * time.Second

// openFolder opens a hot folder, for which see openReal. One that does not answer, on a share whose server is gone, is taken for one that is
// away until it has answered: nobody waits for it again meanwhile.
func (r *Service) openFolder(path, real string) (*disk.Dir, error) {
	r.mu.Lock()
	silent := r.silent[path]
	r.mu.Unlock()
	if silent {
		return nil, trouble(path, os.ErrDeadlineExceeded)
	}
	type opened struct {
		dir *disk.Dir
		err error
	}
	answer := make(chan opened, 1)
	go func() {
		dir, err := r.open(path, real)
		answer <- opened{dir, err}
	}()
	timer := time.NewTimer(silence)
	defer timer.Stop()
	select {
	case o := <-answer:
		return o.dir, o.err
	case <-timer.C:
	}
	r.mu.Lock()
	r.silent[path] = true
	r.mu.Unlock()
	go func() {
		if o := <-answer; o.err == nil {
			o.dir.Close()
		}
		r.mu.Lock()
		delete(r.silent, path)
		r.mu.Unlock()
		r.Wake()
	}()
	return nil, trouble(path, os.ErrDeadlineExceeded)
}

// openReal opens a hot folder where it was when a person saved it. Nobody knows where that was who was given no such path.
func openReal(path, real string) (dir *disk.Dir, err error) {
	if real == "" {
		dir, err = disk.OpenDir(path)
	} else if dir, err = disk.OpenReal(real); err == nil {
		var now string
		if now, err = disk.Real(path); err == nil && now != real { // a person may have changed a link, too
			err = disk.ErrSwapped
		}
		if err != nil {
			dir.Close()
		}
	}
	switch {
	case errors.Is(err, disk.ErrSwapped):
		return nil, &folderError{message.SendFolderElsewhere(office.HotFolder{Path: path}.Called())}
	case err != nil:
		return nil, trouble(path, err)
	}
	return dir, nil
}

// isThere reports whether the folder of an intake is there, and not only the place where its disk or share appears: it has
// subfolders of ours. Whoever finds a file missing asks that first.
func isThere(dir *disk.Dir) bool {
	return slices.ContainsFunc([]string{office.HotWaiting, office.HotSent, office.HotSigned, office.HotProblems}, func(place string) bool {
		_, err := dir.Lstat(place)
		return err == nil
	})
}

// find looks at what is at a place in the folder of in; nil when nothing is.
func find(dir *disk.Dir, in *office.Intake, at string) (fs.FileInfo, error) {
	info, err := dir.Find(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, trouble(in.Path, err)
	}
	return info, nil
}

// open opens the file of in: what is judged and copied is what was opened.
func open(dir *disk.Dir, in *office.Intake) (*os.File, fs.FileInfo, error) {
	place, name, err := dir.Parent(in.At)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = trouble(in.Path, err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer place.Close()
	info, err := place.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	file, err := place.Open(name, info, 0)
	return file, info, err
}

func (r *Service) fileOf(in office.Intake, at string) string {
	return filepath.Join(in.Path, filepath.FromSlash(at))
}

// plan chooses where a file goes next, and records that.
func (r *Service) plan(dir *disk.Dir, in *office.Intake, place string) error {
	wanted := path.Join(place, in.Name)
	if place == office.HotWaiting {
		wanted = ownPlace(*in)
	}
	for i := 1; ; i++ {
		next := filename.Numbered(wanted, i)
		taken, err := find(dir, in, next)
		if err == nil && taken == nil && place == office.HotProblems {
			taken, err = find(dir, in, textOf(next))
		}
		if err != nil {
			return err
		}
		if taken == nil {
			in.Next = next
			return r.put(*in)
		}
	}
}

// move moves a file to where it goes next, or finds that it was moved.
func (r *Service) move(dir *disk.Dir, in *office.Intake) (goOn bool, err error) {
	here, err := find(dir, in, in.At)
	if err != nil {
		return false, err
	}
	there, err := find(dir, in, in.Next)
	if err != nil {
		return false, err
	}
	switch {
	case here == nil && there == nil && !isThere(dir):
		return false, trouble(in.Path, fs.ErrNotExist)
	case here == nil && there == nil && in.Place() == "":
		return false, r.drop(*in) // it was renamed or taken away, or another computer was quicker
	case here == nil: // it was moved, or a person has taken it away
		return true, r.moved(dir, in)
	case there != nil && os.SameFile(here, there): // where names are given in two steps, the second was not done
		if err := remove(dir, in.At); err != nil {
			return false, trouble(in.Path, err)
		}
		return true, r.moved(dir, in)
	case there != nil && in.Next == ownPlace(*in): // it was moved, and another one has come under its name
		return true, r.moved(dir, in)
	case in.Place() == "" && (here.Size() != in.Size || !here.ModTime().Equal(in.Changed)):
		return false, r.drop(*in) // another one has its name, which may still be written: the next look tells
	case there != nil:
		return true, r.plan(dir, in, path.Dir(in.Next))
	}
	switch err := rename(dir, in); {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return true, nil // look again
	case err != nil:
		return false, trouble(in.Path, err)
	}
	r.Crash("folder moved")
	return true, r.moved(dir, in)
}

// rename has the file of in where it goes next. What lies in the folder itself belongs to whoever takes it first.
func rename(dir *disk.Dir, in *office.Intake) error {
	from, name, err := dir.Parent(in.At)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := dir.Make(path.Dir(in.Next), 0o755)
	if err != nil {
		return err
	}
	defer to.Close()
	if in.Place() == "" {
		return from.Take(name, to, path.Base(in.Next))
	}
	return from.Move(name, to, path.Base(in.Next))
}

// remove removes a file or an empty folder of a hot folder.
func remove(dir *disk.Dir, at string) error {
	from, name, err := dir.Parent(at)
	if err != nil {
		return err
	}
	defer from.Close()
	return from.Remove(name)
}

// moved records that a file is where it went, and removes what is left behind.
func (r *Service) moved(dir *disk.Dir, in *office.Intake) error {
	from, before := in.At, in.Place()
	next := *in
	next.At, next.Next = in.Next, ""
	next.Explained, next.Tell = "", false
	err := r.Data.Update(func(tx *store.Tx) error {
		if in.Draft != "" {
			if err := r.deps.Moved(tx, in.Draft, r.fileOf(*in, from), r.fileOf(*in, in.Next)); err != nil {
				return err
			}
		}
		return putIntake(tx, next)
	})
	if err != nil {
		return err
	}
	*in = next
	switch before {
	case office.HotWaiting:
		_ = remove(dir, path.Dir(from)) // unless something else is in it
	case office.HotProblems:
		_ = remove(dir, textOf(from))
	}
	return nil
}

// What comes back signed goes to the folder that its document came from, whatever the package went through meanwhile. While
// there is nothing to give back, the record of the document rests, by its draft: nobody looks at it, and its folder is not asked.
// Whoever records that a file of a package is saved calls WakeReturn in the same commit. A record rests until everything has come
// back, also that of a package that is over: it may be opened again.

// prefixResting, and the id of the draft, names the document with an intake that rests.
const prefixResting = "hot-folder-sent/"

// WakeReturn has the files of p that are saved given back to the folder that p came from, if it came from one. Where the record of
// its document is lost, as after a restore, a new one is made for what comes back.
func WakeReturn(tx *store.Tx, p office.Package) error {
	if p.DraftID == "" {
		return nil
	}
	var in office.Intake
	known, err := tx.GetDoc(prefixResting+p.DraftID, &in)
	if err == nil && !known {
		in, known, err = lostIntake(tx, p)
	}
	if err != nil || !known {
		return err
	}
	return errors.Join(putIntake(tx, in), tx.PutDoc(prefixResting+p.DraftID, nil))
}

// lostIntake is a new record of the document of p, whose folder sends and which has something to give back; known is false where
// there is none to be made.
func lostIntake(tx *store.Tx, p office.Package) (in office.Intake, known bool, err error) {
	folders, err := foldersIn(tx)
	at := slices.IndexFunc(folders, func(f office.HotFolder) bool { return f.ID == p.Folder || office.TagAt(p.Service, f.ID) == p.Folder })
	if err != nil || at < 0 {
		return in, false, err
	}
	f := folders[at]
	in = office.Intake{ID: uuid.NewString(), Folder: f.ID, Path: f.Path, Real: f.Real, Name: p.DisplayName(), Created: p.Created, Draft: p.DraftID}
	if len(p.Documents) > 0 && p.Documents[0].FileName != "" {
		in.Name = p.Documents[0].FileName
	}
	in.At = path.Join(office.HotSent, filename.File(in.Name))
	jobs, err := due(tx, &in)
	there, unread := hasIntake(tx, p.DraftID)
	err = errors.Join(err, unread)
	return in, err == nil && len(jobs) > 0 && !there, err
}

// rest has the record of a document in Sent rest when there is nothing to give back for now, or ends it when nothing more will
// come. It reports whether it did.
func (r *Service) rest(in *office.Intake) (rests bool, err error) {
	if due, err := data.Read(r.Data, "what came back signed", func(tx *store.Tx) ([]office.Job, error) { return due(tx, in) }); err != nil || len(due) > 0 {
		return false, err
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		jobs, err := due(tx, in)
		if rests = err == nil && len(jobs) == 0; !rests {
			return err // it has come this moment
		}
		if err := tx.PutDoc(prefixIntake+in.ID, nil); err != nil || in.Again { // its twin has what comes back
			return err
		}
		p, _, err := tx.PackageByDraft(in.Draft)
		if err != nil {
			return err
		}
		if p.State == office.PackageExecuted && p.Planned {
			if jobs, err = tx.JobsOf(p.ID); err != nil || office.AllSaved(jobs) {
				return err
			}
		}
		if in.Day, err = tx.Day(); err != nil {
			return err
		}
		return tx.PutDoc(prefixResting+in.Draft, in)
	})
	return rests && err == nil, err
}

// due are the files of the document's package that are saved and not given back.
func due(tx *store.Tx, in *office.Intake) ([]office.Job, error) {
	p, known, err := tx.PackageByDraft(in.Draft)
	if err != nil || !known || in.Again {
		return nil, err
	}
	jobs, err := tx.JobsOf(p.ID)
	return slices.DeleteFunc(jobs, func(j office.Job) bool { return j.State != office.JobDone || in.Returned[j.Key()] }), err
}

// giveBack saves copies of the files that are due beside the document that they came from, each once.
func (r *Service) giveBack(ctx context.Context, dir *disk.Dir, in *office.Intake) error {
	jobs, err := data.Read(r.Data, "what came back signed", func(tx *store.Tx) ([]office.Job, error) { return due(tx, in) })
	for _, j := range jobs {
		if err == nil {
			err = r.giveBackFile(ctx, dir, in, j)
		}
	}
	return err
}

// giveBackFile saves a copy of one file under the first name that is free, or finds that it was saved when the program ended, or in a
// time of which nothing is known any more.
func (r *Service) giveBackFile(ctx context.Context, dir *disk.Dir, in *office.Intake, j office.Job) error {
	if disk.Inside(filepath.Dir(filepath.Join(j.Folder, filepath.FromSlash(j.Target))), filepath.Join(in.Path, office.HotSigned)) {
		return r.returned(in, j) // the office saves it there itself
	}
	source, err := archive.OpenSaved(j.Folder, j.Target)
	if err != nil {
		return r.notReturned(in, j, err)
	}
	defer source.Close()
	folder, err := archive.In(dir)
	if err != nil {
		return trouble(in.Path, err)
	}
	defer folder.Close()
	key := "hot folders of " + r.deps.Installation() // one is saved at a time
	if !r.swept[in.Path] {                           // an earlier run may have been killed in a save; what stays is hidden
		_, err := folder.Sweep(ctx, func(token string) bool { return token != archive.Token(key) })
		r.swept[in.Path] = err == nil
	}
	for i := 1; ; i++ {
		if err := ctx.Err(); err != nil {
			return err // what an ended program has not done is not done
		}
		target := filename.Numbered(path.Join(office.HotSigned, path.Base(j.Target)), i)
		if same, err := folder.Matches(target, j.Size, j.Digest); err == nil && same {
			return r.returned(in, j)
		}
		if taken, err := folder.Exists(target); err != nil {
			return trouble(in.Path, err)
		} else if taken {
			continue
		}
		_, err := folder.Save(ctx, archive.Request{
			Target: target, Key: key, Declared: j.Size, Before: j.Digest,
			Body: source,
			Commit: func(s archive.Saved) error {
				if strings.Contains(j.Digest, ":") && s.Digest != j.Digest {
					return errOther
				}
				r.Crash("folder copied")
				return nil
			},
		})
		switch {
		case err == nil:
			r.Crash("folder returned")
			return r.returned(in, j)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, archive.ErrExists): // whatever a look at it says
			if _, err := source.Seek(0, 0); err != nil {
				return r.notReturned(in, j, err)
			}
		case errors.Is(err, errOther), errors.Is(err, archive.ErrShort), errors.Is(err, archive.ErrLong), errors.Is(err, archive.ErrNotPDF), errors.Is(err, archive.ErrNoEnd):
			return r.notReturned(in, j, errOther)
		default:
			return trouble(in.Path, err)
		}
	}
}

// errOther is a file in the office's folder that is not the saved one any more.
var errOther = errors.New("the saved file was changed")

// returned records that one file was given back.
func (r *Service) returned(in *office.Intake, j office.Job) error {
	next := *in
	if next.Returned = maps.Clone(in.Returned); next.Returned == nil {
		next.Returned = map[string]bool{}
	}
	next.Returned[j.Key()] = true
	if err := r.put(next); err != nil {
		return err
	}
	*in = next
	return nil
}

// notReturned is for a saved file that is not there, or is another one. A folder that is out of reach comes back; a file that
// a person has taken from it does not: that is said once.
func (r *Service) notReturned(in *office.Intake, j office.Job, cause error) error {
	gone := errors.Is(cause, fs.ErrNotExist) || errors.Is(cause, errOther) || errors.Is(cause, disk.ErrLink) || errors.Is(cause, disk.ErrNotFile)
	if !gone || disk.Empty(j.Folder) {
		return trouble(j.Folder, cause)
	}
	if err := r.returned(in, j); err != nil {
		return err
	}
	r.Record(office.Activity{Kind: "problem", PackageID: j.PackageID, Text: message.NotReturned(path.Base(j.Target), filepath.Base(in.Path))})
	return nil
}
