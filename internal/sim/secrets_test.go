package sim

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// secrets are the secrets that the services issued, and the office's own: thousands, which are searched for all at once.
type secrets struct {
	mu    sync.Mutex
	begin [1 << 16]bool       // the first two letters of any of them
	all   map[string][]string // by their first letters
}

const firstLetters = 8

func (s *secrets) add(word string) {
	if len(word) < firstLetters {
		panic("too short for a secret: " + word)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string][]string{}
	}
	s.begin[int(word[0])<<8|int(word[1])] = true
	if first := strings.Clone(word[:firstLetters]); !slices.Contains(s.all[first], word) {
		s.all[first] = append(s.all[first], strings.Clone(word))
	}
}

// in is the first of them in text, "" if there is none.
func (s *secrets) in(text []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range max(0, len(text)-firstLetters+1) {
		if !s.begin[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, word := range s.all[string(text[i:i+firstLetters])] {
			if bytes.HasPrefix(text[i:], []byte(word)) {
				return word
			}
		}
	}
	return ""
}

// overhears checks something that others can read.
func (m *model) overhears(where, text string) {
	if word := m.secrets.in([]byte(text)); word != "" {
		m.breaks("secrets are sealed: %s is in %s: %s", word, where, text)
	}
}
