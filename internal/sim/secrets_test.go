package sim

import (
	"strings"
	"sync"
)

// secrets are those that the services gave out, and those of the office.
type secrets struct {
	mu    sync.Mutex
	known map[string]bool
}

func (s *secrets) add(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[strings.Clone(word)] = true
}

// in is a secret that text holds, "" for none.
func (s *secrets) in(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for word := range strings.FieldsFuncSeq(text, notInSecrets) {
		if word = strings.TrimRight(word, "."); s.known[word] {
			return word
		}
	}
	return ""
}

// notInSecrets reports whether a secret has no such letter.
func notInSecrets(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.~", r))
}

// overhears judges something that others can read.
func (m *model) overhears(where, text string) {
	if word := m.secrets.in(text); word != "" {
		m.breaks("secrets are sealed: %s is in %s: %s", word, where, text)
	}
}
