package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

type showCmd struct {
	Package string `arg:"" complete:"package" help:"Its id, the beginning of its id, or its name."`
	jsonFlag
}

func (c *showCmd) Run(r *run) error {
	p, err := callShow.alone(r, look, c.Package)
	if err != nil {
		return err
	}
	return c.print(r, p, func(w *terminal.Writer) error { return printPackage(w, p) })
}

// shownPackage is a package as show --json prints it. Its fields are stable, always there, and documented in assets/docs/admin.md.
type shownPackage struct {
	listedPackage
	Sequential bool            `json:"sequential"`
	Reference  string          `json:"reference"`
	Problem    string          `json:"problem"`
	Copies     []shownCopy     `json:"copies"`
	Documents  []shownDocument `json:"documents"`
	Files      []shownFile     `json:"files"`
	History    []shownMoment   `json:"history"`
}

type shownCopy struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Blind bool   `json:"blind"`
}

type shownDocument struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	FileName string   `json:"file_name"`
	Executed bool     `json:"executed"`
	SignedBy []string `json:"signed_by"`
}

type shownFile struct {
	Path       string          `json:"path"`
	Kind       office.FileKind `json:"kind"`
	DocumentID string          `json:"document_id"`
	State      office.JobState `json:"state"`
	Problem    string          `json:"problem"`
}

type shownMoment struct {
	Time   *time.Time `json:"time"`
	Before *time.Time `json:"before"`
	What   string     `json:"what"`
	Person string     `json:"person"`
	About  string     `json:"about"`
	Text   string     `json:"text"`
}

// shown is all that is known of the package that word means.
func (l *local) shown(_ context.Context, word string) (shownPackage, error) {
	id, err := l.find(word)
	if err != nil {
		return shownPackage{}, err
	}
	row, known, err := l.agent.Package(id)
	if err == nil && !known {
		err = noSuchPackage(word)
	}
	if err != nil {
		return shownPackage{}, err
	}
	return shown(row), nil
}

// find is the id of the one package that word means: its id, the beginning of its id, or its name.
func (l *local) find(word string) (id string, err error) {
	lines, err := l.agent.Lines()
	if err != nil {
		return "", err
	}
	switch meant := office.Named(lines, word); len(meant) {
	case 0:
		return "", noSuchPackage(word)
	case 1:
		return meant[0].ID, nil
	default:
		return "", severalPackages(word, meant)
	}
}

func noSuchPackage(word string) error {
	return &failure{fmt.Sprintf("There is no package %q. Look for it with countersign list.", message.OneLine(word, office.MaxName))}
}

// someOf is how many packages an error names.
const someOf = 5

func severalPackages(word string, meant []office.PackageLine) error {
	var which []string
	for _, l := range meant[:min(someOf, len(meant))] {
		which = append(which, fmt.Sprintf("%s (%s, made %s)", l.ID, titleOf(l.Name), l.Created.Local().Format(time.DateOnly)))
	}
	if more := len(meant) - someOf; more > 0 {
		which = append(which, fmt.Sprintf("and %d more", more))
	}
	return &failure{fmt.Sprintf("%q means several packages: %s. Name one by its id.", message.OneLine(word, office.MaxName), strings.Join(which, ", "))}
}

func shown(row office.PackageRow) shownPackage {
	p := shownPackage{
		listedPackage: listed(row.Package), Sequential: row.Sequential, Reference: row.Reference, Problem: row.Problem.String(),
		Copies: []shownCopy{}, Documents: []shownDocument{}, Files: []shownFile{}, History: []shownMoment{},
	}
	for _, r := range row.Recipients {
		p.Copies = append(p.Copies, shownCopy{r.DisplayName(), r.Email, r.Blind})
	}
	for _, d := range row.Documents {
		p.Documents = append(p.Documents, shownDocument{d.ID, d.DisplayName(), d.FileName, d.Executed, append([]string{}, d.SignedBy...)})
	}
	for _, f := range row.Files {
		p.Files = append(p.Files, shownFile{f.Path, f.Kind, f.DocumentID, f.State, f.Problem.String()})
	}
	for _, m := range row.History {
		who, about := row.SignerName(m.Who), m.Ref
		if name := row.DocumentName(m.Ref); name != "" {
			about = name
		}
		at, before := moments(m.Time)
		p.History = append(p.History, shownMoment{at, before, m.What, who, about, row.Tell(m).String()})
	}
	return p
}

