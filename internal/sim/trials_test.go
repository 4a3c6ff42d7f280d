package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// trials are situations that rarely come about by chance, each with what the program must do in it. They take place while
// nothing is wrong in the world, one at a time, and leave nothing wrong behind.
var trials = map[string]func(w *world){
	"lost-answer":   tryLostAnswer,
	"service":       tryService,
	"sign-in":       trySignIn,
	"two-documents": tryTwoDocuments,
	"drive":         tryDrive,
	"expiry":        tryExpiry,
	"own-file":      tryOwnFile,
	"clock":         tryClock,
	"domain":        tryDomain,
	"full":          tryFull,
	"room":          tryRoom,
	"untold":        tryUntold,
	"scans":         tryScans,
	"links":         tryLinks,
	"hanging":       tryHanging,
	"dropped":       tryDropped,
	"extended":      tryExtended,
	"turns":         tryTurns,
	"decline":       tryDecline,
	"restore":       tryRestore,
	"undo":          tryUndo,
	"silence":       trySilence,
	"mishaps":       tryMishaps,
	"correction":    tryCorrection,
	"interrupted":   tryInterrupted,
	"renewal":       tryRenewal,
	"day-off":       tryDayOff,
	"nameless":      tryNameless,
	"declines":      tryDeclines,
	"template":      tryTemplate,
	"changed":       tryChanged,
	"move":          tryMove,
	"large":         tryLarge,
	"two":           tryTwo,
	"refused":       tryRefused,
	"again":         tryAgain,
	"desks":         tryDesks,
}

// drawTrials are all trials in random order, except that of the desks, which has its own test because few lives were played
// with it yet.
func drawTrials(r *rand.Rand) (steps []step) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(trials)), func(name string) bool { return name == "desks" })
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		steps = append(steps, step{between(r, time.Minute, time.Hour), "trial", []string{name}})
	}
	return steps
}

func doTrial(w *world, s step) {
	try := trials[s.word(0)]
	if try == nil || w.office == nil || len(w.model.check()) > 0 {
		return
	}
	if w.getsEvents(); w.office == nil || !w.well() {
		w.trace.line(false, "  no trial: the world is not well")
		return
	}
	defer func() {
		w.wire.heal()
		w.at("", 0, nil)
		if w.stirred = time.Now(); w.office != nil {
			w.mend(0)
		}
	}()
	try(w)
}

// getsEvents signs the office in again if another desk has its events, because the trials are about other things.
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

// well reports whether nothing is wrong in the world. An office without an address need not have the events.
func (w *world) well() bool {
	taken := w.taken && w.settings.Tunnel == office.TunnelExternal
	return w.works() && must(w.office.Status()).SignedIn && !taken && w.keyring.state() == nil && w.wrong == 0 && !w.full && w.flaky.Load() == 0 &&
		len(w.model.saved.out) == 0 && len(w.due) == 0
}

// errBrokenOff aborts a step; see calmly and known.
var errBrokenOff = errors.New("there is nothing more to see")

// calmly lets time pass. If a promise is broken meanwhile, the step and the life end.
func (w *world) calmly(d time.Duration) {
	w.model.list.lookAtChanges() // checks the present state first
	w.sleep(d)
	if w.office == nil || len(w.model.check()) > 0 {
		panic(errBrokenOff)
	}
}

// fails makes the service fail in some way that many times or for that long.
func (w *world) fails(kind, route string, times int, span time.Duration) {
	w.wire.trouble(&fault{kind: kind, path: route, left: times, until: time.Now().Add(span)})
}

// checkNow makes somebody ask for news.
func (w *world) checkNow() {
	w.office.CheckNow()
	w.sleep(time.Second)
}

// sendOne sends a package with that many documents to one signer, to be signed within that time, and returns its name.
func (w *world) sendOne(documents int, due time.Duration) string {
	doSend(w, step{args: []string{fmt.Sprint(documents), "1", "parallel", due.String()}})
	return fmt.Sprintf("No %d", w.sends)
}

