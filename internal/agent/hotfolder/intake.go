package hotfolder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/agent/data"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// take starts processing a file seen in its folder: from here on it is recorded, and not mistaken for another one.
func (r *Service) take(ctx context.Context, f office.HotFolder, dir *disk.Dir, seen fs.FileInfo) error {
	name := seen.Name()
	if now, err := dir.Lstat(name); err != nil || !unchanged(now, seen) {
		return nil // the next scan sees what it is now
	}
	if !utf8.ValidString(name) {
		return r.makeReadable(f, dir, name)
	}
	in := office.Intake{ID: r.newID(), Folder: f.ID, Path: f.Path, Real: f.Real, Name: name, At: name, Created: r.Now(), Size: seen.Size(), Changed: seen.ModTime()}
	// No other computer uses this subfolder's name, so a file found there was moved by us.
	in.Next = ownPlace(in)
	if err := r.put(in); err != nil {
		return err
	}
	r.Crash("folder recorded")
	return r.advance(ctx, in)
}

// unchanged reports whether a file is the one seen, without changes.
func unchanged(now, seen fs.FileInfo) bool {
	return os.SameFile(now, seen) && now.Size() == seen.Size() && now.ModTime().Equal(seen.ModTime())
}

// makeReadable renames a file within its folder to a name that can be recorded; the next scan finds it.
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

