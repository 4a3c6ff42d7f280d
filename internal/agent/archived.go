package agent

import (
	"fmt"

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
		p.Archive(archived)
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("archive package %s: %w", packageID, err)
	}
	a.Signal(office.PackagesChanged)
	return nil
}
