package office

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Template is a template of the signing service: documents with their fields, and roles for people. In a draft it is as it
// was when it was chosen, with what was filled in.
type Template struct {
	ID          string    `json:"template_id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Message     string    `json:"message,omitempty"` // to the signers
	Sequential  bool      `json:"sequential"`        // they sign in the order of the roles
	LastUsed    time.Time `json:"last_used,omitzero"`

	// Documents come along with the template. Nil means that the service did not say which.
	Documents []TemplateDocument `json:"documents"`
	Roles     []TemplateRole     `json:"roles"`  // who signs
	Copies    []TemplateRole     `json:"copies"` // who gets a copy
}

// TemplateRole is a place for a person, who is known already where an address is given.
type TemplateRole struct {
	ID        string `json:"id,omitempty"`
	Role      string `json:"role,omitempty"` // as the template calls it; more than one may be called the same
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Email     string `json:"email,omitempty"`
}

// TemplateDocument is a document of a template, and in a draft what becomes of it.
type TemplateDocument struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	FileName string          `json:"file_name,omitempty"`
	Fields   []TemplateField `json:"fields,omitempty"` // as far as the service tells

	File string            `json:"file,omitempty"` // path of the file on this computer that takes its place; empty for none
	Data map[string]string `json:"data,omitempty"` // values for fields, by TemplateField.ID
}

// TemplateField is a text field that can be filled before the package is sent.
type TemplateField struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Value     string `json:"value,omitempty"` // that it has unless another one is given
	Multiline bool   `json:"multiline,omitempty"`
}

// UsedTemplate is a template that packages were made from here.
type UsedTemplate struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// DisplayName is how people know the document, or "".
func (d TemplateDocument) DisplayName() string { return cmp.Or(d.Name, d.FileName) }

// DisplayName is what people know the field by.
func (f TemplateField) DisplayName() string { return cmp.Or(f.Name, f.ID) }

// Person is who has the role already, with the role.
func (r TemplateRole) Person() Signer {
	return Signer{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email, Role: r.Role, RoleID: r.ID}
}

// Signers are the roles of t as signers, of whom nothing more may be known.
func (t Template) Signers() (list []Signer) {
	for _, r := range t.Roles {
		list = append(list, r.Person())
	}
	return list
}

// Recipients are the people who get a copy of whatever is made from t.
func (t Template) Recipients() (list []Recipient) {
	for _, r := range t.Copies {
		if r.Email != "" {
			list = append(list, Recipient{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email})
		}
	}
	return list
}

// Cast gives people the roles of t: those who name one theirs, by its name or id, the others the roles that nobody has, in their order; who
// is left signs besides. A role that the template has given to somebody stays with that person, unless there is a person for each role.
// left are those whose role is not there, or taken; open are the roles that nobody has.
func (t Template) Cast(people []Signer) (signers, left []Signer, open []string) {
	signers = t.Signers()
	filled := make([]bool, len(signers))
	take := func(i int, p Signer) {
		signers[i].FirstName, signers[i].LastName, signers[i].Email, filled[i] = p.FirstName, p.LastName, p.Email, true
	}
	var rest []Signer
	for _, p := range people {
		if p.Role == "" {
			rest = append(rest, p)
			continue
		}
		at := 0
		for at < len(signers) && (filled[at] || !strings.EqualFold(t.Roles[at].Role, p.Role) && t.Roles[at].ID != p.Role) {
			at++
		}
		if at == len(signers) {
			left = append(left, p)
			continue
		}
		take(at, p)
	}
	all := len(people) == len(signers)
	for i := range signers {
		if len(rest) > 0 && !filled[i] && (all || signers[i].Email == "") {
			take(i, rest[0])
			rest = rest[1:]
		}
	}
	for i, s := range signers {
		if s.Email == "" {
			open = append(open, cmp.Or(s.Role, fmt.Sprint(i+1)))
		}
	}
	return append(signers, rest...), left, open
}

// RoleOnce reports whether t has exactly one role to sign that is called so.
func (t Template) RoleOnce(name string) bool {
	n := 0
	for _, r := range t.Roles {
		if r.Role == name {
			n++
		}
	}
	return name != "" && n == 1
}

// RecipientRole is the role that each recipient has in t, by its place: the role of the same address, else one that nobody
// has yet. It is -1 for those besides.
func (t Template) RecipientRole(recipients []Recipient) []int {
	roles, taken := make([]int, len(recipients)), make([]bool, len(t.Copies))
	take := func(i int, fits func(TemplateRole) bool) {
		for j, role := range t.Copies {
			if roles[i] < 0 && !taken[j] && fits(role) {
				roles[i], taken[j] = j, true
			}
		}
	}
	for i, r := range recipients {
		roles[i] = -1
		take(i, func(role TemplateRole) bool { return role.Email != "" && r.Same(role.Email) })
	}
	for i := range recipients {
		take(i, func(role TemplateRole) bool { return role.Email == "" })
	}
	return roles
}

// Empty reports whether t is known to bring no document, neither its own nor one that takes its place.
func (t *Template) Empty() bool { return t == nil || t.Documents != nil && len(t.Documents) == 0 }

// EmptyFields are the names of the text fields of t that are empty in what is made from it: they have no value of their own and
// are given none.
func (t *Template) EmptyFields() (names []string) {
	if t == nil {
		return nil
	}
	for _, d := range t.Documents {
		for _, f := range d.Fields {
			value, given := d.Data[f.ID]
			if !given {
				value = f.Value
			}
			if strings.TrimSpace(value) == "" {
				names = append(names, f.DisplayName())
			}
		}
	}
	return names
}

// Mentions reports whether every word of search is found in t, as part of a word too.
func (t Template) Mentions(search string) bool {
	words := []string{t.Name, t.Description, t.Message}
	for _, d := range t.Documents {
		words = append(words, d.Name, d.FileName)
	}
	for _, r := range slices.Concat(t.Roles, t.Copies) {
		words = append(words, r.Role, r.FirstName, r.LastName, r.Email)
	}
	all := strings.ToLower(strings.Join(words, "\n"))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(search)), func(word string) bool { return !strings.Contains(all, word) })
}

// Clone is t with memory of its own.
func (t *Template) Clone() *Template {
	if t == nil {
		return nil
	}
	c := *t
	c.Documents, c.Roles, c.Copies = slices.Clone(t.Documents), slices.Clone(t.Roles), slices.Clone(t.Copies)
	for i := range c.Documents {
		d := &c.Documents[i]
		d.Fields, d.Data = slices.Clone(d.Fields), maps.Clone(d.Data)
	}
	return &c
}

// NamedTemplate finds the template with that id, or else those with that name, whatever the case of its letters.
func NamedTemplate(list []Template, name string) (found []Template) {
	for _, t := range list {
		if t.ID == name {
			return []Template{t}
		}
		if strings.EqualFold(t.Name, strings.TrimSpace(name)) {
			found = append(found, t)
		}
	}
	return found
}
