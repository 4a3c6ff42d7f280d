package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

// sendPatience is how long the command waits for a service that does not answer, before it says so and leaves the rest to
// the next run.
const sendPatience = time.Minute

type sendCmd struct {
	Files        []string `arg:"" optional:"" name:"file" help:"The documents; with a template, those besides."`
	To           []string `sep:"none" help:"A signer; repeat it for more, in their order. With a template \"ROLE=NAME <E-MAIL>\" says whose role is whose." placeholder:"\"NAME <E-MAIL>\""`
	Template     string   `help:"Make the package from this template of the service." placeholder:"NAME|ID"`
	Field        []string `sep:"none" help:"With a template: fill a text field; repeat it for more." placeholder:"FIELD=VALUE"`
	Replace      []string `sep:"none" help:"With a template: a file in the place of one of its documents; repeat it for more." placeholder:"DOCUMENT=FILE"`
	CC           []string `name:"cc" sep:"none" help:"Somebody who gets a copy and does not sign; repeat it for more." placeholder:"\"NAME <E-MAIL>\""`
	BCC          []string `name:"bcc" sep:"none" help:"The same, not shown to the others." placeholder:"\"NAME <E-MAIL>\""`
	Name         string   `help:"Name of the package; the template's or the first file's when left out."`
	Message      string   `help:"A message to the signers."`
	Sequential   bool     `help:"One signs after the other, in the order of --to."`
	Due          string   `help:"Sign by this day (2026-12-31) or moment (RFC 3339)." placeholder:"DATE"`
	ExternalData string   `help:"Reference data kept with the package, as JSON." placeholder:"JSON"`
	bulkFlags
}

func (c *sendCmd) Run(r *run) error {
	draft, err := c.draft()
	if err != nil {
		return err
	}
	o, err := r.signedIn(agent.ComponentOutbox, ", so nothing was sent")
	if err != nil {
		return err
	}
	defer o.Close()
	if c.Template != "" {
		list, err := callTemplates.of(r.ctx, o, "")
		if err != nil {
			return err
		}
		if err := c.fromTemplate(&draft, list); err != nil {
			return err
		}
	}
	if c.List != "" {
		return c.sendList(r, o, draft)
	}
	state, err := callSend.news(r.ctx, o, draft, uploading(r.err))
	_ = r.err.Progress("")
	switch {
	case r.ctx.Err() != nil && state.DraftID != "":
		return &failure{message.WaitingStopped().String()}
	case r.ctx.Err() != nil:
		return &failure{"Stopped before Countersign said that it keeps the package. Look at countersign status before sending it again."}
	}
	if errors.Is(err, errSilent) { // the draft is stored and may still be sent: trying again could send it twice
		return &failure{"Countersign ended before it said whether the package was sent. Look at countersign status before sending it again."}
	}
	if err != nil {
		return err
	}
	switch {
	case state.State == office.DraftSent:
		return r.out.Line("Sent. Package %s", state.PackageID)
	case state.Problem.IsZero():
		return &failure{"The package was cancelled and not sent."}
	default:
		return &failure{state.Problem.String()}
	}
}

// send is agent.Agent.Send; a slow reader of its progress delays nobody.
func (l *local) send(ctx context.Context, d office.NewPackage, tell func(office.SendState) error) (office.SendState, error) {
	news, told := make(chan office.SendState, 1), make(chan struct{})
	go func() {
		defer close(told)
		for s := range news {
			_ = tell(s) // the final answer repeats it
		}
	}()
	state, err := l.agent.Send(ctx, d, func(s office.SendState) {
		select {
		case news <- s:
		default: // dropped: the next one says more
		}
	})
	close(news)
	<-told
	if errors.Is(err, context.Canceled) && state.DraftID != "" { // stored, and sent later: sending it again would make a second one
		err = &agent.DraftError{Text: message.WaitingStopped()}
	}
	return state, err
}