// known does the same and returns the package as the service has it. The step ends if the program does not know the package
// within a minute.
func (w *world) known(documents int, due time.Duration) sandbox.Package {
	name := w.sendOne(documents, due)
	w.calmly(time.Minute)
	p, ok := w.atService(name)
	if !ok || !w.model.news.knows(p.PackageID, name) {
		panic(errBrokenOff)
	}
	return p
}

// wantsNews makes sure that people are notified at least of completed packages.
func (w *world) wantsNews() {
	if w.settings.Notify == office.NotifyNone {
		doChoose(w, step{args: []string{"executed"}})
	}
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

// signAll makes everybody sign it.
func (w *world) signAll(name string) {
	for t, more := w.turnOf(name); more && w.sign(w.services[w.current], t); t, more = w.turnOf(name) {
	}
}

// mustBeSaved checks that a completed package is in a folder by now.
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

// tryList makes a package elsewhere of which no event tells.
func tryList(w *world) {
	w.fails("hook-dropped", "hook", -1, 12*time.Hour)
	name := w.elsewhere()
	w.calmly(7 * time.Hour)
	if p, ok := w.atService(name); ok {
		if _, known, err := w.office.Package(p.PackageID); err != nil || !known {
			w.model.breaks("what was made elsewhere is found without its events, too: %q is not known after 7 hours", name)
		}
	}
}

// tryLostAnswer loses the answer to packages/add.
func tryLostAnswer(w *world) {
	w.fails("hook-dropped", "hook", -1, 19*time.Minute) // an event would tell
	w.fails("lost", "/packages/add", 1, time.Hour)
	name := w.sendOne(1, 0)
	w.calmly(20 * time.Minute)
	_, sent := w.atService(name)
	for _, d := range must(w.office.Drafts()) {
		if d.Name == name && sent {
			w.model.breaks("what happened is found out: %q was sent, and is said to be %s", name, d.State)
		}
	}
}

// tryService switches the office to the other service, where at first nobody enters its secret, and back. The service that it
// leaves stops reporting to it.
func tryService(w *world) {
	home := w.current
	for _, n := range []int{1 - home, home} {
		left := w.leaves()
		w.forgets = n != home
		w.moveTo(n)
		w.forgets = false
		w.moveTo(n)
		if w.calmly(10 * time.Minute); w.current != n {
			return
		}
		left()
	}
}

// trySignIn signs out and in again: afterwards the service reports to the office. If it cannot, the program asks about
// everything.
func trySignIn(w *world) {
	doSignOut(w, step{})
	w.calmly(time.Minute)
	w.signIn()
	w.calmly(2 * time.Minute)
	w.model.lookAtEndpoint()
	tunnel := w.settings.Tunnel
	for _, kind := range []office.TunnelKind{office.TunnelNone, tunnel} {
		doAddress(w, step{args: []string{string(kind)}})
		w.calmly(2 * time.Minute)
		w.stirred = time.Now()
		w.signIn()
		w.calmly(sweepWithin + time.Minute)
	}
}

// tryTwoDocuments makes one of two documents arrive later than the other: people are notified once both are there.
func tryTwoDocuments(w *world) {
	w.wantsNews()
	name := w.known(2, 0).Name
	w.fails("wrong", "/packages/*/documents", 5, time.Hour)
	w.signAll(name)
	for range 60 {
		w.calmly(time.Second)
	}
	w.calmly(20 * time.Minute)
}

// trySilence makes the service briefly unreachable while no package is open, so that only the list is requested.
func trySilence(w *world) {
	w.fails("refused", "/", -1, 10*time.Minute)
	w.checkNow()
	w.calmly(9 * time.Minute)
	w.calmly(3 * time.Hour)
	if w.model.health.says("service") {
		w.model.breaks("nothing is said to be wrong that is not: the service answers, and it is said that it does not")
	}
	w.model.idle.lookAtUsage()
}

// tryAgain makes somebody request an immediate retry of everything that would wait for hours.
func tryAgain(w *world) {
	name := w.known(1, 0).Name
	w.fails("wrong", "/packages/*/documents", -1, 6*time.Hour)
	w.signAll(name)
	w.calmly(3 * time.Hour)
	w.wire.heal()
	w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
		a.Act(ctx, agent.Issue{ID: "service", Action: agent.ActRetry})
	})
	w.calmly(time.Minute)
	w.model.mustBeSaved(name, "and somebody wanted everything tried again")
}

