package hotfolder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// take begins the way of a file that was seen in its folder: from here on it is known, and nobody takes it for another one.
func (r *Service) take(ctx context.Context, f office.HotFolder, dir *disk.Dir, seen fs.FileInfo) error {
	name := seen.Name()
	if now, err := dir.Lstat(name); err != nil || !unchanged(now, seen) {
		return nil // the next look tells what it is now
	}
	if !utf8.ValidString(name) {
		return r.makeReadable(f, dir, name)
	}
	in := office.Intake{ID: r.newID(), Folder: f.ID, Path: f.Path, Real: f.Real, Name: name, At: name, Created: r.Now(), Size: seen.Size(), Changed: seen.ModTime()}
	// The subfolder has a name that no other computer gives: whoever finds the file there has moved it.
	in.Next = ownPlace(in)
	if err := r.put(in); err != nil {
		return err
	}
	r.deps.Crash("folder recorded")
	return r.advance(ctx, in)
}

// unchanged reports whether a file is the one that was seen, as it was then.
func unchanged(now, seen fs.FileInfo) bool {
	return os.SameFile(now, seen) && now.Size() == seen.Size() && now.ModTime().Equal(seen.ModTime())
}

// makeReadable gives a file a name that can be recorded, in its folder, where it is found again by that.
func (r *Service) makeReadable(f office.HotFolder, dir *disk.Dir, name string) error {
	for i := 1; ; i++ {
		err := dir.Take(name, dir, filename.Numbered(strings.ToValidUTF8(name, "_"), i))
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil
		case !errors.Is(err, fs.ErrExist):
			return trouble(f.Path, err)
		}
	}
}

// advance brings a file as far as it can go now.
func (r *Service) advance(ctx context.Context, in office.Intake) error {
	if in.Place() == office.HotSent && in.Next == "" {
		if rests, err := r.rest(&in); err != nil || rests {
			return err
		}
	}
	real, err := r.realOf(in)
	if err != nil {
		return err
	}
	dir, err := r.openFolder(in.Path, real)
	if err != nil {
		return err
	}
	defer dir.Close()
	if in.Place() != "" && !isThere(dir) {
		return trouble(in.Path, fs.ErrNotExist)
	}
	for ctx.Err() == nil {
		goOn, err := r.step(ctx, dir, &in)
		if err != nil || !goOn {
			return err
		}
	}
	return ctx.Err()
}

// step does the next thing that is to be done about a file, and reports whether there may be more.
func (r *Service) step(ctx context.Context, dir *disk.Dir, in *office.Intake) (goOn bool, err error) {
	switch {
	case in.Next != "":
		return r.move(dir, in)
	case in.Place() == "": // it was put back, for its folder sends no more
		return false, r.drop(*in)
	case in.Draft == "" && in.Problem.IsZero():
		return r.become(ctx, dir, in)
	}
	place, err := r.place(in)
	if err != nil {
		return false, err
	}
	if place != in.Place() {
		return true, r.plan(dir, in, place)
	}
	switch place {
	case office.HotProblems:
		return false, r.told(dir, in)
	case office.HotSent:
		if err := r.giveBack(ctx, dir, in); err != nil {
			return false, err
		}
		rests, err := r.rest(in)
		return !rests, err
	}
	return false, nil
}

// told says once why a file lies in Problems. Whoever clears it away is done with it. Nobody is notified of what a person has
// taken back.
func (r *Service) told(dir *disk.Dir, in *office.Intake) error {
	if in.Explained != in.At {
		if err := r.explain(dir, *in); err != nil {
			return err
		}
		in.Explained, in.Tell = in.At, in.Problem != message.FileTakenBack()
		if err := r.put(*in); err != nil {
			return err
		}
		r.deps.Crash("folder explained")
	}
	if in.Tell {
		return nil
	}
	there, err := find(dir, in, in.At)
	if err == nil && (in.Draft == "" || there == nil) {
		err = r.drop(*in)
	}
	return err
}

