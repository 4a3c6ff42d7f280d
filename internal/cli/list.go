package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

type listCmd struct {
	State    []string `enum:"waiting,done,declined,expired,withdrawn,problem" help:"Only packages that stand like this: ${enum}; several with commas in between." placeholder:"STATE"`
	Person   string   `help:"Only packages that this person signs; a part of the name or address will do."`
	Search   string   `help:"Only packages with these words in their name, people, documents or reference." placeholder:"WORDS"`
	Since    string   `help:"Only packages made on this day (2026-12-31) or moment (RFC 3339), or later." placeholder:"DATE"`
	Until    string   `help:"Only packages made on this day or moment, or earlier." placeholder:"DATE"`
	Origin   string   `enum:",here,elsewhere" default:"" help:"Only packages made here, or elsewhere in the organization." placeholder:"WHERE"`
	Archived bool     `help:"Packages that were taken out of the list, too."`
	MayGo    bool     `help:"Only signed packages whose papers need not be kept any longer by setup --keep-years, archived ones too. Nothing is deleted."`
	Sort     string   `enum:"created,name,due,executed" default:"created" help:"What comes first: ${enum}." placeholder:"FIELD"`
	Reverse  bool     `help:"The other way round."`
	Limit    int      `help:"At most so many packages." placeholder:"N"`
	jsonFlag
}

func (c *listCmd) Run(r *run) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	packages, err := callList.alone(r, look, listRequest{q, c.MayGo})
	if err != nil {
		return err
	}
	return c.print(r, packageList{packages}, func(w *terminal.Writer) error { return printPackages(w, packages) })
}

// query converts the command line; mistakes are usage errors.
func (c *listCmd) query() (q office.Query, err error) {
	q = office.Query{Person: c.Person, Search: c.Search, Origin: office.Origin(c.Origin), Archived: c.Archived, Sort: office.Order(c.Sort), Reverse: c.Reverse, Limit: c.Limit}
	if c.Limit < 0 {
		return q, &usage{"--limit takes a number of packages."}
	}
	for _, s := range c.State {
		q.States = append(q.States, office.Status(s))
	}
	if q.Since, err = parseSince(c.Since); err != nil {
		return q, err
	}
	if c.Until != "" {
		q.Until, err = parseDue(c.Until)
	}
	if err == nil && !q.Until.IsZero() && q.Until.Before(q.Since) {
		return q, &usage{"--since is later than --until."}
	}
	return q, err
}

// parseSince reads a time, or a day, which begins at local midnight; "" is the zero time.
func parseSince(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	return parseDue(s)
}

// packageList is what list --json prints.
type packageList struct {
	Packages []listedPackage `json:"packages"`
}

// listedPackage is a package as list --json prints it. Its fields are stable, always there, and documented in assets/docs/admin.md.
type listedPackage struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// waiting, done, declined, expired, withdrawn, problem (the service does not show it, or its files cannot be saved)
	State        office.Status  `json:"state"`
	ServiceState string         `json:"service_state"` // the service's own word
	Origin       office.Origin  `json:"origin"`        // where it was made: here, elsewhere
	Saved        bool           `json:"saved"`         // every wanted file is in the folder
	Archived     bool           `json:"archived"`      // taken out of the list (only with `--archived`)
	Signed       int            `json:"signed"`        // how many people have signed everything
	Signers      []listedSigner `json:"signers"`
	Due          *time.Time     `json:"due"` // to be signed by

	Created        *time.Time `json:"created"`         // when it was made
	CreatedBefore  *time.Time `json:"created_before"`  // by when, where the service did not say; the other is null
	Executed       *time.Time `json:"executed"`        // when everyone had signed
	ExecutedBefore *time.Time `json:"executed_before"` // by when, likewise
}

type listedSigner struct {
	ID     string              `json:"id"`
	Name   string              `json:"name"`
	Email  string              `json:"email"`
	State  office.SignerStatus `json:"state"`  // signed, declined, missed, next, later
	Reason string              `json:"reason"` // of declining

	Signed         *time.Time `json:"signed"`          // when
	SignedBefore   *time.Time `json:"signed_before"`   // by when, where the service did not say; the other is null
	Declined       *time.Time `json:"declined"`        // when
	DeclinedBefore *time.Time `json:"declined_before"` // likewise
}

// listRequest asks for packages; MayGo selects only those that need not be kept.
type listRequest struct {
	office.Query
	MayGo bool
}

// list is what the office knows about the packages that q selects.
func (l *local) list(_ context.Context, q listRequest) ([]listedPackage, error) {
	find := l.agent.Find
	if q.MayGo {
		find = l.agent.MayGo
	}
	found, err := find(q.Query)
	return each(found, listed), err
}

// each converts every element. For an empty list it returns an empty slice, which is [] in JSON and not null.
func each[T, L any](list []T, of func(T) L) []L {
	made := make([]L, len(list))
	for i, x := range list {
		made[i] = of(x)
	}
	return made
}