// tryDrive makes a document wait for a missing folder; see expectations.
func tryDrive(w *world) {
	name := w.known(1, 0).Name
	doUnplug(w, step{args: []string{"1h0m0s"}})
	w.signAll(name)
	for range 14 {
		w.calmly(5 * time.Minute)
	}
	w.model.mustBeSaved(name, "though the drive is back")
}

// tryExpiry lets the time to sign a package run out.
func tryExpiry(w *world) {
	w.wantsNews()
	p := w.known(1, time.Hour)
	w.calmly(2*time.Hour + 30*time.Minute)
	w.model.news.mustBeTold("expired "+p.Name, "an hour and a half after that")
	if row, _, err := w.office.Package(p.PackageID); err != nil || row.State != office.PackageExpired {
		w.model.breaks("people see how things are: %q has expired and is shown as %s, %v", p.Name, row.State, err)
	}
}

// tryDecline makes somebody decline while the program learns nothing, and lets the time to sign run out before it does.
func tryDecline(w *world) {
	w.wantsNews()
	p := w.known(1, time.Hour)
	doOffline(w, step{args: []string{"3h0m0s"}})
	t := turn{p.PackageID, p.Name, p.Signers[0].SignerID, p.Signers[0].Name}
	w.decline(w.services[w.current], t)
	w.calmly(3*time.Hour + time.Minute)
	w.calmly(20 * time.Minute)
	w.model.news.mustBeTold("declined "+t.who+" "+t.name, "though it has expired since")
}

// tryOwnFile puts a person's own file where a document is about to be saved.
func tryOwnFile(w *world) {
	p := w.known(1, 0)
	w.fails("wrong", "/packages/*/documents", -1, time.Hour)
	w.signAll(p.Name)
	w.calmly(2 * time.Minute)
	row, _, err := w.office.Package(p.PackageID)
	if err != nil || len(row.Files) == 0 || row.Files[0].State == office.JobDone {
		return
	}
	own := row.Files[0].Path
	if _, err := os.Lstat(own); err == nil {
		return // a file is already there
	}
	w.model.saved.own[own] = document(1_000_000+w.sends, 0)
	w.write(own, w.model.saved.own[own])
	w.wire.heal()
	w.checkNow()
	w.calmly(20 * time.Minute)
	w.model.mustBeSaved(p.Name, "and its place is taken by "+filepath.Base(own))
	delete(w.model.saved.own, own)
	os.Remove(own)
}

// tryMishaps disturbs a package in different ways: it is sent and saved nonetheless.
func tryMishaps(w *world) {
	for _, how := range []string{
		"refused /files/upload", "undone /files/upload", "busy /packages/*/status", "killed adding", "killed added",
		"forbidden /packages/*/status", "expired token",
		"short /packages/*/documents", "cut /packages/*/documents", "portal /packages/*/documents", // something other than a document
	} {
		kind, where, _ := strings.Cut(how, " ")
		switch kind {
		case "killed":
			w.at(where, 0, w.dies)
		case "expired":
			w.services[w.current].ExpireAccessTokens()
		default:
			w.fails(kind, where, 2, time.Hour)
		}
		name := w.sendOne(1, 0)
		w.calmly(20 * time.Minute)
		if _, sent := w.atService(name); !sent && kind != "killed" { // nobody may know of it for a day
			w.model.breaks("a draft goes out: %q did not, after %s", name, how)
		}
		w.signAll(name)
		w.calmly(20 * time.Minute)
		w.model.mustBeSaved(name, "after "+how)
		w.wire.heal()
		w.at("", 0, nil)
	}
}

