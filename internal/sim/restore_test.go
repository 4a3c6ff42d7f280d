package sim

import (
	"context"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// tryRestore has an office go back to a backup, with files that wait and packages that were sent, signed and saved since it was
// made: nothing is sent, saved or told again, and nothing that waits is out of sight.
func tryRestore(w *world) {
	w.sendsFrom(2, false, func(f []office.HotFolder) {
		sends, asks := f[0], f[1]
		asks.Ask = true
		if _, err := w.office.PutHotFolder(asks); err != nil {
			w.model.breaks("a folder can ask: %v", err)
			return
		}
		before, waits := w.drop(sends.Path), []string{w.drop(asks.Path)}
		if !w.calmly(10*time.Minute) || !w.backedUp() {
			return
		}
		backup := must(agent.Backups(w.dataDir()))[0]
		since, open := w.drop(sends.Path), w.drop(sends.Path)
		waits = append(waits, w.drop(asks.Path))
		if !w.calmly(10 * time.Minute) {
			return
		}
		doChoose(w, step{args: []string{"certificates"}})
		w.fails("forbidden", "/packages/*/documents/*/pdf/cac", -1, 2*time.Hour) // people are told before it comes
		w.signAll(since)
		w.signAll(before)
		if !w.calmly(30*time.Minute) || !w.goesBack(backup.Path) || !w.calmly(6*time.Hour) {
			return
		}
		for _, name := range []string{before, since} {
			w.model.mustBeBeside(sends.Path, name, "after the restoring")
		}
		for _, name := range waits {
			if n := w.outcomes(asks.Path, name); n != 1 {
				w.model.breaks("what waits is counted: %q is %d times after the restoring", name, n)
			}
		}
		if !w.comesBack(sends.Path, open, "it was sent before the restoring") {
			return
		}
		for _, d := range must(w.office.Drafts()) {
			if d.State == office.DraftHeld {
				if err := w.office.Decide(d.ID, true, 0); err != nil {
					w.model.breaks("what waits can be sent after the restoring: %v", err)
				}
			}
		}
		if !w.calmly(10 * time.Minute) {
			return
		}
		for _, name := range waits {
			if !w.comesBack(asks.Path, name, "it waited when the office went back") {
				return
			}
		}
	})
}

// backedUp waits for the next backup.
func (w *world) backedUp() bool {
	for range 26 {
		was := must(agent.Backups(w.dataDir()))
		if !w.calmly(time.Hour) {
			return false
		}
		if is := must(agent.Backups(w.dataDir())); len(is) > 0 && (len(was) == 0 || is[0].Path != was[0].Path) {
			return true
		}
	}
	w.model.breaks("a backup is made each day")
	return false
}

// goesBack has somebody restore a backup.
func (w *world) goesBack(backup string) bool {
	if err := w.quit(); err != nil {
		w.model.breaks("the program ends: %v", err)
		return false
	}
	if _, err := agent.PrepareRestore(context.Background(), w.keyring, w.dataDir(), backup); err != nil {
		w.model.breaks("a backup can be restored: %v", err)
		return false
	}
	w.model.replaced() // of what came since the backup knows nothing
	w.start()
	return w.office != nil
}
