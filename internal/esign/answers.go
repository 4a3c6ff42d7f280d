package esign

import (
	"bytes"
	"slices"
	"sync"
)

// How many answers are remembered, and how long one of them may be in bytes.
const (
	mostAnswers   = 400
	longestAnswer = 16 << 10
)

// answers keeps what was read in the latest answers that told of packages, by the path of the question: most say what they said the
// last time, byte for byte, and are not read once more then. Safe for concurrent use.
type answers struct {
	mu    sync.Mutex
	known map[string]answered
	order [mostAnswers]string // a ring, in which the next one takes the place of the oldest
	next  int
}

type answered struct {
	raw    []byte
	status Status // of which everybody gets a clone
}

// read is readStatus of the answer to a question.
func (a *answers) read(path string, raw []byte) (Status, bool) {
	a.mu.Lock()
	last, again := a.known[path]
	a.mu.Unlock()
	if again && bytes.Equal(last.raw, raw) {
		return last.status.clone(), true
	}
	s, ok := readStatus(raw)
	if ok && len(raw) <= longestAnswer {
		a.keep(path, answered{bytes.Clone(raw), s.clone()})
	}
	return s, ok
}

func (a *answers) keep(path string, said answered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.known[path]; !again {
		if a.known == nil {
			a.known = map[string]answered{}
		}
		delete(a.known, a.order[a.next])
		a.order[a.next] = path
		a.next = (a.next + 1) % mostAnswers
	}
	a.known[path] = said
}

// clone is s with memory of its own.
func (s Status) clone() Status {
	s.ExternalData = slices.Clone(s.ExternalData)
	s.Documents, s.Signers, s.Recipients = slices.Clone(s.Documents), slices.Clone(s.Signers), slices.Clone(s.Recipients)
	for i := range s.Documents {
		s.Documents[i].Revisions = slices.Clone(s.Documents[i].Revisions)
	}
	return s
}
