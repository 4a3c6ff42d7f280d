package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// correct makes somebody withdraw a package and send another one in its place, and returns its name.
func (w *world) correct(p sandbox.Package) string {
	w.withdraw(p)
	d := w.compose(step{args: []string{"1", "1", "parallel", "0s"}})
	d.Corrects = p.PackageID
	w.model.mu.Lock()
	w.model.sent.corrects[d.Name] = p.PackageID
	w.model.mu.Unlock()
	w.post(d)
	return d.Name
}

// lookAtCorrections: two versions of one contract can never both be signed.
func (x *sentOnce) lookAtCorrections(s *service) {
	state := map[string]string{}
	for _, p := range s.Packages() {
		state[p.PackageID], state[p.Name] = p.State, p.State
	}
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	for name, old := range x.corrects {
		if was := state[old]; state[name] != "" && (was == "open" || was == "executed") {
			x.m.broken = append(x.m.broken, "one package per draft: "+name+" was sent in the place of one that is "+was)
		}
	}
}

// tryCorrection corrects a package: normally; while the withdrawal does not reach the service; while its answer is lost and
// the service hides the package for an hour; and while everybody signs it before it can be withdrawn.
func tryCorrection(w *world) {
	for _, how := range []string{"plainly", "refused", "lost", "signed"} {
		p := w.known(1, 0)
		switch how {
		case "refused":
			w.fails(how, "/packages/rescind", 2, time.Hour)
		case "lost":
			w.fails("lost", "/packages/rescind", 1, time.Hour)
			w.fails("forbidden", "/packages/*/status", -1, time.Hour)
		case "signed":
			w.fails("refused", "/packages/rescind", -1, 10*time.Minute)
		}
		name := w.correct(p)
		if how == "signed" {
			w.calmly(time.Minute)
			w.signAll(p.Name)
		}
		w.calmly(3 * time.Hour)
		p, _ = w.atService(p.Name)
		if _, sent := w.atService(name); sent == (p.State == "executed") || p.State == "open" {
			w.model.breaks("a draft goes out: %q, which corrects one that is %s (%s): %v", name, p.State, how, sent)
		}
		w.wire.heal()
		w.model.lookAtList()
	}
}

// tryInterrupted kills the program at each point of a save, and restarts it with another folder: unfinished files are
// removed, and nothing exists twice.
func tryInterrupted(w *world) {
	for i, point := range []string{"save created", "save written", "save flushed", "save named", "save done"} {
		name := w.known(1, 0).Name
		w.fails("hook-dropped", "hook", -1, time.Minute)
		w.signAll(name)
		w.at(point, 0, w.dies)
		w.checkNow()
		w.calmly(20 * time.Second)
		w.at("", 0, nil)
		doFolder(w, step{args: []string{string(rune('0' + i%3))}})
		w.calmly(20 * time.Minute)
		w.model.mustBeSaved(name, "though the program was killed at "+point)
		w.model.lookAtTimes() // learned late, by asking
		half, _ := filepath.Glob(filepath.Join(w.disk(), "folder *", ".*.part"))
		if len(half) > 0 && w.computer == 0 {
			w.model.breaks("nothing half is left: %q, killed at %s", half, point)
		}
	}
}

// tryRenewal fills the disk while the sign-in is renewed, so that the new token cannot be stored: it is stored once there is
// room.
func tryRenewal(w *world) {
	if !w.mounted {
		return
	}
	w.at("renewed", 0, func() { w.fill(true) })
	for range 12 {
		if w.calmly(5 * time.Minute); w.full {
			break
		}
	}
	w.at("", 0, nil)
	w.calmly(10 * time.Minute)
	w.fill(false)
	w.calmly(40 * time.Minute)
	w.kill()
	if w.calmly(2 * time.Minute); !must(w.office.Status()).SignedIn {
		w.model.breaks("a sign-in outlives a full disk: nobody is signed in: %v", w.model.health.issues())
	}
}

