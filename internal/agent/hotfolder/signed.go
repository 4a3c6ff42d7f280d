package hotfolder

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
)

// giveBack saves copies of the files of a package beside the document that it came from, once they are in the office's
// folder, each once. It reports whether there is nothing left to wait for.
func (r *Room) giveBack(ctx context.Context, in *office.Intake) (done bool, err error) {
	if in.Again {
		return true, nil // its twin has them
	}
	p, jobs, known, err := r.packageOf(in)
	if err != nil || !known {
		return false, err
	}
	for _, j := range jobs {
		if j.State != office.JobDone || in.Returned[j.Key()].Done {
			continue
		}
		if err := r.giveBackFile(ctx, in, j); err != nil {
			return false, err
		}
	}
	return over(p, jobs), nil
}

// packageOf is the package that a file became, with its files.
func (r *Room) packageOf(in *office.Intake) (p office.Package, jobs []office.Job, known bool, err error) {
	p, err = read(r, "a package", func(tx *store.Tx) (p office.Package, err error) {
		if p, known, err = tx.PackageByDraft(in.Draft); err == nil && known {
			jobs, err = tx.JobsOf(p.ID)
		}
		return p, err
	})
	return p, jobs, known && err == nil, err
}

// over reports whether no more files of a package are to come.
func over(p office.Package, jobs []office.Job) bool {
	return p.State.Over() || p.Planned && office.AllSaved(jobs)
}

// rests reports whether a file lies where it belongs and its package has nothing to give back yet: its folder, which may be
// on a slow share, need not be asked.
func (r *Room) rests(in *office.Intake) (bool, error) {
	if in.Place() != office.HotSent || in.Next != "" || in.Again {
		return false, nil
	}
	p, jobs, known, err := r.packageOf(in)
	due := slices.ContainsFunc(jobs, func(j office.Job) bool { return j.State == office.JobDone && !in.Returned[j.Key()].Done })
	return err == nil && (!known || !due && !over(p, jobs)), err
}

// giveBackFile saves a copy of one file.
func (r *Room) giveBackFile(ctx context.Context, in *office.Intake, j office.Job) error {
	if disk.Inside(filepath.Dir(filepath.Join(j.Folder, filepath.FromSlash(j.Target))), filepath.Join(in.Path, office.HotSigned)) {
		return r.returned(in, j, in.Returned[j.Key()].Target) // the office saves it there itself
	}
	source, err := os.Open(filepath.Join(j.Folder, filepath.FromSlash(j.Target)))
	if err != nil {
		return r.notReturned(in, j, err)
	}
	defer source.Close()
	folder, err := archive.OpenFolder(in.Path)
	if err != nil {
		return &folderError{folderTrouble(in.Path, err)}
	}
	defer folder.Close()
	save := "hot folder " + in.ID + "/" + j.Key()
	if in.Returned[j.Key()].Target != "" { // a save has begun before, and the program may have been killed in it
		_, _ = folder.Sweep(ctx, func(token string) bool { return token != archive.Token(save) }) // what stays is hidden
	}
	for i := 1; ctx.Err() == nil; i++ {
		target := in.Returned[j.Key()].Target
		if target != "" {
			if there, err := folder.Matches(target, j.Size, j.Digest); err == nil && there {
				return r.returned(in, j, target) // it was saved when the program ended
			}
		}
		if free, err := isFree(folder, target); err != nil {
			return &folderError{folderTrouble(in.Path, err)}
		} else if !free {
			target = filename.Numbered(path.Join(office.HotSigned, path.Base(j.Target)), i)
			if free, err := isFree(folder, target); err != nil || !free {
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
				r.needs.Crash("folder copied")
				return nil
			},
		})
		switch {
		case err == nil:
			r.needs.Crash("folder returned")
			return r.returned(in, j, target)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, archive.ErrExists):
			if _, err := source.Seek(0, 0); err != nil {
				return r.notReturned(in, j, err)
			}
		case errors.Is(err, errOther), errors.Is(err, archive.ErrShort), errors.Is(err, archive.ErrLong), errors.Is(err, archive.ErrNotPDF), errors.Is(err, archive.ErrNoEnd):
			return r.notReturned(in, j, errOther)
		default:
			return &folderError{folderTrouble(in.Path, err)}
		}
	}
	return nil
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

func (r *Room) returned(in *office.Intake, j office.Job, target string) error {
	return r.reserve(in, j, office.Returned{Target: target, Done: true})
}

// reserve records what is to be done, or was done, about one file.
func (r *Room) reserve(in *office.Intake, j office.Job, x office.Returned) error {
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
func (r *Room) notReturned(in *office.Intake, j office.Job, cause error) error {
	if _, err := os.Stat(j.Folder); err != nil || !errors.Is(cause, fs.ErrNotExist) && !errors.Is(cause, errOther) {
		return &folderError{folderTrouble(j.Folder, cause)}
	}
	if err := r.returned(in, j, ""); err != nil {
		return err
	}
	r.Record(office.Activity{Kind: "problem", PackageID: j.PackageID, Text: message.NotReturned(path.Base(j.Target), filepath.Base(in.Path))})
	return nil
}
