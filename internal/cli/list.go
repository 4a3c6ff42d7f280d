package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

type listCmd struct {
	State    []string `enum:"waiting,done,declined,expired,withdrawn,problem" help:"Only packages that stand like this: ${enum}; several with commas in between." placeholder:"STATE"`
	Person   string   `complete:"person" help:"Only packages that this person signs; a part of the name or address will do."`
	Search   string   `help:"Only packages with these words in their name, people, documents or reference." placeholder:"WORDS"`
	Since    string   `help:"Only packages made on this day (2026-12-31) or moment (RFC 3339), or later." placeholder:"DATE"`
	Until    string   `help:"Only packages made on this day or moment, or earlier." placeholder:"DATE"`
	Origin   string   `enum:",here,elsewhere" default:"" help:"Only packages made here, or elsewhere in the organization." placeholder:"WHERE"`
	Archived bool     `help:"Packages that were taken out of the list, too."`
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
	packages, err := callList.alone(r, look, q)
	if err != nil {
		return err
	}
	return c.print(r, packageList{packages}, func(w *terminal.Writer) error { return printPackages(w, packages) })
}

// query is the command line as a question; what is wrong with it is a usage error.
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

// parseSince reads a moment, or a day, which begins at midnight here; "" is the zero time.
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
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	State        office.Status  `json:"state"`
	ServiceState string         `json:"service_state"`
	Origin       office.Origin  `json:"origin"`
	Saved        bool           `json:"saved"`
	Archived     bool           `json:"archived"`
	Signed       int            `json:"signed"`
	Signers      []listedSigner `json:"signers"`
	Due          *time.Time     `json:"due"`

	Created        *time.Time `json:"created"`
	CreatedBefore  *time.Time `json:"created_before"`
	Executed       *time.Time `json:"executed"`
	ExecutedBefore *time.Time `json:"executed_before"`
}

// listedSigner is one person who signs.
type listedSigner struct {
	ID     string              `json:"id"`
	Name   string              `json:"name"`
	Email  string              `json:"email"`
	State  office.SignerStatus `json:"state"`
	Reason string              `json:"reason"`

	Signed         *time.Time `json:"signed"`
	SignedBefore   *time.Time `json:"signed_before"`
	Declined       *time.Time `json:"declined"`
	DeclinedBefore *time.Time `json:"declined_before"`
}

// list is what the office knows of the packages that q asks for.
func (l *local) list(_ context.Context, q office.Query) ([]listedPackage, error) {
	found, err := l.agent.Find(q)
	list := make([]listedPackage, len(found))
	for i, p := range found {
		list[i] = listed(p)
	}
	return list, err
}

func listed(p office.Package) listedPackage {
	l := listedPackage{
		ID: p.ID, Name: p.DisplayName(), State: p.Status(), ServiceState: string(p.State), Origin: p.Origin, Saved: p.Saved,
		Archived: p.Archived != nil, Signed: p.SignersDone, Signers: []listedSigner{},
		Due: moment(p.Due),
	}
	l.Created, l.CreatedBefore = moments(p.Made())
	l.Executed, l.ExecutedBefore = moments(p.Executed)
	for _, s := range p.Signers {
		part, _ := p.StatusOf(s)
		signer := listedSigner{ID: s.ID, Name: s.DisplayName(), Email: s.Email, State: part, Reason: s.DeclineReason}
		signer.Declined, signer.DeclinedBefore = moments(s.Declined)
		if part == office.SignerSigned && s.ID != "" {
			signer.Signed, signer.SignedBefore = moments(p.SignedAt(s.ID))
		}
		l.Signers = append(l.Signers, signer)
	}
	return l
}

// moment is nil for the zero time: what is not known is null.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// moments are when something happened, and by when it had where the service did not say; one of them is nil.
func moments(at office.When) (known, before *time.Time) {
	if at.By {
		return nil, moment(at.Time)
	}
	return moment(at.Time), nil
}

// printPackages prints a line for each package.
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

// tintOf is the colour of a standing, beside its word.
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

// titleOf is a package's name, or words where it has none.
func titleOf(name string) string {
	if name == "" {
		return "Untitled package"
	}
	return name
}

// progress is how many have signed of how many, empty while the people are not known.
func progress(p listedPackage) string {
	if len(p.Signers) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Signed, len(p.Signers))
}

// names are the people in one part of signing; nobody's turn comes once the package has ended.
func names(people []listedSigner, part office.SignerStatus) (list []string) {
	for _, s := range people {
		if s.State == part && s.Name != "" {
			list = append(list, s.Name)
		}
	}
	return list
}

// leastID is how many characters of an id are shown where fewer would do.
const leastID = 8

// shortIDs are the beginnings of the packages' ids, as long as it takes to tell these packages apart.
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

// known is a moment in UTC, empty for none.
func known(t *time.Time, form string) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(form)
}

// here is a moment of this computer's zone, empty for none.
func here(t *time.Time, form string) string {
	if t == nil {
		return ""
	}
	return t.Local().Format(form)
}

// when is a moment here, or by when something had happened.
func when(known, before *time.Time) string {
	if before != nil {
		return message.ByTime(here(before, time.DateTime)).String()
	}
	return here(known, time.DateTime)
}