// tryClock sets the clock far ahead for half an hour.
func tryClock(w *world) {
	w.put(60 * 24 * time.Hour)
	w.calmly(30 * time.Minute)
	w.put(-w.wrong)
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
		w.calmly(2 * time.Minute)
		w.model.lookAtEndpoint()
	}
}

// tryFull fills the disk briefly while documents are saved, and while the program is finding out what was signed: more than
// it can store.
func tryFull(w *world) {
	if !w.mounted {
		return
	}
	var names []string
	for range 3 { // those of a single one might fit
		names = append(names, w.sendOne(3, 0))
	}
	w.calmly(time.Minute)
	w.fails("wrong", "/packages/*/documents", -1, time.Hour)
	w.signAll(names[0])
	w.calmly(2 * time.Minute)
	w.wire.heal()
	w.fill(true)
	w.fails("hook-dropped", "hook", -1, 5*time.Minute)
	for _, name := range names[1:] {
		w.signAll(name)
	}
	w.checkNow()
	for range 8 { // long enough to be reported
		w.calmly(5 * time.Minute)
	}
	w.fill(false)
	w.wire.heal()
	w.calmly(30 * time.Minute)
	for _, name := range names {
		w.model.mustBeSaved(name, "though the disk has room again")
	}
}

// tryRoom fills the disk while small commits still fit into the file: that a small one fits does not mean that a larger one
// does, so people must be told for as long as the disk is full.
func tryRoom(w *world) {
	if !w.mounted || !w.listens() {
		return
	}
	p := w.known(1, 0)
	event := func(size int) { w.event(p, size, "valid") }
	w.fill(true)
	for range 8 { // some of them might fit into the file
		if event(900_000); w.model.health.says("data") {
			break
		}
	}
	said := w.model.health.says("data")
	for range 10 {
		event(10)
		w.calmly(time.Minute)
		if said && !w.model.health.says("data") {
			w.model.breaks("health says what is wrong for as long as it is: the disk is full, and nothing is said any more: %v", w.model.health.issues())
			break
		}
	}
	w.fill(false)
	w.calmly(20 * time.Minute)
	event(10)
	if w.calmly(time.Minute); w.model.health.says("data") {
		w.model.breaks("nothing is said to be wrong that is not: the disk has room again, and it is said that it does not")
	}
}

// listens reports whether the service in use reports events to the office.
func (w *world) listens() bool {
	ours := slices.Contains(w.services[w.current].EndpointURLs(), w.settings.PublicURL+"/webhook")
	return ours && w.settings.Tunnel == office.TunnelExternal
}

// event sends an event of that size, of a kind that changes nothing, about a known package, and returns the answer.
func (w *world) event(p sandbox.Package, size int, signature string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	status, _ := w.services[w.current].Forge(ctx, sandbox.Forgery{Action: "package_viewed", Signature: signature, Fields: map[string]any{
		"packageId": p.PackageID, "padding": strings.Repeat("x", size)}})
	return status
}

// tryLarge sends events of maximum size, one after the other, and more than are read at once: each is answered like a small
// one.
func tryLarge(w *world) {
	if !w.listens() {
		return
	}
	p := w.known(1, 0)
	for range 6 {
		for signature, want := range map[string]int{"valid": 200, "wrong": 401} {
			if status := w.event(p, 900_000, signature); status != want && status != 502 { // 502 is the proxy's, which may lose what it has forwarded
				w.model.breaks("what the service sends is taken: a large event, its signature %s, was answered %d", signature, status)
			}
		}
	}
	w.calmly(time.Minute)
}

