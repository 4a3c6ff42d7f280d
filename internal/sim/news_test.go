package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// fact is something that people are told of once.
type fact struct {
	name    string // of the package
	what    string // as factsIn names it
	kind    office.FactKind
	service *service
	at      time.Time
}

var (
	aCompletion = regexp.MustCompile(`Everyone has signed “([^”]+)”\.`)
	aSignature  = regexp.MustCompile(`^(.+) signed (?:\d+ documents in )?“([^”]+)”\.`)
	aRefusal    = regexp.MustCompile(`^(.+) declined to sign “([^”]+)”\.`)
	anExpiry    = regexp.MustCompile(`^“([^”]+)” has expired`)
	aDeadline   = regexp.MustCompile(`^“([^”]+)” is due `)
	aSignerToo  = regexp.MustCompile(`^(.+) signed(?: last)?\.`)
)

// factsIn are the facts that a notification tells of; all is set when it sums up what happened.
func factsIn(title, body string) (facts []string, all bool) {
	for what, pattern := range map[string]*regexp.Regexp{"signed": aSignature, "declined": aRefusal} {
		if found := pattern.FindStringSubmatch(title); found != nil && !strings.HasPrefix(title, "Everyone") {
			facts = append(facts, what+" "+found[1]+" "+found[2])
		}
	}
	for what, pattern := range map[string]*regexp.Regexp{"expired": anExpiry, "due": aDeadline} {
		if found := pattern.FindStringSubmatch(title); found != nil {
			facts = append(facts, what+" "+found[1])
		}
	}
	for _, found := range aCompletion.FindAllStringSubmatch(title, -1) {
		facts = append(facts, "finished "+found[1])
		if last := aSignerToo.FindStringSubmatch(body); last != nil {
			facts = append(facts, "signed "+last[1]+" "+found[1])
		}
	}
	return facts, strings.Contains(title, "changed")
}

// told hears of a notification: what it says is true, and told once.
func (m *model) told(title, body string) {
	m.w.trace.add("told %s | %s", title, body)
	m.overhears("a notification", title+" "+body)
	m.mu.Lock()
	defer m.mu.Unlock()
	facts, all := factsIn(title, body)
	m.summed = m.summed || all
	for _, what := range facts {
		m.hear(what, title)
	}
	if len(facts) == 0 && !all && !strings.Contains(title, "“") {
		m.hearProblem(title)
	}
}

// lost hears of a notification that a process was about to raise as it was killed. That it is not owed any more is recorded
// right before, so that nobody is told twice: a kill in between costs the notification.
func (m *model) lost(title, body string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	facts, all := factsIn(title, body)
	m.summed = m.summed || all
	for _, what := range facts {
		m.settled[m.onThis(what)] = true
	}
}

// onThis is a fact as this computer tells it: another one knows nothing of what was told before.
func (m *model) onThis(what string) string { return fmt.Sprintf("%d %s", m.w.computer, what) }

// hear judges a fact that people are told of.
func (m *model) hear(what, title string) {
	kind, rest, _ := strings.Cut(what, " ")
	if kind == "signed" && strings.HasPrefix(rest, "Someone ") || strings.HasSuffix(rest, "Untitled package") { // the service did not say more yet
		return
	}
	most := 1
	switch kind {
	case "finished":
		if _, known := m.executed[rest]; !known {
			m.broken = append(m.broken, "people are told the truth: not everyone has signed "+rest)
		}
		m.claims = append(m.claims, rest)
	case "expired":
		m.expiries = append(m.expiries, rest)
	case "signed", "declined":
		if most = m.did[what]; most == 0 {
			m.broken = append(m.broken, "people are told the truth: it is not so that "+title)
		}
	}
	key := m.onThis(what)
	if m.heardOf[key]++; m.heardOf[key] > max(1, most) {
		m.broken = append(m.broken, "one notification per fact: people were told again that "+title)
	}
}

// hearProblem judges a notification of a problem: people are told again a day later at the earliest, or when it is another
// one, which takes an hour.
func (m *model) hearProblem(title string) {
	if strings.HasPrefix(title, "A part of") { // the parts of the program that stop are told of in the same words
		return
	}
	now, key := m.w.now(), m.onThis(title)
	last, known := m.problems[key]
	if known && now.Sub(last.at) < 50*time.Minute && m.w.jumped.Before(last.virtual) {
		m.broken = append(m.broken, fmt.Sprintf("one notification per fact: people were told %v later again: %s", now.Sub(last.at), title))
	}
	m.problems[key] = told{now, time.Now()}
}

