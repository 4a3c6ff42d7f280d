package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// packTemplate is a template: documents with fields, and roles for people to be named when a package is made from it.
type packTemplate struct {
	TemplateID     string             `json:"template_id"`
	OrganizationID string             `json:"organization_id"`
	MemberID       string             `json:"member_id"`
	Name           string             `json:"name"`
	Description    string             `json:"description,omitempty"`
	Message        string             `json:"message,omitempty"` // to the signers, if the package has none
	PackageType    string             `json:"package_type"`
	TimeCreated    time.Time          `json:"time_created"`
	TimeLastUsed   *time.Time         `json:"time_last_used,omitempty"`
	Documents      []templateDocument `json:"documents"`
	Signers        []templatePerson   `json:"signers"`
	Recipients     []templatePerson   `json:"recipients"`
}

type templateDocument struct {
	DocumentID string          `json:"document_id"`
	Name       string          `json:"name"`
	Text       string          `json:"text"` // what its page says
	Fields     []templateField `json:"fields"`
}

func (d *templateDocument) fileName() string { return d.Name + ".pdf" }

// templateField is a text field that can be filled in when a package is made (service-facts.md section 4.3: only text and
// multiline).
type templateField struct {
	DataID string `json:"data_id"`
	Type   string `json:"type"`
	Label  string `json:"label"`
}

