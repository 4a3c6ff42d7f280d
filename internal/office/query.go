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
	ByDue      Order = "due"      // waiting ones first, by due date, those without a date last; then the others
	ByExecuted Order = "executed" // the most recently completed first, those that wait last
)

// Query selects and sorts packages. The zero Query is all listed packages, newest first.
type Query struct {
	States    []Status  `json:"states,omitempty"`    // none for all
	Person    string    `json:"person,omitempty"`    // words in the name or address of a signer
	Reference string    `json:"reference,omitempty"` // words in the sender's reference
	Search    string    `json:"search,omitempty"`    // words, as in the window's search
	Since     time.Time `json:"since,omitzero"`      // first seen here then or later
	Until     time.Time `json:"until,omitzero"`      // and no later than this
	Origin    Origin    `json:"origin,omitempty"`    // "" for wherever it was made
	Archived  bool      `json:"archived,omitempty"`
	Sort      Order     `json:"sort,omitempty"` // "" is ByCreated
	Reverse   bool      `json:"reverse,omitempty"`
	Limit     int       `json:"limit,omitempty"` // 0 for none
}

// SearchText is the text that a search looks through, before Fold.
func (l PackageLine) SearchText() string { return l.Name + "\n" + l.People + "\n" + l.Words }

// Reference is the sender's reference, the last line of Words.
func (l PackageLine) Reference() string { return l.Words[strings.LastIndexByte(l.Words, '\n')+1:] }

// Fits returns a function that reports whether a line matches q, ignoring the limit.
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

// Choose returns the lines that match q, in its order; lines must be sorted newest first and are not changed.
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

// DueKey is the sort key of ByDue.
type DueKey struct {
	over bool // nobody waits for it, so it comes after all that are waiting
	due  time.Time
}

func (l PackageLine) DueKey() DueKey { return DueKey{l.Status() != StatusWaiting, l.Due} }

func (k DueKey) Compare(other DueKey) int {
	if k.over != other.over {
		if k.over {
			return 1
		}
		return -1
	}
	return cmp.Or(unknownLast(k.due, other.due), k.due.Compare(other.due))
}

// CompareNames compares two folded names as people do: numbers by value, empty names last.
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

// unknownLast orders two times by whether they are known.
func unknownLast(a, b time.Time) int {
	switch {
	case a.IsZero() == b.IsZero():
		return 0
	case a.IsZero():
		return 1
	}
	return -1
}

// Named returns the packages that a word may mean: the one with that id, or else those with that name and those whose id
// begins with it.
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

// Cursor marks a position in a list that is read page by page. The empty Cursor means the beginning when passed in, and the
// end when returned. It stays valid when records are added or removed.
type Cursor string

// PackageRow is a package as a list shows it.
type PackageRow struct {
	Package
	FilesDone  int
	FilesTotal int    // 0 until planned
	Files      []File // saved and planned ones: signed documents, then certificates, then the master file
}

// File is one saved or planned file of a package.
type File struct {
	Path       string // absolute; where it is, or will be
	Kind       FileKind
	DocumentID string // empty for a master file
	State      JobState
	Seal       Seal
	Match      Match
	Problem    message.Message // why it is not saved, or what a check found
	Read       bool            // somebody has read what the check found
}

// Wrong reports whether it must not be relied on.
func (f File) Wrong() bool { return SavedFile{Seal: f.Seal, Match: f.Match}.Wrong() }

type FileKind = filename.Kind

// The kinds of files, in display order.
const (
	FileSigned      = filename.Signed
	FileCertificate = filename.Certificate
	FileMaster      = filename.Master
)

// undivided are letters that Unicode does not decompose into a letter and a mark, but that people type without it.
var undivided = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i")

// Fold makes text comparable for people: it ignores case, accents and how they are encoded.
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

// usual is the end of the range with the letters of Europe. Each of these folds the same whatever its context, so a table
// lookup is enough, which matters for tens of thousands of texts.
const usual = 0x600

var foldedUsual = sync.OnceValue(func() *[usual]string {
	table := new([usual]string)
	for r := range table {
		table[r] = foldAny(string(rune(r)))
	}
	return table
})

// foldAny is Fold for arbitrary characters.
func foldAny(text string) string {
	return undivided.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(text))))
}

// HasWords reports whether a folded text contains all the folded words.
func HasWords(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Cell makes text from outside safe as a cell of a table that a spreadsheet reads: one line, and nothing that would be taken
// for a formula, whether at the beginning or after a character that another spreadsheet may take for a separator.
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

// Comma is the cell separator that Excel expects in a language: a semicolon if the language has decimal commas. A first line
// "sep=;" would work in every Excel, but Excel then no longer reads the file as UTF-8.
func Comma(language string) byte {
	if language == "en" {
		return ','
	}
	return ';'
}

// Exported is the result of copying the saved files of packages into a folder.
type Exported struct {
	Packages int             // that have saved files
	Files    int             // the number of these files
	Copied   int             // how many of them are in the folder now, including those already there
	Lost     int             // how many are missing or were changed
	Problem  message.Message // what prevented copying the others
}
