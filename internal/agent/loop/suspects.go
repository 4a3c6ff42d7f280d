package loop

import (
	"sync"

	"countersign/internal/esign"
	"countersign/internal/message"
)

// Suspects tells the trouble with one thing from the trouble with the service: between two failures of the one, the
// service gave an answer to something else. Safe for concurrent use.
type Suspects struct {
	mu      sync.Mutex
	answers int
	failed  map[string]int // what failed -> answers by then
}

// Answered notes an answer to whatever question.
func (s *Suspects) Answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
}

// Fail notes that key failed and reports whether the trouble is its alone.
func (s *Suspects) Fail(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = map[string]int{}
	}
	before, again := s.failed[key]
	s.failed[key] = s.answers
	return again && s.answers > before
}

// Clear notes that key does not fail any more.
func (s *Suspects) Clear(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, key)
}

// Refuses reports whether a failure is the service's answer about the thing that is kept under key, rather than the
// trouble of the moment that everything has.
func (s *Suspects) Refuses(key string, err *esign.Error) bool {
	switch err.Kind {
	case esign.TooMany:
		return false
	case esign.Network:
		return s.Fail(key)
	default:
		return true
	}
}

// RefusalProblem is what keeps a file from being saved that the service does not give, for people.
func RefusalProblem(cause *esign.Error) message.Message {
	if cause.Kind == esign.SignedOut { // the sign-in works: others are given
		return message.DownloadForbidden()
	}
	return esign.Message(cause)
}
