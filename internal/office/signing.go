package office

import (
	"slices"
	"strings"
	"time"
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
		if p.State != PackageExecuted && s.Declined.IsZero() && (s.ID == "" || len(p.Documents) == 0 || !p.SignedAll(s.ID)) {
			left = append(left, s)
		}
	}
	return left
}

// Document returns p's document with that id, adding it when it is new. One of our own whose id the service had not
// told is recognised by externalId.
func (p *Package) Document(id, externalID string) *Document {
	for i := range p.Documents {
		if p.Documents[i].ID == id {
			return &p.Documents[i]
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

// MatchSigners connects the signerIds that an event brought, who signed and who is next, with people the package was sent to. In
// sequence they sign in the order they were given; but events come in any order, and whom nobody follows is not the first of
// several. Otherwise an id is only certain when one person is left. Nobody is better than somebody else.
func (p *Package) MatchSigners(signed, next string) {
	if p.Sequential && signed != "" && next != "" {
		at, after := p.SignerIndex(signed), p.SignerIndex(next)
		switch {
		case at < 0 && after < 0:
			at = p.SignerIndex("")
		case at < 0:
			at = after - 1
		}
		p.nameSigner(at, signed)
		p.nameSigner(at+1, next)
	}
	p.matchLast(signed)
	p.matchLast(next)
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

// AddSignature records a signature and reports whether it is news.
func (p *Package) AddSignature(s Signature, externalID string, when time.Time) bool {
	d := p.Document(s.DocumentID, externalID)
	if slices.Contains(d.SignedBy, s.SignerID) {
		return false
	}
	d.SignedBy = append(d.SignedBy, s.SignerID)
	p.AddMoment(Moment{Time: when, What: MomentSigned, Who: s.SignerID, Ref: s.DocumentID})
	return true
}

// Execute records that everybody has signed.
func (p *Package) Execute(when time.Time) {
	p.State = PackageExecuted
	p.NextSigners = nil
	if p.Executed.IsZero() {
		p.Executed = when
	}
	for i := range p.Documents {
		p.Documents[i].Executed = true
	}
	p.AddMoment(Moment{Time: p.Executed, What: MomentExecuted})
}

// WaitsFor is whose turn it is where the service told no more than who signs: the first who has not signed in sequence,
// everyone who has not otherwise.
func (p Package) WaitsFor() (ids []string) {
	for _, s := range p.Signers {
		if s.ID == "" || !s.Declined.IsZero() || len(p.Documents) > 0 && p.SignedAll(s.ID) {
			continue
		}
		if ids = append(ids, s.ID); p.Sequential {
			break
		}
	}
	return ids
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