// told is when people were told of something: by the right clock, and in virtual time.
type told struct{ at, virtual time.Time }

// happens notes that something is about to happen of which people are to be told, if the program knows the package by now: an
// office is not told of what had happened before it heard of the package.
func (m *model) happens(s *service, kind office.FactKind, what string, t turn) {
	if s != m.w.services[m.w.current] || !m.knows(t.pack, t.name) {
		return
	}
	m.facts = append(m.facts, fact{name: t.name, what: what, kind: kind, service: s, at: m.w.now()})
}

// knows reports whether the program knows the package and has asked about it, and it is open.
func (m *model) knows(id, name string) bool {
	if m.w.office == nil {
		return false
	}
	row, known, err := m.w.office.Package(id)
	return err == nil && known && row.Name == name && row.State == office.PackageOpen && !row.Checked.IsZero()
}

// runsOut notes that a package runs out at due, unless everybody signs it before.
func (m *model) runsOut(name string, s *service, due time.Time) {
	m.due = append(m.due, fact{name: name, what: "expired " + name, kind: office.FactDeadline, service: s, at: due})
}

// lookAtNews judges what people were told since the last look.
func (m *model) lookAtNews() {
	m.lookAtExpiries()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.summed { // it tells of all that was known
		m.settleFacts()
	}
	m.summed = false
}

// settleFacts: of what is known by now people need not be told any more.
func (m *model) settleFacts() {
	there := m.documents()
	for name, e := range m.executed {
		if !slices.ContainsFunc(e.documents, func(d string) bool { return !there[d] && !m.gone[d] }) {
			m.settled[m.onThis("finished "+name)] = true
		}
	}
	for _, f := range m.facts {
		m.settled[m.onThis(f.what)] = true
	}
}

// lookAtExpiries: what people were told has run out has. What has run out that was known to be open before is to be told.
func (m *model) lookAtExpiries() {
	m.mu.Lock()
	expiries := m.expiries
	m.expiries = nil
	m.mu.Unlock()
	if len(expiries)+len(m.due) == 0 {
		return
	}
	now, at, asked := m.w.now(), map[string]sandbox.Package{}, map[string]bool{}
	for _, name := range expiries {
		asked[name] = true
	}
	for _, f := range m.due {
		asked[f.name] = true
	}
	for _, s := range m.w.services {
		for _, p := range s.Packages() {
			if asked[p.Name] {
				at[p.Name] = p
			}
		}
	}
	for _, name := range expiries {
		if p := at[name]; p.State != "expired" {
			m.breaks("people are told the truth: %q has not expired, but is %s", name, p.State)
		}
	}
	m.due = slices.DeleteFunc(m.due, func(f fact) bool {
		p, sent := at[f.name]
		switch {
		case !sent:
			return now.After(f.at)
		case p.State == "open":
			m.isOpen[f.name] = f.service == m.w.services[m.w.current] && m.knows(p.PackageID, p.Name)
			return false
		case p.State == "expired" && m.isOpen[f.name]:
			m.mu.Lock()
			defer m.mu.Unlock()
			m.facts = append(m.facts, f)
		}
		return true
	})
}

// owedNews is what people are to be told of at the service in use and were not.
func (m *model) owedNews(since time.Time) (owed []string) {
	s := m.w.settings
	m.facts = slices.DeleteFunc(m.facts, func(f fact) bool { return m.heardOf[m.onThis(f.what)] > 0 || m.settled[m.onThis(f.what)] })
	state := map[string]string{}
	for _, p := range m.w.services[m.w.current].Packages() {
		state[p.Name] = p.State
	}
	for _, f := range m.facts {
		if f.kind == office.FactDeadline && state[f.name] == "rescinded" { // it has run out and was withdrawn before anybody asked
			continue
		}
		wanted := s.Notify != office.NotifyNone && f.at.After(m.wants(wishNews))
		if f.kind == office.FactSigned {
			wanted = f.at.After(m.wants(wishSignatures))
		}
		if wanted && f.service == m.w.services[m.w.current] && f.at.After(since) {
			owed = append(owed, "people are not told: "+f.what)
		}
	}
	return owed
}

// mustBeTold judges that people have heard of a fact by now.
func (m *model) mustBeTold(what, when string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key := m.onThis(what); m.heardOf[key] == 0 && !m.settled[key] {
		m.broken = append(m.broken, fmt.Sprintf("people are told what happened: they have not heard: %s, %s", what, when))
	}
}