// tryDayOff cuts the office's network for a day, in which people sign and the program is restarted.
func tryDayOff(w *world) {
	w.wantsNews()
	var names []string
	for len(names) < 7 { // more than are announced one by one
		names = append(names, w.sendOne(1, 0))
	}
	w.calmly(2 * time.Minute)
	doOffline(w, step{args: []string{"27h"}})
	for _, name := range names {
		w.signAll(name)
		w.calmly(3*time.Hour + 30*time.Minute)
	}
	doQuit(w, step{args: []string{"2h"}})
	w.calmly(90 * time.Minute)
	for _, name := range names {
		w.model.mustBeSaved(name, "an hour after a day without a network")
		w.model.news.mustBeTold("finished "+name, "an hour after a day without a network")
	}
}

// tryNameless makes the service omit the times in lists and the ids of documents for a while.
func tryNameless(w *world) {
	name := w.known(2, 0).Name
	w.fails("timeless", "/packages/list", -1, 12*time.Hour)
	w.fails("idless", "/packages/*/status", -1, time.Hour)
	w.signAll(name)
	w.calmly(3 * time.Hour)
	w.model.mustBeSaved(name, "and the service names its documents by now")
	tryList(w)
}

// tryDeclines makes two people decline, with the program being killed in between.
func tryDeclines(w *world) {
	w.wantsNews()
	doSend(w, step{args: []string{"1", "3", "parallel", "0s"}})
	name := fmt.Sprintf("No %d", w.sends)
	w.calmly(time.Minute)
	for range 2 {
		if t, more := w.turnOf(name); more && w.model.news.knows(t.pack, name) {
			w.decline(w.services[w.current], t)
			w.checkNow()
			w.calmly(time.Minute)
			w.model.news.mustBeTold("declined "+t.who+" "+name, "and somebody asked")
			w.kill()
			w.calmly(10 * time.Minute)
		}
	}
	w.model.lookAtList()
}

// tryTemplate makes a package from a template, one of whose documents is replaced by a file.
func tryTemplate(w *world) {
	var t office.Template
	w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
		all, _ := a.Templates(ctx, "Engagement letter")
		if len(all) > 0 {
			t = all[0]
		}
	})
	if w.calmly(time.Minute); len(t.Documents) != 2 || len(t.Roles) != 2 {
		w.model.breaks("a template is offered: %+v", t)
		return
	}
	d := w.compose(step{args: []string{"1", "2", "parallel", "0s"}})
	own := t.Signers()
	for i := range own {
		own[i].FirstName, own[i].LastName, own[i].Email = signers[i].FirstName, signers[i].LastName, signers[i].Email
	}
	t.Documents[0].Data = map[string]string{t.Documents[0].Fields[0].ID: "Ruiz and Weber"}
	t.Documents[1].File, d.Files = d.Files[0], nil
	d.Template, d.Signers, d.EmptyFields = &t, own, true
	w.post(d, t.Documents[0].Name, t.Documents[1].Name)
	w.calmly(5 * time.Minute)
	w.model.lookAtList()
	w.signAll(d.Name)
	w.calmly(20 * time.Minute)
	w.model.mustBeSaved(d.Name, "and was made from a template")
}

// tryChanged changes a draft that waits for a person, and at the same moment sends it as it is: only one package results.
func tryChanged(w *world) {
	w.sendsFrom(1, true, func(f []office.HotFolder) {
		name := w.drop(f[0].Path)
		w.calmly(10 * time.Minute)
		drafts := must(w.office.Drafts())
		i := slices.IndexFunc(drafts, func(d office.Draft) bool { return d.Name == name && d.State == office.DraftHeld })
		if i < 0 {
			w.model.breaks("what waits is counted: %q does not wait", name)
			return
		}
		id := drafts[i].ID
		w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
			d, lost, err := a.Again(ctx, id)
			if err != nil || len(lost) > 0 {
				w.model.breaks("what waits can be changed: %v, %q", err, lost)
				return
			}
			d.Signers, d.Replaces = signers[1:2], []string{id}
			a.Send(ctx, d, nil)
		})
		w.office.Decide(id, true, 0)
		w.calmly(20 * time.Minute)
		if n := w.outcomes(f[0].Path, name); n != 1 {
			w.model.breaks("one package per draft: %q was changed and sent, and is %d times", name, n)
		}
		w.comesBack(f[0].Path, name, "it was changed")
	})
}

