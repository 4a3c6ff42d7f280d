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

// news checks that people are notified once of each fact, of nothing untrue, and in time. A summary names one fact
// about each of some packages, and covers all about the packages that it shows. It does not check what was in a notification that was lost with
// its process, what happened before the office had heard of the package, and what people do not want to be notified of
// according to the settings.
type news struct {
	m *model

	many     int             // number of notifications
	sums     []summed        // summaries shown since the last check
	expiries []string        // packages announced as expired, to be checked
	facts    []fact          // facts to announce
	claims   []string        // packages announced as saved, to be checked
	settled  map[string]bool // computer and fact -> need not be announced any more
	due      []fact          // packages that are to expire ...
	isOpen   map[string]bool // ... and those that the program last knew to be open
	heardOf  map[string]int  // computer and fact -> number of notifications
	problems map[string]told // problem -> when it was announced
}

func newNews(m *model) news {
	return news{m: m, settled: map[string]bool{}, isOpen: map[string]bool{}, heardOf: map[string]int{}, problems: map[string]told{}}
}

// fact is something to be announced once.
type fact struct {
	name    string // of the package
	what    string // in the words of factsIn
	kind    office.FactKind
	service *service
	at      time.Time
}

// summed is a notification that covers more than it names.
type summed struct {
	at    time.Time
	about []string // ids of packages ...
	all   bool     // ... or of any
}

var (
	aSentence   = regexp.MustCompile(`[^“”]*“[^”]*”[^“”]*?\.(?: |$)`)
	aCompletion = regexp.MustCompile(`Everyone has signed “([^”]+)”\.|^“([^”]+)” is (?:completed|saved)\.`)
	aSignature  = regexp.MustCompile(`^(.+) signed (?:\d+ documents in )?“([^”]+)”\.`)
	aRefusal    = regexp.MustCompile(`^(.+) declined to sign “([^”]+)”\.`)
	anExpiry    = regexp.MustCompile(`^“([^”]+)” has expired`)
	aDeadline   = regexp.MustCompile(`^“([^”]+)” is due `)
	aSignerToo  = regexp.MustCompile(`^(.+) signed(?: last)?\.`)
)

// factsIn are the facts that a notification names; sums is set if it is a summary.
func factsIn(n office.Notice) (facts []string, sums bool) {
	if !strings.Contains(n.Title, " changed") {
		return factsOf(n.Title, n.Body), false
	}
	for _, sentence := range aSentence.FindAllString(n.Body, -1) {
		facts = append(facts, factsOf(strings.TrimSpace(sentence), "")...)
	}
	return facts, true
}

// factsOf are the facts in a title and the text after it.
func factsOf(title, body string) (facts []string) {
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
		name := found[1] + found[2]
		facts = append(facts, "finished "+name)
		if last := aSignerToo.FindStringSubmatch(body); last != nil {
			facts = append(facts, "signed "+last[1]+" "+name)
		}
	}
	return facts
}

// told examines a notification: it must be true, and not a repetition.
func (x *news) told(n office.Notice) {
	x.m.w.trace.add("told %s | %s", n.Title, n.Body)
	x.m.overhears("a notification", n.Title+" "+n.Body)
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.many++
	facts, sums := factsIn(n)
	for _, what := range facts {
		x.hear(what, n.Title)
	}
	switch {
	case sums:
		x.sum(n, facts)
	case len(facts) == 0 && !strings.Contains(n.Title, "“"):
		x.hearProblem(n.Title)
	}
}

func (x *news) count() int {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	return x.many
}

// lost records a notification that a process was about to show when it was killed. Right before, it is recorded as shown, so
// that nobody is notified twice: a kill in between costs the notification.
func (x *news) lost(n office.Notice) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	facts, sums := factsIn(n)
	for _, what := range facts {
		x.settled[x.onThis(what)] = true
	}
	if sums {
		x.sum(n, facts)
	}
}

