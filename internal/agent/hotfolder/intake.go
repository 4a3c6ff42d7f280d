package hotfolder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// take begins the way of a file: from here on it is known, and nobody takes it for another one.
func (r *Room) take(ctx context.Context, f office.HotFolder, name string) error {
	if !utf8.ValidString(name) {
		return r.makeReadable(f, name)
	}
	in := office.Intake{ID: uuid.NewString(), Folder: f.ID, Path: f.Path, Name: name, At: name, Created: r.Now()}
	// The subfolder has a name that no other computer gives: whoever finds the file there has moved it.
	in.Next = ownPlace(in)
	if err := r.put(in); err != nil {
		return err
	}
	r.needs.Crash("folder recorded")
	return r.advance(ctx, in)
}

// ownPlace is where a file lies in Waiting: in a subfolder in which nobody puts another.
func ownPlace(in office.Intake) string {
	return path.Join(office.HotWaiting, in.Created.Local().Format("2006-01-02 1504")+" "+in.ID[:8], in.Name)
}

// makeReadable gives a file a name that can be recorded, in its folder, where it is found again by that.
func (r *Room) makeReadable(f office.HotFolder, name string) error {
	for i := 1; ; i++ {
		err := disk.MoveNew(f.Path, name, filename.Numbered(strings.ToValidUTF8(name, "_"), i))
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil
		case !errors.Is(err, fs.ErrExist):
			return &folderError{folderTrouble(f.Path, err)}
		}
	}
}

// isThere reports whether the folder of in is there, and not only the place where its disk or share appears: it has
// subfolders of ours. Whoever finds a file missing asks that first.
func (r *Room) isThere(in office.Intake) bool {
	for _, place := range []string{office.HotWaiting, office.HotSent, office.HotSigned, office.HotProblems} {
		if taken(r.fileOf(in, place)) {
			return true
		}
	}
	return false
}

// advance brings a file as far as it can go now.
func (r *Room) advance(ctx context.Context, in office.Intake) error {
	if in.Place() == office.HotSent && in.Next == "" {
		if rests, err := r.rest(&in); err != nil || rests {
			return err
		}
	}
	if _, err := os.Stat(in.Path); err != nil {
		return &folderError{folderTrouble(in.Path, err)}
	}
	if in.Place() != "" && !r.isThere(in) {
		return &folderError{folderTrouble(in.Path, fs.ErrNotExist)}
	}
	for ctx.Err() == nil {
		goOn, err := r.step(ctx, &in)
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}

// step does the next thing that is to be done about a file, and reports whether there may be more.
func (r *Room) step(ctx context.Context, in *office.Intake) (goOn bool, err error) {
	switch {
	case in.Next != "":
		return r.move(in)
	case in.Place() == "": // it was put back, for its folder sends no more
		return false, r.drop(*in)
	case in.Draft == "" && in.Problem.IsZero():
		return r.become(ctx, in)
	}
	place, err := r.place(in)
	if err != nil {
		return false, err
	}
	if place != in.Place() {
		return true, r.plan(in, place)
	}
	switch place {
	case office.HotProblems:
		return false, r.told(in)
	case office.HotSent:
		if err := r.giveBack(ctx, in); err != nil {
			return false, err
		}
		rests, err := r.rest(in)
		return !rests, err
	}
	return false, nil
}

// told says once why a file lies in Problems. Whoever clears it away is done with it. Nobody is notified of what a person has
// taken back.
func (r *Room) told(in *office.Intake) error {
	if in.Explained != in.At {
		if err := r.explain(*in); err != nil {
			return err
		}
		in.Explained, in.Tell = in.At, in.Problem != message.FileTakenBack()
		if err := r.put(*in); err != nil {
			return err
		}
		r.needs.Crash("folder explained")
	}
	if in.Tell {
		return nil
	}
	if _, err := os.Lstat(r.fileOf(*in, in.At)); in.Draft == "" || errors.Is(err, fs.ErrNotExist) {
		return r.drop(*in)
	}
	return nil
}

// become makes a draft of a file that was taken.
func (r *Room) become(ctx context.Context, in *office.Intake) (goOn bool, err error) {
	var known bool
	f, err := read(r, "a folder that sends", func(tx *store.Tx) (f office.HotFolder, err error) {
		f, known, err = folderIn(tx, in.Folder)
		return f, err
	})
	if err != nil {
		return false, err
	}
	if !known {
		return true, r.plan(in, "")
	}
	if m, may := r.sender(f); !may {
		if !m.IsZero() {
			err = &folderError{m}
		}
		return false, err
	}
	file := r.fileOf(*in, in.At)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return false, r.drop(*in) // a person has taken it away
	} else if err != nil {
		return false, &folderError{folderTrouble(in.Path, err)}
	}
	problem := message.FileType(in.Name)
	if office.Sendable(in.Name) {
		problem = r.needs.Inspect(ctx, file)
	}
	if ctx.Err() != nil {
		return false, nil
	}
	if problem.IsZero() {
		err = r.send(ctx, in, f, file)
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err == nil:
			r.needs.Crash("folder drafted")
			return true, nil
		case r.needs.Passes(err):
			return false, &folderError{message.For(err)}
		}
		var told interface{ Message() message.Message }
		if store.OfOneRecord(err) || !errors.As(err, &told) {
			return false, err
		}
		problem = told.Message()
	}
	in.Problem = problem
	return true, r.plan(in, office.HotProblems)
}

