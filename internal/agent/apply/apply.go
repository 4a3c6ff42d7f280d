// Package apply notes in the record of a package what the service said of it, in an event or in the answer to a status call.
// It is pure: it asks nobody and stores nothing. The same said twice changes nothing the second time, and what is final
// stays: an older answer does not take back that everybody has signed.
package apply

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"

	"github.com/google/uuid"
)

// Event notes in p what e says, and returns the signature it tells of. A status answer may have brought that before, without
// anybody being told of it.
func Event(p *office.Package, e esign.Event, received time.Time) (signed []office.Signature) {
	when := office.At(e.Time, received)
	if p.OrganizationID == "" {
		p.OrganizationID = e.OrganizationID
	}
	if p.MemberID == "" {
		p.MemberID = e.MemberID
	}
	if office.HasExternalData(e.ExternalData) {
		p.ExternalData = e.ExternalData
	}
	switch e.Action {
	case esign.DocumentSigned:
		p.MatchSigners(e.SignerID, e.NextSignerID)
		s := office.Signature{DocumentID: e.DocumentID, SignerID: e.SignerID}
		if s.DocumentID != "" {
			p.AddSignature(s, e.ExternalID, when)
			signed = append(signed, s)
		}
		p.PassTurn(e.DocumentID, e.SignerID, e.NextSignerID)
	case esign.DocumentExecuted:
		if e.DocumentID != "" {
			p.Document(e.DocumentID, e.ExternalID).Executed = true
			p.AddHistory(office.HistoryEntry{Time: when, What: office.EntryDocument, Ref: e.DocumentID})
		}
	case esign.PackageExecuted:
		p.Execute(when)
	case esign.PackageSent:
		p.AddHistory(office.HistoryEntry{Time: when, What: office.EntrySent})
	}
	p.CorrectBounds(received)
	return signed
}

// Status notes in p what the service answered: the truth, where the two differ. It returns the signatures that p did not
// have.
func Status(p *office.Package, s esign.Status, now time.Time) (news []office.Signature) {
	p.Name = cmp.Or(s.Name, p.Name)
	p.OrganizationID = cmp.Or(s.OrganizationID, p.OrganizationID)
	p.MemberID = cmp.Or(s.MemberID, p.MemberID)
	if s.Type != "" {
		p.Sequential = strings.EqualFold(s.Type, "sequential")
	}
	if office.HasExternalData(s.ExternalData) {
		p.ExternalData = s.ExternalData
	}
	if !s.TimeSignBy.IsZero() {
		p.Due = s.TimeSignBy
	}
	s = statusAsKnown(*p, s)
	mergeSigners(p, s.Signers, now)
	mergeRecipients(p, s.Recipients)
	if p.Met && !s.TimeCreated.IsZero() {
		p.Created, p.Met = s.TimeCreated, false
	}
	if s.State != "" && !s.State.Unsent() {
		p.AddHistory(office.HistoryEntry{Time: office.At(time.Time{}, now), What: office.EntrySent})
	}
	news = mergeDocuments(p, s, now)
	if next := saysNext(s); len(next) > 0 || s.Type != "" && !p.Sequential { // else it is as the last event said, or follows from the order
		p.NextSigners = next
	}

	switch {
	case s.State == office.PackageExecuted:
		p.Execute(office.At(s.TimeExecuted, now))
	case s.State != "" && p.State != office.PackageExecuted: // executed is final: an older answer does not take it back
		p.State = s.State
		if p.State.Over() {
			p.AddHistory(office.HistoryEntry{Time: ended(*p, s, now), What: office.EntryEnded, Ref: string(s.State)})
		}
	}
	if p.State == office.PackageRescinded && p.Withdrawal == nil && s.RescindMessage != "" { // withdrawn elsewhere
		p.Withdrawal = &office.Withdrawal{State: office.WithdrawDone, Message: message.OneLine(s.RescindMessage, office.MaxName)}
	}
	p.CorrectBounds(now)
	p.Checked = now
	return news
}

// ended is when p, which is over, came to its end.
func ended(p office.Package, s esign.Status, now time.Time) office.When {
	switch {
	case p.State == office.PackageRescinded:
		return office.At(s.TimeRescinded, now)
	case p.State == office.PackageExpired && p.Due.Before(now):
		return office.At(p.Due, now)
	}
	return office.At(time.Time{}, now)
}