func listed(p office.Package) listedPackage {
	l := listedPackage{
		ID: p.ID, Name: p.DisplayName(), State: p.Status(), ServiceState: string(p.State), Origin: p.Origin, Saved: p.Saved,
		Archived: p.Archived != nil, Signed: p.SignersDone, Due: moment(p.Due),
	}
	l.Created, l.CreatedBefore = moments(p.Made())
	l.Executed, l.ExecutedBefore = moments(p.Executed)
	l.Signers = each(p.Signers, func(s office.Signer) listedSigner {
		part, _ := p.StatusOf(s)
		signer := listedSigner{ID: s.ID, Name: s.DisplayName(), Email: s.Email, State: part, Reason: s.DeclineReason}
		signer.Declined, signer.DeclinedBefore = moments(s.Declined)
		if part == office.SignerSigned && s.ID != "" {
			signer.Signed, signer.SignedBefore = moments(p.SignedAt(s.ID))
		}
		return signer
	})
	return l
}

// moment is nil for the zero time: unknown times are null in JSON.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// moments are the time of something, and the time by which it had happened if the service did not say; one of them is nil.
func moments(at office.When) (known, before *time.Time) {
	if at.By {
		return nil, moment(at.Time)
	}
	return moment(at.Time), nil
}

func printPackages(w *terminal.Writer, packages []listedPackage) error {
	if w.Wide() && len(packages) == 0 {
		return w.Line("No packages.")
	}
	short := shortIDs(packages)
	rows := make([][]terminal.Cell, len(packages))
	for i, p := range packages {
		id, day := p.ID, func(t *time.Time) string { return known(t, time.RFC3339) }
		if w.Wide() {
			id, day = short[i], func(t *time.Time) string { return here(t, time.DateOnly) }
		}
		rows[i] = []terminal.Cell{
			{Text: id}, {Text: string(p.State), Tint: tintOf(p.State)}, {Text: titleOf(p.Name)}, {Text: progress(p)},
			{Text: strings.Join(names(p.Signers, office.SignerNext), ", ")}, {Text: day(p.Due)}, {Text: day(cmp.Or(p.Created, p.CreatedBefore))},
		}
	}
	return w.Table([]terminal.Column{
		{Head: "ID"}, {Head: "STATE"}, {Head: "NAME", Least: 16}, {Head: "SIGNED", Spare: 2}, {Head: "WAITS FOR", Least: 12, Spare: 3},
		{Head: "DUE", Spare: 1}, {Head: "MADE", Spare: 4},
	}, rows)
}

// tintOf is the colour of a status, which is also shown in words.
func tintOf(s office.Status) terminal.Tint {
	switch s {
	case office.StatusDone:
		return terminal.Green
	case office.StatusWaiting:
		return terminal.Yellow
	case office.StatusWithdrawn:
		return terminal.Dim
	}
	return terminal.Red
}

// titleOf is a package's name, or a text if it has none.
func titleOf(name string) string { return cmp.Or(name, "Untitled package") }

// progress is how many of the signers have signed, empty while they are unknown.
func progress(p listedPackage) string {
	if len(p.Signers) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Signed, len(p.Signers))
}

// names are the signers with one status; once the package has ended it is nobody's turn.
func names(people []listedSigner, part office.SignerStatus) (list []string) {
	for _, s := range people {
		if s.State == part && s.Name != "" {
			list = append(list, s.Name)
		}
	}
	return list
}

// leastID is the minimum length of an abbreviated id, in characters.
const leastID = 8

// shortIDs abbreviates the packages' ids to as many characters as it takes to distinguish these packages.
func shortIDs(packages []listedPackage) []string {
	short := make([]string, len(packages))
	for length := leastID; ; length++ {
		seen, again := map[string]bool{}, false
		for i, p := range packages {
			short[i] = p.ID[:min(length, len(p.ID))]
			again = again || seen[short[i]]
			seen[short[i]] = true
		}
		if !again || length > office.MaxID {
			return short
		}
	}
}

// known is a time in UTC, empty for nil.
func known(t *time.Time, form string) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(form)
}

// here is a time in this computer's time zone, empty for nil.
func here(t *time.Time, form string) string {
	if t == nil {
		return ""
	}
	return t.Local().Format(form)
}

// when is a local time, or the time by which something had happened.
func when(known, before *time.Time) string {
	if before != nil {
		return message.ByTime(here(before, time.DateTime)).String()
	}
	return here(known, time.DateTime)
}

type showCmd struct {
	Package string `arg:"" help:"Its id, the beginning of its id, or its name."`
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
	Sequential bool            `json:"sequential"` // one signs after the other
	Reference  string          `json:"reference"`  // of its external data
	Problem    string          `json:"problem"`    // what keeps its files from being saved, in words
	Copies     []shownCopy     `json:"copies"`     // people who get one
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
	SignedBy []string `json:"signed_by"` // ids of signers
	Signers  []string `json:"signers"`   // ids of those who sign it; empty for everybody, as far as is known
}

