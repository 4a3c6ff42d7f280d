package agent

import (
	"context"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/transfer"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
)

// gate is between Run and the loops: while it is shut none of them runs, and so nothing is sent, received or saved. It is shut
// while the state is another one than it will be (restoring.go), and while it moves to or from another computer (moving.go).
type gate struct {
	moves sync.Mutex // held by whoever moves the office or restores it, see begin

	mu    sync.Mutex
	held  int                // how many keep it shut for a moment
	stop  context.CancelFunc // ends the loops; nil while none runs
	ended chan struct{}      // closed when they are gone
	rings chan struct{}      // closed when something has changed
}

// begin has whoever moves the office do so alone, until done.
func (g *gate) begin() (done func()) {
	g.moves.Lock()
	return func() {
		g.moves.Unlock()
		g.ring()
	}
}

// hold shuts the gate for a moment, and returns when no loop runs any more. release lets them run again.
func (g *gate) hold() (release func()) {
	g.mu.Lock()
	g.held++
	stop, ended := g.stop, g.ended
	g.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
	return func() {
		g.mu.Lock()
		g.held--
		g.mu.Unlock()
		g.ring()
	}
}

// enter lets the loops run until ctx ends, or somebody shuts the gate. ended is to be called when they are gone; it is nil
// when they must not begin.
func (g *gate) enter(ctx context.Context) (_ context.Context, ended func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held > 0 {
		return ctx, nil
	}
	ctx, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	g.stop, g.ended = stop, over
	return ctx, func() {
		g.mu.Lock()
		g.stop = nil
		g.mu.Unlock()
		stop()
		close(over)
	}
}

// isHeld reports whether somebody keeps it shut for a moment.
func (g *gate) isHeld() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held > 0
}

// changed is closed with the next change.
func (g *gate) changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rings == nil {
		g.rings = make(chan struct{})
	}
	return g.rings
}

func (g *gate) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rings != nil {
		close(g.rings)
		g.rings = nil
	}
}

// docRestore names the document that says that a backup is still to be restored.
const docRestore = "restore-owed"

// restorePause is the longest pause between two tries.
const restorePause = 5 * time.Minute

// pass returns true when the loops may run, and false once ctx has ended before that. While the office is on another computer, the
// service is still told what it is owed.
func (a *Agent) pass(ctx context.Context) bool {
	for tries := 1; ; tries++ {
		changed := a.gate.changed()
		open, pause := a.takeUp(ctx, tries)
		if open {
			return true
		}
		waiting, stop := context.WithTimeout(ctx, pause)
		var owed sync.WaitGroup
		if _, away := a.movedAway(); away {
			owed.Go(func() { _ = a.account.RunRevocations(waiting) }) // which health says
		}
		select {
		case <-waiting.Done():
		case <-changed:
		}
		stop()
		owed.Wait()
		if ctx.Err() != nil {
			return false
		}
	}
}

// takeUp restores what is to be restored, and reports whether the loops may run. When they may not, it is to be tried again after a
// pause, or with the next change.
func (a *Agent) takeUp(ctx context.Context, tries int) (open bool, pause time.Duration) {
	if a.gate.isHeld() || !a.gate.moves.TryLock() {
		return false, time.Hour
	}
	defer a.gate.moves.Unlock()
	if a.restoreOwed() {
		if a.restoreLate(ctx); a.restoreOwed() {
			return false, a.Backoff(tries, 10*a.Pace.Retry, restorePause)
		}
	}
	_, away := a.movedAway()
	return !away, time.Hour
}

// restoreOwed reports whether a backup is still to be restored.
func (a *Agent) restoreOwed() bool {
	_, owed, err := data.Doc[bool](a.Data, docRestore)
	return owed && err == nil
}

// restoreFirst restores a backup in the place of a state that was lost, before anything else is made of it.
func (a *Agent) restoreFirst(ctx context.Context) (settings bool, r restored, err error) {
	if err := a.oweRestore(); err != nil {
		return false, r, err
	}
	if settings, err = a.backup.restore(); err != nil {
		return false, r, err
	}
	if !a.restoreOwed() {
		a.forgetWanted() // whoever chose one was killed before the state was set aside
		return settings, r, nil
	}
	if r, err = a.restoreNewest(ctx); err != nil { // it is tried again, as while the key is out of reach
		a.Log.Error("restore a backup", "err", err)
		r = restored{waits: true}
	}
	if r.waits {
		return settings, r, nil
	}
	return settings, r, a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docRestore, nil) })
}

// oweRestore notes of a state that knows nothing that there are backups to restore: before anything is put into it, or the
// next start would take it for one that was not lost.
func (a *Agent) oweRestore() error {
	here, err := data.Read(a.Data, "what is known of the office", readBackedUp)
	if err != nil || here.Installation != "" {
		return err
	}
	files, err := transfer.List(locations.Backups(a.p.DataDir))
	if err != nil || len(files) == 0 {
		return err
	}
	return a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docRestore, true) })
}

// restoreLate does the same when the start could not, while no loop runs.
func (a *Agent) restoreLate(ctx context.Context) {
	r, err := a.restoreNewest(ctx)
	if err != nil {
		a.Log.Error("restore a backup", "err", err)
		return
	}
	if r.waits {
		return
	}
	if err := a.Data.UpdateFrozen(func(tx *store.Tx) error { return tx.PutDoc(docRestore, nil) }); err != nil {
		a.Log.Error("note that a backup was restored", "err", err)
		return
	}
	a.Data.Thaw()
	a.Health.Clear(health.RestoreWaits)
	if err := a.reload(ctx); err != nil {
		a.Log.Error("read the restored state", "err", err)
	}
	a.loadMoved()
	a.tellRestored("", true, r)
}

// reload follows a state that took the place of the one before. No loop runs.
func (a *Agent) reload(ctx context.Context) error {
	if err := a.loadInstallation(); err != nil {
		return err
	}
	if err := a.account.Reload(ctx); err != nil {
		return err
	}
	if err := a.webhook.Load(); err != nil {
		return err
	}
	if err := a.announcer.Load(); err != nil {
		return err
	}
	if err := a.form.Load(); err != nil {
		return err
	}
	a.backUp()
	for _, c := range []office.Change{office.StatusChanged, office.PackagesChanged, office.ActivityChanged, office.OutboxChanged, office.SettingsChanged} {
		a.Signal(c)
	}
	return nil
}
