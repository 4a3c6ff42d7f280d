package archive

import (
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"countersign/internal/office/filename"
)

// Looks remember for a moment which names folders hold, for those who save many files side by side: each of them would
// read all names of its folder otherwise. What comes into a folder meanwhile may be missed, as it may be while a document
// is downloaded; the rename replaces nothing all the same. A folder that does not answer holds up no other.
type Looks struct {
	mu      sync.Mutex
	folders map[string]*look
}

// look is what a folder held.
type look struct {
	mu    sync.Mutex // held while the names are read
	at    time.Time
	names *names
}

// names are those in a folder.
type names struct {
	alike   map[string][]string // by what is left of them without case
	numbers []int               // that any of them ends with, see filename.Numbered; ascending
}

// lookFor is how long a look is good.
const lookFor = time.Second

// in returns what a folder holds, at most a moment ago.
func (l *Looks) in(folder string, read func() (*names, error)) (*names, error) {
	known := l.of(folder)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.names != nil && time.Since(known.at) < lookFor {
		return known.names, nil
	}
	at := time.Now()
	held, err := read()
	if err != nil {
		l.forget(folder, known)
		return nil, err
	}
	known.at, known.names = at, held
	time.AfterFunc(lookFor, func() { l.forget(folder, known) })
	return held, nil
}

// forget lets go of a look: the names of a year's files, or a folder for each package, are not to be held until the next one.
func (l *Looks) forget(folder string, old *look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folders[folder] == old {
		delete(l.folders, folder)
	}
}

// of is the look at a folder, empty before the first one.
func (l *Looks) of(folder string) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.folders[folder]
	if known == nil {
		if l.folders == nil {
			l.folders = map[string]*look{}
		}
		known = &look{}
		l.folders[folder] = known
	}
	return known
}

// lookAt is what a subfolder holds. The result must not be changed.
func (f *Folder) lookAt(sub string) (*names, error) {
	read := func() (*names, error) {
		held := &names{alike: map[string][]string{}}
		err := f.each(sub, func(entry string) {
			key := folded(entry)
			held.alike[key] = append(held.alike[key], entry)
			if n := filename.Number(entry); n > 0 {
				held.numbers = append(held.numbers, n)
			}
		})
		slices.Sort(held.numbers)
		held.numbers = slices.Compact(held.numbers)
		return held, err
	}
	if f.Looks == nil {
		return read()
	}
	return f.Looks.in(filepath.Join(f.dir, filepath.FromSlash(sub)), read)
}

// Series lists what is there by the name of rel, or of rel with a number (filename.Numbered), in the order of the numbers.
// There may be gaps: people take files away.
func (f *Folder) Series(rel string) (found []string, err error) {
	if !filename.Safe(rel) {
		return nil, f.fail(rel, ErrBadName, nil)
	}
	sub := path.Dir(rel)
	held, err := f.lookAt(sub)
	if err != nil {
		return nil, f.because(rel, err)
	}
	for _, n := range append([]int{1}, held.numbers...) {
		name := filename.Numbered(rel, n)
		if len(held.alike[folded(path.Base(name))]) > 0 {
			found = append(found, name)
		}
	}
	return found, nil
}
