// Package compare says whether a PDF that came back is the one that went out, page by page, apart from what signing adds: signature
// pictures, names and dates on empty ground, filled fields, and pages before and behind.
//
// The picture of a page is the judge, its text the second one. Signing only ever puts ink on empty ground: ink that is gone, lies
// under something else, or has new ink within a hair's breadth is a change, and so is a page that is missing, exchanged, put between
// others or of another size. Text that nobody sees, another value in a field, a note or stamp that lies over a page, a link that leads
// elsewhere, a script and a layer are changes as well. What is new on empty ground is told word by word and is no change: no program knows what an empty place was meant for.
// Pages that were made anew, so that hardly any letter is where it was, are compared by their words alone, and it is said that this
// is less.
//
// It takes every document to be hostile: what is read of one is bounded, and the caller bounds the process. It knows nothing of the
// office, nor of where documents come from.
package compare

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
)

// State is what a comparison comes to.
type State string

const (
	Same    State = "same"    // nothing differs
	Added   State = "added"   // only what signing adds
	Changed State = "changed" // something that was there is not as it was
	Remade  State = "remade"  // the words are the same; more cannot be said
	Unread  State = "unread"  // Why says why it cannot be compared
)

// Why is why documents cannot be compared.
type Why string

const (
	WhyPassword Why = "password"
	WhyDamaged  Why = "damaged"
	WhyLarge    Why = "large" // more pages or letters than are read, or it takes too long
)

// Kind is what a place is.
type Kind string

const (
	KindAdded    Kind = "added"     // new, on empty ground
	KindPage     Kind = "page"      // a page that was added before or behind
	KindAltered  Kind = "altered"   // something that was there is gone, covered or written over
	KindHidden   Kind = "hidden"    // letters that nobody sees are new
	KindField    Kind = "field"     // the value of a field is another
	KindNote     Kind = "note"      // a note, stamp or mark lies over the page
	KindSize     Kind = "size"      // the page has another size or lies on another side
	KindMissing  Kind = "missing"   // a page is not there
	KindInserted Kind = "inserted"  // a page stands between those that were there
	KindExchange Kind = "exchanged" // the page is another one
	KindDoes     Kind = "does"      // the document runs, sends, shows or prints something that it did not
	KindRemade   Kind = "remade"    // the page was made anew, or its letters have other codes
)

// Place is where the two differ.
type Place struct {
	Kind Kind   `json:"kind"`
	Page int    `json:"page,omitempty"` // of all that went out, counted from 1; 0 for none
	Back int    `json:"back,omitempty"` // of what came back, likewise
	Was  string `json:"was,omitempty"`  // words
	Now  string `json:"now,omitempty"`
	Box  Box    `json:"box,omitzero"`
}

// Box is a part of a page: its left, upper, right and lower edge, as fractions of the page.
type Box [4]float64

// Result is how two documents compare.
type Result struct {
	State  State   `json:"state"`
	Why    Why     `json:"why,omitempty"`
	Pages  []int   `json:"pages,omitempty"` // of each document that went out
	Places []Place `json:"places,omitempty"`
}

// Sent is which of the documents that went out has a page of all, counted from 1, and which page of it that is.
func (r Result) Sent(page int) (document, number int) {
	for _, n := range r.Pages {
		if page <= n {
			break
		}
		document, page = document+1, page-n
	}
	return document, page
}

// Limits of what is read and said.
const (
	maxPages  = 600
	maxChars  = 60_000 // of a page
	maxPlaces = 60
	maxWords  = 120 // bytes of the words of a place
)

// errLarge is a document that is not read to its end.
var errLarge = errors.New("more than is read")

// Compare compares what came back with the documents that went out, which may have been joined to one. It gives up at the deadline.
func Compare(engine pdfium.Pdfium, sent [][]byte, back []byte, deadline time.Time) (r Result) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			r = Result{State: Unread, Why: WhyDamaged}
			if errors.Is(reason.err, errLarge) {
				r.Why = WhyLarge
			} else if errors.Is(reason.err, pdfiumerrors.ErrPassword) {
				r.Why = WhyPassword
			}
		default:
			panic(reason)
		}
	}()
	return compare(engine, sent, back, deadline)
}

