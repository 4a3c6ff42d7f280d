package outbox

import (
	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// standing is how it stands with the package that a draft corrects. Two of one contract, both signed, must not come about.
type standing int

const (
	outOfTheWay   standing = iota // there is none, or nobody can sign it any more
	withdrawing                   // it is to be withdrawn, and may still be signed
	signedInstead                 // everybody has signed it
	stillOpen                     // it may be signed, and nobody withdraws it
)

// corrected is how it stands with the package that d corrects, and what that is called.
func (r *Service) corrected(d office.Draft) (s standing, name string, err error) {
	if d.Corrects == "" {
		return outOfTheWay, "", nil
	}
	p, err := data.Read(r.Data, "the package that is corrected", func(tx *store.Tx) (office.Package, error) {
		p, _, err := tx.Package(d.Corrects)
		return p, err
	})
	switch {
	case err != nil:
		return outOfTheWay, "", err
	case p.ID == "", p.State.Over():
		return outOfTheWay, "", nil
	case p.State == office.PackageExecuted:
		return signedInstead, p.DisplayName(), nil
	case p.Withdrawal.Pending():
		return withdrawing, p.DisplayName(), nil
	}
	return stillOpen, p.DisplayName(), nil
}

// waits reports whether d waits until the package that it corrects is withdrawn; Wake is called then. The first time it
// says so in d.
func (r *Service) waits(d office.Draft) bool {
	if d.State != office.DraftQueued {
		return false
	}
	standing, name, err := r.corrected(d)
	if err != nil || standing != withdrawing {
		return false
	}
	if why := message.CorrectedWaits(name); d.Problem != why {
		d.Problem = why
		if err := r.putDraft(&d, office.DraftQueued); err != nil {
			r.Log.Warn("say what a draft waits for", "err", err)
		}
	}
	return true
}
