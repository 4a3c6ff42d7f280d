package reconcile

import (
	"errors"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Find returns the packages that q asks for, in its order.
func (r *Service) Find(q office.Query) ([]office.Package, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (list []office.Package, err error) {
		var lines []office.PackageLine
		err = tx.PackageLines(func(l office.PackageLine) bool {
			lines = append(lines, l)
			return true
		})
		if err != nil {
			return nil, err
		}
		for _, l := range q.Choose(lines) {
			p, ok, err := tx.Package(l.ID)
			switch {
			case errors.Is(err, store.ErrRecord): // it holds up none of the others, and its line is there
				list = append(list, office.Package{ID: l.ID, Name: l.Name, State: l.State, Origin: l.Origin, Created: l.Created, Due: l.Due, Executed: office.When{Time: l.Executed}})
			case err != nil:
				return nil, err
			case ok:
				list = append(list, p)
			}
		}
		return list, nil
	})
}