// advance processes a file as far as possible now.
func (r *Service) advance(ctx context.Context, in office.Intake) error {
	dir, err := r.openOf(in)
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

// step does the next step for a file, and reports whether there may be more.
func (r *Service) step(ctx context.Context, dir *disk.Dir, in *office.Intake) (goOn bool, err error) {
	switch {
	case in.Next != "":
		return r.move(dir, in)
	case in.Place() == "": // put back because its folder no longer sends
		return false, r.drop(*in)
	case in.Draft == "" && in.Problem.IsZero():
		return r.become(ctx, dir, in)
	}
	place, err := r.place(in)
	if err != nil {
		return false, err
	}
	if place == office.HotSent && in.Place() != place {
		if apart, err := r.setApart(dir, in); err != nil || apart {
			return apart, err
		}
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

// told reports once why a file is in Problems. Once a person has removed the file, its record is deleted. There is no notification
// of what a person has withdrawn.
func (r *Service) told(dir *disk.Dir, in *office.Intake) error {
	if in.Explained != in.At {
		if err := r.explain(dir, *in); err != nil {
			return err
		}
		in.Explained, in.Tell = in.At, in.Problem != message.FileTakenBack()
		if err := r.put(*in); err != nil {
			return err
		}
		r.Crash("folder explained")
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
	f, err := data.Read(r.Data, "a folder that sends", func(tx *store.Tx) (f office.HotFolder, err error) {
		f, known = folderIn(tx, in.Folder)
		return f, nil
	})
	if err != nil {
		return false, err
	}
	if !known {
		return true, r.plan(dir, in, "")
	}
	if m, may := r.sender(f); !may || f.Paused {
		if !m.IsZero() {
			err = &folderError{m}
		}
		return false, err
	}
	problem := message.FileType(in.Name)
	if office.Sendable(in.Name) {
		file, info, err := openFile(dir, in)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, r.drop(*in) // a person has removed it
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
				r.Crash("folder drafted")
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

var errAgain = errors.New("the same file was written again")

// send stores a draft for a file, recording in the same commit that it belongs to this file, or that this file belongs to an earlier
// draft.
func (r *Service) send(ctx context.Context, in *office.Intake, f office.HotFolder, file *os.File, info fs.FileInfo) error {
	next := *in
	err := r.deps.Send(ctx, f, file, r.fileOf(*in, in.At), func(tx *store.Tx, d *office.Draft) error {
		next = *in
		next.SHA256 = d.Files[0].SHA256
		if in.Found {
			d.State, d.Problem = office.DraftHeld, message.FileOfBefore(in.Name)
		} else {
			r.holdOld(tx, d, info.ModTime(), in.Name)
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
		err = r.Data.Update(func(tx *store.Tx) error {
			putIntake(tx, next)
			return tx.AddActivity(office.Activity{Time: r.Now(), Kind: office.ActivitySent, Text: message.FileCameTwice(in.Name, filepath.Base(in.Path))})
		})
	}
	if err == nil {
		*in = next
	}
	return err
}

// place returns the subfolder in which a file belongs, depending on its draft's outcome.
func (r *Service) place(in *office.Intake) (string, error) {
	if in.Draft == "" {
		return office.HotProblems, nil
	}
	var known bool
	d, err := data.Read(r.Data, "a draft", func(tx *store.Tx) (d office.Draft, err error) {
		d, known, err = tx.LatestDraft(in.Draft)
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
	case d.State == office.DraftHeld && d.Astray:
		in.Problem = d.Problem
		in.Ask = in.Ask || in.Problem != was.Problem
	}
	if in.Draft == was.Draft && in.Problem == was.Problem {
		return place, nil
	}
	return place, r.put(*in)
}

// What happens when a document appears in its folder again depends on the outcome of its first draft:
//
//   - It was never sent, and will not be: this file is sent.
//   - It is about to be sent, or people can sign it, and this file has the same name and the same people: it belongs to that draft,
//     and the activity says so. While people can sign, this holds only for as long as a program may take to write a file twice.
//   - Otherwise it is held for a person, who is told why.

// echo is how soon the same bytes under the same name count as one file that its program wrote twice, rather than as a second
// sending.
const echo = 2 * time.Minute

// progress is how far a folder's document has come.
type progress int

const (
	unsent  progress = iota // not sent, and not sent automatically
	waiting                 // about to be sent, or a person decides
	signing                 // people can sign it, as far as is known
	ended                   // sent and over, or possibly so
)

// progressOf returns the progress of the draft with that id, or of the one that replaced it.
func progressOf(tx *store.Tx, id string) (progress, error) {
	d, known, err := tx.LatestDraft(id)
	switch {
	case err != nil && !store.OfOneRecord(err):
		return ended, err
	case err != nil, !known:
		return ended, nil // it may have been sent
	case wasSent(d):
	case d.State == office.DraftFailed, d.State == office.DraftCancelled:
		return unsent, nil
	default:
		return waiting, nil
	}
	p, known, _ := tx.PackageByDraft(d.ID)
	if !known || p.State.Over() || p.State == office.PackageExecuted || p.Withdrawal != nil || p.SomeoneDeclined() {
		return ended, nil
	}
	return signing, nil
}

// wasSent reports whether the service has d, according to the service or to a person.
func wasSent(d office.Draft) bool {
	return d.State == office.DraftSent || d.State == office.DraftCancelled && d.Was == office.DraftUnknown
}

type seen struct {
	Name  string    `json:"name"`
	Draft string    `json:"draft"`
	Time  time.Time `json:"time"`
	Day   int       `json:"day"` // counted day
}

func seenDoc(sha256, folder string) string { return prefixSeen + sha256 + "/" + folder }

// cameBefore returns the earlier file with these bytes that became a draft, in that folder or in one that is no longer here: it may
// have been the same. If its record is unreadable, only its existence is certain, and the present file's name is used.
func cameBefore(tx *store.Tx, sha256, folder, name string) (s seen, before bool) {
	docs, _ := tx.DocNames(seenDoc(sha256, ""))
	for _, doc := range docs {
		of := strings.TrimPrefix(doc, seenDoc(sha256, ""))
		if _, here := folderIn(tx, of); of != folder && (here || before) {
			continue
		}
		before, s = true, seen{}
		if known, _ := tx.GetDoc(doc, &s); !known {
			s = seen{Name: name}
		}
	}
	return s, before
}

// Seen returns the files that have been sent, for another computer.
func Seen(tx *store.Tx) (list []office.SeenFile) {
	for doc, s := range store.Docs[seen](tx, prefixSeen, "") {
		sha256, _, _ := strings.Cut(strings.TrimPrefix(doc, prefixSeen), "/")
		list = append(list, office.SeenFile{SHA256: sha256, Name: s.Name})
	}
	return list
}

// AdoptSeen stores the files that another computer has sent from its folders.
func AdoptSeen(tx *store.Tx, list []office.SeenFile, now time.Time) {
	day, _ := tx.Day()
	for _, f := range list {
		tx.PutDoc(seenDoc(f.SHA256, ""), seen{Name: f.Name, Time: now, Day: day})
	}
}

// repeats handles d, the draft of in's file, if its document came before: it holds d with the reason, or returns the draft to which
// the file belongs. Otherwise it records that the document came.
func (r *Service) repeats(tx *store.Tx, in office.Intake, d *office.Draft) (twin string, err error) {
	before, again := cameBefore(tx, d.Files[0].SHA256, d.Folder, in.Name)
	far := unsent
	if again {
		if far, err = progressOf(tx, before.Draft); err != nil {
			return "", err
		}
	}
	switch age := r.Now().Sub(before.Time); {
	case far == unsent:
		day, _ := tx.Day()
		return "", tx.PutDoc(seenDoc(d.Files[0].SHA256, d.Folder), seen{in.Name, d.ID, r.Now(), day})
	case in.Found: // only its record was lost
		if far == waiting && !hasIntake(tx, before.Draft) {
			return before.Draft, nil
		}
	case before.Name == in.Name && (far == waiting || far == signing && age.Abs() < echo):
		first, _, err := tx.Draft(before.Draft)
		if err != nil && !store.OfOneRecord(err) {
			return "", err
		}
		if sameTerms(first, *d) {
			return before.Draft, nil
		}
	}
	d.State, d.Problem = office.DraftHeld, message.FileSentBefore(before.Name)
	if far == waiting {
		d.Problem = message.FileWaitsAlready(before.Name)
	}
	return "", nil
}

// hasIntake reports whether there is a record of a draft's file.
func hasIntake(tx *store.Tx, draft string) bool {
	return slices.ContainsFunc(intakesIn(tx), func(x office.Intake) bool { return x.Draft == draft && !x.Again })
}

// sameTerms reports whether two drafts of one document ask the same of the same people.
func sameTerms(a, b office.Draft) bool {
	return a.Name == b.Name && a.Message == b.Message && a.Sequential == b.Sequential && a.Due.Equal(b.Due) && a.By == b.By &&
		slices.Equal(a.Signers, b.Signers) && slices.Equal(a.Recipients, b.Recipients)
}

// textEnding is added to a file's name for the text about it.
const textEnding = ".txt"

// longestName is the longest file name, in bytes, that every system allows.
const longestName = 255

// textOf returns the path of the text about the file at a path.
func textOf(at string) string {
	place, name := path.Split(at)
	if most := longestName - len(textEnding); len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return place + name + textEnding
}

// explain writes, next to a file that was not sent, why. An existing text is kept.
func (r *Service) explain(dir *disk.Dir, in office.Intake) error {
	text := textOf(in.At)
	if there, err := find(dir, &in, text); err != nil || there != nil {
		return err
	}
	words := r.deps.Words()
	lines := []string{words.Text(message.FileNotSent(in.Name)), words.Text(in.Problem), words.Text(message.FileBackIn(filepath.Base(in.Path)))}
	end := "\n"
	if runtime.GOOS == "windows" {
		end = "\r\n"
	}
	place, name, err := dir.Parent(text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a person has removed all of Problems
	}
	if err != nil {
		return trouble(in.Path, err)
	}
	defer place.Close()
	if err := place.WriteNew(name, []byte(strings.Join(lines, end+end)+end), 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
		return trouble(in.Path, err)
	}
	r.Record(office.Activity{Kind: office.ActivityProblem, Text: message.Then(message.FileNotSent(in.Name), in.Problem, message.FileInProblems(calledFolder(in)))})
	return nil
}
