package sim

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// What "later" may mean: the longest pause of the program is a day.
const (
	laterLimit  = 3 * 24 * time.Hour
	laterLook   = 20*time.Minute + 13*time.Second
	decideAfter = 24 * time.Hour
	idleTime    = 6 * time.Hour
)

// settle repairs the world and checks that everything promised for later comes true, that no problem is reported any more,
// and that the program then rests. People do whatever only they can.
func (w *world) settle() {
	w.wire.heal()
	w.at("", 0, nil)
	for _, e := range w.due {
		e.what()
	}
	w.due = nil
	if w.wrong != 0 {
		w.put(-w.wrong)
	}
	w.sleep(time.Minute)
	if w.office == nil {
		return
	}
	if home := w.current; w.model.waitsAt(1 - home) {
		w.moveTo(1 - home)
		w.model.comesTrue()
		w.moveTo(home)
	}
	if w.model.comesTrue() {
		w.model.rests()
		w.model.noticesAbsence()
		w.model.noticesDesk()
	}
}

// waitsAt reports whether anything may still come true at that service.
func (m *model) waitsAt(n int) bool {
	for _, d := range m.sent.drafts {
		if d.computer == m.w.computer && d.home == n {
			return true
		}
	}
	return !m.since[fmt.Sprintf("%d %d", m.w.computer, n)].IsZero()
}

// comesTrue waits until nothing is outstanding.
func (m *model) comesTrue() bool {
	w := m.w
	doDecide(w, step{}) // what somebody stopped, or the service refused
	var owed []string
	for waited := time.Duration(0); ; waited += laterLook {
		w.sleep(laterLook)
		if len(m.check()) > 0 {
			return false
		}
		w.mend(waited)
		if owed = m.owed(); len(owed) == 0 {
			return true
		}
		if waited > laterLimit {
			slices.Sort(owed)
			m.breaks("what was promised for later comes true: after %v still\n  %s", waited, strings.Join(owed, "\n  "))
			return false
		}
	}
}

// mend lets people do what only they can.
func (w *world) mend(waited time.Duration) {
	s := must(w.office.Status())
	if !s.SignedIn {
		w.signIn()
		return
	}
	for _, i := range s.Health {
		switch i.Action {
		case agent.ActTakeEndpoint, agent.ActUnlock, agent.ActDismiss:
			w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) { a.Act(ctx, i) })
			w.sleep(time.Second)
		case agent.ActSignIn, agent.ActSwitch:
			w.signIn()
		case agent.ActQuit:
			doQuit(w, step{args: []string{"1s"}})
			w.sleep(sweepWithin)
			return
		case agent.ActReview:
			if waited > decideAfter {
				w.decide()
			}
		}
	}
}

// decide lets somebody check on the service's website whether a package was sent, and tell the program.
func (w *world) decide() {
	for _, d := range must(w.office.Drafts()) {
		if d.State != office.DraftUnknown || d.Away {
			continue
		}
		there := slices.ContainsFunc(w.services[w.current].Packages(), func(p sandbox.Package) bool { return p.Name == d.Name })
		if there {
			w.model.breaks("what happened is found out: %q was sent, and the program does not know after %v", d.Name, decideAfter)
			return
		}
		_, err := w.office.Decide(d.ID, true, 0)
		w.model.holds("an unknown outcome can be decided", err)
	}
}

