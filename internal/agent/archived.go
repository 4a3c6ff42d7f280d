package agent

import (
	"fmt"
	"slices"

	"countersign/internal/office"
	"countersign/internal/store"
)

// Archive takes a package out of the list, or puts it back. Nothing else changes: it is followed, saved and told of as
// before, and when something new goes wrong with it, it is in the list again.
func (a *Agent) Archive(packageID string, archived bool) error {
	err := a.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if err != nil || !ok {
			return err
		}
		p.Archived = nil
		if archived {
			p.Archived = &office.Archived{With: wrongWith(p)}
		}
		return putPackage(tx, p)
	})
	if err != nil {
		return fmt.Errorf("archive package %s: %w", packageID, err)
	}
	a.Signal(office.PackagesChanged)
	return nil
}

// stillArchived is p's place outside the list, nil once something is wrong that was not when it was archived. What is
// no longer wrong is forgotten, so that the same is news when it comes again.
func stillArchived(p office.Package) *office.Archived {
	if p.Archived == nil {
		return nil
	}
	wrong := wrongWith(p)
	for _, what := range wrong {
		if !slices.Contains(p.Archived.With, what) {
			return nil
		}
	}
	return &office.Archived{With: wrong}
}

// wrongWith names what is wrong with a package; the texts of problems may change while the problem is the same.
func wrongWith(p office.Package) (what []string) {
	for name, is := range map[string]bool{"problem": p.Problem != "", "gone": p.Gone, "expired": p.State == office.PackageExpired, "declined": p.State == "declined"} {
		if is {
			what = append(what, name)
		}
	}
	for _, s := range p.Signers {
		if !s.Declined.IsZero() {
			what = append(what, "declined by "+s.ID)
		}
	}
	slices.Sort(what)
	return what
}