// mergeSigners notes who signs. An id that an event had connected with a person goes to whoever has the address that the service
// names beside it.
func mergeSigners(p *office.Package, signers []esign.Signer, now time.Time) {
	signers = dropDeleted(p, signers)
	address := func(email string) int {
		return slices.IndexFunc(p.Signers, func(s office.Signer) bool { return email != "" && strings.EqualFold(s.Email, email) })
	}
	for _, x := range signers {
		i, other := p.SignerIndex(x.ID), address(x.Email)
		if x.ID == "" || other < 0 || other == i {
			continue
		}
		if i >= 0 {
			p.Signers[i].ID = ""
		}
		if id := p.Signers[other].ID; !slices.ContainsFunc(signers, func(s esign.Signer) bool { return s.ID == id }) {
			p.Signers[other].ID = ""
		}
	}
	for _, x := range signers {
		i := -1
		if x.ID != "" {
			i = p.SignerIndex(x.ID)
		}
		if i < 0 {
			i = slices.IndexFunc(p.Signers, func(s office.Signer) bool {
				return (s.ID == "" || x.ID == "") && strings.EqualFold(s.Email, x.Email)
			})
		}
		if i < 0 {
			p.Signers = append(p.Signers, office.Signer{})
			i = len(p.Signers) - 1
		}
		signer := &p.Signers[i]
		signer.ID = cmp.Or(x.ID, signer.ID)
		signer.FirstName = cmp.Or(x.FirstName, signer.FirstName)
		signer.LastName = cmp.Or(x.LastName, signer.LastName)
		signer.Email = cmp.Or(x.Email, signer.Email)
		signer.Locale = cmp.Or(x.Locale, signer.Locale)
		mergeDecline(p, signer, x, now)
	}
}

// dropDeleted takes out of p whom the service says it has taken out, and returns the others of signers. Who has signed something stays.
func dropDeleted(p *office.Package, signers []esign.Signer) []esign.Signer {
	gone := func(x esign.Signer) bool {
		return x.Deleted && !slices.ContainsFunc(p.Documents, func(d office.Document) bool { return slices.Contains(d.SignedBy, x.ID) })
	}
	if !slices.ContainsFunc(signers, gone) {
		return signers
	}
	p.Signers = slices.DeleteFunc(slices.Clone(p.Signers), func(s office.Signer) bool {
		return slices.ContainsFunc(signers, func(x esign.Signer) bool {
			return gone(x) && (s.ID != "" && s.ID == x.ID || s.ID == "" && s.Email != "" && strings.EqualFold(s.Email, x.Email))
		})
	})
	return slices.DeleteFunc(slices.Clone(signers), gone)
}

// mergeRecipients notes who gets a copy. Few answers tell: one that names nobody takes nobody away.
func mergeRecipients(p *office.Package, said []office.Recipient) {
	if len(said) == 0 {
		return
	}
	before := p.Recipients
	p.Recipients = nil
	for _, r := range said {
		if i := slices.IndexFunc(before, func(b office.Recipient) bool { return b.Same(r.Email) }); i >= 0 && r.FirstName+r.LastName == "" {
			r.FirstName, r.LastName = before[i].FirstName, before[i].LastName
		}
		p.Recipients = append(p.Recipients, r)
	}
}

// mergeDecline notes that a signer declined. One who is asked again, or replaced, has not declined any more; who was asked again and
// declined once more between two looks declined at a later time.
func mergeDecline(p *office.Package, signer *office.Signer, x esign.Signer, now time.Time) {
	switch {
	case x.Declined && (signer.Declined.IsZero() || !signer.Declined.By && x.DeclinedAt.After(signer.Declined.Time)):
		signer.Declined, signer.DeclineReason = office.At(x.DeclinedAt, now), message.OneLine(x.Reason, office.MaxName)
		p.History = slices.DeleteFunc(slices.Clone(p.History), func(m office.HistoryEntry) bool { // an earlier one, since which they were asked again
			return m.What == office.EntryDeclined && m.Who == signer.ID
		})
		p.AddHistory(office.HistoryEntry{Time: signer.Declined, What: office.EntryDeclined, Who: signer.ID})
	case !x.Declined && x.StateTold:
		signer.Declined, signer.DeclineReason = office.When{}, ""
	}
}

// placeDocuments gives the documents whose ids are not known those that an answer carries alone, if there are as many: they come in
// the order they were added, and which they are the first thing with an externalId puts right.
func placeDocuments(p *office.Package, documents []esign.Document) {
	var bare []string
	for _, x := range documents {
		switch {
		case x.ID != "" && x.ExternalID != "":
			p.Document(x.ID, x.ExternalID)
		case x.ID == "" || !slices.Contains(bare, x.ID) && !slices.ContainsFunc(p.Documents, func(d office.Document) bool { return d.ID == x.ID }):
			bare = append(bare, x.ID)
		}
	}
	var places []*office.Document
	for i := range p.Documents {
		if p.Documents[i].ID == "" {
			places = append(places, &p.Documents[i])
		}
	}
	if len(places) != len(bare) {
		return
	}
	for i, d := range places {
		d.ID = bare[i]
	}
}