type shownFile struct {
	Path       string          `json:"path"`
	Kind       office.FileKind `json:"kind"` // executed, cac, masterfile
	DocumentID string          `json:"document_id"`
	State      office.JobState `json:"state"` // done, pending, failed
	Seal       shownSeal       `json:"seal"`
	Sent       shownMatch      `json:"sent"`
	Problem    string          `json:"problem"` // in words
}

type shownMatch struct {
	State office.MatchState `json:"state"` // none, same, added, changed, remade, unread; empty before they were compared
	Text  string            `json:"text"`  // in words
}

type shownMoment struct {
	Time   *time.Time `json:"time"`
	Before *time.Time `json:"before"` // by when, where the service did not say; the other is null
	What   string     `json:"what"`   // sent, signed, document_executed, executed, saved, saved_again, changed, missing, declined, letter, wished, ended
	Person string     `json:"person"`
	About  string     `json:"about"`
	Text   string     `json:"text"` // in words
}

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

// find is the id of the one package that word identifies: by its id, the beginning of its id, or its name.
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

// someOf is how many packages an error lists.
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
	return shownPackage{
		listedPackage: listed(row.Package), Sequential: row.Sequential, Reference: row.Reference, Problem: row.Problem.String(),
		Copies: each(row.Recipients, func(r office.Recipient) shownCopy { return shownCopy{r.DisplayName(), r.Email, r.Blind} }),
		Documents: each(row.Documents, func(d office.Document) shownDocument {
			return shownDocument{d.ID, d.DisplayName(), d.FileName, d.Executed, append([]string{}, d.SignedBy...), append([]string{}, d.Signers...)}
		}),
		Files: each(row.Files, func(f office.File) shownFile {
			return shownFile{f.Path, f.Kind, f.DocumentID, f.State, showSeal(f.Seal), shownMatch{f.Match.State, f.Match.Text().String()}, f.Problem.String()}
		}),
		History: each(row.History, func(m office.HistoryEntry) shownMoment {
			at, before := moments(m.Time)
			return shownMoment{at, before, m.What, row.SignerName(m.Who), cmp.Or(row.DocumentName(m.Ref), m.Ref), message.English().Brief(row.Tell(m))}
		}),
	}
}

func printPackage(w *terminal.Writer, p shownPackage) (err error) {
	line := func(format string, args ...any) { err = errors.Join(err, w.Line(format, args...)) }
	parts := func(cells ...terminal.Cell) { err = errors.Join(err, w.Parts(cells...)) }
	section := func(text string, lines int) {
		if lines > 0 {
			line("")
			parts(terminal.Cell{Text: text, Tint: terminal.Bold})
		}
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
	section("Signers"+map[bool]string{true: ", one after the other"}[p.Sequential], len(p.Signers))
	for _, x := range p.Signers {
		line("  %s: %s", address(x.Name, x.Email), part(x))
	}
	section("Copies", len(p.Copies))
	for _, x := range p.Copies {
		line("  %s", address(x.Name, x.Email)+map[bool]string{true: " (not shown to the others)"}[x.Blind])
	}
	section("Documents", len(p.Documents))
	for _, d := range p.Documents {
		state := fmt.Sprintf("%d of %d signed", len(d.SignedBy), max(cmp.Or(len(d.Signers), len(p.Signers)), len(d.SignedBy)))
		if d.Executed {
			state = "completed"
		}
		line("  %s: %s", cmp.Or(d.Name, "A document"), state)
	}
	section("Files", len(p.Files))
	for _, f := range p.Files {
		line("  %s: %s", f.Path, fileState(f))
	}
	section("History", len(p.History))
	for _, m := range p.History {
		line("  %s  %s", when(m.Time, m.Before), m.Text)
	}
	return err
}

// aside is what else a person wants to know besides the status.
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
		return strings.Join(slices.DeleteFunc([]string{"saved.", f.Seal.Text, f.Sent.Text}, func(s string) bool { return s == "" }), " ")
	case f.Problem != "":
		return f.Problem
	}
	return "not saved yet"
}

// address is a person in the usual notation; name may be the address.
func address(name, email string) string {
	if email == "" || name == email {
		return cmp.Or(name, "Someone")
	}
	return name + " <" + email + ">"
}

// linkCmd prints the link for a person to sign. Whoever has it can sign, so it goes only to standard output.
type linkCmd struct {
	Package string `arg:"" help:"The package: its id, the beginning of its id, or its name."`
	Person  string `arg:"" help:"Who signs: the e-mail address, the name or the signer's id."`
}

func (c *linkCmd) Run(r *run) error {
	link, err := callLink.alone(r, look, linkRequest{c.Package, c.Person})
	if err != nil {
		return err
	}
	return r.out.Line("%s", link)
}

// linkRequest asks for the link for a person to sign a package.
type linkRequest struct {
	Package string `json:"package"`
	Person  string `json:"person"`
}

func (l *local) link(ctx context.Context, q linkRequest) (address string, err error) {
	id, err := l.find(q.Package)
	if err != nil {
		return "", err
	}
	return l.agent.SignerPage(ctx, id, q.Person)
}
