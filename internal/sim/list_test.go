package sim

import (
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// lookAtEndpoint: the service reports to the office, unless another desk has taken that.
func (m *model) lookAtEndpoint() {
	urls := m.w.services[m.w.current].EndpointURLs()
	ours := slices.Contains(urls, m.w.settings.PublicURL+"/webhook")
	switch {
	case ours:
		m.w.taken = false
	case !m.w.taken && m.w.settings.Tunnel == office.TunnelExternal:
		m.breaks("the service reports to the office: registered is %q", urls)
	}
}

// lookAtList: what people see of each package is what the service says, and they see each that they have sent, as they did.
func (m *model) lookAtList() {
	m.lookAtTurns()
	m.lookAtTimes()
	for _, p := range m.w.services[m.w.current].Packages() {
		row, known, err := m.w.office.Package(p.PackageID)
		if err != nil {
			m.breaks("a package can be shown: %v", err)
		}
		m.mu.Lock()
		d, sent := m.sent.drafts[p.Name]
		m.mu.Unlock()
		if sent && d.computer == m.w.computer && !known {
			m.breaks("people see what they have sent: %q is not in the list", p.Name)
		}
		var files []string
		for _, document := range p.Documents {
			files = append(files, strings.TrimSuffix(document.Name, ".pdf"))
		}
		if sent && (!slices.Equal(files, d.files) || len(p.Signers) != d.signers) {
			m.breaks("what goes out is what was given: %q has %q and %d signers, and not %q and %d", p.Name, files, len(p.Signers), d.files, d.signers)
		}
		if known && p.State != "expired" && p.State != string(row.State) { // time passes between two questions
			m.breaks("people see how things are: %q is %s and shown as %s", p.Name, p.State, row.State)
		}
	}
}

// lookAtTurns: people see whose turn it is.
func (m *model) lookAtTurns() {
	for _, p := range m.w.services[m.w.current].Packages() {
		row, known, err := m.w.office.Package(p.PackageID)
		if err != nil || !known || p.State != "open" || row.State != office.PackageOpen || row.Line().Refused() {
			continue
		}
		for _, s := range p.Signers {
			i := slices.IndexFunc(row.Signers, func(x office.Signer) bool { return x.Email == s.Email })
			if i < 0 {
				continue
			}
			if part, _ := row.StatusOf(row.Signers[i]); (part == office.SignerNext) != s.Turn {
				m.breaks("people see how things are: of %q it is the turn of %s (%v), who is shown as %s", p.Name, s.Name, s.Turn, part)
			}
		}
	}
}

// lookAtTimes: nobody is said to have signed after everybody had. What was learned late is said to have happened by then, by
// a clock that may have been wrong.
func (m *model) lookAtTimes() {
	for _, p := range m.w.services[m.w.current].Packages() {
		e, executed := m.executed[p.Name]
		row, known, err := m.w.office.Package(p.PackageID)
		if err != nil || !known || !executed {
			continue
		}
		for _, s := range row.Signers {
			at := row.SignedAt(s.ID)
			if !at.By && at.After(e.at.Add(time.Second)) || !row.Executed.IsZero() && !row.Executed.By && at.After(row.Executed.Add(time.Second)) {
				m.breaks("people see how things are: %q was complete at %v, and %s is said to have signed it at %v, and everybody at %v", p.Name, e.at, s.DisplayName(), at, row.Executed)
			}
		}
	}
}

// lookAtCounts: what the status counts is what the list shows.
func (m *model) lookAtCounts() {
	var c agent.PackageCounts
	for _, p := range must(m.w.office.Lines()) {
		c.Total++
		switch {
		case p.State == office.PackageExecuted:
			c.Executed++
		case p.State == office.PackageOpen && !p.Declined:
			c.Open++
		case p.State == office.PackageOpen && !p.Archived && !p.Problem && !p.Gone: // nobody can complete it any more
			c.Declined++
		}
		if p.Saved {
			c.Saved++
		}
	}
	said := must(m.w.office.Status())
	if said.Packages != c {
		m.breaks("people see how things are: the status counts %+v, and the list shows %+v", said.Packages, c)
	}
	unknown := 0
	for _, d := range must(m.w.office.Drafts()) {
		if d.State == office.DraftUnknown {
			unknown++
		}
	}
	if said.Outbox.Unknown != unknown {
		m.breaks("people see how things are: the status counts %d drafts of which nobody knows what became, and there are %d", said.Outbox.Unknown, unknown)
	}
}
