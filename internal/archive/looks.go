package archive

import (
	"path/filepath"
	"sync"
	"time"
)

// Looks remember for a moment which names folders hold, for those who save many files side by side: each of them would
// read all names of its folder otherwise. What comes into a folder meanwhile may be missed, as it may be while a document
// is downloaded; the rename replaces nothing all the same. A folder that does not answer holds up no other.
type Looks struct {
	mu      sync.Mutex
	folders map[string]*look
}

// look is what a folder held, by what is left of the names without case.
type look struct {
	mu    sync.Mutex // held while the names are read
	at    time.Time
	names map[string][]string
}

// lookFor is how long a look is good.
const lookFor = time.Second

// in returns what a folder holds, at most a moment ago.
func (l *Looks) in(folder string, read func() (map[string][]string, error)) (map[string][]string, error) {
	known := l.of(folder)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.names != nil && time.Since(known.at) < lookFor {
		return known.names, nil
	}
	at := time.Now()
	names, err := read()
	if err != nil {
		return nil, err
	}
	known.at, known.names = at, names
	return names, nil
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
func (f *Folder) lookAt(sub string) (map[string][]string, error) {
	return f.Looks.in(filepath.Join(f.dir, filepath.FromSlash(sub)), func() (map[string][]string, error) {
		names := map[string][]string{}
		err := f.each(sub, func(entry string) {
			key := folded(entry)
			names[key] = append(names[key], entry)
		})
		return names, err
	})
}
