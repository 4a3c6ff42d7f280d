package office

import (
	"slices"
	"strings"
)

// Signature is one person's signing of one document.
type Signature struct{ DocumentID, SignerID string }

// SignerIndex is the index of the signer with that id in p.Signers, -1 if there is none.
func (p Package) SignerIndex(id string) int {
	return slices.IndexFunc(p.Signers, func(s Signer) bool { return s.ID == id })
}

// Leave takes signers off p who have signed nothing. They no longer count as declined.
func (p *Package) Leave(off func(Signer) bool) {
	var signers []Signer
	for _, s := range p.Signers {
		switch {
		case !off(s) || p.Begun(s.ID):
			signers = append(signers, s)
		case s.ID != "":
			s.Declined, s.DeclineReason = When{}, ""
			p.Former = append(slices.Clip(p.Former), s)
		}
	}
	p.Signers = signers
}

// Rejoin makes a signer of p who had left one again.
func (p *Package) Rejoin(id string) {
	if i := slices.IndexFunc(p.Former, func(s Signer) bool { return s.ID == id }); i >= 0 {
		p.Signers = append(slices.Clip(p.Signers), p.Former[i])
		p.Former = slices.Delete(slices.Clone(p.Former), i, i+1)
	}
}

// Find returns the signer with that id, e-mail address or name, ignoring case. If several match, it finds none.
func (p Package) Find(who string) (found Signer, ok bool) {
	who = strings.TrimSpace(who)
	for _, of := range []func(Signer) string{func(s Signer) string { return s.ID }, func(s Signer) string { return s.Email }, Signer.fullName} {
		n := 0
		for _, s := range p.Signers {
			if who != "" && strings.EqualFold(of(s), who) {
				found, n = s, n+1
			}
		}
		if n > 0 {
			return found, n == 1
		}
	}
	return Signer{}, false
}

// Unsigned are the people who still have something to sign. People who declined are not included.
func (p Package) Unsigned() (left []Signer) {
	for _, s := range p.Signers {
		if p.signs(s) {
			left = append(left, s)
		}
	}
	return left
}

// Document returns p's document with that id, adding it if it is new. A document of our own whose id was not known yet is
// recognised by externalId, which also corrects an id that was assigned to another one by position.
func (p *Package) Document(id, externalID string) *Document {
	for i := range p.Documents {
		if d := &p.Documents[i]; d.ID == id {
			given := func(x Document) bool { return p.Origin == MadeHere && externalID != "" && x.ExternalID == externalID }
			if j := slices.IndexFunc(p.Documents, given); j >= 0 && j != i {
				other := &p.Documents[j]
				d.ExternalID, d.FileName, other.ExternalID, other.FileName = other.ExternalID, other.FileName, d.ExternalID, d.FileName
			}
			return d
		}
	}
	for i := range p.Documents {
		if d := &p.Documents[i]; d.ID == "" && externalID != "" && d.ExternalID == externalID {
			d.ID, p.Planned, p.Saved = id, false, false
			return d
		}
	}
	p.Planned, p.Saved = false, false
	p.Documents = append(p.Documents, Document{ID: id, ExternalID: externalID})
	return &p.Documents[len(p.Documents)-1]
}

// AddSignature records a signature and reports whether it is new.
func (p *Package) AddSignature(s Signature, externalID string, when When) bool {
	p.Rejoin(s.SignerID)
	d := p.Document(s.DocumentID, externalID)
	news := !slices.Contains(d.SignedBy, s.SignerID)
	if news {
		d.SignedBy = append(d.SignedBy, s.SignerID)
	}
	p.AddHistory(HistoryEntry{Time: when, What: EntrySigned, Who: s.SignerID, Ref: s.DocumentID})
	return news
}

// LastSigner is the id of the last signer. It is "" while somebody still has to sign, and if it is uncertain: it is certain
// by the signing order, or by the service's times for all signatures. The order in which signatures arrived proves nothing.
func (p Package) LastSigner() string {
	if !p.EveryoneSigned() || len(p.Signers) == 0 || p.SignerIndex("") >= 0 {
		return ""
	}
	if last := p.Signers[len(p.Signers)-1].ID; p.Sequential || len(p.Signers) == 1 {
		return last
	}
	var last HistoryEntry
	alone := false
	heard := map[string]bool{}
	for _, m := range p.History {
		if m.What != EntrySigned {
			continue
		}
		if m.Time.By {
			return ""
		}
		heard[m.Who] = true
		switch {
		case m.Time.After(last.Time.Time):
			last, alone = m, true
		case m.Time.Equal(last.Time.Time) && m.Who != last.Who:
			alone = false
		}
	}
	for _, s := range p.Signers {
		if !heard[s.ID] {
			return ""
		}
	}
	if !alone {
		return ""
	}
	return last.Who
}

