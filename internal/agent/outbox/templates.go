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
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// The signing service's templates, most recently used first, and those used here. A service without templates is asked again only
// after a day.

const (
	perPage  = 100
	maxPages = 20 // more than a person could look through
)

// Templates asks the service for its templates, or those matching search unless empty. Recently used ones come first, then the
// others by name. Its errors carry a message for people.
func (r *Service) Templates(ctx context.Context, search string) ([]office.Template, error) {
	client, online := r.Session.Online()
	if !online {
		return nil, message.Error(message.SignInFirst(), nil)
	}
	all, whole, err := readTemplates(ctx, client, wildcard(search))
	if esign.NotOffered(err) {
		if !r.noTemplates.Waits(client.Home(), r.Now()) {
			r.noTemplates.Failed(client.Home(), r.Now(), loop.NotOfferedFor)
			r.Signal(office.StatusChanged)
		}
		return nil, message.Error(message.TemplatesNotOffered(), err)
	}
	if err := r.Session.Note(ctx, err); err != nil {
		return nil, err
	}
	if r.noTemplates.Waits(client.Home(), r.Now()) {
		r.noTemplates.Worked(client.Home())
		r.Signal(office.StatusChanged)
	}
	used, err := r.usedAt(client.Home())
	if err != nil {
		return nil, err
	}
	for i := range all {
		for _, u := range used {
			if u.ID == all[i].ID && u.Used.After(all[i].LastUsed) {
				all[i].LastUsed = u.Used
			}
		}
	}
	slices.SortStableFunc(all, func(a, b office.Template) int {
		return cmp.Or(b.LastUsed.Compare(a.LastUsed), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	if whole && search == "" {
		r.keepTemplates(client.Home(), all)
	}
	return all, nil
}

// readTemplates reads the list of templates and reports whether it reached the end. It requests everybody's templates, and the
// caller's own if that is forbidden; it does without an order or page size that the service rejects.
func readTemplates(ctx context.Context, client *esign.Client, search string) (all []office.Template, whole bool, err error) {
	all = []office.Template{}
	q := esign.TemplateQuery{Search: search, Everyone: true, RecentFirst: true, Take: perPage}
	seen := map[string]bool{}
	for pages := 0; pages < maxPages; {
		page, err := client.Templates(ctx, q)
		e, _ := errors.AsType[*esign.Error](err)
		switch {
		case err == nil:
		case pages == 0 && q.Everyone && e != nil && e.Kind == esign.Forbidden:
			q.Everyone = false
			continue
		case pages == 0 && q.RecentFirst && e != nil && e.Kind == esign.Refused:
			q.RecentFirst, q.Take = q.Take > 0, 0
			continue
		default:
			return nil, false, err
		}
		pages++
		fresh := 0
		for _, t := range page.Items {
			if !seen[t.ID] {
				seen[t.ID] = true
				all = append(all, t)
				fresh++
			}
		}
		again := fresh == 0 && len(page.Items) > 0 // the service returns the same page for ever
		if !again {
			q.Skip += page.Given
		}
		if again || page.Given == 0 || page.Total > 0 && q.Skip >= page.Total {
			return all, q.Skip >= page.Total, nil // incomplete if the service claims that there are more
		}
	}
	return all, false, nil
}

// wildcard makes the service match the beginnings of words (service-facts.md, 7).
func wildcard(search string) string {
	words := strings.Fields(search)
	for i, w := range words {
		if !strings.HasSuffix(w, "*") {
			words[i] = w + "*"
		}
	}
	return strings.Join(words, " ")
}

// TemplatesOffered reports whether the service may have templates: it has not been asked yet, or has not said that it has none.
func (r *Service) TemplatesOffered() bool {
	return !r.noTemplates.Waits(r.deps.Home(), r.Now())
}

// docUsed is the document with the templates used here, most recent first.
const docUsed = "templates"

const maxUsed = 50

// use is a template used here.
type use struct {
	Service string    `json:"service"` // see esign.Client.Home
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Used    time.Time `json:"used"`
}

// noteTemplate remembers that the service has made a package from d's template. Call it in the commit that records this.
func (r *Service) noteTemplate(tx *store.Tx, d office.Draft) {
	if d.Template == nil {
		return
	}
	var all []use
	tx.GetDoc(docUsed, &all)
	all = slices.DeleteFunc(all, func(u use) bool { return u.Service == d.Service && u.ID == d.Template.ID })
	all = slices.Insert(all, 0, use{d.Service, d.Template.ID, d.Template.Name, r.Now().UTC()})
	tx.PutDoc(docUsed, all[:min(len(all), maxUsed)])
}

// UsedTemplates returns the templates used here, most recent first.
func (r *Service) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	all, err := r.usedAt(r.deps.Home())
	var list []office.UsedTemplate
	for _, u := range all[:min(len(all), limit)] {
		list = append(list, office.UsedTemplate{ID: u.ID, Name: u.Name})
	}
	return list, err
}

// usedAt returns those of one service, most recent first.
func (r *Service) usedAt(home string) ([]use, error) {
	all, _, err := data.Doc[[]use](r.Data, docUsed)
	return slices.DeleteFunc(all, func(u use) bool { return u.Service != home }), err
}

// keepTemplates drops templates that the service no longer has, and updates the names of the others.
func (r *Service) keepTemplates(home string, list []office.Template) {
	names := map[string]string{}
	for _, t := range list {
		names[t.ID] = t.Name
	}
	before, err := r.usedAt(home)
	stale := slices.ContainsFunc(before, func(u use) bool { return names[u.ID] != u.Name })
	if err != nil || !stale {
		return
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		var all []use
		tx.GetDoc(docUsed, &all)
		kept := []use{}
		for _, u := range all {
			if u.Service == home {
				u.Name = names[u.ID]
			}
			if u.Name != "" {
				kept = append(kept, u)
			}
		}
		return tx.PutDoc(docUsed, kept)
	})
	if err != nil {
		r.Log.Warn("forget templates that are no more", "err", err)
		return
	}
	r.Signal(office.StatusChanged)
}

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
