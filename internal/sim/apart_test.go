package sim

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// keptApart checks on the wire that nothing issued by one service reaches another, or anybody else. It does not check what
// the program itself named first.
type keptApart struct {
	m *model

	owner map[string]string // token or id -> host of the service that issued it
	heard map[heard]bool    // answers already examined
}

// heard is an answer of a service.
type heard struct {
	host string
	sum  uint64
}

var sums = maphash.MakeSeed()

var aToken = regexp.MustCompile(`"(?:access_token|refresh_token|secret)":"([^"]+)"`)

// ours owns the ids that the program itself named first.
const ours = "the office"

// asked examines a request: nothing issued by one service may reach another.
func (x *keptApart) asked(r *http.Request, said []byte) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/packages/add") {
		x.m.sent.adds++
	}
	// A document may be fetched from where the service stores its files, but without anything that belongs to the service.
	elsewhere := !slices.ContainsFunc(x.m.w.services, func(s *service) bool { return strings.HasSuffix(s.url, "//"+r.URL.Host) })
	if elsewhere && (r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || r.Referer() != "") {
		x.m.broken = append(x.m.broken, fmt.Sprintf("what is meant for the service reaches nobody else: %s was asked", r.URL))
	}
	x.m.w.duties.asked(r.URL.Path)
	if bytes.Contains(said, fmt.Appendf(nil, "%% contract %d part", private)) {
		x.m.broken = append(x.m.broken, "nothing is sent that nobody put there: "+r.URL.Path+" was given a private file")
	}
	words := allIDs(r.URL.String())
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		words = append(words, token)
	}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		for _, part := range strings.Split(string(said), "&") {
			_, value, _ := strings.Cut(part, "=")
			words = append(words, value)
		}
	} else {
		words = append(words, allIDs(string(said))...)
	}
	for _, word := range words {
		switch from := x.owner[word]; {
		case from == "" && isID(word):
			x.owner[strings.Clone(word)] = ours
		case from != "" && from != ours && from != r.URL.Host:
			x.m.broken = append(x.m.broken, fmt.Sprintf("nothing of one service reaches another: %s of %s was sent to %s %s", word, from, r.Method, r.URL))
		}
	}
}

func (x *keptApart) answered(r *http.Request, status int, body []byte) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if status/100 == 4 && status != 401 && status != 408 && status != 429 {
		x.m.sent.refusals++
	}
	if key := (heard{r.URL.Host, maphash.Bytes(sums, body)}); x.heard[key] { // most answers are repetitions
		return
	} else {
		x.heard[key] = true
	}
	text := string(body)
	if strings.Contains(text, `_token":"`) || strings.Contains(text, `"secret":"`) {
		for _, found := range aToken.FindAllStringSubmatch(text, -1) {
			x.owner[found[1]] = r.URL.Host
			x.m.secrets.add(found[1])
		}
	}
	for _, id := range allIDs(text) {
		if x.owner[id] == "" {
			x.owner[strings.Clone(id)] = r.URL.Host
		}
	}
}

var anID = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// isID reports whether text is an id (a UUID).
func isID(text string) bool { return anID.FindString(text) == text && text != "" }

// allIDs are the ids in text.
func allIDs(text string) []string { return anID.FindAllString(text, -1) }

// withoutIDs is text with a * for each id.
func withoutIDs(text string) string { return anID.ReplaceAllLiteralString(text, "*") }

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
