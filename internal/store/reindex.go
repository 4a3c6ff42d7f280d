package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// nothingIsGivenUp is schema 3. Before it, a package that the service said it did not know, and a file that it did not
// give for two weeks, were never asked about again; now they are in the indexes of what is due. Everything that follows
// from packages and jobs is made anew.
func nothingIsGivenUp(b *bolt.Tx) error {
	for _, name := range []string{
		bucketPackageLines, bucketPackagesDue, bucketPackagesByDraft, bucketPackagesRefused,
		bucketJobsDue, bucketJobsRefused, bucketJobsFailed, bucketJobsDone, bucketTargets,
	} {
		if b.Bucket([]byte(name)) != nil {
			if err := b.DeleteBucket([]byte(name)); err != nil {
				return fmt.Errorf("empty %s: %w", name, err)
			}
		}
		if _, err := b.CreateBucket([]byte(name)); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	tx := &Tx{bolt: b, now: time.Now}
	if err := tx.forgetCounts("packages", "jobs"); err != nil {
		return err
	}
	if err := tx.reindexPackages(); err != nil {
		return err
	}
	return tx.oldest(bucketJobs, nil, func(key, value []byte) (bool, error) {
		j, err := decode[office.Job](bucketJobs, key, value)
		if errors.Is(err, ErrRecord) {
			return true, nil // it is left out from now on as it was before
		}
		if err != nil {
			return false, err
		}
		return true, tx.refacet(facets{}, jobFacets(j))
	})
}

// forgetCounts removes the counters of that name and those below it.
func (tx *Tx) forgetCounts(names ...string) error {
	var drop [][]byte
	err := tx.oldest(bucketCounts, nil, func(key, _ []byte) (bool, error) {
		name, _, _ := bytes.Cut(key, []byte("."))
		if slices.Contains(names, string(name)) {
			drop = append(drop, bytes.Clone(key))
		}
		return true, nil
	})
	for _, key := range drop {
		if err == nil {
			err = tx.del(bucketCounts, key)
		}
	}
	return err
}

func (tx *Tx) reindexPackages() error {
	var gone []office.Package
	err := tx.oldest(bucketPackages, nil, func(row, value []byte) (bool, error) {
		p, err := decode[office.Package](bucketPackages, row, value)
		if errors.Is(err, ErrRecord) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if p.Gone {
			gone = append(gone, p)
		}
		return true, tx.refacet(facets{}, packageFacets(p, row))
	})
	for _, p := range gone {
		if err != nil {
			return err
		}
		p.Gone = false
		p.Timeline = slices.DeleteFunc(p.Timeline, func(m office.Moment) bool { return m.What == "ended" && m.Ref == "gone" })
		err = tx.PutPackage(p)
	}
	return err
}
