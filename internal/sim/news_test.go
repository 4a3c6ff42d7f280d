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

// news judge: people are told of each fact once, of nothing that is not so, and in time. A summary tells of what it names, and of more
// about the packages that it shows, if it says so. They are silent about what a notification that was lost with its process told, what an
// office had not heard of before it happened, and what its settings ask nobody to be told.
type news struct {
	m *model

	many     int             // notifications
	sums     []summed        // that people were given since the last look
	expiries []string        // packages of which people were told that they have run out, to be looked at
	facts    []fact          // that people are to be told
	claims   []string        // packages of which people were told that they are saved, to be looked at
	settled  map[string]bool // computer and fact -> people need not be told any more
	due      []fact          // packages that are to run out ...
	isOpen   map[string]bool // ... and those that the program knew to be open when they were looked at last
	heardOf  map[string]int  // computer and fact -> how often people were told of it
	problems map[string]told // problem -> when people were told of it
}

func newNews(m *model) news {
	return news{m: m, settled: map[string]bool{}, isOpen: map[string]bool{}, heardOf: map[string]int{}, problems: map[string]told{}}
}

// fact is something that people are told of once.
type fact struct {
	name    string // of the package
	what    string // as factsIn names it
	kind    office.FactKind
	service *service
	at      time.Time
}

// summed is a notification that tells of more than it names.
type summed struct {
	at    time.Time
	about []string // ids of packages ...
	all   bool     // ... or of any
}

var (
	aSentence   = regexp.MustCompile(`[^“”]*“[^”]*”[^“”]*?\.(?: |$)`)
	thereIsMore = regexp.MustCompile(`And \d+ more\.$`)
	aCompletion = regexp.MustCompile(`Everyone has signed “([^”]+)”\.`)
	aSignature  = regexp.MustCompile(`^(.+) signed (?:\d+ documents in )?“([^”]+)”\.`)
	aRefusal    = regexp.MustCompile(`^(.+) declined to sign “([^”]+)”\.`)
	anExpiry    = regexp.MustCompile(`^“([^”]+)” has expired`)
	aDeadline   = regexp.MustCompile(`^“([^”]+)” is due `)
	aSignerToo  = regexp.MustCompile(`^(.+) signed(?: last)?\.`)
)

// factsIn are the facts that a notification names; sums is set when it sums up what happened.
func factsIn(n office.Notice) (facts []string, sums bool) {
	if !strings.Contains(n.Title, " changed") {
		return factsOf(n.Title, n.Body), false
	}
	for _, sentence := range aSentence.FindAllString(n.Body, -1) {
		facts = append(facts, factsOf(strings.TrimSpace(sentence), "")...)
	}
	return facts, true
}

// factsOf are the facts in a title and what follows it.
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
		facts = append(facts, "finished "+found[1])
		if last := aSignerToo.FindStringSubmatch(body); last != nil {
			facts = append(facts, "signed "+last[1]+" "+found[1])
		}
	}
	return facts
}

// told hears of a notification: what it says is true, and told once.
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

// count is how many notifications there were.
func (x *news) count() int {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	return x.many
}

// lost hears of a notification that a process was about to raise as it was killed. That it is not owed any more is recorded
// right before, so that nobody is told twice: a kill in between costs the notification.
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

// sum notes a summary. What is complete is told with its last signature.
func (x *news) sum(n office.Notice, facts []string) {
	for _, what := range facts {
		name, finished := strings.CutPrefix(what, "finished ")
		for _, f := range x.facts {
			if finished && f.name == name && f.kind == office.FactSigned {
				x.settled[x.onThis(f.what)] = true
			}
		}
	}
	if !thereIsMore.MatchString(n.Body) {
		return
	}
	about, some := n.About.Packages()
	if id, one := n.About.Package(); one {
		about, some = []string{id}, true
	}
	x.sums = append(x.sums, summed{x.m.w.now(), about, !some})
}

// onThis is a fact as this computer tells it: another one knows nothing of what was told before.
func (x *news) onThis(what string) string { return fmt.Sprintf("%d %s", x.m.w.computer, what) }

// hear judges a fact that people are told of.
func (x *news) hear(what, title string) {
	kind, rest, _ := strings.Cut(what, " ")
	if kind == "signed" && strings.HasPrefix(rest, "Someone ") || strings.HasSuffix(rest, "Untitled package") { // the service did not say more yet
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

// hearProblem judges a notification of a problem: people are told again a day later at the earliest, or when it is another
// one, which takes an hour.
func (x *news) hearProblem(title string) {
	if strings.HasPrefix(title, "A part of") { // the parts of the program that stop are told of in the same words
		return
	}
	now, key := x.m.w.now(), x.onThis(title)
	last, known := x.problems[key]
	if known && now.Sub(last.at) < 50*time.Minute && x.m.w.jumped.Before(last.virtual) {
		x.m.broken = append(x.m.broken, fmt.Sprintf("one notification per fact: people were told %v later again: %s", now.Sub(last.at), title))
	}
	x.problems[key] = told{now, time.Now()}
}

// told is when people were told of something: by the right clock, and in virtual time.
type told struct{ at, virtual time.Time }

// happens notes that something is about to happen of which people are to be told, if the program knows the package by now: an
// office is not told of what had happened before it heard of the package.
func (x *news) happens(s *service, kind office.FactKind, what string, t turn) {
	if s != x.m.w.services[x.m.w.current] || !x.knows(t.pack, t.name) {
		return
	}
	x.facts = append(x.facts, fact{name: t.name, what: what, kind: kind, service: s, at: x.m.w.now()})
}

// knows reports whether the program knows the package and has asked about it, and it is open.
func (x *news) knows(id, name string) bool {
	if x.m.w.office == nil {
		return false
	}
	row, known, err := x.m.w.office.Package(id)
	return err == nil && known && row.Name == name && row.State == office.PackageOpen && !row.Checked.IsZero()
}

// runsOut notes that a package runs out at due, unless everybody signs it before.
func (x *news) runsOut(name string, s *service, due time.Time) {
	x.due = append(x.due, fact{name: name, what: "expired " + name, kind: office.FactDeadline, service: s, at: due})
}

// lookAtNews judges what people were told since the last look.
func (x *news) lookAtNews() {
	x.lookAtExpiries()
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	for _, sum := range x.sums {
		x.settleFacts(sum)
	}
	x.sums = nil
}

// settleFacts: of what a summary tells without a name people need not be told any more.
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

// lookAtExpiries: what people were told has run out has. What has run out that was known to be open before is to be told.
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

// owedNews is what people are to be told of at the service in use and were not.
func (x *news) owedNews(since time.Time) (owed []string) {
	s := x.m.w.settings
	x.facts = slices.DeleteFunc(x.facts, func(f fact) bool { return x.heardOf[x.onThis(f.what)] > 0 || x.settled[x.onThis(f.what)] })
	state := map[string]string{}
	for _, p := range x.m.w.services[x.m.w.current].Packages() {
		state[p.Name] = p.State
	}
	for _, f := range x.facts {
		if f.kind == office.FactDeadline && state[f.name] == "rescinded" { // it has run out and was withdrawn before anybody asked
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

// mustBeTold judges that people have heard of a fact by now.
func (x *news) mustBeTold(what, when string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if key := x.onThis(what); x.heardOf[key] == 0 && !x.settled[key] {
		x.m.broken = append(x.m.broken, fmt.Sprintf("people are told what happened: they have not heard: %s, %s", what, when))
	}
}

// lookAtClaims: what people were told of is there.
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
