// Package apply updates the record of a package with what the service said of it, in an event or a status answer. It is pure: no
// I/O. Applying the same twice changes nothing, and final states stay: an older answer does not revert that everybody has signed.
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

// Event applies e to p and returns the signature it reports. A status answer may have brought the same signature before, without
// people being told.
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

// Status applies the service's answer to p; where they differ, the answer is right. It returns the signatures new to p.
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
	if made := office.At(s.TimeCreated, now); p.Met && !made.By {
		p.Created, p.Met = made.Time, false
	}
	if s.State != "" && !s.State.Unsent() {
		p.AddHistory(office.HistoryEntry{Time: office.At(time.Time{}, now), What: office.EntrySent})
	}
	news = mergeDocuments(p, s, now)
	if next := saysNext(s); len(next) > 0 || s.Type != "" && !p.Sequential { // otherwise the last event said it, or it follows from the order
		p.NextSigners = next
	}

	switch {
	case s.State == office.PackageExecuted:
		p.Execute(office.At(s.TimeExecuted, now))
	case s.State != "" && p.State != office.PackageExecuted: // executed is final: an older answer does not revert it
		p.State = s.State
		if p.State.Over() {
			p.AddHistory(office.HistoryEntry{Time: ended(*p, s, now), What: office.EntryEnded, Ref: string(s.State)})
		}
	}
	if p.State == office.PackageRescinded && p.Withdrawal == nil && s.RescindMessage != "" { // withdrawn elsewhere
		p.Withdrawal = &office.Withdrawal{State: office.WithdrawDone, Message: message.OneLine(s.RescindMessage, office.MaxReason)}
	}
	p.CorrectBounds(now)
	p.Checked = now
	return news
}

// ended returns when p, which is over, ended.
func ended(p office.Package, s esign.Status, now time.Time) office.When {
	switch {
	case p.State == office.PackageRescinded:
		return office.At(s.TimeRescinded, now)
	case p.State == office.PackageExpired && p.Due.Before(now):
		return office.At(p.Due, now)
	}
	return office.At(time.Time{}, now)
}

// mergeSigners updates the signers: those in said are all, unless it leaves out ids. An id that an event had linked with one person
// moves to the person whose address the service gives with it.
func mergeSigners(p *office.Package, said []esign.Signer, now time.Time) {
	if len(said) == 0 {
		return
	}
	signers := slices.DeleteFunc(slices.Clone(said), func(x esign.Signer) bool { return x.Deleted && !p.Begun(x.ID) })
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
			p.Rejoin(x.ID)
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
	p.Leave(unlisted(said, signers))
	place := func(s office.Signer) int {
		return slices.IndexFunc(signers, func(x esign.Signer) bool { return x.ID != "" && x.ID == s.ID })
	}
	if !slices.ContainsFunc(p.Signers, func(s office.Signer) bool { return place(s) < 0 }) {
		slices.SortStableFunc(p.Signers, func(a, b office.Signer) int { return cmp.Compare(signers[place(a)].Place, signers[place(b)].Place) })
	}
}

// unlisted returns which signers have left a package: those that the service has deleted, or does not list in said, an answer with
// the ids of all; listed are those in said that remain. Somebody whose id is unknown is looked for by address.
func unlisted(said, listed []esign.Signer) func(office.Signer) bool {
	whole := !slices.ContainsFunc(said, func(x esign.Signer) bool { return x.ID == "" })
	addressed := !slices.ContainsFunc(listed, func(x esign.Signer) bool { return x.Email == "" })
	return func(s office.Signer) bool {
		same := func(x esign.Signer) bool { return x.ID != "" && x.ID == s.ID }
		byAddress := func(x esign.Signer) bool { return s.Email != "" && strings.EqualFold(s.Email, x.Email) }
		if slices.ContainsFunc(listed, func(x esign.Signer) bool { return same(x) || x.ID == "" && byAddress(x) }) {
			return false
		}
		deleted := slices.ContainsFunc(said, func(x esign.Signer) bool { return x.Deleted && (same(x) || s.ID == "" && byAddress(x)) })
		return deleted || whole && (s.ID != "" || s.Email != "" && addressed)
	}
}

// mergeRecipients updates who gets a copy. Few answers say so; one that names nobody removes nobody.
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

// mergeDecline records that a signer declined. Somebody asked again, or replaced, no longer counts as declined; if they declined
// again between two polls, the time is later than the recorded one.
func mergeDecline(p *office.Package, signer *office.Signer, x esign.Signer, now time.Time) {
	switch {
	case x.Declined && (signer.Declined.IsZero() || !signer.Declined.By && x.DeclinedAt.After(signer.Declined.Time)):
		signer.Declined, signer.DeclineReason = office.At(x.DeclinedAt, now), message.OneLine(x.Reason, office.MaxReason)
		p.History = slices.DeleteFunc(slices.Clone(p.History), func(m office.HistoryEntry) bool { // drops an earlier decline, after which they were asked again
			return m.What == office.EntryDeclined && m.Who == signer.ID
		})
		p.AddHistory(office.HistoryEntry{Time: signer.Declined, What: office.EntryDeclined, Who: signer.ID})
	case !x.Declined && x.StateTold:
		signer.Declined, signer.DeclineReason = office.When{}, ""
	}
}

