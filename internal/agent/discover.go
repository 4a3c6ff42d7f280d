package agent

import (
	"context"
	"time"

	"countersign/internal/esign"
	"countersign/internal/store"

	"golang.org/x/time/rate"
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

// discover finds packages of the organization that were made elsewhere while this computer did not listen, as far as
// the service offers a list. It reads on to what was made before the last complete reading, so that one that broke off
// in the middle leaves no gap. What was finished before the office first signed in is not fetched.
func (a *Agent) discover(ctx context.Context, client *esign.Client, limiter *rate.Limiter) error {
	const page = 100
	a.mu.Lock()
	since := a.account.Since
	a.mu.Unlock()
	began := a.now()
	var last listed
	if err := a.st.View(func(tx *store.Tx) error {
		_, err := tx.GetDoc(docListed, &last)
		return err
	}); err != nil {
		return err
	}
	known := last.Through.Add(-listedMargin)
	if last.Through.IsZero() || !last.Since.Equal(since) {
		known = time.Time{}
	}
	for skip := 0; skip < listMost; skip += page {
		if err := limiter.Wait(ctx); err != nil {
			return err
		}
		list, err := client.List(ctx, esign.ListQuery{Take: page, Skip: skip})
		if err != nil {
			return err
		}
		if err := a.meetPackages(list.Items, since); err != nil {
			return err
		}
		if len(list.Items) < page || allBefore(list.Items, known) {
			break
		}
	}
	if began.Sub(last.Through) < time.Hour && last.Since.Equal(since) {
		return nil // it says as much as it did
	}
	return a.st.Update(func(tx *store.Tx) error {
		return tx.PutDoc(docListed, listed{Through: began, Since: since})
	})
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

// meetPackages starts a record for every package of a listing that is not known and not over.
func (a *Agent) meetPackages(items []esign.Status, since time.Time) error {
	var fresh int
	err := a.st.Update(func(tx *store.Tx) error {
		fresh = 0
		for _, s := range items {
			if s.PackageID == "" || ended(s.State) || s.State == "draft" {
				continue
			}
			_, known, err := tx.Package(s.PackageID)
			if err != nil {
				return err
			}
			finished := s.State == stateExecuted || s.Executed
			if known || finished && s.TimeExecuted.Before(since) && s.TimeCreated.Before(since) {
				continue
			}
			fresh++
			p := store.Package{
				ID: s.PackageID, Origin: store.MadeElsewhere, Name: s.Name, Created: a.now(), NextCheck: a.now(),
				ExternalData: s.ExternalData,
			}
			if !s.TimeCreated.IsZero() {
				p.Created = s.TimeCreated
			}
			if finished {
				p.Executed = s.TimeExecuted
			}
			if err := a.claimDraft(tx, &p, s.ExternalData); err != nil {
				return err
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

// askAgainForGone gives packages that the service did not know another chance: whoever signed in now may see more.
func (a *Agent) askAgainForGone() error {
	var gone []string
	err := a.st.View(func(tx *store.Tx) error {
		gone = nil
		return tx.PackageLines(func(l store.PackageLine) bool {
			if l.Gone && !ended(l.State) {
				gone = append(gone, l.ID)
			}
			return true
		})
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return a.st.Update(func(tx *store.Tx) error {
		for _, id := range gone {
			p, ok, err := tx.Package(id)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			p.Gone, p.NextCheck = false, a.now()
			if err := putPackage(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
}
