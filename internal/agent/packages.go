package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Words of a package's timeline.
const (
	momentSent     = "sent"
	momentSigned   = "signed"
	momentDocument = "document_executed"
	momentExecuted = "executed"
	momentSaved    = "saved"
	momentDeclined = "declined"
	momentEnded    = "ended" // expired, rescinded
)

// signature is one person's signing of one document.
type signature struct{ documentID, signerID string }

// putPackage stores p with what follows from the rest of it.
func putPackage(tx *store.Tx, p office.Package) error {
	p.SignersDone, p.SignersTotal = signersDone(p)
	p.Reference = reference(p)
	p.Archived = stillArchived(p)
	cleanNames(&p)
	return tx.PutPackage(p)
}

// addMoment adds a line to the timeline unless the same thing is there already.
func addMoment(p *office.Package, m office.Moment) {
	same := func(x office.Moment) bool { return x.What == m.What && x.Who == m.Who && x.Ref == m.Ref }
	if !slices.ContainsFunc(p.Timeline, same) {
		p.Timeline = append(p.Timeline, m)
	}
}

// document returns p's document with that id, adding it when it is new. One of our own whose id the service had not
// told is recognised by externalId.
func document(p *office.Package, id, externalID string) *office.Document {
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
	p.Documents = append(p.Documents, office.Document{ID: id, ExternalID: externalID})
	return &p.Documents[len(p.Documents)-1]
}

// meetSigner connects a signerId that an event brought with one of the people the package was sent to. In sequence
// they sign in the order they were given; otherwise the id is only certain when one person is left.
func meetSigner(p *office.Package, id string) {
	if id == "" || signerIndex(p, id) >= 0 {
		return
	}
	var open []int
	for i, s := range p.Signers {
		if s.ID == "" {
			open = append(open, i)
		}
	}
	if len(open) == 1 || len(open) > 0 && p.Sequential {
		p.Signers[open[0]].ID = id
	}
}

func signerIndex(p *office.Package, id string) int {
	return slices.IndexFunc(p.Signers, func(s office.Signer) bool { return s.ID == id })
}

// noteSignature records one signature and reports whether it is news.
func noteSignature(p *office.Package, s signature, externalID string, when time.Time) bool {
	d := document(p, s.documentID, externalID)
	if slices.Contains(d.SignedBy, s.signerID) {
		return false
	}
	d.SignedBy = append(d.SignedBy, s.signerID)
	addMoment(p, office.Moment{Time: when, What: momentSigned, Who: s.signerID, Ref: s.documentID})
	return true
}

// noteExecuted records that everybody has signed, and reports whether it is news.
func noteExecuted(p *office.Package, when time.Time) bool {
	news := p.State != office.PackageExecuted
	p.State = office.PackageExecuted
	p.NextSigners = nil
	if p.Executed.IsZero() {
		p.Executed = when
	}
	for i := range p.Documents {
		p.Documents[i].Executed = true
	}
	addMoment(p, office.Moment{Time: p.Executed, What: momentExecuted})
	return news
}

// applyEvent draws e's facts into p and returns the signature it brought, if that is news.
func applyEvent(p *office.Package, e esign.Event, received time.Time) (news []signature) {
	when := e.Time
	if when.IsZero() {
		when = received
	}
	if p.OrganizationID == "" {
		p.OrganizationID = e.OrganizationID
	}
	if p.MemberID == "" {
		p.MemberID = e.MemberID
	}
	if present(e.ExternalData) {
		p.ExternalData = e.ExternalData
	}
	switch e.Action {
	case esign.DocumentSigned:
		meetSigner(p, e.SignerID)
		meetSigner(p, e.NextSignerID)
		s := signature{e.DocumentID, e.SignerID}
		if s.documentID != "" && noteSignature(p, s, e.ExternalID, when) {
			news = append(news, s)
		}
		if p.State != office.PackageExecuted {
			p.NextSigners = slices.DeleteFunc(p.NextSigners, func(id string) bool { return id == e.SignerID })
			if e.NextSignerID != "" && !slices.Contains(p.NextSigners, e.NextSignerID) {
				p.NextSigners = append(p.NextSigners, e.NextSignerID)
			}
		}
	case esign.DocumentExecuted:
		if e.DocumentID != "" {
			document(p, e.DocumentID, e.ExternalID).Executed = true
			addMoment(p, office.Moment{Time: when, What: momentDocument, Ref: e.DocumentID})
		}
	case esign.PackageExecuted:
		noteExecuted(p, when)
	case esign.PackageSent:
		addMoment(p, office.Moment{Time: when, What: momentSent})
	}
	return news
}

// applyStatus draws the service's answer into p: the truth, where the two differ. It returns the signatures p had
// not known.
func applyStatus(p *office.Package, s esign.Status, now time.Time) (news []signature) {
	setIf(&p.Name, s.Name)
	setIf(&p.OrganizationID, s.OrganizationID)
	setIf(&p.MemberID, s.MemberID)
	if s.Type != "" {
		p.Sequential = strings.EqualFold(s.Type, "sequential")
	}
	if present(s.ExternalData) {
		p.ExternalData = s.ExternalData
	}
	if !s.TimeSignBy.IsZero() {
		p.Due = s.TimeSignBy
	}
	applySigners(p, s.Signers, now)
	news = applyDocuments(p, s.Documents, now)

	switch {
	case s.State == esign.Executed:
		noteExecuted(p, now)
	case s.State != "" && p.State != office.PackageExecuted: // executed is final: an older answer does not take it back
		p.State = office.PackageState(s.State)
		if p.State.Over() {
			addMoment(p, office.Moment{Time: now, What: momentEnded, Ref: string(s.State)})
		}
	}
	p.Checked = now
	return news
}