// placeDocuments assigns an answer's ids without an externalId to the documents whose ids are unknown, if there are as many: they
// come in the order of adding, and the first message with an externalId corrects any mistake.
func placeDocuments(p *office.Package, documents []esign.Document) {
	var bare []string
	for _, x := range documents {
		switch {
		case x.ID != "" && x.ExternalID != "":
			if slices.ContainsFunc(p.Documents, func(d office.Document) bool { return d.ID == x.ID || d.ExternalID == x.ExternalID }) { // new ones come later, in their order
				p.Document(x.ID, x.ExternalID)
			}
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
		d.ID, p.Planned, p.Saved = bare[i], false, false
	}
}

func mergeDocuments(p *office.Package, s esign.Status, now time.Time) (news []office.Signature) {
	placeDocuments(p, s.Documents)
	assigned := namesSigners(*p, s)
	for _, x := range s.Documents {
		if x.ID == "" {
			continue // nothing is known of it yet
		}
		d := p.Document(x.ID, x.ExternalID)
		d.Name = cmp.Or(x.Name, d.Name)
		d.FileName = cmp.Or(x.FileName, d.FileName)
		d.ExternalID = cmp.Or(x.ExternalID, d.ExternalID)
		d.Executed = d.Executed || x.Executed
		if assigned {
			d.Signers = signersOf(x)
		}
		for _, r := range x.Revisions {
			signature := office.Signature{DocumentID: x.ID, SignerID: r.SignerID}
			if r.IsSigned && p.AddSignature(signature, "", signedAt(s, x, r.SignerID, now)) {
				news = append(news, signature)
			}
		}
	}
	if _, all := s.Lists(); all && s.State == office.PackageExecuted { // until then it may list less, and nothing is let go
		for i := range p.Documents {
			d := &p.Documents[i]
			if d.ID == "" || slices.ContainsFunc(s.Documents, func(x esign.Document) bool { return x.ID == d.ID }) {
				if !d.Unlisted.IsZero() {
					d.Unlisted, d.Lacked, p.Planned, p.Saved = time.Time{}, 0, false, false
				}
			} else {
				office.RefusedFor(&d.Unlisted, now)
				d.Lacked++
			}
		}
	}
	return news
}

// namesSigners reports whether an answer says who signs which document: it names somebody for each, and each person for some. An
// answer that names only those who have signed says nothing of the others.
func namesSigners(p office.Package, s esign.Status) bool {
	named, open := map[string]bool{}, false
	for _, d := range s.Documents {
		for _, r := range d.Revisions {
			named[r.SignerID], open = true, open || !r.IsSigned
		}
		if len(d.Revisions) == 0 {
			return false
		}
	}
	return open && !slices.ContainsFunc(p.Signers, func(x office.Signer) bool { return !named[x.ID] })
}

func signersOf(d esign.Document) (ids []string) {
	for _, r := range d.Revisions {
		if !slices.Contains(ids, r.SignerID) {
			ids = append(ids, r.SignerID)
		}
	}
	return ids
}

// signedAt returns when somebody signed a document: exactly, if the service's time for the person covers this document alone;
// otherwise it is a time by which the person, or everybody, had signed.
func signedAt(s esign.Status, d esign.Document, signerID string, now time.Time) office.When {
	at := office.At(time.Time{}, now)
	at = at.Narrowed(office.When{Time: office.At(d.TimeExecuted, now).Time, By: true})
	for _, x := range s.Signers {
		if signed := office.At(x.TimeExecuted, now); x.ID == signerID && !signed.By {
			at = at.Narrowed(office.When{Time: signed.Time, By: len(s.Documents) > 1})
		}
	}
	return at
}

// saysNext returns whose turn it is according to the service; none if it leaves out isNext, as it may.
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

// Cases returns the spellings of id: as it is and, for a UUID with or without dashes, those in other letter case, which name the same
// (RFC 9562, 4).
func Cases(id string) []string {
	if len(id) != 36 && len(id) != 32 || uuid.Validate(id) != nil {
		return []string{id}
	}
	return []string{id, strings.ToLower(id), strings.ToUpper(id)}
}

// SameAs reports whether id, p's own or differing from it in case, is what the service calls p. It is not if the service refuses to
// answer about p: then p's id came from an event in a case that the service does not know.
func SameAs(p office.Package, id string) bool { return p.ID == id || p.Refused.IsZero() }

// AsKnown returns e with its ids spelled as in p, which is how the service is asked for them; p is zero if unknown. If an event
// spells its package in another case than the service does or may, ids not known to p are dropped until a status supplies them,
// because otherwise they would be stored twice.
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

// statusAsKnown does for a status what AsKnown does for an event.
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
	for _, s := range slices.Concat(p.Signers, p.Former) {
		signers = append(signers, s.ID)
	}
	return documents, signers
}

// asKnown returns id as spelled in known. An unknown id is returned unchanged, or as "" if none.
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
