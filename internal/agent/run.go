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
	ComponentTunnel   Component = "tunnel"
	ComponentSave     Component = "save"
	ComponentOutbox   Component = "outbox"
	ComponentWithdraw Component = "withdraw"
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
		{Name: "endpoint", Run: a.webhook.RunEndpoint},
		{Name: "events", Run: a.packages.RunEvents},
		{Name: "status", Run: a.packages.RunStatus},
		{Name: "records", Run: a.packages.RunRecords},
		{Name: "list", Run: a.packages.RunList},
		{Name: "watch", Run: a.packages.RunWatch},
		{Name: string(ComponentSave), Run: a.saves.Run},
		{Name: string(ComponentOutbox), Run: a.outbox.Run},
		{Name: string(ComponentWithdraw), Run: a.withdrawals.Run},
	}
	tunnel := []loop.Loop{{Name: string(ComponentTunnel), Run: a.webhook.RunTunnel}}
	beside := []loop.Loop{
		{Name: "keys", Run: a.account.RunKeys},
		{Name: "form", Run: a.form.Run},
		{Name: "index", Run: a.saves.RunIndex},
		{Name: "network", Run: a.network.Run},
		{Name: "session", Run: a.account.RunSession},
		{Name: "revocations", Run: a.account.RunRevocations},
	}
	_ = a.obey(ctx) // which health says; before anything works, also for a command and an office that was brought over
	if len(only) == 0 {
		finding = append(finding, loop.Loop{Name: "deadlines", Run: a.packages.RunDeadlines}, loop.Loop{Name: "hot folders", Run: a.folders.Run})
		beside = append(beside, loop.Loop{Name: "updates", Run: a.updates.Run}, loop.Loop{Name: "rules", Run: a.followRules},
			loop.Loop{Name: "forget", Run: func(ctx context.Context) error { return a.Daily(ctx, a.forget) }}, loop.Loop{Name: "backups", Run: a.backups.Run})
		a.announcer.Resume()
	} else {
		left := func(l loop.Loop) bool { return !slices.Contains(only, Component(l.Name)) }
		finding, tunnel = slices.DeleteFunc(finding, left), slices.DeleteFunc(tunnel, left)
	}
	announcing, stopAnnouncing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAnnouncing()
	var announcer, found, others sync.WaitGroup
	announcer.Go(func() { a.announcer.Run(announcing) })
	for _, l := range finding {
		found.Go(func() { a.Supervise(ctx, l) })
	}
	for _, l := range append(tunnel, beside...) {
		others.Go(func() { a.Supervise(ctx, l) })
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
