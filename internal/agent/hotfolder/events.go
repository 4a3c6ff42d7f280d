package hotfolder

import (
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

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
