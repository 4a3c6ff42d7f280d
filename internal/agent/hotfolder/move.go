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

	"github.com/google/uuid"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// A hot folder's files are moved between open folders by plain names, because others may replace paths with links at any time.

// openOf opens in's folder. It must be where it was when a person last saved it, or, if it no longer sends, when the file was found.
func (r *Service) openOf(in office.Intake) (*disk.Dir, error) {
	of, err := data.Read(r.Data, "a folder that sends", func(tx *store.Tx) (office.HotFolder, error) {
		if f, known := folderIn(tx, in.Folder); known && f.Path == in.Path {
			return f, nil
		}
		return office.HotFolder{Path: in.Path, Real: in.Real}, nil
	})
	if err != nil {
		return nil, err
	}
	return r.open(of)
}

// open opens a hot folder at the real path it had when a person saved it. Without such a path, it opens the path as it is. A folder
// whose disk was mounted there, and is not any more, is away.
func (r *Service) open(f office.HotFolder) (dir *disk.Dir, err error) {
	var now string
	if f.Real == "" {
		dir, err = disk.OpenDir(f.Path)
	} else if dir, err = disk.OpenReal(f.Real); err == nil {
		if now, err = disk.Real(f.Path); err == nil && now != f.Real { // a link may have been changed, perhaps by a person
			err = disk.ErrSwapped
		}
	}
	if err == nil {
		var away bool
		if away, err = r.deps.Unmounted(f.Path, func() (bool, error) { return isThere(dir), nil }); away {
			err = errUnmounted
		}
	}
	if err != nil && dir != nil {
		dir.Close()
	}
	switch {
	case errors.Is(err, disk.ErrSwapped):
		return nil, &folderError{message.SendFolderElsewhere(f.Called())}
	case err != nil:
		return nil, trouble(f.Path, err)
	}
	return dir, nil
}

var errUnmounted = errors.New("the folder's disk is not mounted")

// isThere reports whether an intake's folder exists, rather than only the mount point of its disk or share: it has our subfolders.
// Check it before treating a file as missing.
func isThere(dir *disk.Dir) bool {
	return slices.ContainsFunc([]string{office.HotWaiting, office.HotSent, office.HotSigned, office.HotProblems}, func(place string) bool {
		_, err := dir.Lstat(place)
		return err == nil
	})
}

// find returns what is at a place in in's folder; nil for nothing.
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

