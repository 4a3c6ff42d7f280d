package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// fromTemplate reads the template that a request names and completes the request with what the template brings: its
// people and its documents, with those of the request in their places (service-facts.md section 4.1). Without a
// templateId it does nothing.
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
		// The template's own copy for somebody who was named to sign.
		return p.fromTemplate && slices.ContainsFunc(b.Signers, func(x person) bool { return strings.EqualFold(x.Email, p.Email) })
	})
	b.Documents, err = t.documents(b.Documents)
	return err
}

// people are those named in a request, each in the role it names, and behind them those of the template whom nobody
// takes the place of. Each role is filled once; complete demands that all are.
func (t *packTemplate) people(kind string, named []person, roles []TemplatePerson, complete bool) ([]person, error) {
	filled := make([]bool, len(roles))
	role := func(p person) (int, error) {
		id := p.TemplateSignerID + p.TemplateRecipientID
		if id == "" && p.TemplateRole == "" {
			return -1, nil // somebody besides
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

// documents are those of the template, with the files and values of the request, and behind them what the request adds.
func (t *packTemplate) documents(given []addDocument) (all []addDocument, err error) {
	taken := make([]bool, len(given))
	for i := range t.Documents {
		own := &t.Documents[i]
		d := addDocument{Name: own.Name, FileName: own.FileName, template: own}
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

// ownFile makes the file of a document that comes from the template as it is, with the values filled in.
func (s *Server) ownFile(tx *bolt.Tx, in addDocument, who caller, now time.Time) (file, error) {
	page, err := s.templatePage(in.template, in.TemplateData, now)
	if err != nil {
		return file{}, err
	}
	f := file{FileID: newID(), FileName: in.template.FileName, MemberID: who.MemberID, Size: int64(len(page)), Pages: 1, Used: true, TimeCreated: now}
	if err := os.WriteFile(s.filePath(f.FileID), page, 0o600); err != nil {
		return file{}, fmt.Errorf("storing a document of a template: %w", err)
	}
	return f, put(tx, bucketFiles, f.FileID, f)
}

// noteUse keeps when a template was used last, for the order of the list.
func noteUse(tx *bolt.Tx, templateID string, now time.Time) error {
	if templateID == "" {
		return nil
	}
	t, err := get[packTemplate](tx, bucketTemplates, templateID)
	if errors.Is(err, errNotFound) {
		return notFound("template") // deleted a moment ago
	}
	if err != nil {
		return err
	}
	t.TimeLastUsed = &now
	return put(tx, bucketTemplates, templateID, t)
}

// templatePage is the page of a template's document.
func (s *Server) templatePage(d *templateDocument, values map[string]string, at time.Time) ([]byte, error) {
	p := s.newPaper(d.Name, at)
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