// tryUntold kills the program while a notification waits for more information.
func tryUntold(w *world) {
	doChoose(w, step{args: []string{"each"}})
	name := w.known(1, 0).Name
	w.fails("wrong", "/packages/*/documents", -1, time.Hour) // the notification of the last signature waits for it
	w.signAll(name)
	w.calmly(5 * time.Second)
	w.kill()
	w.wire.heal()
	w.calmly(20 * time.Minute)
	w.model.news.mustBeTold("signed "+signers[0].FirstName+" "+signers[0].LastName+" "+name, "though the program was killed")
}

// tryTurns makes the service omit whose turn it is: it follows from the order.
func tryTurns(w *world) {
	w.fails("turnless", "/packages", -1, 2*time.Hour)
	doSend(w, step{args: []string{"1", "3", "sequential", "0s"}})
	name := fmt.Sprintf("No %d", w.sends)
	for range 3 {
		w.calmly(20 * time.Minute)
		w.model.lookAtList()
		if t, more := w.turnOf(name); more {
			w.sign(w.services[w.current], t)
		}
	}
}

// tryHanging makes optional requests hang, about packages made elsewhere and about all others: they must not delay the
// necessary ones.
func tryHanging(w *world) {
	names := []string{w.sendOne(1, 0), w.sendOne(1, 0)}
	w.calmly(time.Minute)
	w.fails("hanging", "/packages/*$", -1, 2*time.Hour)
	for range 6 {
		w.elsewhere()
	}
	w.sleep(time.Second)
	for _, name := range names { // an event tells of one of them, nothing of the other
		w.signAll(name)
		w.sleep(time.Second)
		w.fails("hook-dropped", "hook", -1, 10*time.Minute)
	}
	w.checkNow()
	w.calmly(3 * time.Minute)
	for _, name := range names {
		w.model.mustBeSaved(name, "and only what need not be known is not answered")
	}
	w.calmly(2 * time.Hour)
}

// deaf is a file watcher that reports no changes, as on a share. Waiting for real ones would block virtual time.
type deaf struct{}

func (deaf) Set([]string) {}
func (deaf) Close()       {}

// scans is a watched folder, by its number.
func (w *world) scans(number string) string { return filepath.Join(w.disk(), "scans "+number) }

// sendsFrom adds watched folders while play runs, and removes them again.
func (w *world) sendsFrom(many int, ask bool, play func(f []office.HotFolder)) {
	var all []office.HotFolder
	for n := range many {
		f, err := w.office.PutHotFolder(office.HotFolder{Path: w.scans(fmt.Sprint(n + 1)), Signers: signers[:1], Ask: ask})
		if err != nil {
			w.model.breaks("a folder can send: %v", err)
			return
		}
		all = append(all, f)
	}
	play(all)
	for _, f := range all {
		_, err := w.office.RemoveHotFolder(f.ID)
		w.model.holds("a folder need not send any more", err)
	}
	w.calmly(time.Minute)
	for _, f := range all {
		w.model.holds("the world cannot clear away", os.RemoveAll(f.Path))
	}
}

// drop puts a file into a watched folder, and returns its package's name.
func (w *world) drop(folder string) (name string) {
	w.sends++
	name = fmt.Sprintf("No %d", w.sends)
	w.write(filepath.Join(folder, name+".pdf"), document(w.sends, 0))
	w.model.sent.promised(office.NewPackage{Name: name, Files: []string{name + ".pdf"}, Signers: signers[:1]}, w.computer, w.current)
	return name
}

// write writes a file as somebody else.
func (w *world) write(path string, body []byte) {
	w.model.holds("the world cannot write", os.MkdirAll(filepath.Dir(path), 0o700))
	w.model.holds("the world cannot write", os.WriteFile(path, body, 0o600))
}

// tryScans puts files into a watched folder, with and without the program being killed or ended meanwhile: each becomes one
// package, whose signed documents are returned beside it.
func tryScans(w *world) {
	doChoose(w, step{args: []string{"certificates"}}) // so that two files come back
	w.sendsFrom(1, false, func(f []office.HotFolder) {
		for _, point := range []string{"", "folder recorded", "folder moved", "folder drafted", "folder copied", "quit folder moved", "quit folder returned"} {
			what := w.dies
			at, quit := strings.CutPrefix(point, "quit ")
			if quit {
				what = w.quits
			}
			w.at(at, 0, what)
			w.scan(f[0].Path, point)
			w.at("", 0, nil)
		}
	})
}