// sum records a summary. A complete package is announced with its last signature.
func (x *news) sum(n office.Notice, facts []string) {
	for _, what := range facts {
		name, finished := strings.CutPrefix(what, "finished ")
		for _, f := range x.facts {
			if finished && f.name == name && f.kind == office.FactSigned {
				x.settled[x.onThis(f.what)] = true
			}
		}
	}
	about, some := n.About.Packages()
	if id, one := n.About.Package(); one {
		about, some = []string{id}, true
	}
	x.sums = append(x.sums, summed{x.m.w.now(), about, !some})
}

// onThis is a fact on this computer: another one does not know what was announced before.
func (x *news) onThis(what string) string { return fmt.Sprintf("%d %s", x.m.w.computer, what) }

// hear examines a fact that was announced.
func (x *news) hear(what, title string) {
	kind, rest, _ := strings.Cut(what, " ")
	if kind == "signed" && strings.HasPrefix(rest, "Someone ") || strings.HasSuffix(rest, "Untitled package") { // the service has not said more yet
		return
	}
	most := 1
	switch kind {
	case "finished":
		if _, known := x.m.executed[rest]; !known {
			x.m.broken = append(x.m.broken, "people are told the truth: not everyone has signed "+rest)
		}
		x.claims = append(x.claims, rest)
	case "expired":
		x.expiries = append(x.expiries, rest)
	case "signed", "declined":
		if most = x.m.did[what]; most == 0 {
			x.m.broken = append(x.m.broken, "people are told the truth: it is not so that "+title)
		}
	}
	key := x.onThis(what)
	if x.heardOf[key]++; x.heardOf[key] > max(1, most) {
		x.m.broken = append(x.m.broken, "one notification per fact: people were told again that "+title)
	}
}

// hearProblem examines the notification of a problem: it may be repeated after a day at the earliest, or after an hour if it
// is a different one.
func (x *news) hearProblem(title string) {
	if strings.HasPrefix(title, "A part of") { // notifications of all stopped parts have the same title
		return
	}
	now, key := x.m.w.now(), x.onThis(title)
	last, known := x.problems[key]
	if known && now.Sub(last.at) < 50*time.Minute && x.m.w.jumped.Before(last.virtual) {
		x.m.broken = append(x.m.broken, fmt.Sprintf("one notification per fact: people were told %v later again: %s", now.Sub(last.at), title))
	}
	x.problems[key] = told{now, time.Now()}
}

// told is when something was announced: by the right clock, and in virtual time.
type told struct{ at, virtual time.Time }

// happens records that something to be announced is about to happen, provided that the program knows the package by now:
// what happened before it heard of the package is not announced.
func (x *news) happens(s *service, kind office.FactKind, what string, t turn) {
	if s != x.m.w.services[x.m.w.current] || !x.knows(t.pack, t.name) {
		return
	}
	x.facts = append(x.facts, fact{name: t.name, what: what, kind: kind, service: s, at: x.m.w.now()})
	if at := x.m.w.now(); kind == office.FactSigned {
		x.m.w.owes("people are told: "+what, promptly, true, func() bool { return x.heard(what, at, wishSignatures) })
	}
}

// heard reports whether people have been told of something that happened at that time, or do not want to be.
func (x *news) heard(what string, at time.Time, wanted wish) bool {
	x.lookAtNews()
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	key := x.onThis(what)
	return x.heardOf[key] > 0 || x.settled[key] || !at.After(x.m.wishes.wants(wanted))
}

// knows reports whether the program knows the package, has asked about it, and sees it as open.
func (x *news) knows(id, name string) bool {
	if x.m.w.office == nil {
		return false
	}
	row, known, err := x.m.w.office.Package(id)
	return err == nil && known && row.Name == name && row.State == office.PackageOpen && !row.Checked.IsZero()
}

// runsOut records that a package expires at due, unless everybody signs it first.
func (x *news) runsOut(name string, s *service, due time.Time) {
	x.due = append(x.due, fact{name: name, what: "expired " + name, kind: office.FactDeadline, service: s, at: due})
}

// lookAtNews checks what was announced since the last check.
func (x *news) lookAtNews() {
	x.lookAtExpiries()
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	for _, sum := range x.sums {
		x.settleFacts(sum)
	}
	x.sums = nil
}

