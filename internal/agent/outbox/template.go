package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// documentsOf converts d's documents for the service. A template's documents are included by themselves, so only changed ones are
// named.
func documentsOf(d office.Draft) (list []esign.NewDocument) {
	if d.Template != nil {
		for i, own := range d.Template.Documents {
			doc := esign.NewDocument{TemplateDocumentID: own.ID, TemplateData: own.Data}
			if own.ID == "" {
				doc.Name = own.Name
			}
			file, swapped := fileFor(d, i+1)
			if swapped {
				doc.FileID, doc.FileName, doc.ExternalID, doc.Name = file.FileID, file.Name, file.ExternalID, own.Name
			}
			if swapped || len(own.Data) > 0 {
				list = append(list, doc)
			}
		}
	}
	for _, f := range d.Files {
		if f.Original == 0 {
			list = append(list, esign.NewDocument{FileID: f.FileID, FileName: f.Name, Name: nameBeside(d.Template, f), ExternalID: f.ExternalID})
		}
	}
	return list
}

func fileFor(d office.Draft, original int) (office.DraftFile, bool) {
	for _, f := range d.Files {
		if f.Original == original {
			return f, true
		}
	}
	return office.DraftFile{}, false
}

// nameBeside names the document made of f. A document with the name of one in the template would replace that (service-facts.md,
// 4.1), which nobody asked for.
func nameBeside(t *office.Template, f office.DraftFile) string {
	base := strings.TrimSuffix(f.Name, filepath.Ext(f.Name))
	if t == nil {
		return base
	}
	taken := map[string]bool{}
	for _, own := range t.Documents {
		taken[strings.ToLower(own.Name)], taken[strings.ToLower(own.FileName)] = true, true
	}
	name := base
	for n := 2; taken[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s (%d)", base, n)
	}
	return name
}

// signerOf converts s for the service. A role is given by its id, and by its name, too, if that is unique.
func signerOf(t *office.Template, s office.Signer) esign.NewSigner {
	signer := esign.NewSigner{FirstName: s.FirstName, LastName: s.LastName, Email: s.Email}
	if t == nil {
		return signer
	}
	signer.TemplateSignerID = s.RoleID
	if s.RoleID == "" || t.RoleOnce(s.Role) {
		signer.TemplateRole = s.Role
	}
	return signer
}

// recipients returns those who get a copy, each with their role in the template.
func recipients(d office.Draft) (list []esign.NewRecipient) {
	var t office.Template
	if d.Template != nil {
		t = *d.Template
	}
	roles := t.RecipientRole(d.Recipients)
	for i, x := range d.Recipients {
		if x.FirstName+x.LastName == "" { // as for a signer of whom only the address is known
			x.FirstName, _, _ = strings.Cut(x.Email, "@")
		}
		r := esign.NewRecipient{FirstName: x.FirstName, LastName: x.LastName, Email: x.Email, Type: esign.RecipientOpen}
		if x.Blind {
			r.Type = esign.RecipientBlind
		}
		if at := roles[i]; at >= 0 {
			if r.TemplateRecipientID = t.Copies[at].ID; r.TemplateRecipientID == "" {
				r.TemplateRole = t.Copies[at].Role
			}
		}
		list = append(list, r)
	}
	return list
}

// templateProblem words a refusal of d that is due to its template; empty for any other reason.
func templateProblem(d office.Draft, cause error) message.Message {
	e, ok := errors.AsType[*esign.Error](cause)
	if !ok || d.Template == nil {
		return message.Message{}
	}
	code := strings.ToLower(e.Code)
	switch {
	case !strings.Contains(code, "template"):
		return message.Message{}
	case code == "template_not_found", code == "package_template_not_found":
		return message.TemplateGone(d.Template.Name)
	case strings.HasSuffix(code, "_not_found"):
		return message.TemplateChanged(d.Template.Name)
	}
	return message.Message{}
}

// withoutRoles returns signers as they are known outside of a draft.
func withoutRoles(signers []office.Signer) (list []office.Signer) {
	for _, s := range signers {
		s.Role, s.RoleID = "", ""
		list = append(list, s)
	}
	return list
}

// FromFolder stores a draft for a hot folder's file, which is open and was found at path. It is sent, or held for a person to
// approve. also runs in the same commit, possibly more than once, and may change the draft. Errors are those of Send, and a
// *DraftError for a document that nobody could sign, judged by the copy to be sent.
func (r *Service) FromFolder(ctx context.Context, folder office.HotFolder, file *os.File, path string, also func(*store.Tx, *office.Draft) error) error {
	doc, err := asDocument(file, path)
	if err != nil {
		return err
	}
	docs := documents{doc}
	draft, err := r.newDraft(folder.Package(path, r.Now().Local()), docs)
	if err != nil {
		return err
	}
	draft.Folder, draft.By = folder.ID, cmp.Or(folder.By, draft.By)
	if folder.Ask {
		draft.State = office.DraftHeld
	}
	if err := r.storeDraft(ctx, &draft, docs, storing{alone: true, also: also}); err != nil {
		return err
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return nil
}

// FileMoved records that a draft's file has moved. Call it only while the draft is held or has ended.
func FileMoved(tx *store.Tx, draftID, from, to string) error {
	d, known, err := tx.Draft(draftID)
	if err != nil || !known {
		return err
	}
	var moved bool
	for i := range d.Files {
		if d.Files[i].Path == from {
			d.Files[i].Path, moved = to, true
		}
	}
	if !moved {
		return nil
	}
	return tx.PutDraft(d)
}

// Passes reports whether an error of FromFolder is temporary: the file is being written, there is no room for its copy, or it could
// not be read to its end. In the last case it could be opened, so the share or the disk failed, not the document.
func Passes(err error) bool {
	refused, known := errors.AsType[*DraftError](err)
	if !known {
		return false
	}
	passing := []message.Message{message.FileBusy(""), message.NoRoomForCopy(""), message.NotCopied(""), message.FileNotRead(""), message.FileMayNotBeRead("")}
	return slices.ContainsFunc(passing, func(m message.Message) bool { return m.ID() == refused.Text.ID() })
}
