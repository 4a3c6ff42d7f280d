package office

import "slices"

// Archived is a package that people have taken out of their list.
type Archived struct {
	With []string `json:"with,omitempty"` // what was wrong with it then: it comes back for anything else
}

// Archive takes p out of the list, or puts it back.
func (p *Package) Archive(archived bool) {
	p.Archived = nil
	if archived {
		p.Archived = &Archived{With: p.wrong()}
	}
}

// stillArchived is p's place outside the list, nil once something is wrong that was not when it was archived. What is
// no longer wrong is forgotten, so that the same is news when it comes again.
func (p Package) stillArchived() *Archived {
	if p.Archived == nil {
		return nil
	}
	wrong := p.wrong()
	for _, what := range wrong {
		if !slices.Contains(p.Archived.With, what) {
			return nil
		}
	}
	return &Archived{With: wrong}
}

// wrong names what is wrong with a package; the texts of problems may change while the problem is the same.
func (p Package) wrong() (what []string) {
	for name, is := range map[string]bool{"problem": !p.Problem.IsZero(), "gone": p.Gone, "expired": p.State == PackageExpired, "declined": p.State == "declined"} {
		if is {
			what = append(what, name)
		}
	}
	for _, s := range p.Signers {
		if !s.Declined.IsZero() {
			what = append(what, "declined by "+s.ID)
		}
	}
	slices.Sort(what)
	return what
}
