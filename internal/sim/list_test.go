package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// lookAtEndpoint: the service reports events to the office, unless another desk has taken over the endpoint.
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

// list checks that people see each package as the service has it: its state, whose turn it is, who declined, who gets
// copies, and when it is due. It allows some time after the answer or event that says so, and as long as the program may
// leave a package alone that nothing else tells about. It does not check while something disturbs the program.
type list struct {
	m       *model
	version uint64 // of the lines that were checked ...
	lines   map[string]office.PackedLine
	last    string                     // ... and the last of them to change
	at      *service                   // the service whose packages these are
	was     map[string]sandbox.Package // the service's state at the last check ...
	differs map[string]time.Time       // ... and since when people have seen something else

	mu      sync.Mutex
	answers map[string]answer // path -> the service's last undisturbed answer
}

// answer has the times of a question and its answer.
type answer struct{ asked, came time.Time }

const (
	learnedWithin = 2 * time.Minute // after an answer
	heardOfWithin = 5 * time.Minute // after an event, once events have arrived undisturbed for an hour
)

// leftAlone is how long a package of that age may be left alone, including some time to ask.
func leftAlone(age time.Duration) time.Duration {
	switch {
	case age < 0 || age > 7*24*time.Hour:
		return 13 * time.Hour
	case age > 24*time.Hour:
		return 150 * time.Minute
	case age > time.Hour:
		return 30 * time.Minute
	}
	return 10 * time.Minute
}

// answered records an undisturbed answer.
func (x *list) answered(path string, asked time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answers[path] = answer{asked, time.Now()}
}

// lookAtChanges checks what has changed since the last check, and what differed then.
func (x *list) lookAtChanges() {
	w := x.m.w
	if w.office == nil {
		return
	}
	service := w.services[w.current]
	if service != x.at {
		x.at, x.was, x.differs = service, map[string]sandbox.Package{}, map[string]time.Time{}
	}
	changed := map[string]bool{}
	lines := must(w.office.LinesSince(x.version))
	x.version = lines.Version
	for _, packed := range lines.Lines {
		l, _ := packed.Unpack()
		changed[l.ID] = true
		if x.lines[l.ID] != packed {
			x.lines[l.ID], x.last = packed, fmt.Sprintf("%d %+v", x.version, l)
		}
	}
	for _, p := range service.Packages() {
		was, known := x.was[p.PackageID]
		since, differs := x.differs[p.PackageID]
		x.was[p.PackageID] = p
		if known && !differs && !changed[p.PackageID] && was.State == p.State && &was.Signers[0] == &p.Signers[0] {
			continue
		}
		row, shown, err := w.office.Package(p.PackageID)
		what, told := difference(p, row)
		if err != nil || !shown || what == "" {
			delete(x.differs, p.PackageID)
			continue
		}
		if !differs || !known || was.State != p.State || &was.Signers[0] != &p.Signers[0] {
			since = time.Now()
			x.differs[p.PackageID] = since
		}
		if why := x.mustBeSeen(p, row, since, told); why != "" {
			x.m.breaks("people see how things are: of %q %s, %v after that, %s", p.Name, what, time.Since(since), why)
		}
	}
}

