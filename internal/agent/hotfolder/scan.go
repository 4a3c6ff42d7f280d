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

// look is a file's state when last seen, and since when it has been so.
type look struct {
	size    int64
	changed time.Time // according to the file system
	since   time.Time
	first   time.Time // when first seen
	round   bool      // seen in this scan
	waits   bool      // not unchanged for long enough
}

// patience is how many times longer to wait for a file that looks incomplete: an empty one, or a PDF without its end.
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
			continue // gone meanwhile
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

// pending reports whether a file may be ready soon. One that is written all day, like a log, does not count.
func (r *Service) pending() bool {
	for _, l := range r.looks {
		if l.waits && r.Now().Sub(l.first) < 4*r.Pace.Still {
			return true
		}
	}
	return false
}

// forgetLooks drops files not seen this time in the folders scanned.
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

// isOurs reports whether this program saved the file of that name there: signed documents are not sent.
func (r *Service) isOurs(f office.HotFolder, name string) (bool, error) {
	return data.Read(r.Data, "who saved a file", func(tx *store.Tx) (bool, error) {
		_, known, err := tx.JobAt(f.Path, name)
		if store.OfOneRecord(err) {
			return true, nil
		}
		return known, err
	})
}

// complete reports whether a file may be complete: it is not empty and, if a PDF, has an end (ISO 32000-1, 7.5.5).
func complete(dir *disk.Dir, info fs.FileInfo) bool {
	if info.Size() == 0 {
		return false
	}
	if !strings.EqualFold(filepath.Ext(info.Name()), ".pdf") {
		return true
	}
	file, err := dir.Open(info.Name(), info, 0)
	if err != nil {
		return true // taking it reports the reason
	}
	defer file.Close()
	tail := make([]byte, min(info.Size(), 1024))
	n, err := file.ReadAt(tail, info.Size()-int64(len(tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	return bytes.Contains(tail[:n], []byte("%%EOF"))
}

// Names of files that are not (yet) documents: of folders, of programs while saving, and of downloads in progress.
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

// folderTrouble words for people why a folder cannot be used now.
func folderTrouble(path string, err error) message.Message {
	name := filepath.Base(path)
	var at *fs.PathError
	kind := archive.KindOf(err)
	switch {
	case (errors.Is(err, disk.ErrLink) || errors.Is(err, disk.ErrNotFolder)) && errors.As(err, &at):
		return message.SendFolderLink(name, filepath.Base(at.Path))
	case errors.Is(err, errUnmounted):
		return message.Then(message.SendFolderAway(name), message.SendFolderUnmounted())
	case disk.Busy(err):
		return message.SendFolderBusy(name)
	case errors.Is(err, archive.ErrReadOnly), kind == archive.ErrReadOnly:
		return message.Then(message.FolderForbidden(name), message.SendFolderResumes())
	case errors.Is(err, archive.ErrFull), kind == archive.ErrFull:
		return message.Then(message.DiskFull(name), message.SendFolderResumes())
	default:
		return message.SendFolderAway(name)
	}
}

// Listen returns Events from the system's notifications, as far as it provides them: none for shares, and none once it runs out of
// watches.
func Listen(ring func()) Events { return &listener{ring: ring} }

// listener implements Events with package fsnotify. Without hot folders it uses no system resources. Only one goroutine may call its
// methods.
type listener struct {
	ring   func()
	w      *fsnotify.Watcher // nil if there is nothing to watch
	reader sync.WaitGroup
}

func (l *listener) Set(folders []string) {
	if len(folders) == 0 {
		l.Close()
		return
	}
	if l.w == nil && !l.begin() {
		return // the next scan tries again
	}
	heard := l.w.WatchList() // leaves out removed ones
	for _, path := range heard {
		if !slices.Contains(folders, path) {
			_ = l.w.Remove(path)
		}
	}
	for _, path := range folders {
		if slices.Contains(heard, path) {
			continue
		}
		if _, err := disk.Stat(path); err == nil {
			_ = l.w.Add(path) // retried by the next scan, too
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
			case _, open := <-w.Errors: // for example an overflow: scan for changes
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