func mergeDocuments(p *office.Package, s esign.Status, now time.Time) (news []office.Signature) {
	placeDocuments(p, s.Documents)
	for _, x := range s.Documents {
		if x.ID == "" {
			continue // nothing can be known of it yet
		}
		d := p.Document(x.ID, x.ExternalID)
		d.Name = cmp.Or(x.Name, d.Name)
		d.FileName = cmp.Or(x.FileName, d.FileName)
		d.ExternalID = cmp.Or(x.ExternalID, d.ExternalID)
		d.Executed = d.Executed || x.Executed
		for _, r := range x.Revisions {
			signature := office.Signature{DocumentID: x.ID, SignerID: r.SignerID}
			if r.IsSigned && p.AddSignature(signature, "", signedAt(s, x, r.SignerID, now)) {
				news = append(news, signature)
			}
		}
	}
	return news
}

// signedAt is when somebody signed a document: as the service says of who has one alone to sign, else by when that person, or
// everybody, had signed.
func signedAt(s esign.Status, d esign.Document, signerID string, now time.Time) office.When {
	at := office.At(time.Time{}, now)
	if !d.TimeExecuted.IsZero() {
		at = at.Narrowed(office.When{Time: d.TimeExecuted, By: true})
	}
	for _, x := range s.Signers {
		if x.ID == signerID && !x.TimeExecuted.IsZero() {
			at = at.Narrowed(office.When{Time: x.TimeExecuted, By: len(s.Documents) > 1})
		}
	}
	return at
}

// saysNext is whose turn it is by the service's word; none where it leaves out isNext, as it may.
func saysNext(s esign.Status) (next []string) {
	add := func(id string) {
		if id != "" && !slices.Contains(next, id) {
			next = append(next, id)
		}
	}
	for _, d := range s.Documents {
		for _, r := range d.Revisions {
			if r.IsNext && !r.IsSigned {
				add(r.SignerID)
			}
		}
	}
	for _, x := range s.Signers {
		if x.IsNext {
			add(x.ID)
		}
	}
	return next
}

// Cases are the ways to write id: as it is and, of a UUID, those that differ in the case of its letters alone and name the same
// (RFC 9562, 4).
func Cases(id string) []string {
	if len(id) != 36 || uuid.Validate(id) != nil {
		return []string{id}
	}
	return []string{id, strings.ToLower(id), strings.ToUpper(id)}
}

// SameAs reports whether p is what the service calls id, which is p's own or the same in another case. It is not where the service
// does not tell about p: then p goes by an event that wrote it in a case the service does not know.
func SameAs(p office.Package, id string) bool { return p.ID == id || p.Refused.IsZero() }

// AsKnown is e with the ids as p has them, which is how the service is asked for them; the zero p is not known. Where an event
// writes its package in another case than the service does, or may do, what p does not know by now is left for the status to
// name: it would be known twice.
func AsKnown(p office.Package, e esign.Event) esign.Event {
	documents, signers := knownIDs(p)
	otherCase := e.PackageID != p.ID
	if p.ID == "" {
		otherCase = slices.Index(Cases(e.PackageID), strings.ToLower(e.PackageID)) > 0
	} else {
		e.PackageID = p.ID
	}
	e.DocumentID = asKnown(documents, e.DocumentID, otherCase)
	e.SignerID = asKnown(signers, e.SignerID, otherCase)
	e.NextSignerID = asKnown(signers, e.NextSignerID, otherCase)
	return e
}

// statusAsKnown is s with the ids as p has them, as AsKnown has those of an event.
func statusAsKnown(p office.Package, s esign.Status) esign.Status {
	documents, signers := knownIDs(p)
	s.Documents, s.Signers = slices.Clone(s.Documents), slices.Clone(s.Signers)
	for i := range s.Signers {
		s.Signers[i].ID = asKnown(signers, s.Signers[i].ID, false)
		signers = append(signers, s.Signers[i].ID)
	}
	for i := range s.Documents {
		d := &s.Documents[i]
		d.ID, d.Revisions = asKnown(documents, d.ID, false), slices.Clone(d.Revisions)
		for j := range d.Revisions {
			d.Revisions[j].SignerID = asKnown(signers, d.Revisions[j].SignerID, false)
		}
	}
	return s
}

func knownIDs(p office.Package) (documents, signers []string) {
	for _, d := range p.Documents {
		documents = append(documents, d.ID)
	}
	for _, s := range p.Signers {
		signers = append(signers, s.ID)
	}
	return documents, signers
}

// asKnown is id as it is among known. One that is not is as it was, or none.
func asKnown(known []string, id string, none bool) string {
	for _, written := range Cases(id) {
		if slices.Contains(known, written) {
			return written
		}
	}
	if none {
		return ""
	}
	return id
}