// errAgain is a file that is a draft already.
var errAgain = errors.New("the same file was written again")

// send stores a draft for a file, and in the same commit that it is this file's, or that it is the file of another one.
func (r *Room) send(ctx context.Context, in *office.Intake, f office.HotFolder, file string) error {
	next := *in
	err := r.needs.Send(ctx, f, file, func(tx *store.Tx, d *office.Draft) error {
		next = *in
		if err := holdOld(tx, d, file, in.Name, r.Now()); err != nil {
			return err
		}
		twin, err := r.repeats(tx, in.Name, d)
		if err != nil {
			return err
		}
		if twin != "" {
			next.Draft, next.Again = twin, true
			return errAgain
		}
		next.Draft, next.Ask = d.ID, d.State == office.DraftHeld
		return putIntake(tx, next)
	})
	if errors.Is(err, errAgain) {
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
func (r *Room) place(in *office.Intake) (string, error) {
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

// fileOf is the path of a file in the hot folder of in.
func (r *Room) fileOf(in office.Intake, at string) string {
	return filepath.Join(in.Path, filepath.FromSlash(at))
}

// plan chooses where a file goes next, and records that.
func (r *Room) plan(in *office.Intake, place string) error {
	wanted := path.Join(place, in.Name)
	if place == office.HotWaiting {
		wanted = ownPlace(*in)
	}
	for i := 1; ; i++ {
		next := filename.Numbered(wanted, i)
		if taken(r.fileOf(*in, next)) || place == office.HotProblems && taken(r.fileOf(*in, textOf(next))) {
			continue
		}
		in.Next = next
		return r.put(*in)
	}
}

func taken(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// move moves a file to where it goes next, or finds that it was moved.
func (r *Room) move(in *office.Intake) (goOn bool, err error) {
	from, to := r.fileOf(*in, in.At), r.fileOf(*in, in.Next)
	here, err := os.Lstat(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, &folderError{folderTrouble(in.Path, err)}
	}
	there, missing := os.Lstat(to)
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return false, &folderError{folderTrouble(in.Path, missing)}
	}
	switch {
	case err != nil && missing != nil && !r.isThere(*in):
		return false, &folderError{folderTrouble(in.Path, err)}
	case err != nil && missing != nil && in.Place() == "":
		return false, r.drop(*in) // it was renamed or taken away, or another computer was quicker
	case err != nil: // it was moved, or a person has taken it away
		return true, r.moved(in)
	case missing == nil && os.SameFile(here, there): // where names are given in two steps, the second was not done
		if err := os.Remove(from); err != nil {
			return false, &folderError{folderTrouble(in.Path, err)}
		}
		return true, r.moved(in)
	case missing == nil && in.Next == ownPlace(*in): // it was moved, and another one has come under its name
		return true, r.moved(in)
	case missing == nil:
		return true, r.plan(in, path.Dir(in.Next))
	}
	if err := r.makePlace(in.Path, path.Dir(in.Next)); err != nil {
		return false, err
	}
	err = disk.MoveNew(in.Path, in.At, in.Next)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return true, nil // look again
	}
	if err != nil {
		return false, &folderError{folderTrouble(in.Path, err)}
	}
	r.needs.Crash("folder moved")
	return true, r.moved(in)
}

// moved records that a file is where it went, and removes what is left behind.
func (r *Room) moved(in *office.Intake) error {
	from, before := in.At, in.Place()
	next := *in
	next.At, next.Next = in.Next, ""
	next.Explained, next.Tell = "", false
	err := r.Data.Update(func(tx *store.Tx) error {
		if in.Draft != "" {
			if err := r.needs.Moved(tx, in.Draft, r.fileOf(*in, from), r.fileOf(*in, in.Next)); err != nil {
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
		_ = os.Remove(filepath.Dir(r.fileOf(*in, from))) // unless something else is in it
	case office.HotProblems:
		_ = os.Remove(r.fileOf(*in, textOf(from)))
	}
	return nil
}

// makePlace makes a subfolder of a hot folder. A link that leads elsewhere is not followed.
func (r *Room) makePlace(folder, place string) error {
	dir := filepath.Join(folder, filepath.FromSlash(place))
	for p := dir; p != folder; p = filepath.Dir(p) {
		if info, err := os.Lstat(p); err == nil && !info.IsDir() {
			return &folderError{archive.Message(&archive.Error{Kind: archive.ErrOutside, Folder: folder, File: filepath.Base(p)})}
		}
	}
	if err := disk.MkdirIn(folder, filepath.FromSlash(place), 0o755); err != nil {
		return &folderError{folderTrouble(folder, err)}
	}
	return nil
}