// signedIn returns the office if somebody is signed in. so says what it means if nobody is.
func (r *run) signedIn(part agent.Component, so string) (*instance, error) {
	o, err := r.office(part)
	if err != nil {
		return nil, err
	}
	if err := r.ready(o, so); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (r *run) ready(o *instance, so string) error {
	status, err := callStatus.of(r.ctx, o, nothing{})
	if err != nil {
		return err
	}
	for _, i := range status.Health {
		if i.ID == agent.IssueKeyring { // without the key nothing can be sent, and unlocking may take until tomorrow
			return &failure{i.Text()}
		}
	}
	if !status.SignedIn { // the command would wait for a person to sign in
		return &failure{"Nobody is signed in" + so + ". Sign in with countersign login first."}
	}
	return nil
}

// draft converts the command line to a draft; mistakes are usage errors.
func (c *sendCmd) draft() (office.NewPackage, error) {
	d := office.NewPackage{Name: c.Name, Message: c.Message, Sequential: c.Sequential, Patience: sendPatience}
	for _, f := range c.Files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return d, err
		}
		d.Files = append(d.Files, abs)
	}
	switch {
	case len(c.Files) == 0 && c.Template == "":
		return d, &usage{"A package needs a <file>, or a --template."}
	case c.List == "" && (c.Again || c.Check):
		return d, &usage{"--again and --check go with a --list."}
	case len(c.To) == 0 && c.Template == "" && c.List == "":
		return d, &usage{"A package needs a signer: --to \"NAME <E-MAIL>\"."}
	case len(c.Field)+len(c.Replace) > 0 && c.Template == "":
		return d, &usage{"--field and --replace go with a --template."}
	}
	for _, to := range c.To {
		role := ""
		if c.Template != "" {
			role, to = withRole(to)
		}
		s, err := parseSigner(to)
		if err != nil {
			return d, err
		}
		s.Role = role
		d.Signers = append(d.Signers, s)
	}
	for _, copies := range []struct {
		to    []string
		blind bool
	}{{c.CC, false}, {c.BCC, true}} {
		for _, to := range copies.to {
			if role, _ := withRole(to); role != "" && c.Template != "" {
				return d, &usage{fmt.Sprintf("%q gives a role; roles go with --to. Write --cc and --bcc as \"Ana Ruiz <ana@example.com>\".", to)}
			}
			people := office.ReadPeople(to)
			if len(people) == 0 {
				return d, &usage{fmt.Sprintf("%q is not an address; write it as \"Ana Ruiz <ana@example.com>\" or ana@example.com.", to)}
			}
			d.Recipients = append(d.Recipients, office.CopyTo(people, copies.blind)...)
		}
	}
	if c.Due != "" {
		due, err := parseDue(c.Due)
		if err != nil {
			return d, err
		}
		d.Due = due
	}
	if c.ExternalData != "" {
		if !json.Valid([]byte(c.ExternalData)) {
			return d, &usage{"The value of --external-data is not valid JSON."}
		}
		d.ExternalData = json.RawMessage(c.ExternalData)
	}
	return d, nil
}

// parseSigner reads one person as office.ReadPeople does; a person without a name is named by the address.
func parseSigner(s string) (office.Signer, error) {
	people := office.ReadPeople(s)
	if len(people) != 1 {
		return office.Signer{}, &usage{fmt.Sprintf("%q is not a signer; write it as \"Ana Ruiz <ana@example.com>\".", s)}
	}
	signer := people[0]
	if signer.FirstName == "" && signer.LastName == "" {
		signer.FirstName, _, _ = strings.Cut(signer.Email, "@")
	}
	return signer, nil
}

// parseDue reads a time, or a day, which lasts until local midnight.
func parseDue(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, time.Local)
	if err != nil {
		return t, &usage{fmt.Sprintf("%q is not a date; write it as 2026-12-31.", s)}
	}
	return t.AddDate(0, 0, 1).Add(-time.Second), nil
}

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
	Message     string             `json:"message"`    // to the signers
	Sequential  bool               `json:"sequential"` // they sign in the order of the roles
	LastUsed    *time.Time         `json:"last_used"`  // when a package was made from it here
	Roles       []listedRole       `json:"roles"`      // who signs
	Copies      []listedRole       `json:"copies"`     // who gets a copy
	Documents   []templateDocument `json:"documents"`  // null where the service does not say
}

