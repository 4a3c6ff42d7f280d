package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

var (
	ana = office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}
	jan = office.Signer{FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"}
	zoe = office.Signer{FirstName: "Zoë", LastName: "Keller", Email: "zoe.keller@example.com"}
)

// drafts are the packages that the demo sends, from the samples in folder.
func (d *Demo) drafts(folder string) []office.NewPackage {
	file := func(name string) string { return filepath.Join(folder, name) }
	list := []office.NewPackage{
		{
			Name: "Lease Sonnenweg 4", Files: []string{file("Lease Sonnenweg 4.pdf"), file("Mandate Keller.pdf")},
			Signers: []office.Signer{jan, ana}, Sequential: true,
			Message: "Dear both, here is the lease as agreed.", Due: time.Now().AddDate(0, 0, 14),
		},
		{Name: "Offer 2026-118", Files: []string{file("Offer 2026-118.pdf")}, Signers: []office.Signer{ana, zoe}},
	}
	if d.o.ByHand {
		list = append(list, office.NewPackage{
			Name: "Mandate for you to sign", Files: []string{file("Mandate Keller.pdf")}, Signers: []office.Signer{zoe},
			Message: "Read the mandate, then draw your signature below.",
		})
	}
	return list
}

// Play sends the packages and plays their signers until every file is saved. A package that waits for the user's
// own signature is sent and left alone.
func (d *Demo) Play(ctx context.Context) error {
	err := d.waitFor(ctx, func() (bool, error) {
		s, err := d.Agent.Status()
		return s.Endpoint.ID != "", err
	})
	if err != nil {
		return fmt.Errorf("register the endpoint: %w", err)
	}
	folder, err := d.samples()
	if err != nil {
		return err
	}
	var played []string
	for i, draft := range d.drafts(folder) {
		state, err := d.Agent.Send(ctx, draft, nil)
		if err != nil {
			return err
		}
		if state.State != office.DraftSent {
			return message.Error(state.Problem, fmt.Errorf("send %s", draft.Name))
		}
		if i < 2 {
			played = append(played, state.PackageID)
		}
	}
	for _, id := range played {
		if err := d.playSigners(ctx, id); err != nil {
			return err
		}
	}
	return d.waitFor(ctx, func() (bool, error) {
		for _, id := range played {
			if p, ok, err := d.Agent.Package(id); err != nil || !ok || !p.Saved {
				return false, err
			}
		}
		return true, nil
	})
}

// playSigners signs for each signer of a package, one after the other.
func (d *Demo) playSigners(ctx context.Context, packageID string) error {
	for _, p := range d.Service.Packages() {
		if p.PackageID != packageID {
			continue
		}
		for _, s := range p.Signers {
			pause := time.NewTimer(d.o.Pace)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return ctx.Err()
			}
			if err := d.Service.Sign(packageID, s.SignerID); err != nil {
				return fmt.Errorf("sign as %s: %w", s.Email, err)
			}
		}
	}
	return nil
}

// waitFor waits until done returns true, checking again after every change.
func (d *Demo) waitFor(ctx context.Context, done func() (bool, error)) error {
	changes, stop := d.Agent.Watch()
	defer stop()
	for {
		if over, err := done(); err != nil || over {
			return err
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
