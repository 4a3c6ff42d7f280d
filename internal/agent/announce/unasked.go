package announce

import (
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

// An event names a package and a person by their ids alone. Where the service has not told their names yet, its fact waits for the
// answer, looking again each unaskedLook, and for no longer than unaskedHeld: people
// would rather hear that somebody has signed something than nothing. One that waits when the program ends is owed.
const (
	unaskedHeld = 2 * time.Minute
	unaskedLook = time.Second
)

// name puts the names into facts that wait for them, as far as the service has been asked since.
func (r *Service) name(m *digest) {
	if !slices.ContainsFunc(m.waiting, func(h held) bool { return h.Unasked }) {
		return
	}
	named, err := data.Read(r.Data, "what signatures are on", func(tx *store.Tx) (map[string]office.Package, error) {
		named := map[string]office.Package{}
		for _, h := range m.waiting {
			if _, read := named[h.PackageID]; read || !h.Unasked {
				continue
			}
			p, _, err := tx.Package(h.PackageID)
			if err != nil && !store.OfOneRecord(err) { // which keeps no other from its name
				return named, err
			}
			named[h.PackageID] = p
		}
		return named, nil
	})
	if err != nil { // which health says
		r.Log.Warn("read what signatures are on", "err", err)
	}
	heard := map[string]int{} // of each package, the signature that was heard of last
	for i, h := range m.waiting {
		if h.Kind == office.FactSigned {
			heard[h.PackageID] = i
		}
	}
	for i, h := range m.waiting {
		if p := named[h.PackageID]; h.Unasked && !p.NamesToCome() {
			m.waiting[i].Fact = renamed(h.Fact, p, heard[h.PackageID] == i)
			m.crowd = nil
		}
	}
}

// renamed is f in the words that p now has for it; last is set where no signature was heard of since.
func renamed(f office.Fact, p office.Package, last bool) office.Fact {
	now := signedFact(p, office.Signature{DocumentID: f.DocumentID, SignerID: f.Who}, p.LastSigner())
	now.Last, now.CaughtUp = (f.Last || last) && p.EveryoneSigned(), f.CaughtUp
	return now
}
