package reconcile

import (
	"context"
	"errors"
	"time"

	"countersign/internal/esign"

	"golang.org/x/time/rate"
)

const (
	listPage    = 100 // items requested at once; the service may return fewer
	listOverlap = 10  // items requested twice, to detect a page that begins too late
	listRound   = 20  // pages per round
	listStale   = 3   // a list ends after this many pages without anything new
	listBacks   = 10  // a list changes too much to be read after this many steps back

	// listProof is how many packages must be in order, newest first, before the list counts as sorted: more than chance.
	listProof = 20
)

// listMargin allows for the service's clock differing from ours.
const listMargin = 24 * time.Hour

// listReader goes through the service's list page by page, possibly with pauses. It assumes nothing the service has not shown:
// neither the requested order, nor the page size, nor that the list does not change. Only if what has come is sorted newest first
// does it stop early, at known packages.
type listReader struct {
	client *esign.Client // the list's client: another one sees other packages at other positions
	began  time.Time
	known  time.Time // everything made before is known; zero to read to the end
	pages  int       // pages read so far

	budget   *rate.Limiter
	skip     int
	seen     map[string]bool
	previous map[string]bool // packages of the previous page, unless it does not overlap the next
	refused  int             // how many optional parameters are refused: the page size, then the order, too
	own      bool            // the account may list only its own packages
	stale    int
	backs    int

	last       time.Time // creation of the package read last
	proof      int       // packages that were older than their predecessor
	disordered bool
}

// newReader starts at the newest package visible to client, at the rate of budget. known is as in listReader.
func newReader(client *esign.Client, budget *rate.Limiter, began, known time.Time) *listReader {
	return &listReader{client: client, began: began, known: known, budget: budget, seen: map[string]bool{}}
}

// goesOn reports whether r, which may be nil, is a reading of client's list.
func (r *listReader) goesOn(client *esign.Client) bool { return r != nil && r.client == client }

type listEnd int

const (
	listMore  listEnd = iota // there is more to read
	listWhole                // everything, or everything unknown, has been read
	listTorn                 // at the end, but something was missed
)

// next reads a page, once the budget allows. After an error the same page is read again.
func (r *listReader) next(ctx context.Context) ([]esign.Status, listEnd, error) {
	if err := r.budget.Wait(ctx); err != nil {
		return nil, listMore, err
	}
	q := esign.ListQuery{NewestFirst: r.refused < 2, Own: r.own, Take: listPage, Skip: r.skip}
	if r.refused > 0 {
		q.Take = 0
	}
	page, err := readList(ctx, r.client, q)
	e, _ := errors.AsType[*esign.Error](err)
	switch {
	case err == nil:
	case r.pages == 0 && e != nil && e.Kind == esign.Refused && q.NewestFirst:
		r.refused++
		return r.next(ctx)
	case r.pages == 0 && e != nil && e.Kind == esign.Forbidden && !q.Own:
		r.own = true
		return r.next(ctx)
	default:
		return nil, listMore, err
	}
	r.pages++
	return page.Items, r.take(page), nil
}

// take evaluates a page of the list.
func (r *listReader) take(page esign.Page) listEnd {
	gap := len(r.previous) > 0 && !anyOf(page.Items, r.previous)
	fresh := r.see(page.Items)
	switch {
	case gap && (fresh > 0 || len(page.Items) == 0):
		// Something was removed from the list: unread items have moved to positions already read.
		if r.backs++; r.backs > listBacks {
			return listTorn
		}
		back := len(page.Items)
		if back == 0 {
			back = listPage
		}
		if r.skip = max(0, r.skip-back); r.skip == 0 {
			r.previous = nil
		}
		return listMore
	case len(page.Items) == 0:
		return r.end(page.Total)
	case fresh == 0 && r.skip+len(page.Items) > len(r.seen): // otherwise it is an overlap with pages already read
		if r.stale++; r.stale >= listStale {
			return r.end(page.Total)
		}
	case fresh > 0:
		r.stale = 0
	}
	if !r.known.IsZero() && !r.disordered && r.proof >= listProof && endsBefore(page.Items, r.known) {
		return listWhole
	}
	overlap := min(listOverlap, len(page.Items)/4)
	if page.Total > 0 && len(r.seen) >= page.Total {
		overlap = 0 // the next page should be empty
	}
	r.skip += len(page.Items) - overlap
	r.previous = nil
	if overlap > 0 {
		r.previous = ids(page.Items)
	}
	return listMore
}

// see records which packages were read, returns how many are new, and checks that they are sorted newest first.
func (r *listReader) see(items []esign.Status) (fresh int) {
	for _, s := range items {
		if r.seen[s.PackageID] {
			continue
		}
		fresh++
		r.seen[s.PackageID] = true
		switch {
		case s.TimeCreated.IsZero(), !r.last.IsZero() && s.TimeCreated.After(r.last):
			r.disordered = true
		case s.TimeCreated.Before(r.last):
			r.proof++
		}
		r.last = s.TimeCreated
	}
	return fresh
}

// end handles a list that returns no more. If the service says that there is more, something was missed.
func (r *listReader) end(total int) listEnd {
	if len(r.seen) < total {
		return listTorn
	}
	return listWhole
}

func ids(items []esign.Status) map[string]bool {
	set := make(map[string]bool, len(items))
	for _, s := range items {
		set[s.PackageID] = true
	}
	return set
}

func anyOf(items []esign.Status, known map[string]bool) bool {
	for _, s := range items {
		if known[s.PackageID] {
			return true
		}
	}
	return false
}

// endsBefore reports whether the last packages of a page, enough to prove an order, were made before then; one without a creation
// time was not.
func endsBefore(items []esign.Status, then time.Time) bool {
	for _, s := range items[max(0, len(items)-listProof):] {
		if s.TimeCreated.IsZero() || !s.TimeCreated.Before(then) {
			return false
		}
	}
	return true
}

// readList reads a page of the list. Known packages wait for it, so its time is limited.
func readList(ctx context.Context, client *esign.Client, q esign.ListQuery) (esign.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return client.List(ctx, q)
}