// scan puts one file into a folder, and lets everybody sign it.
func (w *world) scan(folder, when string) {
	name := w.drop(folder)
	w.calmly(10 * time.Minute)
	if _, sent := w.atService(name); !sent {
		w.model.breaks("what lies in a folder that sends goes out: %q did not within ten minutes (%s)", name, when)
		return
	}
	w.comesBack(folder, name, when)
}

// comesBack lets everybody sign what came from a folder, and checks that the signed documents are returned there.
func (w *world) comesBack(folder, name, when string) {
	w.signAll(name)
	w.calmly(20 * time.Minute)
	w.model.mustBeSaved(name, "and came from a folder that sends")
	w.model.mustBeBeside(folder, name, when)
}

// mustBeBeside checks that the files of a package are in the folder it was sent from, each once.
func (m *model) mustBeBeside(folder, name, when string) {
	found := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(folder, office.HotSigned, "*"))
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), ".") {
			m.breaks("nothing half is left: %s", file)
		} else if body, err := os.ReadFile(file); err == nil {
			found[m.saved.documentOf(body)]++
		}
	}
	for _, document := range m.wishes.owedFiles(m.executed[name]) {
		if found[document] != 1 && document != m.executed[name].master {
			m.breaks("what came from a folder that sends lies there signed: %s of %q does %d times (%s)", document, name, found[document], when)
		}
	}
}

// private is a stranger's file in a watched folder, which must not be sent.
const private = 2_000_000

// tryLinks lets somebody put links and files where the program creates things in one of two watched folders: nothing leads
// out of that one, and the other keeps working.
func tryLinks(w *world) {
	secret := filepath.Join(w.disk(), "private", "No.pdf")
	w.write(secret, document(private, 0))
	w.sendsFrom(2, false, func(f []office.HotFolder) {
		for _, place := range []string{office.HotSigned, office.HotSent, office.HotWaiting} {
			name := w.drop(f[0].Path)
			w.calmly(10 * time.Minute)
			where := filepath.Join(f[0].Path, place)
			aside := filepath.Join(f[0].Path, "aside of "+place)
			os.Rename(where, aside)
			if err := os.Symlink(filepath.Dir(secret), where); err != nil {
				return // a system without links
			}
			w.signAll(name)
			w.drop(f[0].Path)
			w.scan(f[1].Path, "the other one's "+place+" is a link")
			os.Remove(where)
			os.Rename(aside, where)
			w.comesBack(f[0].Path, name, place+" is no link any more")
		}
		w.at("folder moved", 0, func() {
			waiting, _ := filepath.Glob(filepath.Join(f[0].Path, office.HotWaiting, "*", "*.pdf"))
			for _, path := range waiting {
				os.Remove(path)
				os.Symlink(secret, path)
			}
		})
		w.write(filepath.Join(f[0].Path, "Swapped.pdf"), document(private+1, 0))
		w.calmly(10 * time.Minute)
		w.at("", 0, nil)
	})
	inside, err := os.ReadDir(filepath.Dir(secret))
	if body, rerr := os.ReadFile(secret); err != nil || rerr != nil || len(inside) != 1 || !slices.Equal(body, document(private, 0)) {
		w.model.breaks("nothing leaves the folder: %v and %v are where another writer's link led", inside, rerr)
	}
	os.RemoveAll(filepath.Dir(secret))
}