type listedRole struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Name  string `json:"name"`  // of who has the role already
	Email string `json:"email"` // likewise
}

type templateDocument struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	FileName string          `json:"file_name"`
	Fields   []templateField `json:"fields"` // texts to fill
}

type templateField struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Value     string `json:"value"`
	Multiline bool   `json:"multiline"`
}

func listedTemplates(list []office.Template) templateList {
	role := func(r office.TemplateRole) listedRole {
		return listedRole{r.ID, r.Role, r.Person().DisplayName(), r.Email}
	}
	field := func(f office.TemplateField) templateField {
		return templateField{f.ID, f.DisplayName(), f.Value, f.Multiline}
	}
	return templateList{each(list, func(t office.Template) listedTemplate {
		l := listedTemplate{
			ID: t.ID, Name: t.Name, Description: t.Description, Message: t.Message, Sequential: t.Sequential,
			LastUsed: moment(t.LastUsed), Roles: each(t.Roles, role), Copies: each(t.Copies, role),
		}
		if t.Documents != nil {
			l.Documents = each(t.Documents, func(d office.TemplateDocument) templateDocument {
				return templateDocument{ID: d.ID, Name: d.DisplayName(), FileName: d.FileName, Fields: each(d.Fields, field)}
			})
		}
		return l
	})}
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

// roleNames are the roles' names for people, with the persons who already have them.
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

// fromTemplate completes d from the only template in list with that name.
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
	if c.List != "" { // its lines supply the rest
		d.Template, d.Sequential, d.Message = t, d.Sequential || t.Sequential, cmp.Or(d.Message, t.Message)
		d.Recipients = append(d.Recipients, t.Recipients()...)
		return nil
	}
	if empty := unanswered(t); len(empty) > 0 {
		return &failure{fmt.Sprintf("The template %q has fields that would go out empty: %s. Fill each with --field \"FIELD=VALUE\", or leave it empty with --field \"FIELD=\".",
			t.Name, strings.Join(empty, ", "))}
	}
	d.EmptyFields = true // deliberately, for each field
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

// fill puts --field and --replace into t's documents.
func (c *sendCmd) fill(t *office.Template) error {
	type place struct { // in the template; no field for a document as a whole
		document int
		field    string
	}
	given := map[place]bool{}
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
		if given[place{at, ""}] {
			return &usage{fmt.Sprintf("--replace names the document %q twice.", name)}
		}
		given[place{at, ""}], t.Documents[at].File = true, abs
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
				if given[place{i, f.ID}] {
					return &usage{fmt.Sprintf("--field names the field %q twice.", name)}
				}
				given[place{i, f.ID}], d.Data[f.ID] = true, value
			}
		}
		if !known {
			return &failure{fmt.Sprintf("The template %q has no text field %q that the service tells of.", t.Name, name)}
		}
	}
	return nil
}

// unanswered are the empty fields of t that --field does not mention.
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

// cast assigns the people of --to to t's roles, see Template.Cast.
func cast(t office.Template, people []office.Signer) ([]office.Signer, error) {
	signers, left, open := t.Cast(people)
	if len(left) > 0 {
		return nil, &failure{fmt.Sprintf("The template %q has no role %q left. Its roles are: %s.", t.Name, left[0].Role, strings.Join(roleNames(t.Roles), ", "))}
	}
	for i, role := range open {
		if _, err := strconv.Atoi(role); err == nil {
			open[i] = "signer " + role
		}
	}
	if len(open) > 0 {
		return nil, &failure{fmt.Sprintf("The template %q also needs: %s. Name each with --to \"ROLE=NAME <E-MAIL>\".", t.Name, strings.Join(open, ", "))}
	}
	return signers, nil
}

// withRole splits "Tenant=Ana Ruiz <ana@example.com>"; role is empty for a person alone.
func withRole(to string) (role, person string) {
	role, person, ok := strings.Cut(to, "=")
	if !ok || strings.ContainsAny(role, "@<") {
		return "", to
	}
	return strings.TrimSpace(role), strings.TrimSpace(person)
}

