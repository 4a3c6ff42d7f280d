package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"countersign/internal/agent/loop"
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
// Where the gate is shut (gate.go) it waits for that to end, and it begins anew when somebody has held it for a moment.
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
		{Name: "rejects", Run: a.webhook.RunRejects},
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
	a.webhook.Close()
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
