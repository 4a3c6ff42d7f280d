package sim

import (
	"context"
	"slices"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// tryUndo has a package sent and withdrawn that can be taken back for a moment, within which the program is killed, or ends, or
// somebody takes it back: what was pressed is done, unless it was taken back.
func tryUndo(w *world) {
	for _, ends := range []string{"killed", "ended", "taken back"} {
		name := w.sendUndoable()
		var d office.Draft
		if all := must(w.office.Drafts()); slices.ContainsFunc(all, func(x office.Draft) bool { d = x; return x.Name == name }) {
			w.within(ends, func() (bool, error) { return w.office.Cancel(d.ID) })
		} else {
			w.model.breaks("what people press is kept: %q is not among the drafts", name)
		}
		if ends == "taken back" {
			w.model.sent.takenBack(name)
		}
		if w.office == nil || !w.calmly(10*time.Minute) {
			return
		}
		if _, sent := w.atService(name); sent == (ends == "taken back") {
			w.model.breaks("what people press is done: %q was %s within its moment, sent: %v", name, ends, sent)
		}
	}
	for _, ends := range []string{"killed", "ended", "taken back"} {
		name := w.sendOne(1, 0)
		if !w.calmly(time.Minute) {
			return
		}
		p, ok := w.atService(name)
		if !ok || !w.model.news.knows(p.PackageID, name) {
			return
		}
		w.model.withdrawn.mayWithdraw(p.PackageID)
		w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
			a.Withdraw(ctx, office.NewWithdrawal{Packages: []string{p.PackageID}, Undo: undoable})
		})
		w.within(ends, func() (bool, error) { return w.office.KeepPackage(p.PackageID) })
		if w.office == nil || !w.calmly(10*time.Minute) {
			return
		}
		if p, _ := w.atService(name); (p.State == "rescinded") == (ends == "taken back") {
			w.model.breaks("what people press is done: the withdrawal of %q was %s within its moment, which is %s", name, ends, p.State)
		}
	}
}

// sendUndoable sends a package that can be taken back for a moment, and returns its name.
func (w *world) sendUndoable() string {
	w.pressed = undoable
	name := w.sendOne(1, 0)
	w.pressed = 0
	return name
}

// within has the program end in the way of that name, or somebody take back what was pressed, while that can be.
func (w *world) within(ends string, back func() (inTime bool, err error)) {
	w.sleep(undoable / 3)
	switch ends {
	case "killed":
		w.kill()
	case "ended":
		doQuit(w, step{})
	default:
		if inTime, err := back(); err != nil || !inTime {
			w.model.breaks("what was pressed can be taken back for a moment: %v, %v", inTime, err)
		}
	}
}

// takenBack hears that a draft is not to be sent.
func (x *sentOnce) takenBack(name string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	delete(x.drafts, name)
}