// tryDropped lets the same file appear again within moments. If its program merely wrote it twice, nothing happens; but if
// the folder's signers were corrected meanwhile, or the package was withdrawn, people see what becomes of it, once.
func tryDropped(w *world) {
	for _, between := range []string{"nothing", "corrected", "withdrawn"} {
		w.sendsFrom(1, false, func(all []office.HotFolder) {
			f := all[0]
			name := w.drop(f.Path)
			body := document(w.sends, 0)
			var p string
			for range 30 {
				w.calmly(2 * time.Second)
				if there, sent := w.atService(name); sent && w.model.news.knows(there.PackageID, name) {
					p = there.PackageID
					break
				}
			}
			if p == "" {
				return
			}
			want := 1
			switch between {
			case "corrected":
				want, f.Signers = 2, signers[1:2]
				_, err := w.office.PutHotFolder(f)
				w.model.holds("a folder can send to others", err)
			case "withdrawn":
				want = 2
				there, _ := w.atService(name)
				w.withdraw(there)
				w.calmly(20 * time.Second)
			}
			w.model.sent.may[name] = want
			w.write(filepath.Join(f.Path, name+".pdf"), body)
			w.calmly(10 * time.Minute)
			if seen := w.outcomes(f.Path, name); seen != want {
				w.model.breaks("what lies in a folder that sends is seen by people: %q appeared twice (%s in between), and %d are sent, held or refused", name, between, seen)
			}
			for _, d := range must(w.office.Drafts()) {
				if d.Name == name {
					w.office.Cancel(d.ID)
				}
			}
			for _, p := range w.services[w.current].Packages() {
				if p.Name == name && p.State == "open" {
					w.model.withdrawn.mayWithdraw(p.PackageID)
					w.services[w.current].Rescind(p.PackageID, "A trial", false)
				}
			}
			w.calmly(time.Minute)
		})
	}
}

// outcomes counts the files of that name that people see as sent, waiting in the outbox, or a problem.
func (w *world) outcomes(folder, name string) (n int) {
	for _, p := range w.services[w.current].Packages() {
		if p.Name == name {
			n++
		}
	}
	for _, d := range must(w.office.Drafts()) {
		if d.Name == name && d.State != office.DraftSent && d.State != office.DraftCancelled {
			n++
		}
	}
	texts, _ := filepath.Glob(filepath.Join(folder, office.HotProblems, name+"*.txt"))
	return n + len(texts)
}

// tryExtended lets a package expire, and be signed after its sender has extended it: it is saved like any other.
func tryExtended(w *world) {
	w.sendsFrom(1, false, func(f []office.HotFolder) {
		name := w.drop(f[0].Path)
		w.calmly(10 * time.Minute)
		p, sent := w.atService(name)
		for _, by := range []time.Duration{10 * time.Minute, 48 * time.Hour} {
			if !sent {
				return
			}
			w.model.holds("the world cannot extend", w.services[w.current].Extend(p.PackageID, w.now().Add(by)))
			w.checkNow()
			w.calmly(50 * time.Minute)
		}
		w.comesBack(f[0].Path, name, "it had run out, and was given more time")
	})
}

// tryRefused lets the service refuse a file from a watched folder, and adds a file that is no document: people see both, and
// what is put there again, unchanged or corrected, is sent.
func tryRefused(w *world) {
	w.sendsFrom(1, false, func(f []office.HotFolder) {
		w.fails("forbidden", "/packages/add", 1, time.Hour)
		refused := w.drop(f[0].Path)
		again := document(w.sends, 0)
		w.calmly(10 * time.Minute)
		none := w.drop(f[0].Path)
		whole := document(w.sends, 0)
		w.write(filepath.Join(f[0].Path, none+".pdf"), []byte("no document"))
		w.calmly(10 * time.Minute)
		for name, body := range map[string][]byte{refused: again, none: whole} {
			if w.outcomes(f[0].Path, name) == 0 {
				w.model.breaks("what lies in a folder that sends is seen by people: %q cannot be sent, and is nowhere", name)
			}
			w.write(filepath.Join(f[0].Path, name+".pdf"), body)
			w.calmly(10 * time.Minute)
			if _, sent := w.atService(name); !sent {
				w.model.breaks("what lies in a folder that sends goes out: %q did not, though it was put there again", name)
			}
		}
	})
}