// printPackage prints a package for people.
func printPackage(w *terminal.Writer, p shownPackage) (err error) {
	line := func(format string, args ...any) { err = errors.Join(err, w.Line(format, args...)) }
	parts := func(cells ...terminal.Cell) { err = errors.Join(err, w.Parts(cells...)) }
	head := func(text string) {
		line("")
		parts(terminal.Cell{Text: text, Tint: terminal.Bold})
	}
	field := func(name, text string) {
		if text != "" {
			line("%-10s %s", name, text)
		}
	}
	parts(terminal.Cell{Text: titleOf(p.Name), Tint: terminal.Bold})
	parts(terminal.Cell{Text: fmt.Sprintf("%-10s ", "State")}, terminal.Cell{Text: string(p.State), Tint: tintOf(p.State)}, terminal.Cell{Text: aside(p)})
	field("Problem", p.Problem)
	field("ID", p.ID)
	field("Made", when(p.Created, p.CreatedBefore)+map[office.Origin]string{office.MadeElsewhere: ", not on this computer"}[p.Origin])
	field("Due", here(p.Due, time.DateTime))
	field("Reference", p.Reference)
	if len(p.Signers) > 0 {
		head("Signers" + map[bool]string{true: ", one after the other"}[p.Sequential])
	}
	for _, x := range p.Signers {
		line("  %s: %s", address(x.Name, x.Email), part(x))
	}
	if len(p.Copies) > 0 {
		head("Copies")
	}
	for _, x := range p.Copies {
		line("  %s", address(x.Name, x.Email)+map[bool]string{true: " (not shown to the others)"}[x.Blind])
	}
	if len(p.Documents) > 0 {
		head("Documents")
	}
	for _, d := range p.Documents {
		state := fmt.Sprintf("%d of %d signed", len(d.SignedBy), max(len(p.Signers), len(d.SignedBy)))
		if d.Executed {
			state = "signed by everyone"
		}
		line("  %s: %s", titleOr(d.Name, "A document"), state)
	}
	if len(p.Files) > 0 {
		head("Files")
	}
	for _, f := range p.Files {
		line("  %s: %s", f.Path, fileState(f))
	}
	if len(p.History) > 0 {
		head("What happened")
	}
	for _, m := range p.History {
		line("  %s  %s", when(m.Time, m.Before), m.Text)
	}
	return err
}

// aside is what a person wants to know beside the standing.
func aside(p shownPackage) string {
	var parts []string
	if n := progress(p.listedPackage); n != "" {
		parts = append(parts, n+" signed")
	}
	if next := names(p.Signers, office.SignerNext); len(next) > 0 {
		parts = append(parts, "waiting for "+strings.Join(next, ", "))
	}
	if p.Saved {
		parts = append(parts, "saved")
	}
	if p.Archived {
		parts = append(parts, "archived")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// part is where a signer stands, in words.
func part(s listedSigner) string {
	switch s.State {
	case office.SignerSigned:
		return strings.TrimSpace("signed " + when(s.Signed, s.SignedBefore))
	case office.SignerDeclined:
		text := strings.TrimSpace("declined " + when(s.Declined, s.DeclinedBefore))
		if s.Reason != "" {
			text += ": " + s.Reason
		}
		return text
	case office.SignerMissed:
		return "did not sign"
	case office.SignerNext:
		return "their turn to sign"
	}
	return "not their turn yet"
}

func fileState(f shownFile) string {
	switch {
	case f.State == office.JobDone:
		return "saved"
	case f.Problem != "":
		return f.Problem
	}
	return "not saved yet"
}

// address is a person as people write one; name may be the address.
func address(name, email string) string {
	if email == "" || name == email {
		return titleOr(name, "Someone")
	}
	return name + " <" + email + ">"
}

func titleOr(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
