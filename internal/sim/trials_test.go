package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// trials are situations that chance brings about too rarely, each with what the program must do in it. They are held where
// nothing is wrong in the world, one at a time, and leave nothing wrong behind.
var trials = map[string]func(w *world){
	"refusal":       tryRefusal,
	"list":          tryList,
	"lost-answer":   tryLostAnswer,
	"service":       tryService,
	"sign-in":       trySignIn,
	"two-documents": tryTwoDocuments,
	"drive":         tryDrive,
	"expiry":        tryExpiry,
	"own-file":      tryOwnFile,
	"busy":          tryBusy,
	"clock":         tryClock,
	"domain":        tryDomain,
	"full":          tryFull,
	"room":          tryRoom,
	"bodies":        tryBodies,
	"killed":        tryKilled,
	"untold":        tryUntold,
	"withdrawal":    tryWithdrawal,
	"token":         tryToken,
	"scans":         tryScans,
	"links":         tryLinks,
	"times":         tryTimes,
	"hanging":       tryHanging,
	"key":           tryKey,
	"dropped":       tryDropped,
	"extended":      tryExtended,
	"turns":         tryTurns,
	"decline":       tryDecline,
	"outage":        tryOutage,
	"restore":       tryRestore,
	"undo":          tryUndo,
}

