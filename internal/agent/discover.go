package agent

import (
	"context"
	"errors"
	"time"

	"countersign/internal/esign"
	"countersign/internal/store"
)

// docListed names the document with when the service's list was last read to its end, or to what was known before.
const docListed = "listed"

// listed is that moment; everything made before it and not final is known here.
type listed struct {
	Through time.Time `json:"through"`
	Since   time.Time `json:"since"` // the account.Since it was read with
}

// listedMargin allows for a service whose clock is not ours, and listMost for one whose list never ends.
const (
	listedMargin = 24 * time.Hour
	listMost     = 20_000
)

// How often the service's list is read when nothing asks for it: it finds packages made elsewhere whose event never
// came. A service that has no list for us is asked once a day whether that is still so.
const (
	listSeldom  = 6 * time.Hour    // while events arrive
	listOften   = 20 * time.Minute // while none can
	listRefused = 24 * time.Hour
)

// listing is how long the service's list is not read again, and how many tries in a row have failed.
type listing struct {
	rest  cooldown
	tries int
}

// lookAround reads the service's list when it is time. A reading that failed is tried again by itself.
func (a *Agent) lookAround(ctx context.Context, client *esign.Client, l *listing) {
	now := a.now()
	if !l.rest.over(now) {
		return
	}
	pause := listSeldom
	err := a.discover(ctx, client)
	var e *esign.Error
	switch {
	case err == nil:
		l.tries = 0
		if a.deaf() {
			pause = listOften
		}
	case errors.As(err, &e) && !e.Temporary() && !concernsAll(err):
		l.tries, pause = 0, listRefused
	default:
		l.tries++
		pause = max(a.backoff(l.tries, a.p.Pace.Retry, time.Hour), a.rest.left(now))
	}
	if err != nil && ctx.Err() == nil {
		a.log.Info("list packages", "err", err, "again in", pause)
	}
	l.rest = coolFor(now, pause)
}

// discover finds packages of the organization that were made elsewhere while this computer did not listen, as far as
// the service offers a list. It reads on to what was made before the last complete reading, so that one that broke off
// in the middle leaves no gap. What was finished before the office first signed in is not fetched.
func (a *Agent) discover(ctx context.Context, client *esign.Client) error {
	const page = 100
	since := a.office.get().account.Since
	began := a.now()
	var last listed
	if err := a.st.View(func(tx *store.Tx) error {
		_, err := tx.GetDoc(docListed, &last)
		return err
	}); err != nil {
		return err
	}
	if last.Through.After(began.Add(clockSlack)) { // by a clock that was wrong
		last = listed{}
	}
	known := last.Through.Add(-listedMargin)
	if last.Through.IsZero() || !last.Since.Equal(since) {
		known = time.Time{}
	}
	for skip := 0; skip < listMost; skip += page {
		if err := a.budget.Wait(ctx); err != nil {
			return err
		}
		list, err := readList(ctx, client, esign.ListQuery{Take: page, Skip: skip})
		if err != nil {
			return a.noteListError(ctx, err)
		}
		if err := a.meetPackages(list.Items, since); err != nil {
			return err
		}
		if len(list.Items) < page || allBefore(list.Items, known) {
			break
		}
	}
	if began.Sub(last.Through) < listedMargin && last.Since.Equal(since) {
		return nil // it says as much as it did
	}
	return a.st.Update(func(tx *store.Tx) error {
		return tx.PutDoc(docListed, listed{Through: began, Since: since})
	})
}

// readList reads a page of the list. Packages that are known wait for it, so it is given up early.
func readList(ctx context.Context, client *esign.Client, q esign.ListQuery) (esign.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return client.List(ctx, q)
}

// noteListError is noteServiceError for what would befall any other call too: a list that does not work is no reason to
// say that the service does not. It returns err unchanged.
func (a *Agent) noteListError(ctx context.Context, err error) error {
	var e *esign.Error
	if concernsAll(err) || errors.As(err, &e) && (e.Kind == esign.Network || e.Kind == esign.SignedOut || e.RetryAfter > 0) {
		return a.noteServiceError(ctx, err)
	}
	return err
}

// allBefore reports whether every package was made before then; one that does not say when was not.
func allBefore(items []esign.Status, then time.Time) bool {
	for _, s := range items {
		if s.TimeCreated.IsZero() || !s.TimeCreated.Before(then) {
			return false
		}
	}
	return true
}

// meetPackages draws what a part of the list shows into the store: a record for every package that is not known and not
// over, and another look at those that are over here and not there.
func (a *Agent) meetPackages(items []esign.Status, since time.Time) error {
	var fresh int
	for _, s := range items {
		if s.PackageID != "" && !esign.UsableID(s.PackageID) {
			a.tellUnusable(s.PackageID, "", "The service's list names a package by an id that cannot be used."+onItsPages)
		}
	}
	err := a.st.Update(func(tx *store.Tx) error {
		fresh = 0
		for _, s := range items {
			if !esign.UsableID(s.PackageID) {
				continue
			}
			p, known, err := tx.Package(s.PackageID)
			if err != nil {
				return err
			}
			var news bool
			if known {
				news = a.openAgain(&p, s)
			} else {
				p, news = a.meet(s, since)
			}
			if !news {
				continue
			}
			fresh++
			if p.DraftID == "" {
				if err := a.claimDraft(tx, &p, s.ExternalData); err != nil {
					return err
				}
			}
			if err := putPackage(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && fresh > 0 {
		a.watchers.signal(PackagesChanged)
		poke(a.rings.outbox)
	}
	return err
}

// meet begins the record of a package that is not known, unless it is over, or was before the office first signed in.
func (a *Agent) meet(s esign.Status, since time.Time) (p store.Package, wanted bool) {
	state := store.PackageState(s.State)
	executed := state == store.PackageExecuted
	if s.PackageID == "" || state.Over() || state == store.PackageDraft ||
		executed && s.TimeExecuted.Before(since) && s.TimeCreated.Before(since) {
		return p, false
	}
	p = store.Package{
		ID: s.PackageID, Origin: store.MadeElsewhere, Name: s.Name, Created: a.now(), NextCheck: a.now(),
		ExternalData: s.ExternalData,
	}
	if !s.TimeCreated.IsZero() {
		p.Created = s.TimeCreated
	}
	if executed {
		p.Executed = s.TimeExecuted
	}
	return p, true
}

// openAgain has the service asked about a package that is over here, when the list shows that it is not: it was signed
// by everyone after all, or its time to sign was extended.
func (a *Agent) openAgain(p *store.Package, s esign.Status) (news bool) {
	switch state := store.PackageState(s.State); {
	case p.State == store.PackageExecuted:
		return false // it is asked about until its files are planned
	case state == store.PackageExecuted:
		when := s.TimeExecuted
		if when.IsZero() {
			when = a.now()
		}
		noteExecuted(p, when)
	case p.State.Over() && state != "" && !state.Over():
		p.State = state
	default:
		return false
	}
	p.NextCheck = a.now()
	return true
}
