package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/office"
)

type templatesCmd struct {
	Search string `help:"Only those that mention these words." placeholder:"WORDS"`
	jsonFlag
}

func (c *templatesCmd) Run(r *run) error {
	o, err := r.signedIn(agent.ComponentOutbox, "")
	if err != nil {
		return err
	}
	defer o.Close()
	list, err := callTemplates.of(r.ctx, o, c.Search)
	if err != nil {
		return err
	}
	return c.print(r, listedTemplates(list), func(w *terminal.Writer) (err error) {
		for _, t := range list {
			err = errors.Join(err, printTemplate(w, t))
		}
		return err
	})
}

// templateList is what templates --json prints.
type templateList struct {
	Templates []listedTemplate `json:"templates"`
}

// listedTemplate is a template as templates --json prints it. Its fields are stable, always there, and documented in
// assets/docs/admin.md.
type listedTemplate struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Message     string             `json:"message"`
	Sequential  bool               `json:"sequential"`
	LastUsed    *time.Time         `json:"last_used"`
	Roles       []listedRole       `json:"roles"`
	Copies      []listedRole       `json:"copies"`
	Documents   []templateDocument `json:"documents"` // null where the service did not say
}

type listedRole struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

type templateDocument struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	FileName string          `json:"file_name"`
	Fields   []templateField `json:"fields"`
}

type templateField struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Value     string `json:"value"`
	Multiline bool   `json:"multiline"`
}

func listedTemplates(list []office.Template) templateList {
	out := templateList{[]listedTemplate{}}
	for _, t := range list {
		l := listedTemplate{
			ID: t.ID, Name: t.Name, Description: t.Description, Message: t.Message, Sequential: t.Sequential,
			LastUsed: moment(t.LastUsed), Roles: listedRoles(t.Roles), Copies: listedRoles(t.Copies),
		}
		if t.Documents != nil {
			l.Documents = []templateDocument{}
		}
		for _, d := range t.Documents {
			doc := templateDocument{ID: d.ID, Name: d.DisplayName(), FileName: d.FileName, Fields: []templateField{}}
			for _, f := range d.Fields {
				doc.Fields = append(doc.Fields, templateField{f.ID, f.DisplayName(), f.Value, f.Multiline})
			}
			l.Documents = append(l.Documents, doc)
		}
		out.Templates = append(out.Templates, l)
	}
	return out
}

func listedRoles(roles []office.TemplateRole) []listedRole {
	list := []listedRole{}
	for _, r := range roles {
		list = append(list, listedRole{r.ID, r.Role, r.Person().DisplayName(), r.Email})
	}
	return list
}

func printTemplate(w *terminal.Writer, t office.Template) error {
	err := w.Line("%s", t.Name)
	line := func(name string, texts []string) {
		if len(texts) > 0 {
			err = errors.Join(err, w.Line("  %-10s %s", name, strings.Join(texts, ", ")))
		}
	}
	line("ID", []string{t.ID})
	line("Roles", roleNames(t.Roles))
	line("Copies", roleNames(t.Copies))
	var documents, fields []string
	for _, d := range t.Documents {
		documents = append(documents, d.DisplayName())
		for _, f := range d.Fields {
			fields = append(fields, f.ID)
		}
	}
	line("Documents", documents)
	line("Fields", fields)
	if !t.LastUsed.IsZero() {
		line("Last used", []string{t.LastUsed.Local().Format(time.DateTime)})
	}
	return err
}

// roleNames are the roles as people read them, with who has them already.
func roleNames(roles []office.TemplateRole) (names []string) {
	for i, r := range roles {
		name := cmp.Or(r.Role, fmt.Sprint("signer ", i+1))
		if r.Email != "" {
			name += " (" + r.Person().DisplayName() + ")"
		}
		names = append(names, name)
	}
	return names
}

// fromTemplate completes d with the one template of list that is called so.
func (c *sendCmd) fromTemplate(d *office.NewPackage, list []office.Template) error {
	found := office.NamedTemplate(list, c.Template)
	switch {
	case len(found) == 0:
		return &failure{fmt.Sprintf("There is no template %q. List them with countersign templates.", c.Template)}
	case len(found) > 1:
		return &failure{fmt.Sprintf("%d templates are called %q. Name one of them by its ID, which countersign templates shows.", len(found), c.Template)}
	}
	t := &found[0]
	if err := c.fill(t); err != nil {
		return err
	}
	if empty := unanswered(t); len(empty) > 0 {
		return &failure{fmt.Sprintf("The template %q has fields that would go out empty: %s. Fill each with --field \"FIELD=VALUE\", or leave it empty with --field \"FIELD=\".",
			t.Name, strings.Join(empty, ", "))}
	}
	d.EmptyFields = true // said so, each
	signers, err := cast(*t, d.Signers)
	if err != nil {
		return err
	}
	d.Template, d.Signers, d.Sequential, d.Message = t, signers, d.Sequential || t.Sequential, cmp.Or(d.Message, t.Message)
	for _, r := range t.Recipients() {
		if codes := office.CheckCopies(append(slices.Clone(d.Recipients), r), d.Signers); codes[len(codes)-1] == "" {
			d.Recipients = append(d.Recipients, r)
		}
	}
	return nil
}