// openFile opens the file of in, so that what is validated is what is copied.
func openFile(dir *disk.Dir, in *office.Intake) (*os.File, fs.FileInfo, error) {
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

// strays reports whether a person has changed the file of in since it was taken, or removed it from Waiting.
func strays(dir *disk.Dir, in office.Intake) (changed, removed bool, err error) {
	place := in.Place()
	info, err := find(dir, &in, in.At)
	if err == nil && info == nil && in.Next != "" {
		in.At = in.Next
		info, err = find(dir, &in, in.At)
	}
	switch {
	case err != nil, in.SHA256 == "":
		return false, false, err
	case info == nil:
		return false, place == office.HotWaiting && isThere(dir), nil
	case info.Size() == in.Size && info.ModTime().Equal(in.Changed):
		return false, false, nil
	}
	file, _, err := openFile(dir, &in)
	if err != nil {
		return false, false, trouble(in.Path, err)
	}
	defer file.Close()
	_, sum, err := archive.Sums(file)
	if err != nil {
		return false, false, trouble(in.Path, err)
	}
	return sum != in.SHA256, false, nil
}

// Strayed returns what a person must decide before d is sent: its file is no longer what was taken. A folder or file that cannot be
// reached says nothing, and holds up no other draft.
func (r *Service) Strayed(d office.Draft) (message.Message, error) {
	all, err := r.intakes()
	for _, in := range all {
		if in.Draft != d.ID || in.Again {
			continue
		}
		why, err := disk.Ask(r.fileOf(in, in.At), func() (why message.Message, err error) {
			dir, err := r.openOf(in)
			if err != nil {
				return why, err
			}
			defer dir.Close()
			changed, removed, err := strays(dir, in)
			switch {
			case changed:
				why = message.FileChangedSince(in.Name)
			case removed:
				why = message.FileRemovedSince(in.Name)
			}
			return why, err
		}, nil)
		if away := errors.As(err, new(*folderError)) || errors.Is(err, os.ErrDeadlineExceeded); !why.IsZero() || err != nil && !away {
			return why, err
		}
	}
	return message.Message{}, err
}

// setApart keeps out of Sent what was not sent: a file that was changed since it was taken goes to Problems by itself.
func (r *Service) setApart(dir *disk.Dir, in *office.Intake) (apart bool, err error) {
	changed, _, err := strays(dir, *in)
	if err != nil || !changed {
		return false, err
	}
	other, next := *in, *in
	other.ID, other.Draft, other.Problem = r.newID(), "", message.FileSentAsTaken()
	next.At = path.Join(office.HotSent, in.Name)
	err = r.Data.Update(func(tx *store.Tx) error {
		putIntake(tx, other)
		return putIntake(tx, next)
	})
	if err != nil {
		return false, err
	}
	*in = next
	r.Wake() // for the other
	return true, nil
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

// move moves a file to its next place, or finds that it has been moved.
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
		return false, r.drop(*in) // renamed or removed, or another computer was faster
	case here == nil: // moved, or removed by a person
		return true, r.moved(dir, in)
	case there != nil && os.SameFile(here, there): // on systems that rename in two steps, the second is missing
		if err := remove(dir, in.At); err != nil {
			return false, trouble(in.Path, err)
		}
		return true, r.moved(dir, in)
	case there != nil && in.Next == ownPlace(*in): // moved, and another file has taken its name
		return true, r.moved(dir, in)
	case in.Place() == "" && (here.Size() != in.Size || !here.ModTime().Equal(in.Changed)):
		return false, r.drop(*in) // a different file under its name, possibly incomplete: the next scan handles it
	case there != nil:
		return true, r.plan(dir, in, path.Dir(in.Next))
	}
	switch err := rename(dir, in); {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return true, nil // try again
	case err != nil:
		return false, trouble(in.Path, err)
	}
	r.Crash("folder moved")
	return true, r.moved(dir, in)
}

// rename moves in's file to its next place. A file in the hot folder itself belongs to the first computer that takes it.
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

// remove removes a file or an empty folder from a hot folder.
func remove(dir *disk.Dir, at string) error {
	from, name, err := dir.Parent(at)
	if err != nil {
		return err
	}
	defer from.Close()
	return from.Remove(name)
}

// moved records that a file has reached its next place, and removes what is left behind.
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
		_ = remove(dir, path.Dir(from)) // fails if it contains anything else
	case office.HotProblems:
		_ = remove(dir, textOf(from))
	}
	return nil
}

// Signed documents are returned to the folder that the original came from, whatever happened to the package. While there is nothing
// to return, the document's record rests, stored by its draft: nobody looks at it, and its folder is not accessed. The code that
// records a package's file as saved calls WakeReturn in the same commit. A record rests until everything has been returned, even if
// the package is over, because it may be reopened.

// prefixResting plus the draft's id is the document with a resting intake.
const prefixResting = "hot-folder-sent/"

// WakeReturn starts returning the saved files of p to its hot folder, if any. If the record of its document is lost, as after a
// restore, it makes a new one.
func WakeReturn(tx *store.Tx, p office.Package) {
	if p.DraftID == "" {
		return
	}
	var in office.Intake
	known, _ := tx.GetDoc(prefixResting+p.DraftID, &in)
	if !known {
		in, known = lostIntake(tx, p)
	}
	if known {
		putIntake(tx, in)
		tx.PutDoc(prefixResting+p.DraftID, nil)
	}
}

// lostIntake returns a new record for p's document if its folder sends and has something to return; otherwise known is false.
func lostIntake(tx *store.Tx, p office.Package) (in office.Intake, known bool) {
	folders := foldersIn(tx)
	at := slices.IndexFunc(folders, func(f office.HotFolder) bool { return f.ID == p.Folder || office.TagAt(p.Service, f.ID) == p.Folder })
	if at < 0 {
		return in, false
	}
	f := folders[at]
	in = office.Intake{ID: uuid.NewString(), Folder: f.ID, Path: f.Path, Real: f.Real, Name: p.DisplayName(), Created: p.Created, Draft: p.DraftID}
	if len(p.Documents) > 0 && p.Documents[0].FileName != "" {
		in.Name = p.Documents[0].FileName
	}
	in.At = path.Join(office.HotSent, filename.File(in.Name))
	return in, len(due(tx, &in)) > 0 && !hasIntake(tx, p.DraftID)
}

