package hotfolder

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"

	"github.com/google/uuid"
)

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
	return in, err == nil && len(jobs) > 0 && !hasIntake(tx, p.DraftID), err
}

// rest has the record of a document in Sent rest when there is nothing to give back for now, or ends it when nothing more will
// come. It reports whether it did.
func (r *Service) rest(in *office.Intake) (rests bool, err error) {
	if due, err := read(r, "what came back signed", func(tx *store.Tx) ([]office.Job, error) { return due(tx, in) }); err != nil || len(due) > 0 {
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
	return slices.DeleteFunc(jobs, func(j office.Job) bool { return j.State != office.JobDone || in.Returned[j.Key()].Done }), err
}

// giveBack saves copies of the files that are due beside the document that they came from, each once.
func (r *Service) giveBack(ctx context.Context, dir *disk.Dir, in *office.Intake) error {
	jobs, err := read(r, "what came back signed", func(tx *store.Tx) ([]office.Job, error) { return due(tx, in) })
	for _, j := range jobs {
		if err == nil {
			err = r.giveBackFile(ctx, dir, in, j)
		}
	}
	return err
}

// giveBackFile saves a copy of one file.
func (r *Service) giveBackFile(ctx context.Context, dir *disk.Dir, in *office.Intake, j office.Job) error {
	if disk.Inside(filepath.Dir(filepath.Join(j.Folder, filepath.FromSlash(j.Target))), filepath.Join(in.Path, office.HotSigned)) {
		return r.returned(in, j, in.Returned[j.Key()].Target) // the office saves it there itself
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
	save := "hot folder " + in.ID + "/" + j.Key()
	if in.Returned[j.Key()].Target != "" { // a save has begun before, and the program may have been killed in it
		_, _ = folder.Sweep(ctx, func(token string) bool { return token != archive.Token(save) }) // what stays is hidden
	}
	for i, lost := 1, false; ; i++ {
		if err := ctx.Err(); err != nil {
			return err // what an ended program has not done is not done
		}
		target := in.Returned[j.Key()].Target
		if target != "" {
			if there, err := folder.Matches(target, j.Size, j.Digest); err == nil && there {
				return r.returned(in, j, target) // it was saved when the program ended
			}
		}
		if free, err := isFree(folder, target); err != nil {
			return trouble(in.Path, err)
		} else if !free || lost {
			target = filename.Numbered(path.Join(office.HotSigned, path.Base(j.Target)), i)
			if same, err := folder.Matches(target, j.Size, j.Digest); err == nil && same {
				return r.returned(in, j, target) // in a time of which nothing is known any more
			}
			if free, err := isFree(folder, target); err != nil {
				return trouble(in.Path, err)
			} else if !free {
				continue
			}
			if err := r.reserve(in, j, office.Returned{Target: target}); err != nil {
				return err
			}
		}
		_, err := folder.Save(ctx, archive.Request{
			Target: target, Key: save, Declared: j.Size, Before: j.Digest,
			Body: source,
			Commit: func(s archive.Saved) error {
				if strings.Contains(j.Digest, ":") && s.Digest != j.Digest {
					return errOther
				}
				r.deps.Crash("folder copied")
				return nil
			},
		})
		switch {
		case err == nil:
			r.deps.Crash("folder returned")
			return r.returned(in, j, target)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, archive.ErrExists): // whatever a look at it says
			lost = true
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

// isFree reports whether a file can get that name; none has the empty one.
func isFree(folder *archive.Folder, target string) (bool, error) {
	if target == "" {
		return false, nil
	}
	there, err := folder.Exists(target)
	return !there, err
}

func (r *Service) returned(in *office.Intake, j office.Job, target string) error {
	return r.reserve(in, j, office.Returned{Target: target, Done: true})
}

// reserve records what is to be done, or was done, about one file.
func (r *Service) reserve(in *office.Intake, j office.Job, x office.Returned) error {
	next := *in
	next.Returned = map[string]office.Returned{}
	for key, value := range in.Returned {
		next.Returned[key] = value
	}
	next.Returned[j.Key()] = x
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
	if !gone || holdsNothing(j.Folder) {
		return trouble(j.Folder, cause)
	}
	if err := r.returned(in, j, ""); err != nil {
		return err
	}
	r.Record(office.Activity{Kind: "problem", PackageID: j.PackageID, Text: message.NotReturned(path.Base(j.Target), filepath.Base(in.Path))})
	return nil
}

// holdsNothing reports whether a folder is away, or empty as what a share is mounted on is while it is not.
func holdsNothing(path string) bool {
	dir, err := disk.OpenDir(path)
	if err != nil {
		return true
	}
	defer dir.Close()
	_, err = dir.File().Readdirnames(1)
	return err != nil
}
