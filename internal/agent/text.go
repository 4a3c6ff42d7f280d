package agent

import (
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// How long texts may be, in characters: whoever names a package or signs it decides how long a name is.
const (
	maxName     = 200
	maxTitle    = 300
	maxBody     = 600
	maxActivity = 1000
)

// oneLine is message.OneLine.
func oneLine(s string, most int) string { return message.OneLine(s, most) }

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
		*t = oneLine(*t, maxName)
	}
}

// quote sets a name in typographic quotation marks.
func quote(s string) string { return "“" + oneLine(s, maxName) + "”" }

// addActivity adds a line to the activity list, as one line.
func addActivity(tx *store.Tx, x office.Activity) error {
	x.Text = oneLine(x.Text, maxActivity)
	return tx.AddActivity(x)
}
