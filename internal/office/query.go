package office

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// Order is what a list of packages is sorted by.
type Order string

const (
	ByCreated  Order = "created"  // newest first
	ByName     Order = "name"     // as people compare names
	ByDue      Order = "due"      // those that wait, then the others: the first one due first, those without a date last
	ByExecuted Order = "executed" // the last one that everybody signed first, those that wait last
)

// Query says which packages a person wants to see. The zero Query is all that are in the list, newest first.
type Query struct {
	States    []Status  `json:"states,omitempty"`    // none for all
	Person    string    `json:"person,omitempty"`    // words in the name or address of somebody who signs
	Reference string    `json:"reference,omitempty"` // words in the sender's own word for it
	Search    string    `json:"search,omitempty"`    // words, as in the window's search
	Since     time.Time `json:"since,omitzero"`      // known here from then on
	Until     time.Time `json:"until,omitzero"`      // and up to then
	Origin    Origin    `json:"origin,omitempty"`    // "" for wherever it was made
	Archived  bool      `json:"archived,omitempty"`
	Sort      Order     `json:"sort,omitempty"` // "" is ByCreated
	Reverse   bool      `json:"reverse,omitempty"`
	Limit     int       `json:"limit,omitempty"` // 0 for none
}

// SearchText is what a search for words looks at, before Fold.
func (l PackageLine) SearchText() string { return l.Name + "\n" + l.People + "\n" + l.Words }

// Reference is the sender's own word for it, which Words end with.
func (l PackageLine) Reference() string { return l.Words[strings.LastIndexByte(l.Words, '\n')+1:] }

// Fits returns whether q asks for a line, apart from how many.
func (q Query) Fits() func(PackageLine) bool {
	person, words, reference := strings.Fields(Fold(q.Person)), strings.Fields(Fold(q.Search)), strings.Fields(Fold(q.Reference))
	return func(l PackageLine) bool {
		switch {
		case l.Archived && !q.Archived,
			!q.Since.IsZero() && l.Created.Before(q.Since),
			!q.Until.IsZero() && l.Created.After(q.Until),
			q.Origin != "" && l.Origin != q.Origin,
			len(q.States) > 0 && !slices.Contains(q.States, l.Status()),
			len(person) > 0 && !HasWords(Fold(l.People), person),
			len(reference) > 0 && !HasWords(Fold(l.Reference()), reference),
			len(words) > 0 && !HasWords(Fold(l.SearchText()), words):
			return false
		}
		return true
	}
}

