package reconcile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Lines returns every package in a few words, newest first.
func (r *Service) Lines() ([]office.PackageLine, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (lines []office.PackageLine, err error) {
		err = tx.PackageLines(func(l office.PackageLine) bool {
			lines = append(lines, l)
			return true
		})
		return lines, err
	})
}

// LinesSince returns the packages in a few words: those that are new or changed since a version, or all.
func (r *Service) LinesSince(version uint64) (office.Lines, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (office.Lines, error) { return tx.LinesSince(version) })
}

// Package returns one package with its files; known is false when there is none of that id.
func (r *Service) Package(id string) (row office.PackageRow, known bool, err error) {
	row, err = data.Read(r.Data, "package "+id, func(tx *store.Tx) (office.PackageRow, error) {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return office.PackageRow{}, err
		}
		known = true
		return packageRow(tx, p)
	})
	return row, known && err == nil, err
}

func packageRow(tx *store.Tx, p office.Package) (office.PackageRow, error) {
	row := office.PackageRow{Package: p}
	row.Name = p.DisplayName()
	if p.State != office.PackageExecuted {
		return row, nil
	}
	jobs, err := tx.JobsOf(p.ID)
	for _, j := range jobs {
		row.FilesTotal++
		if j.State == office.JobDone {
			row.FilesDone++
		}
		row.Files = append(row.Files, office.File{Path: filepath.Join(j.Folder, filepath.FromSlash(j.Target)),
			Kind: j.Kind, DocumentID: j.DocumentID, State: j.State, Problem: j.Problem})
	}
	slices.SortStableFunc(row.Files, func(x, y office.File) int {
		return cmp.Or(x.Kind.Rank()-y.Kind.Rank(), documentIndex(p, x.DocumentID)-documentIndex(p, y.DocumentID))
	})
	return row, err
}

func documentIndex(p office.Package, id string) int {
	return slices.IndexFunc(p.Documents, func(d office.Document) bool { return d.ID == id })
}

// Archive takes a package out of the list, or puts it back. Nothing else changes: it is followed, saved and told of as
// before, and when something new goes wrong with it, it is in the list again.
func (r *Service) Archive(packageID string, archived bool) error {
	err := r.Data.Update(func(tx *store.Tx) error {
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
	r.Signal(office.PackagesChanged)
	return nil
}
