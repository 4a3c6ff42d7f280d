package disk

import (
	"os"
	"sync"
	"time"
)

// Silence is how long a folder may take to answer.
const Silence = 5 * time.Second

// Silent knows the folders that do not answer, on a share whose server is gone. The zero value knows none. Safe for
// concurrent use.
type Silent struct {
	mu    sync.Mutex
	paths map[string]bool
}

// Ask returns the result of ask, which opens or examines the folder at path. If that takes longer than Silence, it fails
// with os.ErrDeadlineExceeded, and so does every Ask about that folder until the answer has come, which late gets: meanwhile
// nothing waits for it again.
func Ask[T any](s *Silent, path string, ask func() (T, error), late func(T, error)) (answer T, err error) {
	s.mu.Lock()
	silent := s.paths[path]
	s.mu.Unlock()
	if silent {
		return answer, os.ErrDeadlineExceeded
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
	s.mu.Lock()
	if s.paths == nil {
		s.paths = map[string]bool{}
	}
	s.paths[path] = true
	s.mu.Unlock()
	go func() {
		a := <-answers
		s.mu.Lock()
		delete(s.paths, path)
		s.mu.Unlock()
		late(a.value, a.err)
	}()
	return answer, os.ErrDeadlineExceeded
}