type withdrawCmd struct {
	Packages []string `arg:"" name:"package" help:"Each by its id, the beginning of its id, or its name."`
	Message  string   `help:"A message to the signers."`
	Quiet    bool     `help:"The service does not notify the signers."`
	jsonFlag
}

func (c *withdrawCmd) Run(r *run) error {
	o, err := r.signedIn(agent.ComponentWithdraw, ", so nothing was withdrawn")
	if err != nil {
		return err
	}
	defer o.Close()
	list, err := callWithdraw.of(r.ctx, o, office.NewWithdrawal{Packages: c.Packages, Message: c.Message, Quiet: c.Quiet, Patience: sendPatience})
	if r.ctx.Err() != nil {
		return &failure{message.WaitingStopped().String()}
	}
	if errors.Is(err, errSilent) { // the request is stored and will be carried out later
		return &failure{"Countersign ended before it said whether the packages were withdrawn. It goes on with that at its next start."}
	}
	if err != nil {
		return err
	}
	if err := c.print(r, listedWithdrawn(list), func(w *terminal.Writer) error { return printWithdrawn(w, list) }); err != nil {
		return err
	}
	return notWithdrawn(list)
}

// withdraw is agent.Agent.Withdraw for packages named in the way of find. If one of them is unknown, none is withdrawn.
func (l *local) withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error) {
	n.Packages = slices.Clone(n.Packages)
	for i, word := range n.Packages {
		id, err := l.find(word)
		if err != nil {
			return nil, err
		}
		n.Packages[i] = id
	}
	return l.agent.Withdraw(ctx, n)
}

// withdrawnList is what withdraw --json prints.
type withdrawnList struct {
	Packages []withdrawnPackage `json:"packages"`
}

// withdrawnPackage is a package as withdraw --json prints it. Its fields are stable, always there, and documented in
// assets/docs/admin.md.
type withdrawnPackage struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// done, late (completed, or expired, first), refused, or how far it is that goes on by itself: wanted (the
	// service was not asked yet), asked (its answer is missing), accepted (it said yes, and does not show it yet)
	State   office.WithdrawalState `json:"state"`
	Problem string                 `json:"problem"` // what keeps it from being withdrawn, or kept it, in words
}

func listedWithdrawn(list []office.Withdrawn) withdrawnList {
	return withdrawnList{each(list, func(x office.Withdrawn) withdrawnPackage {
		return withdrawnPackage{x.PackageID, x.Name, x.State, whyNot(x).String()}
	})}
}

func printWithdrawn(w *terminal.Writer, list []office.Withdrawn) (err error) {
	for _, x := range list {
		line := "Withdrawn. Package " + x.PackageID
		if x.State != office.WithdrawDone {
			line = fmt.Sprintf("Not withdrawn%s. Package %s: %s", map[bool]string{true: " yet"}[x.Pending()], x.PackageID, whyNot(x))
		}
		err = errors.Join(err, w.Line("%s", line))
	}
	return err
}

// whyNot says what prevents or prevented withdrawing a package; empty if it is withdrawn.
func whyNot(x office.Withdrawn) message.Message {
	switch {
	case x.State == office.WithdrawWanted && x.Problem.IsZero():
		return message.NotAskedYet()
	case x.Pending():
		return message.Then(x.Problem, message.WillBeWithdrawn())
	}
	return x.Problem
}

// notWithdrawn is the failure that lists the packages not withdrawn; nil if all are.
func notWithdrawn(list []office.Withdrawn) error {
	missed := slices.DeleteFunc(slices.Clone(list), func(x office.Withdrawn) bool { return x.State == office.WithdrawDone })
	switch {
	case len(missed) == 0:
		return nil
	case len(list) == 1 && missed[0].Pending():
		return &failure{message.Then(message.NotWithdrawnYet(missed[0].Name), whyNot(missed[0])).String()}
	case len(list) == 1:
		return &failure{message.Then(message.NotWithdrawn(missed[0].Name), whyNot(missed[0])).String()}
	}
	return &failure{fmt.Sprintf("%d of %d packages were not withdrawn.", len(missed), len(list))}
}
