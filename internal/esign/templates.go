package esign

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"countersign/internal/message"
	"countersign/internal/office"
)

// TemplateQuery selects templates; zero fields do not restrict it (service-facts.md, 7).
type TemplateQuery struct {
	Search      string // full text; a * at the end of a word matches any ending
	Everyone    bool   // also other members' templates, which needs a permission
	RecentFirst bool   // requests that order, by last use; only the answer shows whether the service obeyed
	Take        int    // at most that many; 0 leaves it to the service, which may always give fewer
	Skip        int
}

// TemplatePage is part of the list of templates.
type TemplatePage struct {
	Items []office.Template // those from which packages can be made
	Given int               // how many the service returned, including those not in Items
	Total int               // in the whole list, according to the service; 0 if it did not say
}

// Templates lists templates (service-facts.md, 7). A service without them answers with an error that is NotOffered.
func (c *Client) Templates(ctx context.Context, q TemplateQuery) (TemplatePage, error) {
	k := &call{op: "listing templates", route: "templates/list", method: http.MethodPost, path: "/templates/list"}
	var sortBy string
	if q.RecentFirst {
		sortBy = templatesRecentFirst
	}
	err := k.jsonBody(struct {
		Search     string `json:"search,omitempty"`
		SortBy     string `json:"sortBy,omitempty"`
		AllMembers bool   `json:"allMembers,omitempty"`
		Take       int    `json:"take,omitempty"`
		Skip       int    `json:"skip"`
	}{q.Search, sortBy, q.Everyone, q.Take, q.Skip})
	if err != nil {
		return TemplatePage{}, err
	}
	raw, err := c.whole(ctx, k)
	if err != nil {
		return TemplatePage{}, err
	}
	page, ok := readTemplates(raw)
	if !ok {
		return TemplatePage{}, k.unreadable()
	}
	return page, nil
}

func readTemplates(raw []byte) (page TemplatePage, ok bool) {
	records, given, total, ok := readList(raw, func(r templateRecord) bool { return cmp.Or(r.TemplateID, r.ID) != "" })
	page.Given, page.Total = given, total
	for _, r := range records {
		if !slices.Contains(notForPackages, string(r.Type)) {
			page.Items = append(page.Items, r.template())
		}
	}
	return page, ok
}

type templateRecord struct {
	TemplateID   text                 `json:"templateId"`
	ID           text                 `json:"id"`
	Name         text                 `json:"name"`
	Description  text                 `json:"description"`
	Message      text                 `json:"message"`
	PackageType  text                 `json:"packageType"`
	Type         state                `json:"type"`
	TimeLastUsed stamp                `json:"timeLastUsed"`
	Documents    list[templateFile]   `json:"documents"`
	Signers      list[templatePerson] `json:"signers"`
	Recipients   list[templatePerson] `json:"recipients"`
}

// template converts the record; its texts are safe to show anywhere.
func (r templateRecord) template() office.Template {
	id := string(cmp.Or(r.TemplateID, r.ID))
	t := office.Template{
		ID: id, Name: cmp.Or(oneLine(r.Name), id), Description: oneLine(r.Description), Message: string(r.Message),
		Sequential: sequentialType(string(r.PackageType)) || sequentialType(string(r.Type)), LastUsed: r.TimeLastUsed.Time,
		Roles: roles(r.Signers), Copies: roles(r.Recipients),
	}
	slices.SortStableFunc(r.Documents, func(a, b templateFile) int { return cmp.Compare(a.Index+a.Order, b.Index+b.Order) })
	for _, f := range r.Documents {
		t.Documents = append(t.Documents, f.document())
	}
	return t
}

func oneLine(s text) string { return message.OneLine(string(s), office.MaxName) }

// sequentialType reports whether a package type makes its signers sign in order, in any case. A template has it as
// packageType beside its own type, or as its only type (assumed.go).
func sequentialType(name string) bool { return strings.EqualFold(name, typeSequential) }

type templateFile struct {
	TemplateDocumentID text                `json:"templateDocumentId"`
	DocumentID         text                `json:"documentId"`
	ID                 text                `json:"id"`
	Name               text                `json:"name"`
	FileName           text                `json:"fileName"`
	Index              number              `json:"index"`
	Order              number              `json:"order"`
	Data               list[templateField] `json:"data"`
}

// document keeps only text fields with a data id: others, such as signatures, cannot be filled in (service-facts.md, 4.3).
func (f templateFile) document() office.TemplateDocument {
	d := office.TemplateDocument{ID: string(cmp.Or(f.TemplateDocumentID, f.DocumentID, f.ID)), Name: string(f.Name), FileName: string(f.FileName)}
	seen := map[text]bool{"": true}
	for _, x := range f.Data {
		multiline := strings.Contains(string(x.Type), "multi") || strings.Contains(string(x.Type), "area")
		if seen[x.DataID] || x.Type != "" && !multiline && !strings.Contains(string(x.Type), "text") {
			continue
		}
		seen[x.DataID] = true
		d.Fields = append(d.Fields, office.TemplateField{ID: string(x.DataID), Name: oneLine(cmp.Or(x.Label, x.Name)), Value: string(x.Value), Multiline: multiline})
	}
	return d
}

type templateField struct {
	DataID text  `json:"dataId"`
	Label  text  `json:"label"`
	Name   text  `json:"name"`
	Type   state `json:"type"`
	Value  text  `json:"value"`
}

type templatePerson struct {
	TemplateSignerID    text   `json:"templateSignerId"`
	TemplateRecipientID text   `json:"templateRecipientId"`
	SignerID            text   `json:"signerId"`
	RecipientID         text   `json:"recipientId"`
	ID                  text   `json:"id"`
	TemplateRole        text   `json:"templateRole"`
	Role                text   `json:"role"`
	FirstName           text   `json:"firstName"`
	LastName            text   `json:"lastName"`
	Email               text   `json:"email"`
	Index               number `json:"index"`
	Order               number `json:"order"`
}

func roles(records []templatePerson) []office.TemplateRole {
	all := []office.TemplateRole{}
	slices.SortStableFunc(records, func(a, b templatePerson) int { return cmp.Compare(a.Index+a.Order, b.Index+b.Order) })
	for _, p := range records {
		role := p.TemplateRole
		if role == "" && !slices.Contains(signerRoles, strings.ToLower(string(p.Role))) {
			role = p.Role
		}
		all = append(all, office.TemplateRole{
			ID:   string(cmp.Or(p.TemplateSignerID, p.TemplateRecipientID, p.SignerID, p.RecipientID, p.ID)),
			Role: string(role), FirstName: oneLine(p.FirstName), LastName: oneLine(p.LastName), Email: oneLine(p.Email),
		})
	}
	return all
}
