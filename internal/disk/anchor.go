package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// anchored are the folders whose names are known to be on the disk, by their paths. It forgets all of them now and then: an
// office may have a folder for each package, and the next look costs no more than a flush.
var anchored struct {
	mu      sync.Mutex
	folders map[string]fs.FileInfo
}

// mostAnchored is how many are remembered.
const mostAnchored = 1000

// Once calls flush, which makes the name of a folder durable, unless it succeeded before for this very folder at this path:
// whoever saves a hundred files flushes the way to them once. The info is that of the folder.
func Once(path string, info fs.FileInfo, flush func() error) error {
	anchored.mu.Lock()
	known, ok := anchored.folders[path]
	anchored.mu.Unlock()
	if ok && os.SameFile(known, info) {
		return nil
	}
	if err := flush(); err != nil {
		return err
	}
	anchored.mu.Lock()
	defer anchored.mu.Unlock()
	if anchored.folders == nil || len(anchored.folders) >= mostAnchored {
		anchored.folders = map[string]fs.FileInfo{}
	}
	anchored.folders[path] = info
	return nil
}

// Forget is for whoever has made a folder at a path: one that was there before and was removed may look like the same.
func Forget(path string) {
	anchored.mu.Lock()
	defer anchored.mu.Unlock()
	delete(anchored.folders, path)
}

// Anchor makes the way to a file or folder that is there durable: its name in the folder above, that one's name in the next,
// and so on up to the first in which this user can make nothing. Who gave it its name, and when, does not matter: it may
// have been this program, which was killed before it flushed it. What was found is therefore not to be counted on before it
// is anchored. After the first time that costs a look.
func Anchor(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	above := filepath.Dir(path)
	return Once(path, info, func() error {
		if above == path || !writable(above) {
			return nil
		}
		if err := FlushFolder(above); err != nil {
			return err
		}
		return Anchor(above)
	})
}

// MkdirAll is os.MkdirAll, and anchors the folder, whether it was there or not.
func MkdirAll(path string, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return mkdir(path, func() error { return os.MkdirAll(path, mode) })
}

// Mkdir is os.Mkdir, of a folder that is not there yet, and anchors it.
func Mkdir(path string, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return mkdir(path, func() error { return os.Mkdir(path, mode) })
}

// mkdir has a folder made, with those on the way to it, and anchors it.
func mkdir(path string, make func() error) error {
	missing := missingOn(path)
	if err := make(); err != nil {
		return err
	}
	for _, made := range missing {
		made, err := filepath.EvalSymlinks(made)
		if err != nil {
			return err
		}
		Forget(made)
	}
	return Anchor(path)
}

// missingOn are the folders of a path that are not there.
func missingOn(path string) (missing []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, path)
		path = filepath.Dir(path)
	}
}