// tryMove moves the office to another computer, with a waiting draft and a package that people sign.
func tryMove(w *world) {
	const password = "a long enough password"
	open := w.known(1, 0).Name
	w.fails("refused", "/files/upload", -1, 20*time.Minute)
	w.pressed = time.Second
	waits := w.sendOne(1, 0)
	w.pressed = 0
	w.calmly(time.Minute)
	file := filepath.Join(w.disk(), "data to move "+strings.TrimPrefix(waits, "No "))
	w.ask(10*time.Minute, func(ctx context.Context, a *agent.Agent) {
		w.model.holds("an office can move", a.MoveOut(ctx, file, password))
	})
	w.sleep(time.Minute)
	w.stopped()
	w.model.saved.lookAtFolders()
	w.newComputer()
	if err := w.open(); err != nil {
		w.model.breaks("the program starts: %v", err)
		return
	}
	w.run()
	w.model.sent.brought(waits)
	w.ask(10*time.Minute, func(ctx context.Context, a *agent.Agent) {
		found, err := a.ReadMove(ctx, file, password)
		if err == nil {
			err = a.MoveIn(ctx, file, password, found.Digest, w.settings.SaveTo)
		}
		w.model.holds("an office can be brought over", err)
	})
	w.calmly(time.Minute)
	os.Remove(file)
	w.wire.heal()
	w.signIn()
	w.calmly(time.Hour)
	for _, d := range must(w.office.Drafts()) {
		if d.Name == waits && (d.State == office.DraftHeld || d.State == office.DraftUnknown) {
			w.office.Decide(d.ID, true, 0)
		}
	}
	w.calmly(20 * time.Minute)
	if _, sent := w.atService(waits); !sent {
		w.model.breaks("a draft goes out: %q waited when the office moved, and did not", waits)
	}
	w.signAll(open)
	w.calmly(20 * time.Minute)
	w.model.mustBeSaved(open, "and was sent before the office moved")
}

// tryUndo sends one package and withdraws another, both with a moment for undoing, in which the program is killed or ends,
// or somebody undoes both: what was requested is done, unless it was undone.
func tryUndo(w *world) {
	for _, ends := range []string{"killed", "ended", "taken back"} {
		p := w.known(1, 0)
		w.pressed = undoable
		name := w.sendOne(1, 0)
		w.pressed = 0
		w.model.withdrawn.mayWithdraw(p.PackageID)
		w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
			a.Withdraw(ctx, office.NewWithdrawal{Packages: []string{p.PackageID}, Undo: undoable})
		})
		drafts := must(w.office.Drafts())
		i := slices.IndexFunc(drafts, func(d office.Draft) bool { return d.Name == name })
		if i < 0 {
			w.model.breaks("what people press is kept: %q is not among the drafts", name)
			return
		}
		w.sleep(undoable / 3)
		switch ends {
		case "killed":
			w.kill()
		case "ended":
			doQuit(w, step{})
		default:
			w.model.sent.takenBack(name)
			cancelled, err := w.office.Cancel(drafts[i].ID)
			kept, err2 := w.office.KeepPackage(p.PackageID)
			if err != nil || err2 != nil || !cancelled || !kept {
				w.model.breaks("what was pressed can be taken back for a moment: %v %v, %v %v", cancelled, kept, err, err2)
			}
		}
		w.sleep(10 * time.Minute)
		p, _ = w.atService(p.Name)
		if _, sent := w.atService(name); sent == (ends == "taken back") || (p.State == "rescinded") == (ends == "taken back") {
			w.model.breaks("what people press is done: %s within its moment, sent: %v, the other one is %s", ends, sent, p.State)
		}
	}
}

// takenBack records that a draft must not be sent.
func (x *sentOnce) takenBack(name string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	delete(x.drafts, name)
}

