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

	Told bool `json:"told,omitempty"` // of a signature: Time is the service's word, by its clock
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
	if !slices.ContainsFunc(p.Timeline, m.same) {
		p.Timeline = append(p.Timeline, m)
	}
}

// same reports whether x is the same thing, whenever it was.
func (m Moment) same(x Moment) bool { return x.What == m.What && x.Who == m.Who && x.Ref == m.Ref }