// mustBeSeen says why people must by now see what is so since that time, "" if they need not yet. told says whether an event
// reports it.
func (x *list) mustBeSeen(p sandbox.Package, row office.PackageRow, since time.Time, told bool) string {
	w := x.m.w
	x.mu.Lock()
	status, record := x.answers["/packages/"+p.PackageID+"/status"], x.answers["/packages/"+p.PackageID]
	x.mu.Unlock()
	undisturbed, calm := w.undisturbedSince(), w.calmSince()
	from := later(since, undisturbed)
	switch {
	case undisturbed.IsZero():
	case status.asked.After(from) && !record.asked.Before(status.came) && time.Since(record.came) > learnedWithin:
		return "and the service has said so"
	case calm.IsZero() || !must(w.office.Status()).SignedIn:
	case told && w.hears() && since.After(calm.Add(time.Hour)) && time.Since(since) > heardOfWithin:
		return "and an event tells of it"
	case status.came.After(calm) && time.Since(later(since, status.came)) > leftAlone(w.clock().Sub(row.Created)):
		return "and nobody has asked"
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// difference is how people's view differs from the service's state, "" if it does not, and whether an event reports that.
func difference(p sandbox.Package, row office.PackageRow) (what string, told bool) {
	if p.State != string(row.State) {
		return fmt.Sprintf("the state is %s and shown as %s", p.State, row.State), p.State == "executed" || p.State == "rescinded"
	}
	var copies, shown []string
	for _, r := range p.Recipients {
		copies = append(copies, r.Email+" "+r.Type)
	}
	for _, r := range row.Recipients {
		shown = append(shown, r.Email+map[bool]string{false: " CC", true: " BCC"}[r.Blind])
	}
	switch slices.Sort(copies); {
	case p.State != "open":
		return "", false
	case !slices.Equal(copies, slices.Sorted(slices.Values(shown))):
		return fmt.Sprintf("%q get copies, and shown are %q", copies, shown), false
	case !p.Due.IsZero() && p.Due.Sub(row.Due).Abs() > time.Second:
		return fmt.Sprintf("the time ends at %v, and shown is %v", p.Due, row.Due), false
	case p.Name != row.Name || len(p.Signers) != len(row.Signers) || len(p.Documents) != len(row.Documents):
		return fmt.Sprintf("there are %d documents and %d signers, and shown is %q with %d and %d", len(p.Documents), len(p.Signers), row.Name, len(row.Documents), len(row.Signers)), false
	}
	for _, d := range p.Documents {
		is := func(x office.Document) bool {
			return x.ID == d.DocumentID && (x.Name == d.Name || strings.HasPrefix(p.Name, "Elsewhere ")) // whose names may do harm
		}
		if !slices.ContainsFunc(row.Documents, is) {
			return fmt.Sprintf("%q is a document, and shown are %+v", d.Name, row.Documents), false
		}
	}
	for _, s := range p.Signers {
		i := slices.IndexFunc(row.Signers, func(x office.Signer) bool { return x.Email == s.Email })
		if i < 0 {
			continue
		}
		if s.Declined == row.Signers[i].Declined.IsZero() {
			return fmt.Sprintf("%s has declined: %v, and is not shown so", s.Name, s.Declined), false
		}
		part, _ := row.StatusOf(row.Signers[i])
		if (part == office.SignerSigned) != s.Signed || row.Signers[i].DisplayName() != s.Name {
			return fmt.Sprintf("%s has signed: %v, and %s is shown as %s", s.Name, s.Signed, row.Signers[i].DisplayName(), part), true
		}
		if !row.Line().Refused() && (part == office.SignerNext) != s.Turn {
			return fmt.Sprintf("it is the turn of %s: %v, who is shown as %s", s.Name, s.Turn, part), true
		}
	}
	return "", false
}

// lookAtList: by now people see what the service says about each package, and every package they sent, as they sent it.
func (m *model) lookAtList() {
	m.lookAtTimes()
	for _, p := range m.w.services[m.w.current].Packages() {
		row, known, err := m.w.office.Package(p.PackageID)
		m.holds("a package can be shown", err)
		m.mu.Lock()
		d, sent := m.sent.drafts[p.Name]
		m.mu.Unlock()
		if sent && d.computer == m.w.computer && !known {
			m.breaks("people see what they have sent: %q is not in the list", p.Name)
		}
		if sent && d.computer == m.w.computer && row.Origin != office.MadeHere {
			m.breaks("people see how things are: %q was sent from here, and is shown as made %s", p.Name, row.Origin)
		}
		if e, executed := m.executed[p.Name]; executed && known && row.Line().Saved != !slices.ContainsFunc(e.documents, func(d string) bool { return !m.saved.isSaved(d) }) {
			m.breaks("people see how things are: %q is shown as saved: %v", p.Name, row.Line().Saved)
		}
		if known {
			m.lookAtHistory(p, row, sent && d.computer == m.w.computer)
		}
		var files []string
		for _, document := range p.Documents {
			files = append(files, strings.TrimSuffix(document.Name, ".pdf"))
		}
		if sent && (!slices.Equal(files, d.files) || len(p.Signers) != d.signers) {
			m.breaks("what goes out is what was given: %q has %q and %d signers, and not %q and %d", p.Name, files, len(p.Signers), d.files, d.signers)
		}
		for _, address := range d.copies {
			if !slices.ContainsFunc(p.Recipients, func(r sandbox.Recipient) bool { return r.Email == address }) {
				m.breaks("what goes out is what was given: of %q %s gets no copy", p.Name, address)
			}
		}
		if what, _ := difference(p, row); known && what != "" && p.State != "expired" { // time passes between the two questions
			m.breaks("people see how things are: of %q %s", p.Name, what)
		}
	}
}

// lookAtHistory: a package's history says once that it was sent from here, and that everybody signed it, and who signed or declined.
func (m *model) lookAtHistory(p sandbox.Package, row office.PackageRow, ours bool) {
	n := map[string]int{}
	for _, e := range row.History {
		n[e.What+" "+e.Who]++
	}
	wrong := ours && n["sent "] != 1 || n["executed "] > 1 || (n["executed "] == 1) != (p.State == "executed")
	for _, s := range p.Signers {
		wrong = wrong || (n["signed "+s.SignerID] > 0) != s.Signed || (n["declined "+s.SignerID] > 0) != s.Declined
	}
	if wrong {
		m.breaks("people see how things are: %q is %s, its signers %+v, and its history %+v", p.Name, p.State, p.Signers, row.History)
	}
}

// lookAtTimes: nobody is shown to have signed after everybody had. What was learned late is shown as having happened by
// then, according to a clock that may have been wrong.
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

// lookAtCounts: the status counts what the list shows.
func (m *model) lookAtCounts() {
	var c agent.PackageCounts
	for _, p := range must(m.w.office.Lines()) {
		c.Total++
		switch {
		case p.State == office.PackageExecuted:
			c.Executed++
		case p.State == office.PackageOpen && !p.Declined && !p.Archived:
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
	unknown, held := 0, 0
	for _, d := range must(m.w.office.Drafts()) {
		switch {
		case d.State == office.DraftHeld, d.OfBefore():
			held++
		case d.State == office.DraftUnknown:
			unknown++
		}
	}
	if said.Outbox.Unknown != unknown || said.Outbox.Held != held {
		m.breaks("people see how things are: the status counts %d drafts of which nobody knows what became and %d that wait for a person, and there are %d and %d",
			said.Outbox.Unknown, said.Outbox.Held, unknown, held)
	}
}

// window checks that whoever shows what the program shows is told of each change, as its window is. It does not check while
// the data cannot be read or written.
type window struct {
	m     *model
	of    *agent.Agent // which it watches
	stop  func()
	shows map[string]string

	mu   sync.Mutex
	told map[office.Change]bool
}

var uponList = []office.Change{office.PackagesChanged, office.OutboxChanged, office.SettingsChanged}

// views are what people see, each with the changes upon which the window looks again; none stands for any.
var views = map[string]struct {
	upon []office.Change
	see  func(w *world) any
}{
	"status": {nil, func(w *world) any {
		s := must(w.office.Status())
		s.Checking, s.Checked, s.Tried, s.Next, s.Events.Rejected = false, time.Time{}, time.Time{}, time.Time{}, 0 // of which no window is told
		return s
	}},
	"list": {uponList, func(w *world) any { return w.model.list.last }},
	"drafts": {uponList, func(w *world) any {
		var all []any
		for _, d := range must(w.office.Drafts()) {
			all = append(all, []any{d.ID, d.Name, d.State, d.Problem, d.Stopped, d.Astray, d.Decision})
		}
		return all
	}},
	"folders":  {[]office.Change{office.OutboxChanged, office.SettingsChanged}, func(w *world) any { return must(w.office.HotFolders()) }},
	"activity": {[]office.Change{office.ActivityChanged}, func(w *world) any { return must(w.office.Activity(5)) }},
	"settings": {[]office.Change{office.SettingsChanged}, func(w *world) any { return w.office.Settings() }},
}

func (x *window) closes() {
	if x.of != nil {
		x.stop()
	}
	x.of, x.shows, x.told = nil, map[string]string{}, map[office.Change]bool{}
}

func (x *window) lookAtSignals() {
	w := x.m.w
	if w.office == nil || w.full || w.flaky.Load() > 0 {
		x.closes()
		return
	}
	if x.of == nil {
		x.closes()
		var changes <-chan office.Change
		x.of = w.office
		changes, x.stop = w.office.Watch()
		go func() {
			for c := range changes {
				x.mu.Lock()
				x.told[c] = true
				x.mu.Unlock()
			}
		}()
	}
	x.mu.Lock()
	told := x.told
	x.told = map[office.Change]bool{}
	x.mu.Unlock()
	for name, v := range views {
		was, known := x.shows[name]
		x.shows[name] = fmt.Sprintf("%+v", v.see(w))
		looks := len(told) > 0 && (v.upon == nil || slices.ContainsFunc(v.upon, func(c office.Change) bool { return told[c] }))
		if known && !looks && was != x.shows[name] {
			same := 0
			for same < min(len(was), len(x.shows[name])) && was[same] == x.shows[name][same] {
				same++
			}
			x.m.breaks("people see how things are: no window was told that the %s changed from … %s to … %s", name, was[same:], x.shows[name][same:])
		}
	}
}
