package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// What goes out is what was given, whatever becomes of the file it was read from: a copy of it is in the data folder, for
// its owner alone, before its draft is stored, and stays as long as the draft may be sent.
const (
	copySpare  = 4 << 20   // bytes that must stay free beside a copy, for everything else
	heldLarge  = 128 << 20 // bytes of a file that is held
	heldMany   = 16        // files that are held
	heldPeriod = 24 * time.Hour

	heldPrefix = "held-"
)

// copies guards the folder. Safe for concurrent use.
type copies struct {
	taking sync.RWMutex // held for reading from before a copy is made until it is recorded, and for writing by the sweep
	needed swept        // under taking

	mu   sync.Mutex
	held []heldCopy // oldest first
}

// heldCopy is the copy of a file that was shown to Inspect from a place where files do not last, for the draft that may
// come of it: mail programs hand out temporary files and remove them at once. The same goes for the copy of a refused
// draft that is to be changed.
type heldCopy struct {
	path, name string
	taken      time.Time
}

// swept is what a sweep saw that found every copy needed by a draft.
type swept struct {
	names  []string
	drafts uint64 // see store.DraftsSum
}

func (r *Room) copiesDir() string { return locations.Outbox(r.needs.DataDir) }

// bytesOf is the path of the bytes that go out for f.
func (r *Room) bytesOf(f office.DraftFile) string {
	if f.Copy == "" {
		return f.Path
	}
	return filepath.Join(r.copiesDir(), f.Copy)
}

// takeCopies copies the files of a draft that is to be stored, and says in d what they are.
func (r *Room) takeCopies(ctx context.Context, d *office.Draft) error {
	var total int64
	for _, f := range d.Files {
		total += f.Size
	}
	if total > office.Largest {
		return &DraftError{message.DraftTooLarge(d.Name, total, office.Largest)}
	}
	for i := range d.Files {
		f := &d.Files[i]
		if f.SHA256 != "" {
			continue // the copy of a held draft, whose place this one takes
		}
		name := fmt.Sprintf("%s-%d", d.ID, i+1)
		taken, err := r.takeCopy(ctx, r.bytesOf(*f), name)
		if err != nil {
			return r.copyError(*f, err)
		}
		f.Copy, f.Size, f.SHA256 = name, taken.Size, taken.SHA256
	}
	return nil
}

func (r *Room) takeCopy(ctx context.Context, path, name string) (archive.Taken, error) {
	source, err := openFile(path)
	if err != nil {
		return archive.Taken{}, errors.Join(archive.ErrUnread, err)
	}
	defer source.Close()
	if err := disk.MkdirAll(r.copiesDir(), 0o700); err != nil {
		return archive.Taken{}, err
	}
	data, err := filepath.Abs(r.needs.DataDir)
	if err != nil {
		return archive.Taken{}, err
	}
	folder, err := archive.OpenFolder(data)
	if err != nil {
		return archive.Taken{}, err
	}
	defer folder.Close()
	return folder.Take(ctx, archive.Taking{Target: filepath.Base(r.copiesDir()) + "/" + name, Source: source, Spare: copySpare})
}

func (r *Room) copyError(f office.DraftFile, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, archive.ErrChanged):
		return &DraftError{message.FileBusy(f.Name)}
	case errors.Is(err, archive.ErrUnread):
		return &DraftError{message.FileMayNotBeRead(f.Name)}
	case errors.Is(err, archive.ErrFull):
		return &DraftError{message.NoRoomForCopy(f.Name)}
	}
	r.Log.Error("copy a file to be sent", "err", err)
	return &DraftError{message.NotCopied(f.Name)}
}

// hold keeps a copy of a file that may be gone by the time it is sent. That it fails is told when it matters.
func (r *Room) hold(ctx context.Context, f office.DraftFile) {
	lasts := f.Copy == "" && !locations.Fleeting(f.Path)
	if lasts || f.Size > heldLarge || strings.HasPrefix(f.Copy, heldPrefix) {
		return
	}
	r.copies.taking.RLock()
	defer r.copies.taking.RUnlock()
	name := heldPrefix + uuid.NewString()
	if _, err := r.takeCopy(ctx, r.bytesOf(f), name); err != nil {
		r.Log.Warn("hold a copy of a temporary file", "err", err)
		return
	}
	r.copies.mu.Lock()
	defer r.copies.mu.Unlock()
	r.copies.drop(func(h heldCopy) bool { return h.path == f.Path })
	r.copies.held = append(r.copies.held, heldCopy{f.Path, name, r.Now()})
	r.copies.held = r.copies.held[max(0, len(r.copies.held)-heldMany):]
}