// failure is why documents cannot be compared. Whoever finds that panics with it, up to Compare.
type failure struct{ err error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// ask asks PDFium for what the comparison cannot do without.
func ask[Q, A any](call func(*Q) (*A, error), q Q) *A {
	a, err := call(&q)
	check(err)
	return a
}

func compare(engine pdfium.Pdfium, sent [][]byte, back []byte, deadline time.Time) Result {
	var before []sheet
	var documents []*document
	defer func() {
		for _, d := range documents {
			d.close()
		}
	}()
	open := func(b []byte) []sheet {
		d := openDocument(engine, b)
		documents = append(documents, d)
		return d.sheets(deadline)
	}
	r := Result{State: Same}
	for _, b := range sent {
		sheets := open(b)
		before = append(before, sheets...)
		r.Pages = append(r.Pages, len(sheets))
	}
	after := open(back)
	if len(sent) == 1 && bytes.Equal(sent[0], back) {
		return r
	}
	for _, p := range compareData(documents[:len(sent)], documents[len(sent)]) {
		r.add(p)
	}
	pairs := align(before, after)
	for i, x := range pairs {
		if time.Now().After(deadline) {
			check(errLarge)
		}
		var places []Place
		switch {
		case x.back < 0:
			places = []Place{{Kind: KindMissing, Was: short(before[x.page].text)}}
		case x.page < 0:
			places = []Place{{Kind: pageBetween(before, pairs, i), Now: short(after[x.back].text)}}
		default:
			places = comparePages(before[x.page], after[x.back])
		}
		for _, p := range places {
			p.Page, p.Back = x.page+1, x.back+1
			r.add(p)
		}
	}
	slices.SortStableFunc(r.Places, func(a, b Place) int { return cmp.Compare(b.Kind.weight(), a.Kind.weight()) })
	r.Places = r.Places[:min(len(r.Places), maxPlaces)]
	return r
}

// add notes a place. Of those that are no change only so many are kept.
func (r *Result) add(p Place) {
	states := []State{Same, Added, Remade, Changed}
	r.State = states[max(p.Kind.weight(), slices.Index(states, r.State))]
	if len(r.Places) < maxPlaces || p.Kind.weight() == changed && len(r.Places) < 2*maxPlaces {
		r.Places = append(r.Places, p)
	}
}

// changed is the weight of a change.
const changed = 3

// weight is how much a place says, and the place of its state among them.
func (k Kind) weight() int {
	switch k {
	case KindAdded, KindPage:
		return 1
	case KindRemade:
		return 2
	}
	return changed
}

// Changed reports whether a place is a change.
func (k Kind) Changed() bool { return k.weight() == changed }

// short is as much of words as is told.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxWords {
		return text
	}
	return strings.ToValidUTF8(text[:maxWords], "") + "…"
}

// pair is a page that went out and the one that came back for it; -1 where there is none.
type pair struct{ page, back int }

// align finds which page came back for which, so that they have as many words in common as possible. Pages keep their order.
func align(before, after []sheet) (pairs []pair) {
	head := 0
	for head < min(len(before), len(after)) && before[head].text == after[head].text {
		pairs = append(pairs, pair{head, head})
		head++
	}
	a, b := before[head:], after[head:]
	tail := 0
	for tail < min(len(a), len(b)) && a[len(a)-1-tail].text == b[len(b)-1-tail].text && a[len(a)-1-tail].text != "" {
		tail++
	}
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	pairs = append(pairs, alignRest(a, b, head)...)
	for i := range tail {
		pairs = append(pairs, pair{head + len(a) + i, head + len(b) + i})
	}
	return pairs
}

// maxAlign is how many pairs of pages are weighed. Above, they are taken in their order.
const maxAlign = 40_000

// alignRest aligns pages, of which head come before.
func alignRest(a, b []sheet, head int) (pairs []pair) {
	if len(a)*len(b) > maxAlign {
		for i := range max(len(a), len(b)) {
			x := pair{-1, -1}
			if i < len(a) {
				x.page = head + i
			}
			if i < len(b) {
				x.back = head + i
			}
			pairs = append(pairs, x)
		}
		return pairs
	}
	// best[i][j] is the most that the pages from i and j on have in common.
	best := make([][]int, len(a)+1)
	alike := make([][]int, len(a))
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		alike[i] = make([]int, len(b))
		for j := len(b) - 1; j >= 0; j-- {
			alike[i][j] = 1 + common(a[i].words, b[j].words)
			best[i][j] = max(best[i+1][j+1]+alike[i][j], best[i+1][j], best[i][j+1])
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && best[i][j] == best[i+1][j+1]+alike[i][j]:
			pairs = append(pairs, pair{head + i, head + j})
			i, j = i+1, j+1
		case j < len(b) && (i == len(a) || best[i][j] == best[i][j+1]):
			pairs = append(pairs, pair{-1, head + j})
			j++
		default:
			pairs = append(pairs, pair{head + i, -1})
			i++
		}
	}
	return pairs
}

// common is how much of their words, which are sorted, two pages have in common, of 1000. Pages without words have half.
func common(a, b []string) int {
	if len(a)+len(b) == 0 {
		return 500
	}
	same := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := cmp.Compare(a[i], b[j]); {
		case c == 0:
			same, i, j = same+1, i+1, j+1
		case c < 0:
			i++
		default:
			j++
		}
	}
	return 2000 * same / (len(a) + len(b))
}

// pageBetween is what the page is that came back at a place of pairs without having gone out.
func pageBetween(before []sheet, pairs []pair, at int) Kind {
	last, next := -1, len(before)
	for _, x := range pairs[:at] {
		last = max(last, x.page)
	}
	for _, x := range pairs[at:] {
		if x.page >= 0 {
			next = x.page
			break
		}
	}
	if last < 0 || next == len(before) || before[last].document != before[next].document {
		return KindPage
	}
	return KindInserted
}