// Choose returns the lines that q asks for, in its order; lines are newest first, and stay as they are.
func (q Query) Choose(lines []PackageLine) (found []PackageLine) {
	fits := q.Fits()
	for _, l := range lines {
		if fits(l) {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, q.compare())
	if q.Reverse {
		slices.Reverse(found)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

func (q Query) compare() func(a, b PackageLine) int {
	switch q.Sort {
	case ByName:
		return func(a, b PackageLine) int { return CompareNames(Fold(a.Name), Fold(b.Name)) }
	case ByDue:
		return func(a, b PackageLine) int { return a.DueKey().Compare(b.DueKey()) }
	case ByExecuted:
		return func(a, b PackageLine) int {
			return cmp.Or(unknownLast(a.Executed, b.Executed), b.Executed.Compare(a.Executed))
		}
	}
	return func(a, b PackageLine) int { return b.Created.Compare(a.Created) }
}

// DueKey is what ByDue sorts by.
type DueKey struct {
	over bool // nobody waits for it, so that its date matters less than any other
	due  time.Time
}

// DueKey is the key of a line.
func (l PackageLine) DueKey() DueKey { return DueKey{l.Status() != StatusWaiting, l.Due} }

// Compare is ByDue.
func (k DueKey) Compare(other DueKey) int {
	if k.over != other.over {
		if k.over {
			return 1
		}
		return -1
	}
	return cmp.Or(unknownLast(k.due, other.due), k.due.Compare(other.due))
}

// CompareNames compares two names after Fold as people do: numbers by what they count, no name last.
func CompareNames(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(b, a)
	}
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(a, b)
}

func digits(text string) (n int) {
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// unknownLast compares two moments by whether they are known at all.
func unknownLast(a, b time.Time) int {
	switch {
	case a.IsZero() == b.IsZero():
		return 0
	case a.IsZero():
		return 1
	}
	return -1
}

// Named returns the packages that a person may mean by a word: the one of that id, or else those of that name and those
// whose id begins so.
func Named(lines []PackageLine, word string) (found []PackageLine) {
	word = strings.TrimSpace(word)
	if word == "" {
		return nil
	}
	for _, l := range lines {
		if l.ID == word {
			return []PackageLine{l}
		}
		if l.Name == word || strings.HasPrefix(l.ID, word) {
			found = append(found, l)
		}
	}
	return found
}

// Cursor marks a place in a list that is read page by page. The empty Cursor is the beginning of the list when
// passed in, and its end when returned. It stays valid when records are added or removed.
type Cursor string

// PackageRow is a package as a list shows it.
type PackageRow struct {
	Package
	FilesDone  int
	FilesTotal int    // 0 until planned
	Files      []File // saved ones and those that are to be: signed documents, then certificates, then the master file
}

// File is one file of a package in the folder, or on its way there.
type File struct {
	Path       string // absolute; where it is, or will be
	Kind       FileKind
	DocumentID string // empty for a master file
	State      JobState
	Seal       Seal
	Match      Match
	Problem    message.Message // why it is not saved
}

type FileKind = filename.Kind

// The kinds of files, in the order in which a package shows them.
const (
	FileSigned      = filename.Signed
	FileCertificate = filename.Certificate
	FileMaster      = filename.Master
)

// undivided are letters that Unicode does not take apart into a letter and its mark, but people type without it.
var undivided = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i")

// Fold makes text comparable for people: neither case nor accents matter, nor how they are encoded.
func Fold(text string) string {
	at := 0
	for at < len(text) && text[at] < utf8.RuneSelf {
		at++
	}
	if at == len(text) {
		return strings.ToLower(text)
	}
	folded := make([]byte, 0, len(text))
	for _, r := range text {
		switch {
		case 'A' <= r && r <= 'Z':
			folded = append(folded, byte(r-'A'+'a'))
		case r < utf8.RuneSelf:
			folded = append(folded, byte(r))
		case r < usual:
			folded = append(folded, foldedUsual()[r]...)
		default:
			return foldAny(text)
		}
	}
	return string(folded)
}

// usual are the characters up to this one: the letters of Europe. Each of them folds to the same whatever is beside it, so
// that looking it up does for tens of thousands of texts.
const usual = 0x600

var foldedUsual = sync.OnceValue(func() *[usual]string {
	table := new([usual]string)
	for r := range table {
		table[r] = foldAny(string(rune(r)))
	}
	return table
})

// foldAny is Fold for whatever characters.
func foldAny(text string) string {
	return undivided.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(text))))
}

// HasWords reports whether a folded text has all the folded words.
func HasWords(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Cell is a text from outside as a cell of a table that a spreadsheet reads: on one line, and nothing in it is taken for a
// formula, at the beginning or behind a character at which another spreadsheet would begin the next cell.
func Cell(text string) string {
	var out strings.Builder
	begins := true
	for _, r := range strings.TrimSpace(text) {
		switch r {
		case '\r', '\n', '\t', '\v', '\f', 0:
			r = ' '
		case '=', '+', '-', '@', '＝', '＋', '－', '＠':
			if begins {
				out.WriteByte('\'')
			}
		}
		out.WriteRune(r)
		switch r {
		case ',', ';', '|':
			begins = true
		case ' ', '"', '\'':
		default:
			begins = false
		}
	}
	return out.String()
}

// Comma is what stands between the cells of a table for the Excel of a language: where the comma is in its numbers, the
// semicolon. A first line "sep=;" would say it to every Excel, which then forgets that the file is UTF-8.
func Comma(language string) byte {
	if language == "en" {
		return ','
	}
	return ';'
}

// Exported is what became of the saved files of packages that were to be copied into a folder.
type Exported struct {
	Packages int             // that have saved files
	Files    int             // these are
	Copied   int             // of them are in the folder, also those that were there already
	Lost     int             // are no longer where they were saved
	Problem  message.Message // what kept the others from being copied
}
