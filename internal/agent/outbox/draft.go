package outbox

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"

	"github.com/google/uuid"
)

// DraftError is a draft that was not accepted as it is. Nothing was stored or sent.
type DraftError struct{ Text message.Message }

func (e *DraftError) Error() string { return e.Text.String() }

// Message is what people are told.
func (e *DraftError) Message() message.Message { return e.Text }

// newDraft checks what a person wants to send, of which docs are the documents.
func (r *Service) newDraft(d office.NewPackage, docs documents) (office.Draft, error) {
	out := office.Draft{
		ID: uuid.NewString(), Name: strings.TrimSpace(d.Name), Message: d.Message, Sequential: d.Sequential, Due: d.Due,
		ExternalData: d.ExternalData, State: office.DraftQueued, Created: r.Now(), Changed: r.Now(), NextTry: r.Now(),
		Template: d.Template.Clone(), Corrects: d.Corrects, NoCopy: slices.Clone(d.NoCopy),
	}
	if len(d.Files) == 0 && d.Template.Empty() {
		return out, &DraftError{message.NoDocument()}
	}
	if empty := d.Template.EmptyFields(); len(empty) > 0 && !d.EmptyFields {
		return out, &DraftError{message.TemplateFieldsEmpty(empty)}
	}
	if out.Name == "" && d.Template != nil {
		out.Name = d.Template.Name
	}
	if out.Name == "" && len(docs) > 0 {
		out.Name = strings.TrimSuffix(docs[0].Name, filepath.Ext(docs[0].Name))
	}
	if len(d.Signers) == 0 {
		return out, &DraftError{message.NoSigner()}
	}
	seen := map[string]bool{}
	for _, s := range d.Signers {
		if !office.IsAddress(s.Email) {
			return out, &DraftError{message.EmailIncomplete(strings.TrimSpace(s.FirstName + " " + s.LastName))}
		}
		if key := strings.ToLower(s.Email); seen[key] {
			return out, &DraftError{message.SignerTwice(s.Email)}
		} else {
			seen[key] = true
		}
		out.Signers = append(out.Signers, office.Signer{FirstName: s.FirstName, LastName: s.LastName, Email: s.Email, Role: s.Role, RoleID: s.RoleID})
	}
	if office.DuePassed(d.Due, r.Now()) {
		return out, &DraftError{message.DueDatePassed()}
	}
	if err := checkCopies(d); err != nil {
		return out, err
	}
	out.Recipients = slices.Clone(d.Recipients)
	out.CopyDefaultRecipients(r.deps.Standing())
	if office.HasExternalData(d.ExternalData) && !json.Valid(d.ExternalData) {
		return out, &DraftError{message.ReferenceNotJSON()}
	}
	return out, nil
}

// checkCopies refuses a package of which somebody is to get a copy who cannot.
func checkCopies(d office.NewPackage) error {
	for i, code := range office.CheckCopies(d.Recipients, d.Signers) {
		if code != "" {
			return &DraftError{d.Recipients[i].Wrong(code)}
		}
	}
	return nil
}

// newPackage is d, which came from there, as the service takes it.
func newPackage(d office.Draft, from source) esign.NewPackage {
	p := esign.NewPackage{
		Name: d.Name, Message: d.Message, Sequential: d.Sequential, Due: d.Due,
		ExternalData: withCorrelation(d.ExternalData, from.String()),
	}
	for _, s := range d.Signers {
		p.Signers = append(p.Signers, signerOf(d.Template, s))
	}
	if d.Template != nil {
		p.TemplateID = d.Template.ID
	}
	p.Recipients, p.Documents = recipients(d), documentsOf(d)
	return p
}
