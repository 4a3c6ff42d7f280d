package sandbox

import (
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// playSigners has simulated signers sign what was just stored, Options.AutoSign after it became their turn. Storing their
// signatures comes back here for those who are next.
func (s *Server) playSigners(p *pack) {
	turns := p.turns(s.opt.Now())
	if s.opt.AutoSign <= 0 || len(turns) == 0 {
		return
	}
	id := p.PackageID
	s.workers.Go(func() {
		select {
		case <-time.After(s.opt.AutoSign):
		case <-s.ctx.Done():
			return
		}
		for _, signerID := range turns {
			p, err := read[pack](s.db, bucketPackages, id)
			if err != nil || !slices.Contains(p.turns(s.opt.Now()), signerID) {
				continue // somebody signed for them meanwhile
			}
			if err := s.Sign(id, signerID); err != nil {
				s.log.Warn("a simulated signer could not sign", "package", id, "error", err)
			}
		}
	})
}

// playAllSigners is playSigners for the packages that wait since the last stop.
func (s *Server) playAllSigners() error {
	return s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketPackages, func(_ string, p pack) error {
			s.playSigners(&p)
			return nil
		})
	})
}

// turns are the signers who can sign something now.
func (p *pack) turns(now time.Time) []string {
	var ids []string
	for _, sg := range p.Signers {
		if p.hasTurn(sg.SignerID, now) {
			ids = append(ids, sg.SignerID)
		}
	}
	return ids
}