// tryRestore restores a backup after which files were waiting and packages were sent, signed and saved: nothing is sent,
// saved or announced again, and nothing that waits is lost from view.
func tryRestore(w *world) {
	w.sendsFrom(2, false, func(f []office.HotFolder) {
		sends, asks := f[0], f[1]
		asks.Ask = true
		if _, err := w.office.PutHotFolder(asks); err != nil {
			w.model.breaks("a folder can ask: %v", err)
			return
		}
		before, waits := w.drop(sends.Path), []string{w.drop(asks.Path)}
		w.calmly(10 * time.Minute)
		w.backedUp()
		backup := must(agent.Backups(w.dataDir()))[0]
		since, open := w.drop(sends.Path), w.drop(sends.Path)
		waits = append(waits, w.drop(asks.Path))
		w.calmly(10 * time.Minute)
		doChoose(w, step{args: []string{"certificates"}})
		w.fails("forbidden", "/packages/*/documents/*/pdf/cac", -1, 2*time.Hour) // people are notified before it comes
		w.signAll(since)
		w.signAll(before)
		w.calmly(30 * time.Minute)
		w.goesBack(backup.Path)
		w.calmly(6 * time.Hour)
		for _, name := range []string{before, since} {
			w.model.mustBeBeside(sends.Path, name, "after the restoring")
		}
		for _, name := range waits {
			if n := w.outcomes(asks.Path, name); n != 1 {
				w.model.breaks("what waits is counted: %q is %d times after the restoring", name, n)
			}
		}
		w.comesBack(sends.Path, open, "it was sent before the restoring")
		for _, d := range must(w.office.Drafts()) {
			if d.State == office.DraftHeld {
				w.model.sent.goesOn(d.Name)
				_, err := w.office.Decide(d.ID, true, 0)
				w.model.holds("what waits can be sent after the restoring", err)
			}
		}
		w.calmly(10 * time.Minute)
		for _, name := range waits {
			w.comesBack(asks.Path, name, "it waited when the office went back")
		}
	})
}

// backedUp waits for the next backup, which is made within two hours of a new date on the computer's clock.
func (w *world) backedUp() {
	for dates, hours := w.shown(), 0; hours <= 2; {
		if w.shown() > dates {
			hours++
		}
		was := must(agent.Backups(w.dataDir()))
		w.calmly(time.Hour)
		if is := must(agent.Backups(w.dataDir())); len(is) > 0 && (len(was) == 0 || is[0].Path != was[0].Path) {
			return
		}
	}
	w.model.breaks("a backup is made each day")
}

// goesBack makes somebody restore a backup.
func (w *world) goesBack(backup string) {
	if err := w.stopped(); err != nil {
		w.model.breaks("the program ends: %v", err)
		return
	}
	if _, err := agent.PrepareRestore(context.Background(), w.keyring, w.dataDir(), backup); err != nil {
		w.model.breaks("a backup can be restored: %v", err)
		return
	}
	w.model.replaced() // it knows nothing of what happened since the backup
	w.start()
}

// tryTwo lets another computer of the office save to the same folder, by polling only: each document is there once, and
// listed once.
func tryTwo(w *world) {
	doChoose(w, step{args: []string{"index"}})
	h := &host{}
	a, err := w.program(h, filepath.Join(w.disk(), "data beside"), newKeyring())
	if err != nil {
		w.model.breaks("the program starts: %v", err)
		return
	}
	s := w.settings
	s.Tunnel, s.Redirect, s.RedirectURI = office.TunnelNone, office.RedirectPaste, returnURL
	ctx, stop := context.WithCancel(context.Background())
	w.model.holds("a second computer can be set up", a.Configure(ctx, s, w.secrets()))
	w.running.Go(func() { a.Run(ctx) })
	signedIn := make(chan error, 1)
	w.people.Go(func() { signedIn <- a.SignIn(ctx, agent.SignInOptions{}, w.browser(h, a, s)) })
	w.sleep(time.Minute)
	defer func() {
		stop()
		w.sleep(20 * time.Second)
		a.Close()
		h.kill()
		w.wire.idle(h)
		os.RemoveAll(filepath.Join(w.disk(), "data beside"))
	}()
	w.model.holds("somebody can sign in at a second computer", <-signedIn)
	for range 2 {
		name := w.known(2, 0).Name
		w.calmly(10 * time.Minute)
		w.signAll(name)
		w.calmly(40 * time.Minute)
		w.model.mustBeSaved(name, "and two computers save it")
	}
}
