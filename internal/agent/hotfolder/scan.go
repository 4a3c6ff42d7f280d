package hotfolder

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// look is how a file was when it was looked at, and since when it has been so.
type look struct {
	size    int64
	changed time.Time // as the file system says
	since   time.Time
	first   time.Time // when it was seen first
	round   bool      // it is still there
	waits   bool      // it has not stood still for long enough
}

// patience is how much longer than others a file is waited for that does not look complete: an empty one, or a PDF without
// its end.
const patience = 15

// scan returns the files of a folder that can be taken, oldest first, and how long until another one may be; 0 for never.
func (r *Service) scan(f office.HotFolder, dir *disk.Dir) (ready []fs.FileInfo, soon time.Duration, err error) {
	entries, err := dir.List()
	if err != nil {
		return nil, 0, trouble(f.Path, err)
	}
	now := r.Now()
	wait := func(d time.Duration) {
		if soon == 0 || d < soon {
			soon = max(d, gap)
		}
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if !e.Type().IsRegular() || ignored(e.Name()) {
			continue
		}
		info, err := dir.Lstat(e.Name())
		switch {
		case disk.Busy(err):
			wait(r.Pace.Still)
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue // it has gone meanwhile
		case err != nil:
			return nil, 0, trouble(f.Path, err)
		case !info.Mode().IsRegular(), hidden(info):
			continue
		}
		if own, err := r.isOurs(f, e.Name()); err != nil {
			return nil, 0, err
		} else if !own {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		path := filepath.Join(f.Path, info.Name())
		l, known := r.looks[path]
		if !known || l.size != info.Size() || !l.changed.Equal(info.ModTime()) || now.Before(l.since) {
			if !known || now.Before(l.first) {
				l.first = now
			}
			l = look{size: info.Size(), changed: info.ModTime(), since: now, first: l.first}
		}
		l.round, l.waits = true, true
		left := r.Pace.Still - now.Sub(l.since)
		if left <= 0 && !complete(dir, info) {
			left = patience*r.Pace.Still - now.Sub(l.since)
		}
		switch {
		case left > 0:
			wait(left)
		case busy(dir, info):
			wait(r.Pace.Still)
		default:
			l.waits = false
			ready = append(ready, info)
		}
		r.looks[path] = l
	}
	return ready, soon, nil
}

// pending reports whether a file is waited for that may be ready soon. One that is written all day, as a log is, keeps nobody waiting.
func (r *Service) pending() bool {
	for _, l := range r.looks {
		if l.waits && r.Now().Sub(l.first) < 4*r.Pace.Still {
			return true
		}
	}
	return false
}

// forgetLooks forgets files that were not seen this time, in the folders that were looked into.
func (r *Service) forgetLooks(folders []string) {
	for path, l := range r.looks {
		if !l.round || !slices.Contains(folders, filepath.Dir(path)) {
			delete(r.looks, path)
			continue
		}
		l.round = false
		r.looks[path] = l
	}
}

// isOurs reports whether the file of that name was saved there by this program: signed documents are not sent.
func (r *Service) isOurs(f office.HotFolder, name string) (bool, error) {
	return data.Read(r.Data, "who saved a file", func(tx *store.Tx) (bool, error) {
		_, known, err := tx.JobAt(f.Path, name)
		if store.OfOneRecord(err) {
			return true, nil
		}
		return known, err
	})
}

// complete reports whether a file may be all there: it is not empty and, as a PDF, has an end (ISO 32000-1, 7.5.5).
func complete(dir *disk.Dir, info fs.FileInfo) bool {
	if info.Size() == 0 {
		return false
	}
	if !strings.EqualFold(filepath.Ext(info.Name()), ".pdf") {
		return true
	}
	file, err := dir.Open(info.Name(), info, 0)
	if err != nil {
		return true // whoever takes it will say why not
	}
	defer file.Close()
	tail := make([]byte, min(info.Size(), 1024))
	n, err := file.ReadAt(tail, info.Size()-int64(len(tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	return bytes.Contains(tail[:n], []byte("%%EOF"))
}

// Names of files that are no documents, or not yet: those of folders, of programs that save, and of downloads under way.
var (
	ignoredNames   = []string{"desktop.ini", "thumbs.db", "ehthumbs.db", "icon\r"}
	ignoredStarts  = []string{".", "~$", "~wrl", "~"}
	ignoredEndings = []string{".part", ".partial", ".crdownload", ".download", ".opdownload", ".tmp", ".temp", ".filepart", ".lck", ".lock", ".lnk", ".url", ".swp", ".bak", "~"}
)

// ignored reports whether a file of that name is left alone.
func ignored(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(ignoredNames, name) ||
		slices.ContainsFunc(ignoredStarts, func(s string) bool { return strings.HasPrefix(name, s) }) ||
		slices.ContainsFunc(ignoredEndings, func(s string) bool { return strings.HasSuffix(name, s) })
}

func trouble(path string, err error) error { return &folderError{folderTrouble(path, err)} }

// folderTrouble is what people are told of a folder that cannot be used now.
func folderTrouble(path string, err error) message.Message {
	name := filepath.Base(path)
	var at *fs.PathError
	switch {
	case (errors.Is(err, disk.ErrLink) || errors.Is(err, disk.ErrNotFolder)) && errors.As(err, &at):
		return message.SendFolderLink(name, filepath.Base(at.Path))
	case disk.Busy(err):
		return message.SendFolderBusy(name)
	case errors.Is(err, archive.ErrReadOnly), errors.Is(err, fs.ErrPermission):
		return message.Then(message.FolderForbidden(name), message.SendFolderResumes())
	case errors.Is(err, archive.ErrFull):
		return message.Then(message.DiskFull(name), message.SendFolderResumes())
	default:
		return message.SendFolderAway(name)
	}
}

// Listen makes Events that the system sends. They come as far as it can: none from shares, none where it has no more
// watches to give.
func Listen(ring func()) Events { return &listener{ring: ring} }

// listener is Events of package fsnotify. An office without hot folders costs the system nothing. Its methods are called by one
// goroutine.
type listener struct {
	ring   func()
	w      *fsnotify.Watcher // nil while there is nothing to listen to
	reader sync.WaitGroup
}

func (l *listener) Set(folders []string) {
	if len(folders) == 0 {
		l.Close()
		return
	}
	if l.w == nil && !l.begin() {
		return // the next look tries again
	}
	heard := l.w.WatchList() // without those that were removed
	for _, path := range heard {
		if !slices.Contains(folders, path) {
			_ = l.w.Remove(path)
		}
	}
	for _, path := range folders {
		if !slices.Contains(heard, path) {
			_ = l.w.Add(path) // likewise
		}
	}
}

func (l *listener) begin() bool {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return false
	}
	l.w = w
	l.reader.Go(func() {
		for {
			select {
			case _, open := <-w.Events:
				if !open {
					return
				}
			case _, open := <-w.Errors: // an overflow, for example: look what has changed
				if !open {
					return
				}
			}
			l.ring()
		}
	})
	return true
}

func (l *listener) Close() {
	if l.w == nil {
		return
	}
	_ = l.w.Close()
	l.reader.Wait()
	l.w = nil
}
