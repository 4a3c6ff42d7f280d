package archive

import (
	"path/filepath"
	"sync"
	"time"
)

// Looks remember for a moment which names folders hold, for those who save many files side by side: each of them would
// read all names of its folder otherwise. What comes into a folder meanwhile may be missed, as it may be while a document
// is downloaded; the rename replaces nothing all the same.
type Looks struct {
	mu      sync.Mutex
	folders map[string]look
}

// look is what a folder held, by what is left of the names without case.
type look struct {
	at    time.Time
	names map[string][]string
}

// lookFor is how long a look is good.
const lookFor = time.Second

// in returns what a folder holds, at most a moment ago.
func (l *Looks) in(folder string, read func() (map[string][]string, error)) (map[string][]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.folders[folder]; ok && time.Since(known.at) < lookFor {
		return known.names, nil
	}
	now := look{at: time.Now()}
	var err error
	if now.names, err = read(); err != nil {
		return nil, err
	}
	if l.folders == nil {
		l.folders = map[string]look{}
	}
	l.folders[folder] = now
	return now.names, nil
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
