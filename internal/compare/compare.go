// Package compare determines whether a PDF that came back is the one that was sent, page by page, apart from what signing
// adds: pictures of signatures, names and dates on empty areas, filled fields, and additional pages before and after.
//
// The rendered picture of a page decides, its text comes second. Signing only puts ink on empty areas: if ink is missing,
// covered or has new ink very close to it, that is a change; so is a page that is missing, exchanged, inserted between
// others or of another size. Invisible text, another value in a field, a note or stamp over a page, a link that leads
// elsewhere, a script and a layer are changes as well. Additions on empty areas are reported word by word but are no change:
// no program knows what an empty area was meant for. Pages that were regenerated, so that hardly any letter is in its old
// place, are compared only by their words, and the result says that this is less certain.
//
// It treats every document as hostile: it limits what it reads, and the caller restricts the process. It knows nothing of
// the office, nor where documents come from.
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

// State is the overall result of a comparison.
type State string

const (
	Same    State = "same"    // nothing differs
	Added   State = "added"   // only what signing adds
	Changed State = "changed" // something that was sent has changed
	Remade  State = "remade"  // the words are the same, but nothing more can be said
	Unread  State = "unread"  // it could not be compared; see Why
)

// Why is why documents cannot be compared.
type Why string

const (
	WhyPassword Why = "password"
	WhyDamaged  Why = "damaged"
	WhyLarge    Why = "large" // too many pages or letters, or it takes too long
)

type Kind string

const (
	KindAdded    Kind = "added"     // added on an empty area
	KindPage     Kind = "page"      // a page added before or after
	KindAltered  Kind = "altered"   // something is missing, covered or overwritten
	KindHidden   Kind = "hidden"    // invisible letters were added
	KindField    Kind = "field"     // the value of a field has changed
	KindNote     Kind = "note"      // a note, stamp or mark lies over the page
	KindSize     Kind = "size"      // the size or the orientation of the page has changed
	KindMissing  Kind = "missing"   // a page is missing
	KindInserted Kind = "inserted"  // a page was inserted between others
	KindExchange Kind = "exchanged" // the page is a different one
	KindDoes     Kind = "does"      // the document runs, sends, shows or prints something new
	KindRemade   Kind = "remade"    // the page was regenerated, or its letters have other codes
)

type Place struct {
	Kind Kind   `json:"kind"`
	Page int    `json:"page,omitempty"` // of the document sent, counted from 1; 0 for none
	Back int    `json:"back,omitempty"` // of the one that came back, likewise
	Was  string `json:"was,omitempty"`  // words
	Now  string `json:"now,omitempty"`
	Box  Box    `json:"box,omitzero"`
}

// Box is an area of a page: its left, upper, right and lower edge, as fractions of the page.
type Box [4]float64

type Result struct {
	State  State   `json:"state"`
	Why    Why     `json:"why,omitempty"`
	Places []Place `json:"places,omitempty"` // the differences, at most maxPlaces
	Same   []Place `json:"same,omitempty"`   // the pages without any
}

// Limits of what is read and reported.
const (
	maxPages  = 600
	maxChars  = 60_000 // of a page
	maxPlaces = 60
	maxWords  = 120 // bytes of text for a place
)

// errLarge means that a document exceeds a limit.
var errLarge = errors.New("more than is read")

// Compare compares the document that came back with the one that was sent. If that takes longer than patience it gives up, and what it
// began goes on until the process ends: nothing can stop PDFium.
func Compare(engine pdfium.Pdfium, sent, back []byte, patience time.Duration) Result {
	done := make(chan Result, 1)
	go func() { done <- try(engine, sent, back) }()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		return Result{State: Unread, Why: WhyLarge}
	}
}

func try(engine pdfium.Pdfium, sent, back []byte) (r Result) {
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
	return compare(engine, sent, back)
}

// failure is the reason why documents cannot be compared. It is raised as a panic, which Compare recovers.
type failure struct{ err error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// ask calls PDFium and panics with a failure if it fails.
func ask[Q, A any](call func(*Q) (*A, error), q Q) *A {
	a, err := call(&q)
	check(err)
	return a
}

func compare(engine pdfium.Pdfium, sent, back []byte) Result {
	original := openDocument(engine, sent)
	defer original.close()
	returned := openDocument(engine, back)
	defer returned.close()
	before, after := original.sheets(), returned.sheets()
	r := Result{State: Same}
	if bytes.Equal(sent, back) {
		for i := range before {
			r.Same = append(r.Same, Place{Page: i + 1, Back: i + 1})
		}
		return r
	}
	for _, p := range compareData(original.data, returned.data) {
		r.add(p)
	}
	pairs := align(before, after)
	for i, x := range pairs {
		var places []Place
		switch {
		case x.back < 0:
			places = []Place{{Kind: KindMissing, Was: short(before[x.page].text)}}
		case x.page < 0:
			places = []Place{{Kind: pageBetween(pairs, i), Now: short(after[x.back].text)}}
		default:
			places = comparePages(before[x.page], after[x.back])
		}
		for _, p := range places {
			p.Page, p.Back = x.page+1, x.back+1
			r.add(p)
		}
		if len(places) == 0 && !slices.ContainsFunc(r.Places, func(p Place) bool { return p.Page == x.page+1 }) {
			r.Same = append(r.Same, Place{Page: x.page + 1, Back: x.back + 1})
		}
	}
	slices.SortStableFunc(r.Places, func(a, b Place) int { return cmp.Compare(b.Kind.weight(), a.Kind.weight()) })
	r.Places = r.Places[:min(len(r.Places), maxPlaces)]
	return r
}

// add records a difference. The number of those that are no change is limited.
func (r *Result) add(p Place) {
	if was, now := strings.TrimSuffix(p.Was, ","), strings.TrimSuffix(p.Now, ","); was != p.Was && now != p.Now && was != now { // it belongs to the text around
		p.Was, p.Now = was, now
	}
	states := []State{Same, Added, Remade, Changed}
	r.State = states[max(p.Kind.weight(), slices.Index(states, r.State))]
	if len(r.Places) < maxPlaces || p.Kind.weight() == changed && len(r.Places) < 2*maxPlaces {
		r.Places = append(r.Places, p)
	}
}

const changed = 3

// weight ranks a difference; it is also the index of the State that results.
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

// short is text shortened for a report.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxWords {
		return text
	}
	return strings.ToValidUTF8(text[:maxWords], "") + "…"
}

// pair is a sent page and its counterpart that came back; -1 if there is none.
type pair struct{ page, back int }

// align matches pages that came back to sent ones so that they have as many words in common as possible, keeping the order.
func align(a, b []sheet) (pairs []pair) {
	// best[i][j] is the maximum total similarity of the pages from i and from j on.
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
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
		case j < len(b) && (i == len(a) || best[i][j] == best[i][j+1]):
			pairs = append(pairs, pair{-1, j})
			j++
		default:
			pairs = append(pairs, pair{i, -1})
			i++
		}
	}
	return pairs
}

// common is the similarity of two pages' sorted words, from 0 to 1000. Two pages without words have 500.
func common(a, b []string) int {
	if len(a)+len(b) == 0 {
		return 500
	}
	same := len(a) - len(without(a, b))
	return 2000 * same / (len(a) + len(b))
}

// pageBetween classifies a page that came back at a position in pairs without having been sent.
func pageBetween(pairs []pair, at int) Kind {
	sent := func(x pair) bool { return x.page >= 0 }
	if slices.ContainsFunc(pairs[:at], sent) && slices.ContainsFunc(pairs[at:], sent) {
		return KindInserted
	}
	return KindPage
}
