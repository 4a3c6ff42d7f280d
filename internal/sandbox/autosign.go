package sandbox

import (
	"context"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// autoSigner plays the signers: each signs so long after it became their turn. One goroutine does the signing; mu
// guards what it is told.
type autoSigner struct {
	s      *Server
	after  time.Duration
	signal chan struct{}

	mu  sync.Mutex
	due map[string]time.Time // package id -> when its next signers sign
}

func newAutoSigner(s *Server) (*autoSigner, error) {
	a := &autoSigner{s: s, after: s.opt.AutoSign, signal: make(chan struct{}, 1), due: map[string]time.Time{}}
	if a.after <= 0 {
		return a, nil
	}
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketPackages, func(_ string, p pack) error {
			a.consider(&p)
			return nil
		})
	})
	return a, err
}

func (a *autoSigner) start() {
	if a.after > 0 {
		a.s.workers.Go(func() { a.run(a.s.ctx) })
	}
}

// consider notes a package that was stored.
func (a *autoSigner) consider(p *pack) {
	if a.after <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(p.turns(a.s.opt.Now())) == 0 {
		delete(a.due, p.PackageID)
		return
	}
	a.due[p.PackageID] = time.Now().Add(a.after)
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

func (a *autoSigner) run(ctx context.Context) {
	for ctx.Err() == nil {
		id, wait := a.next(time.Now())
		if wait == 0 {
			a.signFor(id)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-a.signal:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next takes a package that is due out of the plan, or says how long there is none.
func (a *autoSigner) next(now time.Time) (string, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait := time.Hour
	for id, at := range a.due {
		left := at.Sub(now)
		if left <= 0 {
			delete(a.due, id)
			return id, 0
		}
		wait = min(wait, left)
	}
	return "", wait
}

// signFor lets everyone sign whose turn it is; storing that plans those who come next.
func (a *autoSigner) signFor(id string) {
	p, err := read[pack](a.s.db, bucketPackages, id)
	if err != nil {
		return
	}
	for _, signerID := range p.turns(a.s.opt.Now()) {
		if err := a.s.Sign(id, signerID); err != nil {
			a.s.log.Warn("a simulated signer could not sign", "package", id, "error", err)
		}
	}
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
