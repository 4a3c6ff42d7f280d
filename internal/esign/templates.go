package esign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// TemplateQuery selects templates; zero fields do not restrict (service-facts.md, 7).
type TemplateQuery struct {
	Search      string // full text; a * at the end of a word matches any ending
	Everyone    bool   // also those of other members, which takes a right that not everybody has
	RecentFirst bool   // asks for that order, by their last use; whether it is kept shows in the answer alone
	Take        int    // at most that many; 0 leaves it to the service, which may give fewer in any case
	Skip        int
}

// TemplatePage is a part of the list of templates.
type TemplatePage struct {
	Items []Template // those that packages can be made from
	Given int        // how many the service gave, also those that are not in Items
	Total int        // in the whole list, as the service says; 0 when it does not
}

// Template is what packages are made from again and again. What the service did not say is zero.
type Template struct {
	ID          string
	Name        string
	Description string
	Message     string
	Sequential  bool
	LastUsed    time.Time
	Documents   []TemplateDocument // in the template's order, as the people are
	Signers     []TemplatePerson
	Recipients  []TemplatePerson
}

// TemplateDocument is a document that a template brings.
type TemplateDocument struct {
	ID       string
	Name     string
	FileName string
	Fields   []TemplateField // the text fields that can be filled, as far as the service names them
}

// TemplateField is a text field of a document.
type TemplateField struct {
	DataID    string // what its value goes by
	Name      string // for people, may be empty
	Value     string // that it has already
	Multiline bool
}

// TemplatePerson is a role in a template, with the person who has it where the template says.
type TemplatePerson struct {
	ID        string
	Role      string // for people, and to name it by where it has no id; may be empty
	FirstName string
	LastName  string
	Email     string
	Type      string // of a recipient: how the copy is sent
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
	var raw json.RawMessage
	if err := c.json(ctx, k, &raw); err != nil {
		return TemplatePage{}, err
	}
	page, ok := readTemplates(raw)
	if !ok {
		return TemplatePage{}, k.unreadable()
	}
	return page, nil
}

// readTemplates reads {"items", "total"} or a bare array. What is neither, or holds entries of which none is a template,
// is no list.
func readTemplates(raw []byte) (page TemplatePage, ok bool) {
	var said struct {
		Items     json.RawMessage `json:"items"`
		Templates json.RawMessage `json:"templates"`
		Total     *number         `json:"total"`
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		said.Items = raw
	} else if json.Unmarshal(raw, &said) != nil || said.Items == nil && said.Templates == nil && said.Total == nil {
		return TemplatePage{}, false
	}
	if said.Total != nil {
		page.Total = int(*said.Total)
	}
	known := 0
	for _, item := range slices.Concat(given(said.Items), given(said.Templates)) {
		page.Given++
		var r templateRecord
		if json.Unmarshal(item, &r) != nil || cmp.Or(r.TemplateID, r.ID) == "" {
			continue
		}
		known++
		if !slices.Contains(notForPackages, string(r.Type)) {
			page.Items = append(page.Items, r.template())
		}
	}
	return page, page.Given == 0 || known > 0
}

// templateRecord is every shape of a template at once.
type templateRecord struct {
	TemplateID   text           `json:"templateId"`
	ID           text           `json:"id"`
	Name         text           `json:"name"`
	Description  text           `json:"description"`
	Message      text           `json:"message"`
	PackageType  text           `json:"packageType"`
	Type         state          `json:"type"`
	TimeLastUsed stamp          `json:"timeLastUsed"`
	LastUsed     stamp          `json:"lastUsed"`
	Documents    templateFiles  `json:"documents"`
	Signers      templatePeople `json:"signers"`
	Roles        templatePeople `json:"roles"`
	Recipients   templatePeople `json:"recipients"`
}

func (r templateRecord) template() Template {
	t := Template{
		ID: string(cmp.Or(r.TemplateID, r.ID)), Name: string(r.Name), Description: string(r.Description), Message: string(r.Message),
		Sequential: sequentialType(string(r.PackageType)) || sequentialType(string(r.Type)), LastUsed: r.TimeLastUsed.Time,
		Documents: r.Documents.inOrder(), Signers: r.Signers.inOrder(), Recipients: r.Recipients.inOrder(),
	}
	if t.LastUsed.IsZero() {
		t.LastUsed = r.LastUsed.Time
	}
	if len(t.Signers) == 0 {
		t.Signers = r.Roles.inOrder()
	}
	return t
}

// sequentialType reports whether a type of a package has its signers sign in order, in whatever case it is written. A
// template says it as packageType beside the type of the template, or as its type alone (assumed.go).
func sequentialType(name string) bool { return strings.EqualFold(name, typeSequential) }

// templateFiles are the documents of a template: objects, or names alone.
type templateFiles []templateFile

type templateFile struct {
	TemplateDocumentID text           `json:"templateDocumentId"`
	DocumentID         text           `json:"documentId"`
	ID                 text           `json:"id"`
	Name               text           `json:"name"`
	FileName           text           `json:"fileName"`
	Index              number         `json:"index"`
	Order              number         `json:"order"`
	Data               templateFields `json:"data"`
	Fields             templateFields `json:"fields"`
	TemplateData       templateFields `json:"templateData"`
}