// Execute records that everybody has signed.
func (p *Package) Execute(when When) {
	p.State = PackageExecuted
	p.NextSigners = nil
	p.Executed = p.Executed.Narrowed(when)
	for i := range p.Documents {
		p.Documents[i].Executed = true
	}
	p.AddHistory(HistoryEntry{Time: p.Executed, What: EntryExecuted})
}

// SignedAll reports whether a person has signed every document of p that is theirs to sign.
func (p Package) SignedAll(signerID string) bool {
	return !slices.ContainsFunc(p.Documents, func(d Document) bool { return d.signs(signerID) && !slices.Contains(d.SignedBy, signerID) })
}

func (d Document) signs(signerID string) bool {
	return len(d.Signers) == 0 || slices.Contains(d.Signers, signerID)
}

// Signed reports whether a signer of p has signed everything that is theirs. All have once p is executed, except who declined.
func (p Package) Signed(s Signer) bool {
	return (p.State == PackageExecuted || !p.Executed.IsZero()) && s.Declined.IsZero() || p.Begun(s.ID) && p.SignedAll(s.ID)
}

// Begun reports whether a person has signed anything.
func (p Package) Begun(signerID string) bool {
	return signerID != "" && slices.ContainsFunc(p.Documents, func(d Document) bool { return slices.Contains(d.SignedBy, signerID) })
}

// Progress counts the people who have signed every document that is theirs. total is 0 while unknown.
func (p Package) Progress() (done, total int) {
	total = len(p.Signers)
	all := map[string]bool{} // by who has signed anything
	for _, d := range p.Documents {
		for _, id := range d.SignedBy {
			if _, counted := all[id]; !counted {
				all[id] = p.SignedAll(id)
			}
		}
	}
	if p.State == PackageExecuted {
		if total == 0 {
			return len(all), len(all)
		}
		for _, s := range p.Signers {
			if p.Signed(s) {
				done++
			}
		}
		return done, total
	}
	for _, signed := range all {
		if signed {
			done++
		}
	}
	return done, max(total, done)
}

// EveryoneSigned reports whether nobody is left to sign.
func (p Package) EveryoneSigned() bool {
	done, total := p.Progress()
	return total > 0 && done >= total
}

// Turn is what an event says about the order: Next signs after Signer, though others may sign in between. Both are
// signerIds.
type Turn struct{ Signer, Next string }

// maxTurns limits the turns stored for a package: with more signers than that, they are not identified by their order.
const maxTurns = 64

// MatchSigners assigns the signerIds in an event, who signed and who is next, to the people to whom the package was sent. In
// sequence they sign in the given order; but events arrive in any order, so an id is certain only once the ids before and
// after it account for everybody else. Otherwise an id is certain only if a single person is left. No assignment is better
// than a wrong one.
func (p *Package) MatchSigners(signed, next string) {
	p.noteTurn(signed, next)
	p.nameInSequence()
	p.matchLast(signed)
	p.matchLast(next)
	if p.SignerIndex("") < 0 && len(p.Signers) > 0 {
		p.Turns = nil // everybody is identified
	}
}

// noteTurn keeps a turn until everybody is identified. Whether p is signed in sequence, and by whom, may become known later.
func (p *Package) noteTurn(signed, next string) {
	t := Turn{signed, next}
	if signed != "" && next != "" && signed != next && len(p.Turns) < maxTurns && !slices.Contains(p.Turns, t) {
		p.Turns = append(slices.Clip(p.Turns), t)
	}
}

// nameInSequence assigns an id to everybody for whom the turns leave exactly one position. Turns that contradict each other
// or known positions are ignored.
func (p *Package) nameInSequence() {
	if !p.Sequential || p.SignerIndex("") < 0 {
		return
	}
	first, last := map[string]int{}, map[string]int{} // the range of positions that an id can have
	for _, t := range p.Turns {
		for _, id := range []string{t.Signer, t.Next} {
			if first[id], last[id] = p.SignerIndex(id), p.SignerIndex(id); first[id] < 0 {
				first[id], last[id] = p.freePlace(0, 1), p.freePlace(len(p.Signers)-1, -1)
			}
		}
	}
	for again := true; again; {
		again = false
		for _, t := range p.Turns {
			if at := p.freePlace(first[t.Signer]+1, 1); first[t.Next] <= first[t.Signer] {
				first[t.Next], again = at, true
			}
			if at := p.freePlace(last[t.Next]-1, -1); last[t.Signer] >= last[t.Next] {
				last[t.Signer], again = at, true
			}
			if first[t.Signer] > last[t.Signer] || first[t.Next] > last[t.Next] {
				return
			}
		}
	}
	for id, at := range first {
		if at == last[id] {
			p.nameSigner(at, id)
		}
	}
}