// settleFacts: facts that a summary covers without naming need not be announced any more.
func (x *news) settleFacts(sum summed) {
	there := x.m.saved.documents()
	in := map[string]bool{}
	for _, s := range x.m.w.services {
		for _, p := range s.Packages() {
			in[p.Name] = sum.all || slices.Contains(sum.about, p.PackageID)
		}
	}
	for name, e := range x.m.executed {
		if in[name] && !e.at.After(sum.at) && !slices.ContainsFunc(e.documents, func(d string) bool { return !there[d] && !x.m.saved.gone[d] }) {
			x.settled[x.onThis("finished "+name)] = true
		}
	}
	for _, f := range x.facts {
		if in[f.name] && !f.at.After(sum.at) {
			x.settled[x.onThis(f.what)] = true
		}
	}
}

// lookAtExpiries: packages announced as expired have expired. If one expires that was known to be open before, that must be
// announced.
func (x *news) lookAtExpiries() {
	x.m.mu.Lock()
	expiries := x.expiries
	x.expiries = nil
	x.m.mu.Unlock()
	if len(expiries)+len(x.due) == 0 {
		return
	}
	now, at, asked := x.m.w.now(), map[string]sandbox.Package{}, map[string]bool{}
	for _, name := range expiries {
		asked[name] = true
	}
	for _, f := range x.due {
		asked[f.name] = true
	}
	for _, s := range x.m.w.services {
		for _, p := range s.Packages() {
			if asked[p.Name] {
				at[p.Name] = p
			}
		}
	}
	for _, name := range expiries {
		if p := at[name]; p.State != "expired" {
			x.m.breaks("people are told the truth: %q has not expired, but is %s", name, p.State)
		}
	}
	x.due = slices.DeleteFunc(x.due, func(f fact) bool {
		p, sent := at[f.name]
		switch {
		case !sent:
			return now.After(f.at)
		case p.State == "open":
			x.isOpen[f.name] = f.service == x.m.w.services[x.m.w.current] && x.knows(p.PackageID, p.Name)
			return false
		case p.State == "expired" && x.isOpen[f.name]:
			x.m.mu.Lock()
			defer x.m.mu.Unlock()
			x.facts = append(x.facts, f)
		}
		return true
	})
}

// owedNews are the facts at the service in use that should have been announced and were not.
func (x *news) owedNews(since time.Time) (owed []string) {
	s := x.m.w.settings
	x.facts = slices.DeleteFunc(x.facts, func(f fact) bool { return x.heardOf[x.onThis(f.what)] > 0 || x.settled[x.onThis(f.what)] })
	state := map[string]string{}
	for _, p := range x.m.w.services[x.m.w.current].Packages() {
		state[p.Name] = p.State
	}
	for _, f := range x.facts {
		if f.kind == office.FactDeadline && state[f.name] == "rescinded" { // it expired and was withdrawn before anybody asked
			continue
		}
		wanted := s.Notify != office.NotifyNone && f.at.After(x.m.wishes.wants(wishNews))
		if f.kind == office.FactSigned {
			wanted = f.at.After(x.m.wishes.wants(wishSignatures))
		}
		if wanted && f.service == x.m.w.services[x.m.w.current] && f.at.After(since) {
			owed = append(owed, "people are not told: "+f.what)
		}
	}
	return owed
}

// mustBeTold checks that a fact has been announced by now.
func (x *news) mustBeTold(what, when string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if key := x.onThis(what); x.heardOf[key] == 0 && !x.settled[key] {
		x.m.broken = append(x.m.broken, fmt.Sprintf("people are told what happened: they have not heard: %s, %s", what, when))
	}
}

// lookAtClaims: files announced as saved exist.
func (x *news) lookAtClaims() {
	x.m.mu.Lock()
	claims := x.claims
	if len(x.m.saved.out) > 0 { // what was saved last may be on the drive that is away
		claims = nil
	} else {
		x.claims = nil
	}
	x.m.mu.Unlock()
	for _, name := range claims {
		for _, document := range x.m.executed[name].documents {
			if !x.m.saved.isSaved(document) {
				x.m.breaks("people are told the truth: %s is not saved", name)
			}
		}
	}
}