// templatePerson is a role of a template, with the person who has it, if already assigned.
type templatePerson struct {
	ID        string `json:"id"`
	Role      string `json:"role"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
	Type      string `json:"type"` // of a recipient: CC, BCC
}

// usableBy reports whether the caller may see the template and make packages from it.
func (t *packTemplate) usableBy(c caller) bool { return t.OrganizationID == c.OrganizationID }

// listTemplates is POST /templates/list, newest first or last used first.
func (s *Server) listTemplates(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	q, take, err := readList(w, r, who, "template", "created", "last_used")
	if err != nil {
		return nil, err
	}
	all, err := s.templates()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t packTemplate) bool { return !t.usableBy(who) || !t.mentions(q.Search) })
	if q.SortBy == "last_used" {
		slices.SortStableFunc(all, func(a, b packTemplate) int { return b.used().Compare(a.used()) })
	}
	items := []object{}
	for _, t := range all[min(q.Skip, len(all)):min(q.Skip+take, len(all))] {
		items = append(items, t.view())
	}
	return object{"items": items, "total": len(all), "take": take, "skip": q.Skip}, nil
}

func (t *packTemplate) mentions(search string) bool {
	text := []string{t.Name, t.Description, t.Message}
	for _, p := range slices.Concat(t.Signers, t.Recipients) {
		text = append(text, p.Role, p.FirstName, p.LastName, p.Email)
	}
	return mentioned(search, text)
}

func (t *packTemplate) used() time.Time {
	if t.TimeLastUsed == nil {
		return time.Time{}
	}
	return *t.TimeLastUsed
}

// view is one entry of templates/list. A document's fields are under data, as in packages/data.
func (t *packTemplate) view() object {
	documents, signers, recipients := []object{}, []object{}, []object{}
	for i, d := range t.Documents {
		fields := []object{}
		for _, f := range d.Fields {
			fields = append(fields, object{"id": derivedID(d.DocumentID + f.DataID), "dataId": f.DataID, "name": f.Label, "type": f.Type, "value": nil, "pageNumber": 1})
		}
		documents = append(documents, object{"documentId": d.DocumentID, "index": i, "name": d.Name, "fileName": d.fileName(), "data": fields})
	}
	for i, p := range t.Signers {
		signers = append(signers, object{"signerId": p.ID, "index": i, "firstName": orNil(p.FirstName), "lastName": orNil(p.LastName),
			"email": orNil(p.Email), "role": "signer", "templateRole": p.Role, "type": "signer"})
	}
	for _, p := range t.Recipients {
		recipients = append(recipients, object{"recipientId": p.ID, "firstName": orNil(p.FirstName), "lastName": orNil(p.LastName),
			"email": orNil(p.Email), "templateRole": p.Role, "type": p.Type})
	}
	return object{
		"templateId": t.TemplateID, "organizationId": t.OrganizationID, "memberId": t.MemberID, "shared": true,
		"name": t.Name, "description": orNil(t.Description), "message": orNil(t.Message), "packageType": t.PackageType, "type": "template",
		"timeCreated": stamp(t.TimeCreated), "timeLastUsed": stampOrNil(t.TimeLastUsed),
		"documents": documents, "signers": signers, "recipients": recipients,
	}
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// templates are all templates, newest first.
func (s *Server) templates() (all []packTemplate, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketTemplates, func(_ string, t packTemplate) error {
			all = append(all, t)
			return nil
		})
	})
	slices.SortStableFunc(all, func(a, b packTemplate) int {
		return cmp.Or(b.TimeCreated.Compare(a.TimeCreated), strings.Compare(a.Name, b.Name))
	})
	return all, err
}

// fromTemplate completes a request with what the template that it names contributes, people and documents, which the
// request's own replace or extend (service-facts.md section 4.1). Without a templateId it does nothing.
func (s *Server) fromTemplate(b *addRequest, who caller) error {
	if b.TemplateID == "" {
		return nil
	}
	t, err := read[packTemplate](s.db, bucketTemplates, b.TemplateID)
	if errors.Is(err, errNotFound) || err == nil && !t.usableBy(who) {
		return notFound("template")
	}
	if err != nil {
		return err
	}
	setDefault(&b.Message, t.Message)
	open := b.State == "" || b.State == stateOpen
	if b.Signers, err = t.people("signer", b.Signers, t.Signers, open); err != nil {
		return err
	}
	if b.Recipients, err = t.people("recipient", b.Recipients, t.Recipients, false); err != nil {
		return err
	}
	b.Recipients = slices.DeleteFunc(b.Recipients, func(p person) bool {
		// The template's own copy for somebody who was named as a signer.
		return p.fromTemplate && slices.ContainsFunc(b.Signers, func(x person) bool { return strings.EqualFold(x.Email, p.Email) })
	})
	b.Documents, err = t.documents(b.Documents)
	return err
}

// people are those named in a request, each in the role it names, followed by the template's people whom nobody replaces.
// Each role is filled once; with complete set, all must be.
func (t *packTemplate) people(kind string, named []person, roles []templatePerson, complete bool) ([]person, error) {
	filled := make([]bool, len(roles))
	role := func(p person) (int, error) {
		id := p.TemplateSignerID + p.TemplateRecipientID
		if id == "" && p.TemplateRole == "" {
			return -1, nil // an additional person
		}
		for i, r := range roles {
			if !filled[i] && (id == r.ID || id == "" && p.TemplateRole == r.Role) {
				return i, nil
			}
		}
		return 0, notFound("template_" + kind)
	}
	for _, p := range named {
		at, err := role(p)
		if err != nil {
			return nil, err
		}
		if at >= 0 {
			filled[at] = true
		}
	}
	for i, r := range roles {
		switch {
		case filled[i]:
		case r.Email != "":
			named = append(named, person{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email, Type: r.Type, fromTemplate: true})
		case complete:
			return nil, badRequest("package_invalid_template_"+kind, "The template has nobody for the role %q.", r.Role)
		}
	}
	return named, nil
}

// documents are the template's, with the files and values of the request, followed by the request's additional ones.
func (t *packTemplate) documents(given []addDocument) (all []addDocument, err error) {
	taken := make([]bool, len(given))
	for i := range t.Documents {
		own := &t.Documents[i]
		d := addDocument{Name: own.Name, FileName: own.fileName(), template: own}
		for j, in := range given {
			if taken[j] || in.TemplateDocumentID != own.DocumentID && (in.TemplateDocumentID != "" || in.Name != own.Name) {
				continue
			}
			taken[j] = true
			d = in
			d.template, d.Name = own, own.Name
			break
		}
		for id := range d.TemplateData {
			if !slices.ContainsFunc(own.Fields, func(f templateField) bool { return f.DataID == id }) {
				return nil, badRequest("document_invalid_templateData", "The document %q has no field %q.", own.Name, id)
			}
		}
		all = append(all, d)
	}
	for j, in := range given {
		switch {
		case taken[j]:
		case in.TemplateDocumentID != "":
			return nil, notFound("template_document")
		default:
			all = append(all, in)
		}
	}
	return all, nil
}

// ownFile makes the file of an unreplaced document of the template, with the values filled in.
func (s *Server) ownFile(tx *bolt.Tx, in addDocument, who caller, now time.Time) (file, error) {
	page, err := s.templatePage(in.template, in.TemplateData, now)
	if err != nil {
		return file{}, err
	}
	f := file{FileID: newID(), FileName: in.template.fileName(), MemberID: who.MemberID, Size: int64(len(page)), Pages: 1, Used: true, TimeCreated: now}
	if err := os.WriteFile(s.filePath(f.FileID), page, 0o600); err != nil {
		return file{}, fmt.Errorf("storing a document of a template: %w", err)
	}
	return f, put(tx, bucketFiles, f.FileID, f)
}

// noteUse records when a template was last used, for the order of the list.
func noteUse(tx *bolt.Tx, templateID string, now time.Time) error {
	if templateID == "" {
		return nil
	}
	t, err := get[packTemplate](tx, bucketTemplates, templateID)
	if err != nil {
		return err
	}
	t.TimeLastUsed = &now
	return put(tx, bucketTemplates, templateID, t)
}

func (s *Server) templatePage(d *templateDocument, values map[string]string, at time.Time) ([]byte, error) {
	p := newPaper(d.Name, at)
	p.heading(d.Name)
	p.line("", 11, d.Text)
	p.Ln(4)
	for _, f := range d.Fields {
		p.field(f.Label, values[f.DataID])
	}
	return p.bytes()
}

// filledIn are the values of a document's fields, in the template's order.
func filledIn(in addDocument) (fields []filledField) {
	if in.template == nil {
		return nil
	}
	for _, f := range in.template.Fields {
		if value, given := in.TemplateData[f.DataID]; given {
			fields = append(fields, filledField{f.DataID, f.Label, value})
		}
	}
	return fields
}

// sampleTemplates are what every organization begins with. Their ids are always the same.
func sampleTemplates(u User, now time.Time) []packTemplate {
	id := func(what string) string { return derivedID("template:" + u.OrganizationID + ":" + what) }
	text := func(dataID, label string) templateField { return templateField{dataID, "text", label} }
	lines := func(dataID, label string) templateField { return templateField{dataID, "multiline", label} }
	all := []packTemplate{
		{
			TemplateID: id("lease"), Name: "Lease agreement", Description: "A flat, with the house rules", PackageType: typeSequential,
			Message: "Read the lease and the house rules, then sign both.",
			Documents: []templateDocument{
				{id("lease/1"), "Lease agreement", "The landlord lets the flat named here to the tenant.", []templateField{
					text("address", "Address of the flat"), text("rent", "Monthly rent"), lines("special", "Special agreements")}},
				{id("lease/2"), "House rules", "Quiet hours are from 10 pm to 6 am.", nil},
			},
			Signers:    []templatePerson{{ID: id("lease/landlord"), Role: "Landlord"}, {ID: id("lease/tenant"), Role: "Tenant"}},
			Recipients: []templatePerson{{id("lease/records"), "Records", "Rita", "Records", "records@example.com", recipientOpen}},
		},
		{
			TemplateID: id("mandate"), Name: "Engagement letter", Description: "For new clients", PackageType: "concurrent",
			Documents: []templateDocument{
				{id("mandate/1"), "Engagement letter", "The client engages the lawyer in the matter named here.", []templateField{
					text("matter", "Matter"), text("fee", "Fee")}},
				{id("mandate/2"), "Privacy notice", "What is kept about the client, and for how long.", nil},
			},
			Signers: []templatePerson{
				{ID: id("mandate/client"), Role: "Client"}, {id("mandate/lawyer"), "Lawyer", "Laura", "Lawyer", "laura.lawyer@example.com", ""}},
		},
		{
			TemplateID: id("nda"), Name: "Non-disclosure agreement", Description: "Mutual", PackageType: "concurrent",
			Documents: []templateDocument{
				{id("nda/1"), "Non-disclosure agreement", "Both parties keep to themselves what they learn of each other.", []templateField{
					lines("purpose", "Purpose")}}},
			Signers: []templatePerson{{ID: id("nda/1st"), Role: "Party"}, {ID: id("nda/2nd"), Role: "Party"}}, // one role, two people
		},
	}
	for i := range all {
		all[i].OrganizationID, all[i].MemberID, all[i].TimeCreated = u.OrganizationID, u.MemberID, now
	}
	return all
}

// addSamples gives the sample templates to each organization, once.
func (s *Server) addSamples() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, u := range s.opt.Users { // the first of an organization owns them
			for _, t := range sampleTemplates(u, s.opt.Now()) {
				_, err := get[packTemplate](tx, bucketTemplates, t.TemplateID)
				if errors.Is(err, errNotFound) {
					err = put(tx, bucketTemplates, t.TemplateID, t)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}
