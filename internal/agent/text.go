package agent

import (
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
)

// How long texts may be, in characters: whoever names a package or signs it decides how long a name is.
const (
	maxName  = 200
	maxTitle = 300
	maxBody  = 600
)

// cleanNames makes every text in p that came from outside fit to be shown anywhere.
func cleanNames(p *office.Package) {
	texts := []*string{&p.Name, &p.Reference}
	// The slices may be shared with a draft, whose texts are the person's own.
	p.Signers, p.Documents = slices.Clone(p.Signers), slices.Clone(p.Documents)
	for i := range p.Signers {
		s := &p.Signers[i]
		texts = append(texts, &s.FirstName, &s.LastName, &s.Email)
	}
	for i := range p.Documents {
		d := &p.Documents[i]
		texts = append(texts, &d.Name, &d.FileName)
	}
	for _, t := range texts {
		*t = message.OneLine(*t, maxName)
	}
}

// quote sets a name in typographic quotation marks.
func quote(s string) string { return "“" + message.OneLine(s, maxName) + "”" }
