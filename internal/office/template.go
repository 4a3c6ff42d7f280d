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
// was when it was chosen, with the values filled in.
type Template struct {
	ID          string    `json:"template_id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Message     string    `json:"message,omitempty"` // to the signers
	Sequential  bool      `json:"sequential"`        // they sign in the order of the roles
	LastUsed    time.Time `json:"last_used,omitzero"`

	// Documents are the template's own. Nil means that the service did not list them.
	Documents []TemplateDocument `json:"documents"`
	Roles     []TemplateRole     `json:"roles"`  // who signs
	Copies    []TemplateRole     `json:"copies"` // who gets a copy
}

// TemplateRole is a role in a template; with an address, the template already assigns it to a person.
type TemplateRole struct {
	ID        string `json:"id,omitempty"`
	Role      string `json:"role,omitempty"` // the template's name for it; several roles may share one
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Email     string `json:"email,omitempty"`
}

// TemplateDocument is a document of a template; in a draft, with what is to become of it.
type TemplateDocument struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	FileName string          `json:"file_name,omitempty"`
	Fields   []TemplateField `json:"fields,omitempty"` // as far as the service lists them

	File string            `json:"file,omitempty"` // path of the file on this computer that replaces it; empty for none
	Data map[string]string `json:"data,omitempty"` // values for fields, by TemplateField.ID
}

// TemplateField is a text field that can be filled before the package is sent.
type TemplateField struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Value     string `json:"value,omitempty"` // unless another value is given
	Multiline bool   `json:"multiline,omitempty"`
}

// UsedTemplate is a template from which packages were made here.
type UsedTemplate struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// DisplayName is the document's name for people, or "".
func (d TemplateDocument) DisplayName() string { return cmp.Or(d.Name, d.FileName) }

// DisplayName is the field's name for people.
func (f TemplateField) DisplayName() string { return cmp.Or(f.Name, f.ID) }

// Person is the person who already has the role, with the role.
func (r TemplateRole) Person() Signer {
	return Signer{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email, Role: r.Role, RoleID: r.ID}
}

// Signers are t's signing roles as signers; of a person nothing but the role may be known.
func (t Template) Signers() (list []Signer) {
	for _, r := range t.Roles {
		list = append(list, r.Person())
	}
	return list
}

// Recipients are the people who get a copy of everything made from t.
func (t Template) Recipients() (list []Recipient) {
	for _, r := range t.Copies {
		if r.Email != "" {
			list = append(list, Recipient{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email})
		}
	}
	return list
}

// Cast assigns t's roles to people: those who name a role, by name or id, get it; the others get the remaining roles in
// order; people beyond that sign without a role. A role that the template assigns to somebody stays with that person, unless
// there is a person for each role. left are the people whose role does not exist or is taken; open are the roles without a
// person.
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

// RoleOnce reports whether t has exactly one signing role of that name.
func (t Template) RoleOnce(name string) bool {
	n := 0
	for _, r := range t.Roles {
		if r.Role == name {
			n++
		}
	}
	return name != "" && n == 1
}

// RecipientRole is the index in t of each recipient's role: the role with the same address, otherwise one that nobody has
// yet, otherwise -1.
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

// Empty reports whether t is known to contribute no document, neither its own nor a replacement.
func (t *Template) Empty() bool { return t == nil || t.Documents != nil && len(t.Documents) == 0 }

// EmptyFields are the names of the text fields that stay empty in what is made from t: they have no default and no value.
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

// Mentions reports whether t contains every word of search, also as part of a word.
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

// Clone is a deep copy of t.
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

// NamedTemplate finds the template with that id, or else those with that name, ignoring case.
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
