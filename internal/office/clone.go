package office

import "slices"

// Clone is p with memory of its own: whoever changes one of the two does not change the other.
func (p Package) Clone() Package {
	p.Signers, p.Recipients = slices.Clone(p.Signers), slices.Clone(p.Recipients)
	p.Documents = slices.Clone(p.Documents)
	for i := range p.Documents {
		p.Documents[i].SignedBy = slices.Clone(p.Documents[i].SignedBy)
	}
	p.NextSigners, p.Turns, p.Timeline = slices.Clone(p.NextSigners), slices.Clone(p.Turns), slices.Clone(p.Timeline)
	p.ExternalData = slices.Clone(p.ExternalData)
	if p.Archived != nil {
		p.Archived = &Archived{With: slices.Clone(p.Archived.With)}
	}
	if p.Withdrawal != nil {
		w := *p.Withdrawal
		p.Withdrawal = &w
	}
	return p
}

// Clone is d with memory of its own.
func (d Draft) Clone() Draft {
	d.Files, d.Signers, d.Recipients = slices.Clone(d.Files), slices.Clone(d.Signers), slices.Clone(d.Recipients)
	d.ExternalData, d.Replaces = slices.Clone(d.ExternalData), slices.Clone(d.Replaces)
	d.Standing, d.NoCopy = slices.Clone(d.Standing), slices.Clone(d.NoCopy)
	d.Template = d.Template.Clone()
	return d
}

// Clone is e with memory of its own.
func (e Event) Clone() Event {
	e.Body, e.Extra = slices.Clone(e.Body), slices.Clone(e.Extra)
	return e
}
