package sim

import (
	"bytes"
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

// words are looked for all at once: at rest there are thousands, and megabytes to look through.
type words struct {
	begin [1 << 16]bool       // with which two letters any begins
	all   map[string][]string // by their first letters
}

const firstLetters = 8

func (w *words) add(word string) {
	if len(word) < firstLetters {
		panic("too short for a secret: " + word)
	}
	if w.all == nil {
		w.all = map[string][]string{}
	}
	w.begin[int(word[0])<<8|int(word[1])] = true
	w.all[word[:firstLetters]] = append(w.all[word[:firstLetters]], word)
}

// in is the first of them in text, "" for none.
func (w *words) in(text []byte) string {
	for i := range max(0, len(text)-firstLetters+1) {
		if !w.begin[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, word := range w.all[string(text[i:i+firstLetters])] {
			if bytes.HasPrefix(text[i:], []byte(word)) {
				return word
			}
		}
	}
	return ""
}