// freePlace is the index of the first person without an id, beginning at i in steps of 1 or -1; it is outside the list if
// there is none.
func (p Package) freePlace(i, step int) int {
	for i >= 0 && i < len(p.Signers) && p.Signers[i].ID != "" {
		i += step
	}
	return i
}

// nameSigner assigns an id to the i-th person, if that person has none and nobody else has or had this id.
func (p *Package) nameSigner(i int, id string) {
	known := slices.ContainsFunc(slices.Concat(p.Signers, p.Former), func(s Signer) bool { return s.ID == id })
	if id != "" && !known && i >= 0 && i < len(p.Signers) && p.Signers[i].ID == "" {
		p.Signers[i].ID = id
	}
}

// matchLast assigns an id to the only person without one.
func (p *Package) matchLast(id string) {
	left := 0
	for _, s := range p.Signers {
		if s.ID == "" {
			left++
		}
	}
	if left == 1 {
		p.nameSigner(p.SignerIndex(""), id)
	}
}

// Skipped reports whether, in sequence, somebody has signed although an earlier signer is not known to have: then not all
// that happened to p is known, and the next signer cannot be inferred.
func (p Package) Skipped() bool {
	if !p.Sequential || p.State == PackageExecuted {
		return false
	}
	signed := map[string]bool{}
	for _, d := range p.Documents {
		for _, id := range d.SignedBy {
			if p.SignerIndex(id) < 0 {
				return true // an unknown position
			}
			signed[id] = true
		}
	}
	missing := false
	for _, s := range p.Signers {
		if signed[s.ID] && missing {
			return true
		}
		missing = missing || !signed[s.ID]
	}
	return false
}

// PassTurn records whose turn it is after signed has signed a document, with next after them. Events arrive in any order:
// whoever has already signed the document is not next, nor, in sequence, anybody before one who has.
func (p *Package) PassTurn(documentID, signed, next string) {
	if p.State == PackageExecuted {
		p.NextSigners = nil
		return
	}
	var by []string // who has signed it
	if i := slices.IndexFunc(p.Documents, func(d Document) bool { return d.ID == documentID }); i >= 0 {
		by = p.Documents[i].SignedBy
	}
	furthest := -1
	if p.Sequential {
		for _, id := range by {
			furthest = max(furthest, p.SignerIndex(id))
		}
	}
	past := func(id string) bool {
		i := p.SignerIndex(id)
		return id == signed || i >= 0 && i < furthest
	}
	p.NextSigners = slices.DeleteFunc(slices.Clone(p.NextSigners), past)
	if next != "" && !past(next) && !slices.Contains(by, next) && !slices.Contains(p.NextSigners, next) {
		p.NextSigners = append(p.NextSigners, next)
	}
}

// Next are the people whose turn it is to sign, in the order of p.Signers: those named by the service, and those who have
// begun. If the service named nobody who still has to sign, it follows from the order: in sequence the first who has not
// signed, otherwise everyone who has not. No other code decides this. Whoever has declined is never next, and in sequence
// nobody after them.
func (p Package) Next() (next []Signer) {
	if p.State == PackageExecuted || p.State.Over() || p.State.Unsent() || !p.Executed.IsZero() {
		return nil
	}
	named := slices.ContainsFunc(p.Signers, func(s Signer) bool { return p.named(s) && p.signs(s) })
	skipped, nameless := p.Skipped(), p.signedByNameless()
	ahead := true // everybody before has finished
	for _, s := range p.Signers {
		signs := p.signs(s)
		turn := named && p.named(s) || p.Begun(s.ID)
		if !named {
			turn = turn || !skipped && ahead && (s.ID != "" || !nameless)
		}
		if signs && turn {
			next = append(next, s)
		}
		ahead = ahead && (!p.Sequential || !signs && s.Declined.IsZero())
	}
	return next
}

// named reports whether the service said that it is s's turn.
func (p Package) named(s Signer) bool { return s.ID != "" && slices.Contains(p.NextSigners, s.ID) }

// signs reports whether s still has something to sign, and is not known to have declined.
func (p Package) signs(s Signer) bool { return s.Declined.IsZero() && !p.Signed(s) }

// signedByNameless reports whether a signature has an id that belongs to nobody known: any person without an id may have
// made it.
func (p Package) signedByNameless() bool {
	return slices.ContainsFunc(p.Documents, func(d Document) bool {
		return slices.ContainsFunc(d.SignedBy, func(id string) bool { return p.SignerIndex(id) < 0 })
	})
}
