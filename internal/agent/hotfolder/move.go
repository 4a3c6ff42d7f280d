package hotfolder

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// What is done to the files of a hot folder goes from one open folder to another by direct names, for others swap in what they like.

// realOf is where the folder of in led when a person saved it last, or, of one that sends no more, when the file was found.
func (r *Service) realOf(in office.Intake) (string, error) {
	return read(r, "a folder that sends", func(tx *store.Tx) (string, error) {
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

// fileOf is the path of a file in the hot folder of in.
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
	r.deps.Crash("folder moved")
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