// become makes a draft of a file that was taken.
func (r *Service) become(ctx context.Context, dir *disk.Dir, in *office.Intake) (goOn bool, err error) {
	var known bool
	f, err := read(r, "a folder that sends", func(tx *store.Tx) (f office.HotFolder, err error) {
		f, known, err = folderIn(tx, in.Folder)
		return f, err
	})
	if err != nil {
		return false, err
	}
	if !known {
		return true, r.plan(dir, in, "")
	}
	if m, may := r.sender(f); !may {
		if !m.IsZero() {
			err = &folderError{m}
		}
		return false, err
	}
	problem := message.FileType(in.Name)
	if office.Sendable(in.Name) {
		file, info, err := open(dir, in)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, r.drop(*in) // a person has taken it away
		case errors.As(err, new(*folderError)):
			return false, err
		case errors.Is(err, disk.ErrLink), errors.Is(err, disk.ErrNotFile), errors.Is(err, fs.ErrPermission):
			problem = message.FileMayNotBeRead(in.Name)
		case err != nil:
			return false, trouble(in.Path, err)
		default:
			err = r.send(ctx, in, f, file, info)
			file.Close()
			switch {
			case ctx.Err() != nil:
				return false, ctx.Err()
			case err == nil:
				r.deps.Crash("folder drafted")
				return true, nil
			case r.deps.Passes(err):
				return false, &folderError{message.For(err)}
			}
			var told interface{ Message() message.Message }
			if store.OfOneRecord(err) || !errors.As(err, &told) {
				return false, err
			}
			problem = told.Message()
		}
	}
	in.Problem = problem
	return true, r.plan(dir, in, office.HotProblems)
}

// errAgain is a file that is a draft already.
var errAgain = errors.New("the same file was written again")

// send stores a draft for a file, and in the same commit that it is this file's, or that it is the file of another one.
func (r *Service) send(ctx context.Context, in *office.Intake, f office.HotFolder, file *os.File, info fs.FileInfo) error {
	next := *in
	err := r.deps.Send(ctx, f, file, r.fileOf(*in, in.At), func(tx *store.Tx, d *office.Draft) error {
		next = *in
		if in.Found {
			d.State, d.Problem = office.DraftHeld, message.FileOfBefore(in.Name)
		} else if err := holdOld(tx, d, info.ModTime(), in.Name, r.Now()); err != nil {
			return err
		}
		twin, err := r.repeats(tx, *in, d)
		if err != nil {
			return err
		}
		if twin != "" {
			next.Draft, next.Again = twin, !in.Found
			return errAgain
		}
		next.Draft, next.Ask = d.ID, d.State == office.DraftHeld
		return putIntake(tx, next)
	})
	if errors.Is(err, errAgain) && in.Found {
		err = r.put(next)
	} else if errors.Is(err, errAgain) {
		line := office.Activity{Time: r.Now(), Kind: "sent", Text: message.FileCameTwice(in.Name, filepath.Base(in.Path))}
		err = r.Data.Update(func(tx *store.Tx) error { return errors.Join(putIntake(tx, next), tx.AddActivity(line)) })
		if err == nil {
			r.Tell(line)
		}
	}
	if err == nil {
		*in = next
	}
	return err
}

// place is the subfolder in which a file belongs, by what became of its draft.
func (r *Service) place(in *office.Intake) (string, error) {
	if in.Draft == "" {
		return office.HotProblems, nil
	}
	var known bool
	d, err := read(r, "a draft", func(tx *store.Tx) (d office.Draft, err error) {
		d, known, err = latest(tx, in.Draft)
		return d, err
	})
	if err != nil {
		return "", err
	}
	if !known {
		return in.Place(), nil
	}
	was := *in
	in.Draft, in.Problem = d.ID, message.Message{}
	place := office.HotWaiting
	switch {
	case wasSent(d):
		place = office.HotSent
	case d.State == office.DraftFailed:
		place, in.Problem = office.HotProblems, message.Then(d.Problem, message.FileInOutbox())
	case d.State == office.DraftCancelled:
		place, in.Problem = office.HotProblems, message.FileTakenBack()
	}
	if in.Draft == was.Draft && in.Problem == was.Problem {
		return place, nil
	}
	return place, r.put(*in)
}
