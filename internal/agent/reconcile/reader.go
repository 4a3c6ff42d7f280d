package reconcile

import (
	"context"
	"errors"
	"time"

	"countersign/internal/esign"

	"golang.org/x/time/rate"
)

const (
	listPage    = 100 // items asked for at once; the service may give fewer
	listOverlap = 10  // items asked for twice, so that a page that begins too late is noticed
	listRound   = 20  // pages read in one go; the rest is left to the next
	listStale   = 3   // pages without anything new after which a list has no more
	listBacks   = 10  // steps back after which a list moves too much to be read

	// listProof is how many packages must be newest first before the list is taken to be: that many are not by chance.
	listProof = 20
)

// listMargin allows for a service whose clock is not ours.
const listMargin = 24 * time.Hour

// listReader goes through the service's list page by page, and may pause between two. It relies on nothing that the service
// has not shown: neither on the order that was asked for, nor on the size of a page, nor on the list staying as it is. Only
// where what came is newest first does it end before the list does, at what is known already.
type listReader struct {
	client *esign.Client // whose list it is: another one's has other packages at other places
	began  time.Time
	known  time.Time // whatever was made before is known; zero to read to the end
	pages  int       // read so far

	budget   *rate.Limiter
	skip     int
	seen     map[string]bool
	previous map[string]bool // the packages of the page before, unless that has no overlap with the next
	refused  int             // of what is asked for beside the list: how many at once, and then the order, too
	own      bool            // the account may list its own packages alone
	stale    int
	backs    int

	last       time.Time // when the package read last was made
	proof      int       // packages that were older than the one before
	disordered bool
}

// newReader begins at the newest package of what client may see, at the rate of budget. known is as in listReader.
func newReader(client *esign.Client, budget *rate.Limiter, began, known time.Time) *listReader {
	return &listReader{client: client, began: began, known: known, budget: budget, seen: map[string]bool{}}
}

// goesOn reports whether r, which may be nil, is a reading of client's list.
func (r *listReader) goesOn(client *esign.Client) bool { return r != nil && r.client == client }

type listEnd int

const (
	listMore  listEnd = iota // there is more to read
	listWhole                // everything was read, or everything back to what is known
	listTorn                 // there is nothing more to read, but something was missed
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

// take notes what a page shows of the list.
func (r *listReader) take(page esign.Page) listEnd {
	gap := len(r.previous) > 0 && !anyOf(page.Items, r.previous)
	fresh := r.see(page.Items)
	switch {
	case gap && (fresh > 0 || len(page.Items) == 0):
		// Something was taken out of the list: what was not read yet has moved to where was read already.
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
	case fresh == 0 && r.skip+len(page.Items) > len(r.seen): // else this is where it was read before
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

// see notes which packages were read, how many of them for the first time, and whether those are newest first.
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

// end is for a list that gives no more. When the service says that there is, something was missed.
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

// endsBefore reports whether the last packages of a page, as many as prove an order, were made before then; one that does not
// say when was not.
func endsBefore(items []esign.Status, then time.Time) bool {
	for _, s := range items[max(0, len(items)-listProof):] {
		if s.TimeCreated.IsZero() || !s.TimeCreated.Before(then) {
			return false
		}
	}
	return true
}

// readList reads a page of the list. Packages that are known wait for it, so it is given up early.
func readList(ctx context.Context, client *esign.Client, q esign.ListQuery) (esign.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return client.List(ctx, q)
}
