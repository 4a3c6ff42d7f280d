package compose

import (
	"slices"
	"time"

	"countersign/internal/office"
)

// parcel is one package on its way: all documents together, or one of them.
type parcel struct {
	draft   office.NewPackage
	docs    []*document
	fate    fate
	state   office.SendState
	problem string // a sentence; empty when nothing went wrong
}

// left is the draft that another attempt takes the place of: what the office has of a parcel that was refused, or else before,
// the one that the parcel was to take the place of.
func (p *parcel) left(before string) string {
	if p.fate == refused && p.state.DraftID != "" {
		return p.state.DraftID
	}
	return before
}

// fate is how the sending of a parcel ended.
type fate int

const (
	onItsWay fate = iota // not ended
	sent
	unknown // the answer was lost; the office finds out
	waiting // the office keeps it and sends it later
	stopped // taken back, nothing was sent
	refused // by the service, or it could not begin
)

// gone says that the office has the parcel, so that what was typed is not needed here any more.
func (f fate) gone() bool { return f == sent || f == unknown || f == waiting }

// pack makes parcels of a draft: one, or one for each document, which then gives it its name.
func pack(docs []*document, d office.NewPackage, each bool) (list []*parcel) {
	seen := map[string]bool{}
	add := func(d office.NewPackage, docs ...*document) {
		p := &parcel{draft: d, docs: docs}
		p.draft.Files = nil
		for _, doc := range docs {
			if doc.original == nil { // else the template says where it goes
				p.draft.Files = append(p.draft.Files, doc.path)
			}
			if doc.draft != "" && !seen[doc.draft] {
				p.draft.Replaces = append(p.draft.Replaces, doc.draft)
				seen[doc.draft] = true
			}
		}
		list = append(list, p)
	}
	if !each {
		add(d, docs...)
		return list
	}
	for _, doc := range docs {
		d.Name = proposedName(doc.path)
		add(d, doc)
	}
	return list
}

// run is one press of the button: parcels on their way, until the last one has ended.
type run struct {
	parcels  []*parcel
	began    time.Time
	open     int // parcels that have not ended
	cancel   []func()
	offered  bool // it can be undone, or could
	going    bool // it is on its way to the service
	stopping bool // the person takes it back
	leaving  bool // the person lets the office do the rest
}

// kept says that the office has all of it, so that nothing is lost when the program ends.
func (r *run) kept() bool {
	return !slices.ContainsFunc(r.parcels, func(p *parcel) bool { return p.state.DraftID == "" })
}

// stored says that the office has what it could take of it.
func (r *run) stored() bool {
	return !slices.ContainsFunc(r.parcels, func(p *parcel) bool { return p.state.DraftID == "" && p.fate == onItsWay })
}

// owns says whether a draft of the office is one of the parcels that are on their way.
func (r *run) owns(d office.Draft) bool {
	if r == nil || d.Created.Before(r.began) {
		return false
	}
	for _, p := range r.parcels {
		if p.state.DraftID == d.ID || p.draft.Name == d.Name && sameTemplate(p.draft.Template, d.Template) && slices.Equal(p.draft.Files, besides(d)) {
			return true
		}
	}
	return false
}

// besides are the paths of a draft's files but for those in the place of a template's document.
func besides(d office.Draft) (paths []string) {
	for _, f := range d.Files {
		if f.Original == 0 {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// amounts are the bytes that are on the service and those that shall be.
func (r *run) amounts() (done, total int64) {
	for _, p := range r.parcels {
		for _, doc := range p.docs {
			total += doc.info.Size
		}
		done += p.state.Sent
		if p.fate == sent {
			done += p.state.Total - p.state.Sent
		}
	}
	return min(done, total), total
}
