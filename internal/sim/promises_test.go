package sim

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// expectation is something that health says within a time for which the world has been so without a break.
type expectation struct {
	issue  string
	within time.Duration
	so     func(w *world) bool

	since  time.Time
	start  int    // of the program, since which it was so
	folder string // that the settings named since then: what is said of one does not hold for the next
}

// expectations: health says what is wrong within its time.
func expectations() []*expectation {
	return []*expectation{
		{issue: "signin", within: 8 * time.Hour, so: func(w *world) bool { return w.lapsed && w.works() && w.keyring.state() == nil }},
		{issue: "keyring", within: time.Minute, so: func(w *world) bool { return w.office != nil && w.startedLocked && w.keyring.state() != nil }},
		{issue: "folder", within: 30 * time.Minute, so: func(w *world) bool {
			_, err := os.Stat(w.settings.SaveTo)
			return err != nil && w.saves() && !w.full && w.model.waitsFor(w.settings.SaveTo)
		}},
		{issue: "folder", within: 30 * time.Minute, so: func(w *world) bool { // or that nothing can be kept at all
			return w.full && w.saves() && !w.model.says("data") && w.model.waitsFor(w.settings.SaveTo)
		}},
		{issue: "outbox", within: 5 * time.Minute, so: func(w *world) bool {
			return w.office != nil && must(w.office.Status()).Outbox.Unknown > 0 && slices.ContainsFunc(must(w.office.Drafts()), func(d office.Draft) bool { return d.State == office.DraftUnknown && !d.Away })
		}},
		{issue: "service", within: time.Hour, so: func(w *world) bool {
			return w.office != nil && w.offline && must(w.office.Status()).SignedIn && w.wrong == 0 && !w.full && !w.model.says("keyring") && w.model.young()
		}},
	}
}

// works reports whether the program runs and reaches its service undisturbed.
func (w *world) works() bool {
	return w.office != nil && !w.offline && !w.wire.troubled()
}

// saves reports whether the program can be expected to bring documents: it may ask the service for them, and its clock is right.
func (w *world) saves() bool {
	return w.works() && w.wrong == 0 && must(w.office.Status()).SignedIn && !w.model.says("keyring")
}

// troubled reports whether something goes wrong on the wire.
func (x *wire) troubled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.faults, func(f *fault) bool { return f.left != 0 && !time.Now().After(f.until) })
}

// waitsFor reports whether a document waits for a folder, as people see it.
func (m *model) waitsFor(folder string) bool {
	here := m.here()
	waits := func(f office.File) bool {
		return f.Problem.IsZero() && f.State == office.JobPending && filepath.Dir(f.Path) == folder
	}
	for _, line := range must(m.w.office.Lines()) {
		if line.Saved || !here[line.ID] {
			continue
		}
		if row, known, err := m.w.office.Package(line.ID); err == nil && known && slices.ContainsFunc(row.Files, waits) {
			return true
		}
	}
	return false
}

// young reports whether the program knows a package that it asks about every twenty minutes. One that was made when the clock
// was far ahead it takes for a day old, lest it be new until then.
func (m *model) young() bool {
	here := m.here()
	return slices.ContainsFunc(must(m.w.office.Lines()), func(p office.PackageLine) bool {
		return p.State == "open" && m.w.clock().Sub(p.Created).Abs() < 20*time.Hour && here[p.ID]
	})
}

// here are the packages at the service in use.
func (m *model) here() map[string]bool {
	all := map[string]bool{}
	for _, p := range m.w.services[m.w.current].Packages() {
		all[p.PackageID] = true
	}
	return all
}

// lookAtHealth judges the expectations.
func (m *model) lookAtHealth() {
	for _, e := range m.expected {
		switch {
		case !e.so(m.w):
			e.since = time.Time{}
		case e.since.IsZero(), e.start != m.w.starts, e.folder != m.w.settings.SaveTo, m.says(e.issue): // from then on it may be found out anew
			e.since, e.start, e.folder = time.Now(), m.w.starts, m.w.settings.SaveTo
		case time.Since(e.since) > e.within:
			m.breaks("health says what is wrong within its time: %q for %v, and nothing is said: %v", e.issue, time.Since(e.since), m.issues())
		}
	}
	m.w.lost = m.w.lost || m.says("endpoint-lost")
	if s := m.w.office; s != nil && !m.w.mayBeOut && m.w.keyring.state() == nil && !must(s.Status()).SignedIn {
		m.breaks("nothing is said to be wrong that is not: nobody is signed in, and nobody signed out: %v", m.issues())
	}
}

func (m *model) says(id string) bool { return slices.Contains(m.issues(), id) }

func (m *model) issues() (ids []string) {
	if m.w.office != nil {
		for _, i := range must(m.w.office.Status()).Health {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// lookAtRest judges what the disk holds when nothing is under way: no secret that can be read, no half document, nothing
// that is done with.
func (m *model) lookAtRest() {
	clear(m.listings)
	m.look(math.MaxInt)
	m.mu.Lock()
	secrets := words{}
	for word := range m.owner {
		if !isID(word) {
			secrets.add(word)
		}
	}
	m.mu.Unlock()
	for _, s := range m.w.services {
		secrets.add(s.client.Secret)
	}
	filepath.WalkDir(m.w.disk(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if below, err := filepath.Rel(m.w.disk(), path); err == nil {
			m.lookAtPlace(below)
		}
		if strings.HasSuffix(path, ".part") && m.w.computer == 0 { // what another computer left is not this one's to remove
			m.breaks("nothing half is left: %s", path)
		}
		if strings.Contains(path, "outbox") && !strings.Contains(path, "outbox.lost") && strings.HasPrefix(path, m.w.dataDir()) && len(must(m.w.office.Drafts())) == 0 {
			m.breaks("nothing is kept that is done with: %s, and no draft waits", path)
		}
		if !strings.HasPrefix(path, m.w.dataDir()) {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		if s := secrets.in(body); s != "" {
			m.breaks("secrets are sealed: %q is in %s", s, e.Name())
		}
		return nil
	})
}

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
		d, sent := m.drafts[p.Name]
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
