package outbox

import (
	"context"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
)

// pagesAtOnce is how many pages of the service's list are read in one go; the rest is owed to the next.
const pagesAtOnce = 20

// search is a reading of the service's list for the packages of drafts. It belongs to one goroutine.
type search struct {
	client *esign.Client // whose list it is: another one's has other packages at other places
	list   List
	found  map[string]string // draft id -> package id, "" as long as there is none: the drafts that it is for
}

// search begins to read the list for the packages of drafts, of which there is one at least.
func (r *Service) search(client *esign.Client, drafts []office.Draft) *search {
	oldest := drafts[0]
	s := &search{client: client, found: map[string]string{}}
	for _, d := range drafts {
		s.found[d.ID] = ""
		if d.Created.Before(oldest.Created) {
			oldest = d
		}
	}
	s.list = r.deps.List(client, oldest)
	return s
}

// goesOn reports whether s, which may be nil, is a reading of client's list.
func (s *search) goesOn(client *esign.Client) bool { return s != nil && s.client == client }

// isFor reports whether s, which may be nil, is for d.
func (s *search) isFor(d office.Draft) bool {
	if s == nil {
		return false
	}
	_, ok := s.found[d.ID]
	return ok
}

// read reads on until every draft's package is found. more is set when there is more to read, which the next call does, as it
// does after an error.
func (s *search) read(ctx context.Context, answered func(context.Context, error)) (more bool, err error) {
	left := 0
	for _, id := range s.found {
		if id == "" {
			left++
		}
	}
	for range pagesAtOnce {
		page, more, err := s.list.Next(ctx)
		if err != nil {
			return true, err
		}
		answered(ctx, nil)
		for _, x := range page {
			draft := cameFrom(x.ExternalData).draft
			if id, wanted := s.found[draft]; wanted && id == "" {
				s.found[draft] = x.PackageID
				left--
			}
		}
		if !more || left == 0 {
			return false, nil
		}
	}
	return true, nil
}

// patience is how long the list is left alone that could not be read, and how many tries in a row have failed.
type patience struct {
	tries int
	rest  loop.Cooldown
}

// noteList notes whether the list could be read.
func (r *Service) noteList(err error) {
	if err == nil {
		r.list = patience{}
		return
	}
	r.list.tries++
	r.list.rest = loop.CoolFor(r.Now(), r.Backoff(r.list.tries, 2*r.Pace.Retry, loop.MaxRoundPause))
}
