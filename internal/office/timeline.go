package office

import (
	"slices"
	"time"
)

// Moment is one line of a package's timeline.
type Moment struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`          // sent, signed, document_executed, executed, saved, ...
	Who  string    `json:"who,omitempty"` // signerId
	Ref  string    `json:"ref,omitempty"` // documentId, file name, ...
}

// What a moment can be.
const (
	MomentSent     = "sent"
	MomentSigned   = "signed"
	MomentDocument = "document_executed"
	MomentExecuted = "executed"
	MomentSaved    = "saved"
	MomentDeclined = "declined"
	MomentEnded    = "ended" // expired, rescinded
)

// AddMoment adds a line to the timeline unless the same thing is there already.
func (p *Package) AddMoment(m Moment) {
	same := func(x Moment) bool { return x.What == m.What && x.Who == m.Who && x.Ref == m.Ref }
	if !slices.ContainsFunc(p.Timeline, same) {
		p.Timeline = append(p.Timeline, m)
	}
}