func (c *copies) drop(which func(heldCopy) bool) { c.held = slices.DeleteFunc(c.held, which) }

// release lets go of the copies held for the files of a draft that is stored, and so has copies of its own.
func (c *copies) release(d office.Draft) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(func(h heldCopy) bool {
		return slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { return f.Path == h.path })
	})
}

// Given is where the bytes are that were given as the file at path: there, or in a copy when nothing is there any more.
func (r *Room) Given(path string) string {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	if name := r.copyOf(path); name != "" {
		return filepath.Join(r.copiesDir(), name)
	}
	return path
}

// copyOf is the name of the newest copy of the file at path, "" for none, or for none that can be found.
func (r *Room) copyOf(path string) (name string) {
	r.copies.mu.Lock()
	for _, h := range r.copies.held {
		if h.path == path {
			name = h.name
		}
	}
	r.copies.mu.Unlock()
	if name != "" {
		return name
	}
	drafts, err := r.Drafts()
	if err != nil {
		return ""
	}
	for _, d := range slices.Backward(drafts) {
		for _, f := range d.Files {
			if f.Path == path && f.Copy != "" {
				return f.Copy
			}
		}
	}
	return ""
}

// sweepCopies removes what no draft needs any more, and what a kill left behind. It comes again: a moment at which a
// draft is just being made is not the right one.
func (r *Room) sweepCopies() {
	if !r.copies.taking.TryLock() {
		return
	}
	defer r.copies.taking.Unlock()
	entries, err := os.ReadDir(r.copiesDir())
	if len(entries) == 0 {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Log.Warn("look through the copies", "err", err)
		}
		return
	}
	sum, err := data.Read(r.Data, "whether the drafts are what they were", func(tx *store.Tx) (uint64, error) { return tx.DraftsSum(waiting...) })
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err == nil && r.copies.needed.drafts == sum && slices.Equal(r.copies.needed.names, names) {
		return
	}
	r.copies.needed = swept{}
	drafts, err := r.Drafts()
	if err != nil {
		r.Log.Warn("look which copies are needed", "err", err)
		return
	}
	if r.Data.Store.Unreadable() > 0 {
		return // one of these may be a draft that is repaired one day
	}
	needed := map[string]bool{}
	for _, d := range drafts {
		for _, f := range d.Files {
			needed[f.Copy] = true
		}
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !needed[name] }) {
		r.copies.needed = swept{names, sum}
		return
	}
	r.copies.mu.Lock()
	r.copies.drop(func(h heldCopy) bool { return r.Now().Sub(h.taken).Abs() > heldPeriod })
	for _, h := range r.copies.held {
		needed[h.name] = true
	}
	r.copies.mu.Unlock()
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(r.copiesDir(), e.Name())); err != nil {
			r.Log.Warn("remove a copy", "err", err)
		}
	}
}

// refusedKeep is for how many counted days the copies of a refused draft are kept. Afterwards the draft can
// be sent from where its files were given, as long as they are there and what they were.
const refusedKeep = 30

// ForgetCopies takes their copies from drafts that were refused long ago, so that they do not pile up.
func (r *Room) ForgetCopies() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		today, err := tx.Day()
		if err != nil {
			return err
		}
		refused, err := tx.Drafts(office.DraftFailed)
		for _, d := range refused {
			switch {
			case d.Day == 0:
				d.Day = today
			case today-d.Day > refusedKeep && slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { return f.Copy != "" }):
				for i := range d.Files {
					d.Files[i].Copy = ""
				}
			default:
				continue
			}
			err = errors.Join(err, tx.PutDraft(d))
		}
		return err
	})
	r.Wake() // which removes them
	return err
}

// SetCopiesAside keeps the copies of drafts that a lost data file knew. Those that are needed stay where they are.
func (r *Room) SetCopiesAside(needed map[string]bool) {
	entries, err := os.ReadDir(r.copiesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Log.Warn("look through the copies", "err", err)
	}
	aside := r.copiesDir() + r.Now().UTC().Format(".lost-20060102T150405")
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		err := disk.MkdirAll(aside, 0o700)
		if err == nil {
			err = disk.Rename(filepath.Join(r.copiesDir(), e.Name()), filepath.Join(aside, e.Name()))
		}
		if err != nil {
			r.Log.Warn("set a copy aside", "err", err)
		}
	}
}

// openFile opens a file that a person named. A pipe or a device, which might never be opened or never end, is none.
func openFile(path string) (*os.File, error) {
	const none = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice | fs.ModeCharDevice
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&none != 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a file")}
	}
	return os.Open(path)
}
