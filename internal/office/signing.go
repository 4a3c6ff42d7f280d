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
	p.AddMoment(Moment{Time: when, What: MomentSigned, Who: s.SignerID, Ref: s.DocumentID})
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
	var last Moment
	alone := false
	heard := map[string]bool{}
	for _, m := range p.Timeline {
		if m.What != MomentSigned {
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
	p.AddMoment(Moment{Time: p.Executed, What: MomentExecuted})
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