func (l *templateFiles) UnmarshalJSON(b []byte) error {
	*l = nil
	for _, raw := range given(b) {
		var f templateFile
		if json.Unmarshal(raw, &f) != nil {
			f = templateFile{}
			f.Name.UnmarshalJSON(raw)
		}
		*l = append(*l, f)
	}
	return nil
}

func (l templateFiles) inOrder() (list []TemplateDocument) {
	slices.SortStableFunc(l, func(a, b templateFile) int { return cmp.Compare(a.Index+a.Order, b.Index+b.Order) })
	for _, f := range l {
		d := TemplateDocument{ID: string(cmp.Or(f.TemplateDocumentID, f.DocumentID, f.ID)), Name: string(f.Name), FileName: string(f.FileName)}
		seen := map[string]bool{}
		for _, x := range slices.Concat(f.Data, f.Fields, f.TemplateData) {
			if !seen[x.DataID] {
				d.Fields = append(d.Fields, x)
			}
			seen[x.DataID] = true
		}
		list = append(list, d)
	}
	return list
}

// templatePeople are roles: objects, or their names alone.
type templatePeople []templatePerson

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
	Type                text   `json:"type"`
	Index               number `json:"index"`
	Order               number `json:"order"`
}

func (l *templatePeople) UnmarshalJSON(b []byte) error {
	*l = nil
	for _, raw := range given(b) {
		var p templatePerson
		if json.Unmarshal(raw, &p) != nil {
			p = templatePerson{}
			p.TemplateRole.UnmarshalJSON(raw)
		}
		*l = append(*l, p)
	}
	return nil
}

func (l templatePeople) inOrder() (list []TemplatePerson) {
	slices.SortStableFunc(l, func(a, b templatePerson) int { return cmp.Compare(a.Index+a.Order, b.Index+b.Order) })
	for _, p := range l {
		role := p.TemplateRole
		if role == "" && !slices.Contains(signerRoles, strings.ToLower(string(p.Role))) {
			role = p.Role
		}
		list = append(list, TemplatePerson{
			ID:   string(cmp.Or(p.TemplateSignerID, p.TemplateRecipientID, p.SignerID, p.RecipientID, p.ID)),
			Role: string(role), FirstName: string(p.FirstName), LastName: string(p.LastName), Email: string(p.Email), Type: string(p.Type),
		})
	}
	return list
}

// templateFields are text fields: objects, data ids alone, or a map of data ids to values. Fields that are no text, such
// as signatures, and those without a data id cannot be filled and are left out (service-facts.md, 4.3).
type templateFields []TemplateField

func (l *templateFields) UnmarshalJSON(b []byte) error {
	*l = nil
	var byID map[string]json.RawMessage
	if json.Unmarshal(b, &byID) == nil {
		if _, one := byID["dataId"]; !one {
			for _, id := range slices.Sorted(maps.Keys(byID)) {
				var f templateFieldRecord
				if json.Unmarshal(byID[id], &f) != nil {
					f.Value.UnmarshalJSON(byID[id])
				}
				f.DataID = (*text)(&id)
				l.add(f)
			}
			return nil
		}
	}
	for _, raw := range given(b) {
		var f templateFieldRecord
		if json.Unmarshal(raw, &f) != nil {
			var id text
			id.UnmarshalJSON(raw)
			f = templateFieldRecord{DataID: &id}
		}
		l.add(f)
	}
	return nil
}

func (l *templateFields) add(f templateFieldRecord) {
	var id text
	if f.DataID != nil {
		id = *f.DataID
	} else if !f.told {
		id = f.ID // the only name it has
	}
	kind := strings.ToLower(string(f.Type))
	if id == "" || kind != "" && !strings.Contains(kind, "text") && !strings.Contains(kind, "multi") {
		return
	}
	*l = append(*l, TemplateField{DataID: string(id), Name: string(cmp.Or(f.Label, f.Name, f.Title)), Value: string(f.Value),
		Multiline: strings.Contains(kind, "multi") || strings.Contains(kind, "area")})
}

type templateFieldRecord struct {
	DataID *text `json:"dataId"`
	ID     text  `json:"id"`
	Label  text  `json:"label"`
	Name   text  `json:"name"`
	Title  text  `json:"title"`
	Type   text  `json:"type"`
	Value  text  `json:"value"`

	told bool // it says that it has no data id
}

func (f *templateFieldRecord) UnmarshalJSON(b []byte) error {
	type plain templateFieldRecord
	if err := json.Unmarshal(b, (*plain)(f)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	json.Unmarshal(b, &members)
	_, f.told = members["dataId"]
	return nil
}

// given are the elements of a list that say anything.
func given(b []byte) []json.RawMessage {
	return slices.DeleteFunc(elements(b), func(raw json.RawMessage) bool { return rawOrNil(raw) == nil })
}
