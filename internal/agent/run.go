package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/transfer"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Component names a piece of the agent for Run.
type Component string

const (
	ComponentTunnel    Component = "tunnel"
	ComponentEndpoint  Component = "endpoint"
	ComponentEvents    Component = "events"
	ComponentReconcile Component = "reconcile"
	ComponentSave      Component = "save"
	ComponentOutbox    Component = "outbox"
	ComponentWithdraw  Component = "withdraw"
)

// Run works until ctx ends, then returns nil with every goroutine gone, within five seconds whatever hangs. With no
// parts named all of them run; a command that needs one thing alone names it. After that the agent can be read and
// closed, and nothing else.
//
// Where the gate is shut it waits for that to end, and it begins anew when somebody has held it for a moment.
func (a *Agent) Run(ctx context.Context, only ...Component) error {
	for a.pass(ctx) {
		if working, ended := a.gate.enter(ctx); ended != nil {
			a.work(working, only)
			ended()
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

// work is what Run does while the gate is open.
func (a *Agent) work(ctx context.Context, only []Component) {
	// What finds facts ends first, then what tells them: a fact that is committed as told must be told. The tunnel may
	// take longer, because it finishes its answers, and so may a renewal of the sign-in.
	finding := []loop.Loop{
		{Name: string(ComponentEndpoint), Run: a.webhook.RunEndpoint},
		{Name: string(ComponentEvents), Run: a.packages.RunEvents},
		{Name: string(ComponentReconcile), Run: a.packages.Run},
		{Name: "deadlines", Run: a.packages.RunDeadlines},
		{Name: string(ComponentSave), Run: a.saves.Run},
		{Name: string(ComponentOutbox), Run: a.outbox.Run},
		{Name: string(ComponentWithdraw), Run: a.withdrawals.Run},
	}
	beside := []loop.Loop{
		{Name: string(ComponentTunnel), Run: a.webhook.RunTunnel},
		{Name: "keys", Run: a.account.RunKeys},
		{Name: "form", Run: a.form.Run},
		{Name: "index", Run: a.saves.RunIndex},
		{Name: "network", Run: a.network.Run},
		{Name: "session", Run: a.account.RunSession},
		{Name: "revocations", Run: a.account.RunRevocations},
	}
	if len(only) == 0 {
		finding = append(finding, loop.Loop{Name: "hot folders", Run: a.folders.Run})
		beside = append(beside, loop.Loop{Name: "updates", Run: a.updates.Run}, loop.Loop{Name: "rules", Run: a.followRules})
		beside = append(beside, loop.Loop{Name: "forget", Run: func(ctx context.Context) error { return a.Daily(ctx, a.forget) }})
		beside = append(beside, loop.Loop{Name: "backups", Run: a.backups.Run})
	}
	_ = a.obey(ctx) // which health says; before anything works, also for a command and an office that was brought over
	wanted := func(p loop.Loop) bool {
		named := slices.Contains([]Component{ComponentTunnel, ComponentEndpoint, ComponentEvents, ComponentReconcile, ComponentSave, ComponentOutbox, ComponentWithdraw}, Component(p.Name))
		if p.Name == "deadlines" { // a command that does one thing tells nobody of anything else
			return len(only) == 0
		}
		return len(only) == 0 || !named || slices.Contains(only, Component(p.Name))
	}
	announcing, stopAnnouncing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAnnouncing()
	var announcer, found, others sync.WaitGroup
	if len(only) == 0 {
		a.announcer.Resume()
	}
	announcer.Go(func() { a.announcer.Run(announcing) })
	for _, p := range finding {
		if wanted(p) {
			found.Go(func() { a.Supervise(ctx, p) })
		}
	}
	for _, p := range beside {
		if wanted(p) {
			others.Go(func() { a.Supervise(ctx, p) })
		}
	}
	<-ctx.Done()
	found.Wait()
	stopAnnouncing()
	announcer.Wait()
	others.Wait()
}

// forget counts the day and forgets what has become old. Days are those on which the program ran, as the store counts them,
// so that a wrong clock costs nothing.
func (a *Agent) forget(ctx context.Context) error {
	err := a.Data.Update(func(tx *store.Tx) error {
		_, err := tx.CountDay(a.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("count the day: %w", err)
	}
	failed := func(what string, err error) error {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	}
	return errors.Join( // one that fails day after day keeps none of the others
		failed("let go of copies", a.outbox.ForgetCopies()),
		failed("forget what was dropped", a.forgetDropped()),
		failed("forget what folders sent", a.folders.Forget()),
		failed("forget old events", a.packages.ForgetEvents(ctx)),
	)
}

// Close closes the store. Call it after Run has returned.
func (a *Agent) Close() error {
	a.account.Close()
	a.form.Flush()
	a.p.HTTP.CloseIdleConnections()
	return a.Data.Close()
}

// wakeAll wakes every loop: something they all depend on has changed.
func (a *Agent) wakeAll() {
	a.gate.ring()
	a.webhook.Wake()
	a.account.Wake()
	a.packages.WakeEvents()
	a.packages.Wake()
	a.packages.WakeDeadlines()
	a.outbox.Wake()
	a.withdrawals.Wake()
	a.saves.Wake()
	a.folders.Wake()
	a.updates.Wake()
}

// gate is between Run and the loops: while it is shut none of them runs, and so nothing is sent, received or saved. It is shut
// while the state is another one than it will be (backup.go), and while it moves to or from another computer (move.go).
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
const docRestore = "restore-pending"

// restorePause is the longest pause between two tries.
const restorePause = 5 * time.Minute

// pass returns true when the loops may run, and false once ctx has ended before that. While the office is on another computer, the
// service is still told of sign-ins that have ended.
func (a *Agent) pass(ctx context.Context) bool {
	for tries := 1; ; tries++ {
		changed := a.gate.changed()
		open, pause := a.takeUp(ctx, tries)
		if open {
			return true
		}
		waiting, stop := context.WithTimeout(ctx, pause)
		var revocations sync.WaitGroup
		if _, away := a.movedAway(); away {
			revocations.Go(func() { _ = a.account.RunRevocations(waiting) }) // which health says
		}
		select {
		case <-waiting.Done():
		case <-changed:
		}
		stop()
		revocations.Wait()
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
	if a.restorePending() {
		if a.restoreLate(ctx); a.restorePending() {
			return false, a.Backoff(tries, 10*a.Pace.Retry, restorePause)
		}
	}
	_, away := a.movedAway()
	return !away, time.Hour
}

// restorePending reports whether a backup is still to be restored.
func (a *Agent) restorePending() bool {
	_, pending, err := data.Doc[bool](a.Data, docRestore)
	return pending && err == nil
}

// restoreFirst restores a backup in the place of a state that was lost, before anything else is made of it.
func (a *Agent) restoreFirst(ctx context.Context) (settings bool, r restored, err error) {
	if err := a.oweRestore(); err != nil {
		return false, r, err
	}
	if settings, err = a.backup.restore(); err != nil {
		return false, r, err
	}
	if !a.restorePending() {
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

// networkFree is called when somebody has signed in to the network: whatever it has kept waiting is tried at once.
func (a *Agent) networkFree() {
	a.Breaker.Close()
	a.webhook.Reopen()
	a.saves.Retry()
	a.Quarantine.Now()
	a.packages.Sweep("the network is free")
	a.wakeAll()
}

// wokeUp is called when the wall clock has jumped by that much: whatever was under way before is over, and whatever waits
// for a moment by the clock of then is tried at once.
func (a *Agent) wokeUp(by time.Duration) {
	a.Log.Info("the computer slept, or its clock was set", "by", by.Round(time.Second))
	a.p.Network.Forget() // it may be another network
	a.webhook.WokeUp(by)
	a.account.WokeUp()
	if by < 0 {
		a.account.MendSince(by)
		a.Health.MendSince()
	}
	a.saves.Retry()
	a.Quarantine.Now()
	a.packages.Sweep("the computer woke up")
	a.wakeAll()
}

// moreToCome reports whether something is under way that may end as a fact: an event, a question to the service, a file.
// Whatever ended before has announced its facts.
func (a *Agent) moreToCome() bool {
	now := a.Now()
	_, online := a.account.Online()
	asking := online && a.Breaker.Left(now) == 0
	saving := a.saves.Flowing()
	found, err := data.Read(a.Data, "whether something is under way", func(tx *store.Tx) (found int, err error) {
		events, _, err := tx.PendingEvents("", 1)
		found = len(events)
		if err == nil && asking {
			var packages []office.Package
			packages, err = tx.PackagesDue(a.Due(loop.MaxPackageWait), 1)
			found += len(packages)
		}
		if err == nil && saving {
			var jobs []office.Job
			jobs, err = tx.JobsDue(a.Due(loop.MaxJobWait), 1, nil)
			found += len(jobs)
		}
		return found, err
	})
	// Looked at last: what is recorded is announced a moment later, by whoever is still at work.
	return err == nil && found+a.packages.Backlog()+a.saves.UnderWay() > 0
}

// While more than this many packages or files wait, the agent is catching up.
const catchingUpMany = 5

// catchingUp reports whether more waits than the ordinary work of a moment: packages to be asked about, or files to be
// saved that nothing keeps from it.
func (a *Agent) catchingUp() bool {
	if a.packages.Backlog() > catchingUpMany {
		return true
	}
	if !a.saves.Flowing() {
		return false
	}
	due, err := data.Read(a.Data, "how much is under way", func(tx *store.Tx) ([]office.Job, error) {
		return tx.JobsDue(a.Due(loop.MaxJobWait), catchingUpMany+1, nil)
	})
	return err == nil && len(due) > catchingUpMany
}