// fill takes --field and --replace into the documents of t.
func (c *sendCmd) fill(t *office.Template) error {
	for _, text := range c.Replace {
		name, path, ok := strings.Cut(text, "=")
		if !ok {
			return &usage{fmt.Sprintf("%q does not say what is replaced; write it as \"DOCUMENT=FILE\".", text)}
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(t.Documents, func(d office.TemplateDocument) bool {
			return d.ID == name || strings.EqualFold(d.Name, name) || strings.EqualFold(d.FileName, name)
		})
		if at < 0 {
			return &failure{fmt.Sprintf("The template %q has no document %q.", t.Name, name)}
		}
		t.Documents[at].File = abs
	}
	for _, text := range c.Field {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return &usage{fmt.Sprintf("%q has no value; write it as \"FIELD=VALUE\".", text)}
		}
		known := false
		for i := range t.Documents {
			d := &t.Documents[i]
			for _, f := range d.Fields {
				if f.ID != name && !strings.EqualFold(f.Name, name) {
					continue
				}
				if known = true; d.Data == nil {
					d.Data = map[string]string{}
				}
				d.Data[f.ID] = value
			}
		}
		if !known {
			return &failure{fmt.Sprintf("The template %q has no text field %q that the service tells of.", t.Name, name)}
		}
	}
	return nil
}

// unanswered are the fields of t that are empty and of which --field says nothing.
func unanswered(t *office.Template) (names []string) {
	for _, d := range t.Documents {
		for _, f := range d.Fields {
			if _, said := d.Data[f.ID]; !said && strings.TrimSpace(f.Value) == "" {
				names = append(names, f.DisplayName())
			}
		}
	}
	return names
}

// cast gives the people of --to the roles of t: those who name one theirs, the others the roles that nobody has, in their
// order; who is left signs besides. A role that the template has given to somebody stays with that person, unless there
// is a person for each role.
func cast(t office.Template, people []office.Signer) ([]office.Signer, error) {
	signers := t.Signers()
	filled := make([]bool, len(signers))
	take := func(i int, p office.Signer) {
		signers[i].FirstName, signers[i].LastName, signers[i].Email, filled[i] = p.FirstName, p.LastName, p.Email, true
	}
	var rest []office.Signer
	for _, p := range people {
		if p.Role == "" {
			rest = append(rest, p)
			continue
		}
		at := slices.IndexFunc(t.Roles, func(r office.TemplateRole) bool { return strings.EqualFold(r.Role, p.Role) || r.ID == p.Role })
		for at >= 0 && at < len(filled) && filled[at] { // the next of the same name
			next := slices.IndexFunc(t.Roles[at+1:], func(r office.TemplateRole) bool { return strings.EqualFold(r.Role, p.Role) })
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			return nil, &failure{fmt.Sprintf("The template %q has no role %q left. Its roles are: %s.", t.Name, p.Role, strings.Join(roleNames(t.Roles), ", "))}
		}
		take(at, p)
	}
	free := 0
	for _, f := range filled {
		if !f {
			free++
		}
	}
	all := len(rest) == free
	for i := range signers {
		if len(rest) > 0 && !filled[i] && (all || signers[i].Email == "") {
			take(i, rest[0])
			rest = rest[1:]
		}
	}
	var open []string
	for i, s := range signers {
		if s.Email == "" {
			open = append(open, cmp.Or(s.Role, fmt.Sprint("signer ", i+1)))
		}
	}
	if len(open) > 0 {
		return nil, &failure{fmt.Sprintf("The template %q also needs: %s. Name each with --to \"ROLE=NAME <E-MAIL>\".", t.Name, strings.Join(open, ", "))}
	}
	return append(signers, rest...), nil
}

// withRole takes "Tenant=Ana Ruiz <ana@example.com>" apart; role is empty for a person alone.
func withRole(to string) (role, person string) {
	role, person, ok := strings.Cut(to, "=")
	if !ok || strings.ContainsAny(role, "@<") {
		return "", to
	}
	return strings.TrimSpace(role), strings.TrimSpace(person)
}