// rest lets the record of a document in Sent rest if there is nothing to return now, or deletes it if nothing more will come. It
// reports whether it did.
func (r *Service) rest(in *office.Intake) (rests bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		if rests = len(due(tx, in)) == 0; !rests {
			return nil // one has just arrived
		}
		if tx.PutDoc(prefixIntake+in.ID, nil); in.Again { // its twin gets what comes back
			return nil
		}
		p, _, _ := tx.PackageByDraft(in.Draft)
		if p.State == office.PackageExecuted && p.Planned {
			if jobs, _ := tx.JobsOf(p.ID); office.AllSaved(jobs) {
				return nil
			}
		}
		in.Day, _ = tx.Day()
		return tx.PutDoc(prefixResting+in.Draft, in)
	})
	return rests && err == nil, err
}

// due returns the saved files of the document's package that have not been returned.
func due(tx *store.Tx, in *office.Intake) []office.Job {
	p, known, _ := tx.PackageByDraft(in.Draft)
	if !known || in.Again {
		return nil
	}
	jobs, _ := tx.JobsOf(p.ID)
	return slices.DeleteFunc(jobs, func(j office.Job) bool { return j.State != office.JobDone || in.Returned[j.Key()] })
}

// giveBack saves copies of the due files beside the original, each once.
func (r *Service) giveBack(ctx context.Context, dir *disk.Dir, in *office.Intake) error {
	jobs, err := data.Read(r.Data, "what came back signed", func(tx *store.Tx) ([]office.Job, error) { return due(tx, in), nil })
	for _, j := range jobs {
		if err == nil {
			err = r.giveBackFile(ctx, dir, in, j)
		}
	}
	return err
}

// giveBackFile saves a copy of one file under the first free name, or finds that it was saved before the program ended, or before
// the state was lost.
func (r *Service) giveBackFile(ctx context.Context, dir *disk.Dir, in *office.Intake, j office.Job) error {
	if disk.Inside(filepath.Dir(j.Path()), filepath.Join(in.Path, office.HotSigned)) {
		return r.returned(in, j) // the office's own folder is there
	}
	source, err := archive.OpenSaved(j.Folder, j.At())
	if err != nil {
		return r.notReturned(in, j, err)
	}
	defer source.Close()
	folder, err := archive.In(dir)
	if err != nil {
		return trouble(in.Path, err)
	}
	defer folder.Close()
	key := "hot folders of " + r.deps.Installation() // one save at a time
	if !r.swept[in.Path] {                           // a kill during a save leaves hidden files
		_, err := folder.Sweep(ctx, func(token string) bool { return token != archive.Token(key) })
		r.swept[in.Path] = err == nil
	}
	for i := 1; ; i++ {
		if err := ctx.Err(); err != nil {
			return err // interrupted by the program's end: not done
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
		case errors.Is(err, archive.ErrExists): // whatever inspecting it says
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

// errOther says that the file in the office's folder is no longer the saved one.
var errOther = errors.New("the saved file was changed")

// returned records that one file was returned.
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

// notReturned handles a saved file that is missing or different. An unreachable folder will come back; a file removed by a person
// will not: that is reported once.
func (r *Service) notReturned(in *office.Intake, j office.Job, cause error) error {
	gone := errors.Is(cause, fs.ErrNotExist) || errors.Is(cause, errOther) || errors.Is(cause, disk.ErrLink) || errors.Is(cause, disk.ErrNotFile)
	if !gone || disk.Empty(j.Folder) || r.deps.FolderAway(j.Folder) != nil {
		return trouble(j.Folder, cause)
	}
	if err := r.returned(in, j); err != nil {
		return err
	}
	r.Record(office.Activity{Kind: office.ActivityProblem, PackageID: j.PackageID, Text: message.NotReturned(path.Base(j.Target), filepath.Base(in.Path))})
	return nil
}
