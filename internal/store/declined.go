package store

import (
	"errors"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// countDeclined is schema 5: packages that somebody declined are counted by themselves. Before it they counted as open.
func countDeclined(b *bolt.Tx) error {
	tx := &Tx{bolt: b}
	if err := tx.forgetCounts("packages"); err != nil {
		return err
	}
	return tx.oldest(bucketPackages, nil, func(row, value []byte) (bool, error) {
		p, err := decode[office.Package](bucketPackages, row, value)
		if errors.Is(err, ErrRecord) {
			return true, nil // it is left out from now on as it was before
		}
		if err != nil {
			return false, err
		}
		var f facets
		f.countPackage(p, p.Line())
		return true, tx.refacet(facets{}, f)
	})
}