// owed is what was promised for the service in use and has not come true yet.
func (m *model) owed() (owed []string) {
	s := must(m.w.office.Status())
	if !s.SignedIn {
		return []string{"nobody is signed in"}
	}
	if s.Events.Pending > 0 {
		owed = append(owed, fmt.Sprintf("%d events wait", s.Events.Pending))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.saved.documents()
	service := m.w.services[m.w.current]
	sent := map[string]bool{}
	for _, p := range service.Packages() {
		sent[p.Name] = true
	}
	failed := map[string]bool{}
	for _, d := range must(m.w.office.Drafts()) {
		if d.State == office.DraftUnknown && !d.Away {
			owed = append(owed, fmt.Sprintf("nobody knows whether %q was sent", d.Name))
		}
		if failed[d.Name] = d.State == office.DraftFailed; failed[d.Name] && m.sent.refusals == 0 && m.sent.mustGo(d.Name) {
			m.broken = append(m.broken, fmt.Sprintf("a draft goes out: %q failed, and the service never refused anything: %v", d.Name, d.Problem))
		}
	}
	for name := range failed {
		if failed[name] && sent[name] {
			m.broken = append(m.broken, fmt.Sprintf("people are told the truth: %q is said to have failed, and was sent", name))
		}
	}
	for name, d := range m.sent.drafts {
		if d.computer == m.w.computer && d.home == m.w.current && !sent[name] && !failed[name] && m.sent.mustGo(name) {
			owed = append(owed, fmt.Sprintf("%q is not sent", name))
		}
	}
	since := m.since[fmt.Sprintf("%d %d", m.w.computer, m.w.current)]
	for name, e := range m.executed {
		d, ours := m.sent.drafts[name]
		ours = ours && d.computer == m.w.computer
		if e.service != service || !ours && !e.at.After(since) {
			continue
		}
		for _, document := range m.wishes.owedFiles(e) {
			if !there[document] && !m.saved.gone[document] {
				owed = append(owed, fmt.Sprintf("%s of %q is not saved", document, name))
			}
		}
		key := m.news.onThis("finished " + name)
		if m.news.heardOf[key] == 0 && !m.news.settled[key] && e.at.After(m.wishes.wants(wishNews)) {
			owed = append(owed, fmt.Sprintf("people are not told that everyone has signed %q", name))
		}
	}
	return slices.Concat(owed, m.news.owedNews(since), m.withdrawn.owedWithdrawals())
}

// rests checks that no problem is reported, and that the program asks for no more than necessary.
func (m *model) rests() {
	w := m.w
	w.sleep(time.Hour)
	w.mend(0) // it is found out late that the events go elsewhere
	w.sleep(time.Hour)
	if len(m.check()) > 0 {
		return
	}
	for _, i := range must(w.office.Status()).Health {
		none := i.ID == "no-tunnel" && w.settings.Tunnel == office.TunnelNone
		late := i.ID == "endpoint-lost" && w.taken // found out only when a package is asked about
		if !none && !late {
			m.breaks("nothing is said to be wrong that is not: %s: %s", i.ID, i.Message)
		}
	}
	m.lookAtRest()
	m.lookAtEndpoint()
	m.lookAtList()
	m.lookAtCounts()
	m.stored.lookAtEventList()
	m.record.lookAtRecord()
	m.idle.lookAtUsage()
	m.idle.lookAtIdling()
}

// planned is how much the program may ask in an idle hour: for a list, for a token, and every twenty minutes for the state
// and the full record of each package that is not over; more often if no events come.
func (m *model) planned() int {
	open := 0
	for _, p := range m.w.services[m.w.current].Packages() {
		if p.State == "open" {
			open++
		}
	}
	if m.w.settings.Tunnel == office.TunnelNone {
		open *= 10
	}
	if time.Since(m.w.jumped) < 60*time.Hour { // a package that seems to be new is asked about more often
		open *= 5
	}
	return 8 + 6*open
}

// lookAtRest checks the disk when nothing is in progress: no readable secret, no incomplete document, no leftovers.
func (m *model) lookAtRest() {
	clear(m.saved.listings)
	m.saved.look(math.MaxInt)
	filepath.WalkDir(m.w.disk(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if below, err := filepath.Rel(m.w.disk(), path); err == nil {
			m.saved.lookAtPlace(below)
		}
		if strings.HasSuffix(path, ".part") && m.w.computer == 0 { // this computer must not remove another one's leftovers
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
		if s := m.secrets.in(body); s != "" {
			m.breaks("secrets are sealed: %q is in %s", s, e.Name())
		}
		return nil
	})
}

// heardWithin is how long it may take until people are told that another desk gets the events.
const heardWithin = time.Hour

// noticesAbsence makes the program absent for a moment in three ways, and checks that it asks about everything each time:
// packages it asked about minutes ago are not due for any other reason.
func (m *model) noticesAbsence() {
	w := m.w
	for _, away := range []func(){
		func() { doQuit(w, step{args: []string{"1s"}}) },
		func() { w.signIn() },
		func() { doSleep(w, step{args: []string{"2m"}}) },
	} {
		if len(m.check()) > 0 {
			return
		}
		w.stirred = time.Now()
		away()
		w.sleep(sweepWithin + time.Minute)
	}
	m.check()
}

// noticesDesk lets another desk get the events, and checks that people are told once something happens that the program
// would otherwise not learn of, and that the events come back on request.
func (m *model) noticesDesk() {
	w := m.w
	if !w.listens() || len(m.check()) > 0 {
		return
	}
	name := w.elsewhere()
	w.sleep(40 * time.Minute) // so that the package is known and was asked about
	doDesk(w, step{args: []string{"takes"}})
	if t, more := w.turnOf(name); more {
		w.sign(w.services[w.current], t)
	}
	w.sleep(heardWithin)
	if !m.health.says("endpoint-lost") {
		m.breaks("health says what is wrong within its time: another desk gets the events, and %v later nothing is said: %v", heardWithin, m.health.issues())
	}
	w.mend(0)
	w.sleep(time.Minute)
	m.lookAtEndpoint()
	m.check()
}

// duties are what the program must do promptly unless something goes wrong: after certain events, ask the service about every
// package that is not over; send, withdraw, save and announce. They are not checked once something disturbs the program.
type duties struct {
	mu   sync.Mutex
	when map[string]time.Time // package -> when it was last asked about
	owed []duty
}

// duty is something that must be done within a time.
type duty struct {
	what   string
	since  time.Time
	within time.Duration
	heard  bool // the program learns by an event that it is due
	done   func() bool
}

// owes records a duty that begins now.
func (w *world) owes(what string, within time.Duration, heard bool, done func() bool) {
	w.duties.mu.Lock()
	defer w.duties.mu.Unlock()
	w.duties.owed = append(w.duties.owed, duty{what, time.Now(), within, heard, done})
}

const (
	sweepWithin = 3 * time.Minute
	promptly    = time.Minute

	longestRest = 16 * time.Minute // the longest time for which a service may have asked not to be contacted
)

// quietVerbs disturb nothing: the program's duties stay the same.
var quietVerbs = map[string]bool{
	"send": true, "take-back": true, "archive": true, "export": true, "retry": true,
	"sign": true, "decline": true, "elsewhere": true, "wait": true, "rename": true, "move": true, "delete": true, "forge": true, "disturb": true,
}

// undisturbedSince is since when nothing has happened to the program or its connections; zero while something does.
func (w *world) undisturbedSince() time.Time {
	if w.office == nil || w.offline || w.full || w.flaky.Load() > 0 || w.wrong != 0 || w.keyring.state() != nil || w.startedLocked {
		return time.Time{}
	}
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	return later(w.stirred, w.wire.struck)
}

// calmSince is since when nothing has disturbed the program, including the time for which a service may have asked not to be
// contacted; zero while something does.
func (w *world) calmSince() time.Time {
	since := w.undisturbedSince()
	if since.IsZero() || w.wire.troubled() {
		return time.Time{}
	}
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	return later(w.stirred, w.wire.struck.Add(longestRest))
}

// asked records a question about a package.
func (d *duties) asked(path string) {
	if !strings.HasSuffix(path, "/status") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.when == nil {
		d.when = map[string]time.Time{}
	}
	d.when[anID.FindString(path)] = time.Now()
}

// owesSweep records that something may have been missed.
func (w *world) owesSweep(why string) {
	if w.office == nil {
		return
	}
	var about []string
	for _, p := range w.services[w.current].Packages() {
		if p.State == "open" && w.model.news.knows(p.PackageID, p.Name) {
			about = append(about, p.PackageID)
		}
	}
	since := time.Now()
	w.owes("what may have been missed is asked for, because "+why, sweepWithin, false, func() bool {
		about = slices.DeleteFunc(about, func(id string) bool {
			row, known, err := w.office.Package(id)
			return w.duties.askedSince(id, since) || err != nil || !known || row.State != office.PackageOpen
		})
		return len(about) == 0
	})
}

// hears reports whether the program gets events when they are sent.
func (w *world) hears() bool {
	return w.settings.Tunnel == office.TunnelExternal && !w.taken && !w.holding
}

func (m *model) lookAtDuties() {
	w, d := m.w, &m.w.duties
	d.mu.Lock()
	owed := d.owed
	d.owed = nil
	d.mu.Unlock()
	if len(owed) == 0 {
		return
	}
	calm := w.calmSince()
	signedIn := w.office != nil && must(w.office.Status()).SignedIn
	owed = slices.DeleteFunc(owed, func(x duty) bool {
		late := time.Since(x.since) >= x.within
		switch {
		case calm.IsZero() || calm.After(x.since) || !signedIn || x.heard && (!w.hears() || calm.Add(time.Hour).After(x.since)):
			return true
		case x.done():
			return true
		case late:
			m.breaks("what is due is done promptly: %s, and it is not after %v", x.what, x.within)
		}
		return late
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed = append(owed, d.owed...)
}

// next is when one of them is due, at most until.
func (d *duties) next(until time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.owed {
		if at := x.since.Add(x.within); at.Before(until) {
			until = at
		}
	}
	return until
}

// askedSince reports whether a package was asked about since then.
func (d *duties) askedSince(id string, since time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.when[id].Before(since)
}
