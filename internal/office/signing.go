package office

import (
	"slices"
	"strings"
)

// Signature is one person's signing of one document.
type Signature struct{ DocumentID, SignerID string }

// SignerIndex is the place of the signer with that id in p.Signers, -1 when there is none.
func (p Package) SignerIndex(id string) int {
	return slices.IndexFunc(p.Signers, func(s Signer) bool { return s.ID == id })
}

// Find is the signer whom somebody names by id, by e-mail address or by name, whatever the case. Where several are called so,
// it is none of them.
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

// Unsigned are the people who still have something to sign. One who declined is not asked any more.
func (p Package) Unsigned() (left []Signer) {
	for _, s := range p.Signers {
		if p.State != PackageExecuted && p.signs(s) {
			left = append(left, s)
		}
	}
	return left
}

// Document returns p's document with that id, adding it when it is new. One of our own whose id the service had not
// told is recognised by externalId, which also puts right an id that another one of them was given by its place.
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
			d.ID = id
			return d
		}
	}
	p.Documents = append(p.Documents, Document{ID: id, ExternalID: externalID})
	return &p.Documents[len(p.Documents)-1]
}

// AddSignature records a signature and reports whether it is news.
func (p *Package) AddSignature(s Signature, externalID string, when When) bool {
	d := p.Document(s.DocumentID, externalID)
	news := !slices.Contains(d.SignedBy, s.SignerID)
	if news {
		d.SignedBy = append(d.SignedBy, s.SignerID)
	}
	p.AddHistory(HistoryEntry{Time: when, What: EntrySigned, Who: s.SignerID, Ref: s.DocumentID})
	return news
}

// LastSigner is the id of whoever signed last, "" while somebody has still to sign and where that is not certain: by the order
// they sign in, or by the times that the service told of every signature. In which order they were heard of proves nothing.
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

// SignedAll reports whether a person has signed every document of p.
func (p Package) SignedAll(signerID string) bool {
	return !slices.ContainsFunc(p.Documents, func(d Document) bool { return !slices.Contains(d.SignedBy, signerID) })
}

// Progress counts the people who have signed every document. total is 0 while it is not known.
func (p Package) Progress() (done, total int) {
	total = len(p.Signers)
	count := map[string]int{}
	for _, d := range p.Documents {
		for _, id := range d.SignedBy {
			count[id]++
		}
	}
	if p.State == PackageExecuted {
		if total == 0 {
			total = len(count)
		}
		return total, total
	}
	for _, n := range count {
		if n >= len(p.Documents) {
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

// Turn is what an event said of the order: Next signs after Signer, though others may sign between them. Both are signerIds.
type Turn struct{ Signer, Next string }

// maxTurns is how many turns are kept of a package: of more signers nobody is told by the order they sign in.
const maxTurns = 64

// MatchSigners connects the signerIds that an event brought, who signed and who is next, with people the package was sent to.
// In sequence they sign in the order they were given; but events come in any order, so an id is certain once those that are
// before and behind it are everybody else. Otherwise it is only when one person is left. Nobody is better than somebody else.
func (p *Package) MatchSigners(signed, next string) {
	p.noteTurn(signed, next)
	p.nameInSequence()
	p.matchLast(signed)
	p.matchLast(next)
	if p.SignerIndex("") < 0 && len(p.Signers) > 0 {
		p.Turns = nil // everybody is known
	}
}

// noteTurn keeps a turn until everybody is known. Whether p is signed in sequence, and by whom, may be told later.
func (p *Package) noteTurn(signed, next string) {
	t := Turn{signed, next}
	if signed != "" && next != "" && signed != next && len(p.Turns) < maxTurns && !slices.Contains(p.Turns, t) {
		p.Turns = append(slices.Clip(p.Turns), t)
	}
}

// nameInSequence gives an id to everybody for whom the turns leave one place. Turns that contradict each other or the places that
// are known say nothing.
func (p *Package) nameInSequence() {
	if !p.Sequential || p.SignerIndex("") < 0 {
		return
	}
	first, last := map[string]int{}, map[string]int{} // the places between which an id can be
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

// freePlace is the place of the first person without an id from i on, in steps of 1 or -1; the end of the list where there is none.
func (p Package) freePlace(i, step int) int {
	for i >= 0 && i < len(p.Signers) && p.Signers[i].ID != "" {
		i += step
	}
	return i
}

// nameSigner gives the i-th person an id, if there is one who has none, and nobody else has it.
func (p *Package) nameSigner(i int, id string) {
	if id != "" && i >= 0 && i < len(p.Signers) && p.Signers[i].ID == "" && p.SignerIndex(id) < 0 {
		p.Signers[i].ID = id
	}
}

// matchLast gives an id to the one person who has none.
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

// Skipped reports whether, in sequence, somebody is not known to have signed whose turn came before one who has: what was heard of
// p is not all that happened, and who is next does not follow from it.
func (p Package) Skipped() bool {
	if !p.Sequential || p.State == PackageExecuted {
		return false
	}
	signed := map[string]bool{}
	for _, d := range p.Documents {
		for _, id := range d.SignedBy {
			if p.SignerIndex(id) < 0 {
				return true // whose place is not known
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

// PassTurn notes whose turn it is once signed has signed a document, with next after them. Events come in any order: whoever
// has signed the document already is not next, nor, in sequence, whoever comes before one who has.
func (p *Package) PassTurn(documentID, signed, next string) {
	if p.State == PackageExecuted {
		p.NextSigners = nil
		return
	}
	var by []string // who have signed it
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

// Next are those whose turn it is to sign, in the order of p.Signers: whom the service named and who has begun. Where it named
// nobody who has still to sign, it follows from the order: the first who has not signed in sequence, everyone who has not
// otherwise. It is the one judgement of that. Whoever has declined is never next, and in sequence nobody behind them.
func (p Package) Next() (next []Signer) {
	if p.State == PackageExecuted || p.State.Over() || p.State.Unsent() || !p.Executed.IsZero() {
		return nil
	}
	named := slices.ContainsFunc(p.Signers, func(s Signer) bool { return p.named(s) && p.signs(s) })
	skipped, nameless := p.Skipped(), p.signedByNameless()
	ahead := true // nobody before them has still to sign
	for _, s := range p.Signers {
		signs := p.signs(s)
		turn := named && p.named(s) || p.begun(s)
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

// named reports whether the service said that it is the turn of s.
func (p Package) named(s Signer) bool { return s.ID != "" && slices.Contains(p.NextSigners, s.ID) }

// signs reports whether s has still something to sign, and is not known to have declined.
func (p Package) signs(s Signer) bool {
	return s.Declined.IsZero() && (s.ID == "" || len(p.Documents) == 0 || !p.SignedAll(s.ID))
}

// begun reports whether s has signed some of the documents.
func (p Package) begun(s Signer) bool {
	return s.ID != "" && slices.ContainsFunc(p.Documents, func(d Document) bool { return slices.Contains(d.SignedBy, s.ID) })
}

// signedByNameless reports whether somebody signed of whom the id alone is known: who that was may be anybody without one.
func (p Package) signedByNameless() bool {
	return slices.ContainsFunc(p.Documents, func(d Document) bool {
		return slices.ContainsFunc(d.SignedBy, func(id string) bool { return p.SignerIndex(id) < 0 })
	})
}
