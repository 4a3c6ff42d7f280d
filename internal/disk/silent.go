package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Silence is how long a path may take to answer.
const Silence = 5 * time.Second

// silent knows the paths that do not answer, on a share whose server is gone.
var silent = struct {
	mu    sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// Ask returns the result of ask, which looks up path. If that takes longer than Silence, it fails with
// os.ErrDeadlineExceeded, and so does every Ask about that path, or one below it, until the answer has come, which late
// gets, unless it is nil: meanwhile nothing waits for it again. OpenDir, OpenFile, Stat and what judges paths of people ask so.
func Ask[T any](path string, ask func() (T, error), late func(T)) (answer T, err error) {
	if isSilent(path) {
		return answer, &fs.PathError{Op: "ask", Path: path, Err: os.ErrDeadlineExceeded}
	}
	type answered struct {
		value T
		err   error
	}
	answers := make(chan answered, 1)
	go func() {
		value, err := ask()
		answers <- answered{value, err}
	}()
	timer := time.NewTimer(Silence)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-timer.C:
	}
	silent.mu.Lock()
	silent.paths[path] = true
	silent.mu.Unlock()
	go func() {
		a := <-answers
		silent.mu.Lock()
		delete(silent.paths, path)
		silent.mu.Unlock()
		if a.err == nil && late != nil {
			late(a.value)
		}
	}()
	return answer, &fs.PathError{Op: "ask", Path: path, Err: os.ErrDeadlineExceeded}
}

func isSilent(path string) bool {
	silent.mu.Lock()
	defer silent.mu.Unlock()
	for ; len(silent.paths) > 0; path = filepath.Dir(path) {
		if silent.paths[path] {
			return true
		}
		if filepath.Dir(path) == path {
			break
		}
	}
	return false
}

// Stat is os.Stat.
func Stat(path string) (fs.FileInfo, error) {
	return Ask(path, func() (fs.FileInfo, error) { return os.Stat(path) }, nil)
}