func applySigners(p *office.Package, signers []esign.Signer, now time.Time) {
	for _, x := range signers {
		i := signerIndex(p, x.ID)
		if i < 0 {
			i = slices.IndexFunc(p.Signers, func(s office.Signer) bool {
				return s.ID == "" && strings.EqualFold(s.Email, x.Email)
			})
		}
		if i < 0 {
			p.Signers = append(p.Signers, office.Signer{})
			i = len(p.Signers) - 1
		}
		signer := &p.Signers[i]
		signer.ID = x.ID
		setIf(&signer.FirstName, x.FirstName)
		setIf(&signer.LastName, x.LastName)
		setIf(&signer.Email, x.Email)
		applyDecline(p, signer, x, now)
	}
}

// applyDecline notes that a signer declined. One who is asked again, or replaced, has not declined any more.
func applyDecline(p *office.Package, signer *office.Signer, x esign.Signer, now time.Time) {
	switch {
	case x.Declined && signer.Declined.IsZero():
		signer.Declined, signer.DeclineReason = cmp.Or(x.DeclinedAt, now), message.OneLine(x.Reason, maxName)
		addMoment(p, office.Moment{Time: signer.Declined, What: momentDeclined, Who: signer.ID})
	case !x.Declined && x.StateTold:
		signer.Declined, signer.DeclineReason = time.Time{}, ""
	}
}

// waitsFor is whose turn it is where the service told no more than who signs: the first who has not signed in sequence,
// everyone who has not otherwise.
func waitsFor(p office.Package) (ids []string) {
	for _, s := range p.Signers {
		if s.ID == "" || !s.Declined.IsZero() || len(p.Documents) > 0 && !slices.ContainsFunc(p.Documents, func(d office.Document) bool {
			return !slices.Contains(d.SignedBy, s.ID)
		}) {
			continue
		}
		if ids = append(ids, s.ID); p.Sequential {
			break
		}
	}
	return ids
}

func applyDocuments(p *office.Package, documents []esign.Document, now time.Time) (news []signature) {
	var next []string
	revisions := false
	for i, x := range documents {
		// A bare answer carries ids alone; documents come in the order they were added.
		if x.ExternalID == "" && i < len(p.Documents) && p.Documents[i].ID == "" && len(p.Documents) == len(documents) {
			p.Documents[i].ID = x.ID
		}
		if x.ID == "" {
			continue // nothing can be known of it yet
		}
		d := document(p, x.ID, x.ExternalID)
		setIf(&d.Name, x.Name)
		setIf(&d.FileName, x.FileName)
		setIf(&d.ExternalID, x.ExternalID)
		d.Executed = d.Executed || x.Executed
		for _, r := range x.Revisions {
			revisions = true
			if r.IsSigned && noteSignature(p, signature{x.ID, r.SignerID}, "", now) {
				news = append(news, signature{x.ID, r.SignerID})
			}
			if r.IsNext && !r.IsSigned && !slices.Contains(next, r.SignerID) {
				next = append(next, r.SignerID)
			}
		}
	}
	if !revisions {
		if next = p.NextSigners; len(next) == 0 {
			next = waitsFor(*p)
		}
	}
	p.NextSigners = slices.DeleteFunc(next, func(id string) bool {
		i := signerIndex(p, id)
		return i >= 0 && !p.Signers[i].Declined.IsZero()
	})
	return news
}

func setIf(field *string, value string) {
	if value != "" {
		*field = value
	}
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// signersDone counts the people who have signed every document.
func signersDone(p office.Package) (done, total int) {
	total = len(p.Signers)
	count := map[string]int{}
	for _, d := range p.Documents {
		for _, id := range d.SignedBy {
			count[id]++
		}
	}
	if p.State == office.PackageExecuted {
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

// signerName is how people know the signer, or "" when nobody does.
func signerName(p office.Package, id string) string {
	i := signerIndex(&p, id)
	if i < 0 || id == "" {
		return ""
	}
	return personName(p.Signers[i])
}

// personName is how people know a signer: by name, else by e-mail address.
func personName(s office.Signer) string {
	if name := strings.TrimSpace(s.FirstName + " " + s.LastName); name != "" {
		return name
	}
	return s.Email
}

// documentName is how people know the document.
func documentName(d office.Document) string {
	if d.Name != "" {
		return d.Name
	}
	return d.FileName
}

// nameOfDocument is how people know p's document with that id, or "".
func nameOfDocument(p office.Package, id string) string {
	for _, d := range p.Documents {
		if d.ID == id {
			return documentName(d)
		}
	}
	return ""
}

// nameless is a package of which only the id is known.
const nameless = "Untitled package"

// packageName is how people know the package.
func packageName(p office.Package) string {
	if p.Name != "" {
		return p.Name
	}
	for _, d := range p.Documents {
		if n := documentName(d); n != "" {
			return n
		}
	}
	return nameless
}