func trialNames() (names []string) {
	for name := range trials {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// drawTrials are all trials, in some order.
func drawTrials(r *rand.Rand) (steps []step) {
	names := trialNames()
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		steps = append(steps, step{between(r, time.Minute, time.Hour), "trial", []string{name}})
	}
	return steps
}

func doTrial(w *world, s step) {
	try := trials[s.word(0)]
	if s.word(0) == "silence" {
		try = trySilence
	}
	if try == nil || w.office == nil || len(w.model.check()) > 0 {
		return
	}
	if w.getsEvents(); w.office == nil || !w.well() {
		w.trace.line(false, "  no trial: the world is not well")
		return
	}
	try(w)
	w.wire.heal()
	w.stirred = time.Now()
	if w.office != nil {
		w.mend(0)
	}
}

// getsEvents has the office sign in anew where another desk has its events: trials are about something else.
func (w *world) getsEvents() {
	if !w.taken || w.settings.Tunnel != office.TunnelExternal || !w.works() {
		return
	}
	doSignOut(w, step{})
	w.sleep(time.Minute)
	w.signIn()
	w.sleep(2 * time.Minute)
	w.model.lookAtEndpoint()
}

// well reports whether nothing is wrong in the world. Who has the events does not matter to an office that has no address.
func (w *world) well() bool {
	taken := w.taken && w.settings.Tunnel == office.TunnelExternal
	return w.works() && must(w.office.Status()).SignedIn && !taken && w.keyring.state() == nil && w.wrong == 0 && !w.full &&
		len(w.model.saved.out) == 0 && len(w.due) == 0
}

// calmly lets time pass, and reports whether every promise was kept meanwhile.
func (w *world) calmly(d time.Duration) bool {
	w.sleep(d)
	return w.office != nil && len(w.model.check()) == 0
}

// fails has the service not do something for so often or so long.
func (w *world) fails(kind, route string, times int, span time.Duration) {
	w.wire.trouble(&fault{kind: kind, path: route, left: times, until: time.Now().Add(span)})
}

// checkNow has somebody ask for everything that is new.
func (w *world) checkNow() {
	w.office.CheckNow()
	w.sleep(time.Second)
}

// sendOne sends a package with so many documents to one signer, to be signed within so long, and returns its name.
func (w *world) sendOne(documents int, due time.Duration) string {
	doSend(w, step{args: []string{fmt.Sprint(documents), "1", "parallel", due.String()}})
	return fmt.Sprintf("No %d", w.sends)
}

// atService is the package of that name at the service in use.
func (w *world) atService(name string) (p sandbox.Package, ok bool) {
	all := w.services[w.current].Packages()
	i := slices.IndexFunc(all, func(p sandbox.Package) bool { return p.Name == name })
	if i < 0 {
		return p, false
	}
	return all[i], true
}

// signAll has everybody sign it.
func (w *world) signAll(name string) {
	service := w.services[w.current]
	for again := true; again; {
		again = false
		for _, t := range service.turns() {
			if t.name != name {
				continue
			}
			again = w.sign(service, t)
			break
		}
	}
}

// mustBeSaved judges that what everybody has signed is in a folder by now.
func (m *model) mustBeSaved(name, when string) {
	m.mu.Lock()
	documents := m.executed[name].documents
	m.mu.Unlock()
	for _, d := range documents {
		if !m.saved.isSaved(d) {
			m.breaks("what was signed is saved: %s of %q is not, %s", d, name, when)
			return
		}
	}
}

// tryRefusal has the service not give any package for a moment: that is about now.
func tryRefusal(w *world) {
	w.fails("forbidden", "/packages/*/status", -1, 5*time.Minute)
	w.checkNow()
	if w.calmly(2 * time.Minute) {
		w.model.lookAtList()
	}
}

// tryList has a package made elsewhere of which no event tells.
func tryList(w *world) {
	w.fails("hook-dropped", "hook", -1, 12*time.Hour)
	name, err := w.stranger.send(w.services[w.current])
	if err != nil {
		w.model.breaks("the world cannot send from elsewhere: %v", err)
		return
	}
	const within = 7 * time.Hour
	if !w.calmly(within) {
		return
	}
	if p, ok := w.atService(name); ok {
		if _, known, err := w.office.Package(p.PackageID); err != nil || !known {
			w.model.breaks("what was made elsewhere is found without its events, too: %q is not known after %v", name, within)
		}
	}
}

// tryLostAnswer has the answer get lost that a package was added.
func tryLostAnswer(w *world) {
	w.fails("hook-dropped", "hook", -1, 19*time.Minute) // which would tell
	w.fails("lost", "/packages/add", 1, time.Hour)
	name := w.sendOne(1, 0)
	if !w.calmly(20 * time.Minute) {
		return
	}
	_, sent := w.atService(name)
	for _, d := range must(w.office.Drafts()) {
		if d.Name == name && sent {
			w.model.breaks("what happened is found out: %q was sent, and is said to be %s", name, d.State)
		}
	}
}

// tryService has the office move on to the other service and come back.
func tryService(w *world) {
	home := w.current
	for _, n := range []int{1 - home, home} {
		w.moveTo(n)
		if !w.calmly(10*time.Minute) || w.current != n {
			return
		}
	}
}

// trySignIn has somebody sign out and in again: the service reports to the office afterwards. Where it cannot, everything is
// asked about.
func trySignIn(w *world) {
	doSignOut(w, step{})
	if !w.calmly(time.Minute) {
		return
	}
	w.signIn()
	if !w.calmly(2 * time.Minute) {
		return
	}
	w.model.lookAtEndpoint()
	tunnel := w.settings.Tunnel
	for _, kind := range []office.TunnelKind{office.TunnelNone, tunnel} {
		doAddress(w, step{args: []string{string(kind)}})
		if !w.calmly(2 * time.Minute) {
			return
		}
		w.stirred = time.Now()
		w.signIn()
		if !w.calmly(sweepWithin + time.Minute) {
			return
		}
	}
}

// tryTwoDocuments has one of two documents come later than the other: people are told once both are there.
func tryTwoDocuments(w *world) {
	if w.settings.Notify == office.NotifyNone {
		doChoose(w, step{args: []string{"executed"}})
	}
	name := w.sendOne(2, 0)
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("wrong", "/packages/*/documents", 5, time.Hour)
	w.signAll(name)
	for range 60 {
		if !w.calmly(time.Second) {
			return
		}
	}
	w.calmly(20 * time.Minute)
}

// trySilence has the service be away for a moment while no package is under way, so that nothing asks it but for its list.
func trySilence(w *world) {
	w.fails("refused", "/", -1, 10*time.Minute)
	w.checkNow()
	if !w.calmly(9*time.Minute) || !w.calmly(3*time.Hour) {
		return
	}
	if w.model.health.says("service") {
		w.model.breaks("nothing is said to be wrong that is not: the service answers, and it is said that it does not")
	}
	w.model.idle.lookAtUsage()
}

// tryDrive has a document wait for a folder that is not there; see expectations.
func tryDrive(w *world) {
	name := w.sendOne(1, 0)
	if !w.calmly(time.Minute) {
		return
	}
	doUnplug(w, step{args: []string{"1h0m0s"}})
	w.signAll(name)
	for range 14 {
		if !w.calmly(5 * time.Minute) {
			return
		}
	}
	w.model.mustBeSaved(name, "though the drive is back")
}

// tryExpiry has the time run out in which a package was to be signed.
func tryExpiry(w *world) {
	if w.settings.Notify == office.NotifyNone {
		doChoose(w, step{args: []string{"executed"}})
	}
	name := w.sendOne(1, time.Hour)
	if !w.calmly(time.Minute) {
		return
	}
	p, ok := w.atService(name)
	open := ok && w.model.news.knows(p.PackageID, name)
	if !w.calmly(2*time.Hour + 30*time.Minute) {
		return
	}
	if p, ok = w.atService(name); !ok {
		return
	}
	if open && p.State == "expired" {
		w.model.news.mustBeTold("expired "+name, "an hour and a half after that")
	}
	if row, known, err := w.office.Package(p.PackageID); err == nil && known && string(row.State) != p.State {
		w.model.breaks("people see how things are: %q is %s and shown as %s", p.Name, p.State, row.State)
	}
}

// tryDecline has somebody decline while the program hears of nothing, and the time to sign run out until it does.
func tryDecline(w *world) {
	if w.settings.Notify == office.NotifyNone {
		doChoose(w, step{args: []string{"executed"}})
	}
	name := w.sendOne(1, time.Hour)
	if !w.calmly(time.Minute) {
		return
	}
	service := w.services[w.current]
	for _, t := range service.turns() {
		if t.name != name || !w.model.news.knows(t.pack, name) {
			continue
		}
		doOffline(w, step{args: []string{"3h0m0s"}})
		w.decline(service, t)
		if !w.calmly(3*time.Hour+time.Minute) || !w.calmly(20*time.Minute) {
			return
		}
		w.model.news.mustBeTold("declined "+t.who+" "+name, "though it has expired since")
	}
}

// tryOwnFile has people put a file of their own where a document is about to be saved.
func tryOwnFile(w *world) {
	name := w.sendOne(1, 0)
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("wrong", "/packages/*/documents", -1, time.Hour)
	w.signAll(name)
	if !w.calmly(2 * time.Minute) {
		return
	}
	p, _ := w.atService(name)
	row, known, err := w.office.Package(p.PackageID)
	if err != nil || !known || len(row.Files) == 0 || row.Files[0].State == office.JobDone {
		return
	}
	own := row.Files[0].Path
	if _, err := os.Lstat(own); err == nil {
		return // something is there already
	}
	w.model.saved.own[own] = document(1_000_000+w.sends, 0)
	if os.WriteFile(own, w.model.saved.own[own], 0o600) != nil {
		delete(w.model.saved.own, own)
		return
	}
	w.wire.heal()
	w.checkNow()
	if !w.calmly(20 * time.Minute) {
		return
	}
	w.model.mustBeSaved(name, "and its place is taken by "+filepath.Base(own))
	delete(w.model.saved.own, own)
	os.Remove(own)
}

// tryBusy has the service ask once to be left alone.
func tryBusy(w *world) {
	name := w.sendOne(1, 0)
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("busy", "/packages/*/status", 1, time.Hour)
	w.checkNow()
	if !w.calmly(longestRest) {
		return
	}
	w.signAll(name)
	if w.calmly(15 * time.Minute) {
		w.model.mustBeSaved(name, "though the service may be asked again")
	}
}

// tryClock has the clock be far ahead for half an hour.
func tryClock(w *world) {
	const ahead = 60 * 24 * time.Hour
	w.put(ahead)
	if !w.calmly(30 * time.Minute) {
		return
	}
	w.put(-ahead)
	w.stirred = time.Now()
	w.owesSweep("the clock was put right")
	w.calmly(sweepWithin + time.Minute)
}

// tryDomain gives the office another public address, and back: the service is told.
func tryDomain(w *world) {
	if w.settings.Tunnel != office.TunnelExternal {
		return
	}
	for range 2 {
		doDomain(w, step{})
		if !w.calmly(2 * time.Minute) {
			return
		}
		w.model.lookAtEndpoint()
	}
}

// tryFull has the disk be full for a moment while documents are saved, and while the program finds out by itself what was
// signed, so much that it cannot note it.
func tryFull(w *world) {
	if !w.mounted {
		return
	}
	var names []string
	for range 3 { // for the documents of one there may be room
		names = append(names, w.sendOne(3, 0))
	}
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("wrong", "/packages/*/documents", -1, time.Hour)
	w.signAll(names[0])
	if !w.calmly(2 * time.Minute) {
		return
	}
	w.wire.heal()
	w.fill(true)
	w.fails("hook-dropped", "hook", -1, 5*time.Minute)
	for _, name := range names[1:] {
		w.signAll(name)
	}
	w.checkNow()
	goesOn := true
	for range 8 { // for long enough to be said
		goesOn = goesOn && w.calmly(5*time.Minute)
	}
	w.fill(false)
	w.wire.heal()
	if !goesOn || !w.calmly(30*time.Minute) {
		return
	}
	for _, name := range names {
		w.model.mustBeSaved(name, "though the disk has room again")
	}
}

// tryRoom has the disk be full while small commits find their place in the file as it is: that one fits proves nothing for a
// larger one, and people read that the disk is full for as long as it is.
func tryRoom(w *world) {
	service := w.services[w.current]
	if !w.mounted || !slices.Contains(service.EndpointURLs(), w.settings.PublicURL+"/webhook") || w.settings.Tunnel != office.TunnelExternal {
		return
	}
	name := w.sendOne(1, 0)
	if !w.calmly(2 * time.Minute) {
		return
	}
	p, ok := w.atService(name)
	if !ok {
		return
	}
	event := func(size int) { // of a kind that changes nothing, about a package that is known
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		service.Forge(ctx, sandbox.Forgery{Action: "package_viewed", Fields: map[string]any{
			"packageId": p.PackageID, "padding": strings.Repeat("x", size)}})
	}
	w.fill(true)
	for range 8 { // for some of them there may be room in the file
		if event(900_000); w.model.health.says("data") {
			break
		}
	}
	said := w.model.health.says("data")
	for range 10 {
		if event(10); !w.calmly(time.Minute) {
			break
		}
		if said && !w.model.health.says("data") {
			w.model.breaks("health says what is wrong for as long as it is: the disk is full, and nothing is said any more: %v", w.model.health.issues())
			break
		}
	}
	w.fill(false)
	if !w.calmly(20 * time.Minute) {
		return
	}
	if event(10); w.calmly(time.Minute) && w.model.health.says("data") {
		w.model.breaks("nothing is said to be wrong that is not: the disk has room again, and it is said that it does not")
	}
}

// tryBodies has something else come instead of a document: a part of it, or a page.
func tryBodies(w *world) {
	for _, kind := range []string{"short", "cut", "portal"} {
		name := w.sendOne(1, 0)
		if !w.calmly(time.Minute) {
			return
		}
		w.fails(kind, "/packages/*/documents", 2, time.Hour)
		w.signAll(name)
		if !w.calmly(20 * time.Minute) {
			return
		}
		w.model.mustBeSaved(name, "and the service gives it by now")
		w.wire.heal()
	}
}

// tryOutage has the service be out of order for a moment while a package is sent.
func tryOutage(w *world) {
	for _, kind := range []string{"refused", "undone"} {
		w.fails(kind, "/files/upload", 2, time.Hour)
		name := w.sendOne(1, 0)
		if !w.calmly(30 * time.Minute) {
			return
		}
		if _, sent := w.atService(name); !sent {
			w.model.breaks("a draft goes out: %q did not, though the service works again", name)
		}
		w.wire.heal()
	}
}

// tryKilled has the program be killed while a package is added: before the service has it, and after.
func tryKilled(w *world) {
	for _, point := range []string{"adding", "added"} {
		w.at(point, 0, w.dies)
		w.sendOne(1, 0)
		goesOn := w.calmly(20 * time.Minute)
		w.at("", 0, nil)
		if !goesOn || w.office == nil {
			return
		}
	}
}

// tryUntold has the program be killed while what it is about to tell people waits for more.
func tryUntold(w *world) {
	doChoose(w, step{args: []string{"each"}})
	name := w.sendOne(1, 0)
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("wrong", "/packages/*/documents", -1, time.Hour) // for which the last signature waits
	w.signAll(name)
	if !w.calmly(5 * time.Second) {
		return
	}
	w.kill()
	w.wire.heal()
	if w.calmly(20 * time.Minute) {
		w.model.news.mustBeTold("signed "+signers[0].FirstName+" "+signers[0].LastName+" "+name, "though the program was killed")
	}
}

// tryWithdrawal has a package withdrawn of which the service does not say whether it is: refused on the way there, and lost on
// the way back.
func tryWithdrawal(w *world) {
	for _, kind := range []string{"refused", "lost"} {
		name := w.sendOne(1, 0)
		if !w.calmly(time.Minute) {
			return
		}
		p, ok := w.atService(name)
		if !ok || !w.model.news.knows(p.PackageID, name) {
			return
		}
		w.fails(kind, "/packages/rescind", 2, time.Hour)
		w.withdraw(p)
		if !w.calmly(2 * time.Hour) {
			return
		}
		if p, _ = w.atService(name); p.State != "rescinded" {
			w.model.breaks("what was promised for later comes true: %q was to be withdrawn, and is %s", name, p.State)
		}
		w.model.lookAtList()
		w.wire.heal()
	}
}

// tryToken has the service forget the access tokens that it gave out, before they run out: the sign-in goes on.
func tryToken(w *world) {
	if err := w.services[w.current].ExpireAccessTokens(); err != nil {
		w.model.breaks("the world cannot end the tokens: %v", err)
		return
	}
	name := w.sendOne(1, 0)
	if !w.calmly(2 * time.Minute) {
		return
	}
	if !must(w.office.Status()).SignedIn {
		w.model.breaks("nothing is said to be wrong that is not: nobody is signed in, and only a token was refused: %v", w.model.health.issues())
	}
	if _, sent := w.atService(name); !sent {
		w.model.breaks("a draft goes out: %q did not within two minutes, after a token was refused", name)
	}
}

// tryTurns has the service not say whose turn it is: that follows from the order.
func tryTurns(w *world) {
	w.fails("turnless", "/packages", -1, 2*time.Hour)
	doSend(w, step{args: []string{"1", "3", "sequential", "0s"}})
	name := fmt.Sprintf("No %d", w.sends)
	for range 3 {
		if !w.calmly(20 * time.Minute) {
			return
		}
		w.model.lookAtTurns()
		for _, t := range w.services[w.current].turns() {
			if t.name == name {
				w.sign(w.services[w.current], t)
				break
			}
		}
	}
}

// tryTimes has the program learn late, by asking, of what was signed.
func tryTimes(w *world) {
	name := w.sendOne(1, 0)
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("hook-dropped", "hook", -1, time.Hour)
	w.signAll(name)
	if w.calmly(40 * time.Minute) {
		w.model.lookAtTimes()
	}
}

// tryHanging has the service not answer what need not be known, of packages made elsewhere and of all that are asked about: that
// keeps nobody from what must be.
func tryHanging(w *world) {
	names := []string{w.sendOne(1, 0), w.sendOne(1, 0)}
	if !w.calmly(time.Minute) {
		return
	}
	w.fails("hanging", "/packages/*$", -1, 2*time.Hour)
	for range 6 {
		if _, err := w.stranger.send(w.services[w.current]); err != nil {
			w.model.breaks("the world cannot send from elsewhere: %v", err)
		}
	}
	w.sleep(time.Second)
	for _, name := range names { // of which one event tells, and of the other none
		w.signAll(name)
		w.sleep(time.Second)
		w.fails("hook-dropped", "hook", -1, 10*time.Minute)
	}
	w.checkNow()
	if !w.calmly(3 * time.Minute) {
		return
	}
	for _, name := range names {
		w.model.mustBeSaved(name, "and only what need not be known is not answered")
	}
	w.calmly(2 * time.Hour)
}

// tryKey has the key be made anew: what was sealed for the other one is left aside, and nothing is said to be wrong.
func tryKey(w *world) {
	if w.quit() != nil {
		return
	}
	w.keyring, w.mayBeOut = newKeyring(), true
	w.start()
	w.configure(func(*office.Settings) {})
	w.signIn()
	for range 7 {
		if !w.calmly(24 * time.Hour) {
			return
		}
		if w.model.health.says("backup") {
			w.model.breaks("nothing is said to be wrong that is not: backups are made for another key than before, and it is said that they fail")
			return
		}
	}
}
