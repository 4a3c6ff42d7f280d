package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/internal/office"
)

var packages = shelf{rows: bucketPackages, ids: bucketPackageIDs}

// PackageCounts counts packages. Packages that expired or were rescinded count in Total alone.
type PackageCounts struct {
	Total    int
	Open     int // may still be signed by everyone
	Declined int // may not, because a signer declined; without those that people have archived
	Executed int // signed by everyone
	Saved    int // Package.Saved is set
}

func packageFacets(p office.Package, row []byte) (f facets) {
	line := p.Line()
	f.entry(bucketPackageLines, encodeLine(line), row)
	f.countPackage(p, line)
	if !p.Final() && !p.Away {
		f.entry(bucketPackagesDue, nil, stamp(p.NextCheck), row)
	}
	if p.State == office.PackageExecuted && !p.Planned && !p.Away && !p.Refused.IsZero() {
		f.entry(bucketPackagesRefused, nil, stamp(p.Refused), row)
	}
	if p.Withdrawal.Pending() && !p.Away {
		f.entry(bucketWithdrawalsDue, nil, stamp(p.Withdrawal.NextTry), row)
	}
	if p.DraftID != "" {
		f.entry(bucketPackagesByDraft, nil, draftKey(p.DraftID), row)
	}
	return f
}

// countPackage adds the share of PackageCounts of p, whose line it is.
func (f *facets) countPackage(p office.Package, line office.PackageLine) {
	f.count("packages", 1)
	switch {
	case p.State == office.PackageExecuted:
		f.count("packages.executed", 1)
	case line.Status() == office.StatusDeclined && !line.Archived:
		f.count("packages.declined", 1)
	case !p.State.Over() && !line.Refused():
		f.count("packages.open", 1)
	}
	if p.Saved {
		f.count("packages.saved", 1)
	}
}

func draftKey(id string) []byte {
	key, err := idKey(id)
	if err != nil {
		return nil
	}
	return append(bytes.Clone(key), 0)
}

// Package returns a stored package.
func (tx *Tx) Package(id string) (office.Package, bool, error) {
	row, value, err := tx.find(packages, id)
	if err != nil || value == nil {
		return office.Package{}, false, err
	}
	p, err := tx.packageOf(row, value)
	if err == nil && tx.bolt.Writable() {
		tx.follow(bucketPackages, row, packageFacets(p, row))
	}
	return p, err == nil, err
}

// FirstPackage is Package for the first of ids that has one.
func (tx *Tx) FirstPackage(ids []string) (p office.Package, ok bool, err error) {
	for _, id := range ids {
		if p, ok, err = tx.Package(id); ok || err != nil {
			break
		}
	}
	return p, ok, err
}

// Glance is of a stored package what tells whether a list says anything new of it, its State, Refused and Service, at a fraction
// of the cost of the whole. ok is false where that is to be looked at: there is none, or it cannot be read.
func (tx *Tx) Glance(id string) (p office.Package, ok bool) {
	row, value, err := tx.find(packages, id)
	if err != nil || value == nil {
		return p, false
	}
	if known, ok := tx.memory.at(bucketPackages, row, value).(office.Package); ok {
		return office.Package{State: known.State, Refused: known.Refused, Service: known.Service}, true
	}
	var seen struct {
		State   office.PackageState `json:"state"`
		Refused time.Time           `json:"refused"`
		Service string              `json:"service"`
	}
	if json.Unmarshal(value, &seen) != nil {
		return p, false
	}
	return office.Package{State: seen.State, Refused: seen.Refused, Service: seen.Service}, true
}

