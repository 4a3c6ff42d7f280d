package sandbox

import (
	"errors"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// packageLocks let one change at a time at a package, without holding the database while PDFs are made.
type packageLocks [64]sync.Mutex

func (l *packageLocks) of(packageID string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(packageID))
	return &l[h.Sum32()%uint32(len(l))]
}

// changePack applies one change to a package and stores it together with the events it causes.
func (s *Server) changePack(id string, change func(p *pack, now time.Time) ([]event, error)) error {
	lock := s.locks.of(id)
	lock.Lock()
	defer lock.Unlock()
	p, err := read[pack](s.db, bucketPackages, id)
	if errors.Is(err, errNotFound) {
		return notFound("package")
	}
	if err != nil {
		return err
	}
	now := s.opt.Now()
	events, err := change(&p, now)
	if err != nil {
		return err
	}
	p.TimeModified = now
	err = s.db.Update(func(tx *bolt.Tx) error {
		if err := s.putPack(tx, &p); err != nil {
			return err
		}
		return s.delivery.enqueue(tx, &p, events)
	})
	if err == nil {
		s.playSigners(&p)
	}
	return err
}

// Sign signs every document that is this signer's turn with the signer's typed name. It fails when there is none.
func (s *Server) Sign(packageID, signerID string) error {
	return s.signAs(packageID, signerID, signature{})
}

// signAs signs all of a signer's turns. The PDFs of documents this executes exist before the state says so.
func (s *Server) signAs(packageID, signerID string, how signature) error {
	return s.changePack(packageID, func(p *pack, now time.Time) ([]event, error) {
		sg, ok := p.signer(signerID)
		if !ok {
			return nil, notFound("signer")
		}
		if how.Typed == "" && len(how.PNG) == 0 {
			how.Typed = sg.fullName()
		}
		var events []event
		for i := range p.Documents {
			d := &p.Documents[i]
			for n := range d.Revisions {
				r := &d.Revisions[n]
				if r.SignerID != signerID || !p.isTurn(d, n, now) {
					continue
				}
				r.TimeSigned, r.Signature = &now, &how
				events = append(events, signedEvent(p, d, n, now))
				if d.signed() < len(d.Revisions) {
					continue
				}
				d.TimeExecuted = &now
				if err := s.writeExecuted(p, d); err != nil {
					return nil, err
				}
				events = append(events, documentExecutedEvent(p, d, now))
			}
		}
		if len(events) == 0 {
			return nil, badRequest("signer_invalid_turn", "There is nothing for this signer to sign now.")
		}
		if p.allExecuted() {
			p.State, p.TimeExecuted = stateExecuted, &now
			events = append(events, packageEvents(p, []string{actionExecuted}, now)...)
		}
		return events, nil
	})
}

func (p *pack) allExecuted() bool {
	return len(p.Documents) > 0 && !slices.ContainsFunc(p.Documents, func(d document) bool { return d.TimeExecuted == nil })
}

// Decline takes a signer out. The package stays open, and waits: what the real service does is not documented.
func (s *Server) Decline(packageID, signerID, reason string) error {
	return s.changePack(packageID, func(p *pack, now time.Time) ([]event, error) {
		sg, ok := p.signer(signerID)
		if !ok {
			return nil, notFound("signer")
		}
		if p.stateAt(now) != stateOpen || sg.State != signerActive || p.signedBy(signerID) {
			return nil, badRequest("signer_invalid_turn", "There is nothing for this signer to decline now.")
		}
		sg.State, sg.DeclineReason, sg.TimeDeclined = signerDeclined, reason, &now
		return nil, nil
	})
}