// PutPackage stores a package, new or changed, with what follows from the rest of it (office.Package.Derived). Its place
// in the lists follows Created; a zero Created becomes now.
func (tx *Tx) PutPackage(p office.Package) error {
	row, value, err := tx.find(packages, p.ID)
	if err != nil {
		return err
	}
	old, known := tx.followed[bucketPackages+string(row)]
	if value != nil && !known {
		stored, err := tx.packageOf(row, value)
		if err != nil {
			return err
		}
		old = packageFacets(stored, row)
	}
	if p.Created.IsZero() {
		p.Created = tx.now()
	}
	if err := tx.home(&p.Service, &p.Away); err != nil {
		return err
	}
	p = p.Derived()
	p.State = p.State.Normal()
	inUTC(&p.Created, &p.Due, &p.Executed.Time, &p.Checked, &p.NextCheck, &p.Refused)
	if p.Withdrawal != nil {
		w := *p.Withdrawal
		inUTC(&w.Asked, &w.NextTry)
		p.Withdrawal = &w
	}
	for i := range p.History { // a copy of Derived's
		inUTC(&p.History[i].Time.Time)
	}
	if row, err = tx.place(packages, p.ID, row, p.Created, p); err != nil {
		return fmt.Errorf("store package: %w", err)
	}
	return tx.refacet(old, tx.follow(bucketPackages, row, packageFacets(p, row)))
}

// Packages calls each with all packages, newest first by Created, until it returns false. Where a list needs only
// a line of each, PackageLines is many times faster.
func (tx *Tx) Packages(each func(office.Package) bool) error {
	return tx.newest(bucketPackages, "", func(row, value []byte) (bool, error) {
		p, err := tx.packageOf(row, value)
		if errors.Is(err, ErrRecord) {
			tx.leaveOut(err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		return each(p), nil
	})
}

// PackagesDue returns up to limit packages that are not [Package.Final] and due by their NextCheck, longest due first.
func (tx *Tx) PackagesDue(d Due, limit int) ([]office.Package, error) {
	return tx.packages(limit, func(each visit) error { return tx.due(bucketPackagesDue, d, each) })
}

// packages lists those whose rows in an index by time walk leads to.
func (tx *Tx) packages(limit int, walk func(visit) error) ([]office.Package, error) {
	return listed(tx, limit, walk, func(key []byte) (office.Package, error) { return tx.packageAt(key[8:]) })
}

// AllOpen returns every package of the service in use that is not [Package.Final], in the order of NextCheck.
func (tx *Tx) AllOpen() ([]office.Package, error) {
	return tx.packages(-1, func(each visit) error { return tx.oldest(bucketPackagesDue, nil, each) })
}

// Unfinished returns every package of any service that is not [Package.Final]. It reads all there are.
func (tx *Tx) Unfinished() (list []office.Package, err error) {
	err = tx.Packages(func(p office.Package) bool {
		if !p.Final() {
			list = append(list, p)
		}
		return true
	})
	return list, err
}

// PackagesRefused returns the packages that everybody has signed and whose files cannot be planned, because the service
// has not told what that needs since then or longer; the longest refused first.
func (tx *Tx) PackagesRefused(since time.Time) ([]office.Package, error) {
	return tx.packages(-1, func(each visit) error { return tx.between(bucketPackagesRefused, nil, after(since), each) })
}

// NextPackageCheck is the earliest NextCheck of all packages that are not [Package.Final]: 1970 when one has none and
// is due at once, the zero time when there is no such package.
func (tx *Tx) NextPackageCheck() (time.Time, error) { return tx.first(bucketPackagesDue) }

// PackageByDraft returns the package that was sent from a draft; the newest one, should there be several.
func (tx *Tx) PackageByDraft(draftID string) (found office.Package, ok bool, err error) {
	prefix := draftKey(draftID)
	if prefix == nil {
		return office.Package{}, false, nil
	}
	err = tx.oldest(bucketPackagesByDraft, prefix, func(key, _ []byte) (bool, error) {
		if len(key) != len(prefix)+16 {
			return true, nil
		}
		p, err := tx.packageAt(key[len(prefix):])
		if errors.Is(err, ErrRecord) {
			tx.leaveOut(err)
			return true, nil
		}
		if err == nil && p.DraftID == draftID {
			found, ok = p, true
		}
		return true, err
	})
	return found, ok, err
}

// PackageCounts reads the counters; it does not scan.
func (tx *Tx) PackageCounts() (c PackageCounts, err error) {
	err = tx.counters(map[string]*int{
		"packages":          &c.Total,
		"packages.open":     &c.Open,
		"packages.declined": &c.Declined,
		"packages.executed": &c.Executed,
		"packages.saved":    &c.Saved,
	})
	return c, err
}
