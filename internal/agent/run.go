package agent

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Part names a piece of the agent for Run.
type Part string

const (
	PartTunnel    Part = "tunnel"
	PartEndpoint  Part = "endpoint"
	PartEvents    Part = "events"
	PartReconcile Part = "reconcile"
	PartSave      Part = "save"
	PartOutbox    Part = "outbox"
)

// Run works until ctx ends, then returns nil with every goroutine gone, within five seconds whatever hangs. With no
// parts named all of them run; a command that needs one thing alone names it. After that the agent can be read and
// closed, and nothing else.
func (a *Agent) Run(ctx context.Context, only ...Part) error {
	// What finds facts ends first, then what tells them: a fact that is committed as told must be told. The tunnel may
	// take longer, because it finishes its answers, and so may a renewal of the sign-in.
	finding := []part{
		{string(PartEndpoint), a.runEndpoint},
		{string(PartEvents), a.runEvents},
		{string(PartReconcile), a.runReconcile},
		{string(PartSave), a.runSaves},
		{string(PartOutbox), a.runOutbox},
	}
	beside := []part{
		{string(PartTunnel), a.runTunnel},
		{"keys", a.runKeys},
		{"tally", a.runTally},
		{"form", a.runForm},
		{"session", a.runSession},
		{"farewells", a.runFarewells},
		{"problems", a.runProblems},
	}
	if len(only) == 0 {
		beside = append(beside, part{"forget", a.runForget})
	}
	wanted := func(p part) bool {
		named := slices.Contains([]Part{PartTunnel, PartEndpoint, PartEvents, PartReconcile, PartSave, PartOutbox}, Part(p.name))
		return len(only) == 0 || !named || slices.Contains(only, Part(p.name))
	}
	announcing, stopAnnouncing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAnnouncing()
	var announcer, found, others sync.WaitGroup
	announcer.Go(func() { a.supervise(announcing, part{"announce", a.runAnnounce}) })
	for _, p := range finding {
		if wanted(p) {
			found.Go(func() { a.supervise(ctx, p) })
		}
	}
	for _, p := range beside {
		if wanted(p) {
			others.Go(func() { a.supervise(ctx, p) })
		}
	}
	<-ctx.Done()
	found.Wait()
	stopAnnouncing()
	announcer.Wait()
	others.Wait()
	return nil
}

// runSession records that the service has ended the sign-in. With ctx it ends the session, so that a renewal that hangs
// ends while the other parts do.
func (a *Agent) runSession(ctx context.Context) error {
	for wait(ctx, time.Hour, a.rings.session) {
		if o := a.current.get(); o.account.SignedIn && !o.signedIn() {
			a.lapse(ctx)
		}
	}
	if svc := a.current.get().service; svc != nil {
		closeSession(svc.session)
	}
	return nil
}

// Close closes the store. Call it after Run has returned.
func (a *Agent) Close() error {
	if svc := a.current.get().service; svc != nil {
		closeSession(svc.session)
	}
	a.closing.Wait()
	a.flushTally()
	a.flushForm()
	return a.st.Close()
}

// runKeys tries the keyring again while it is locked: a person may unlock it at any time. It does so more and more
// rarely, because each time may raise the keyring's own question.
func (a *Agent) runKeys(ctx context.Context) error {
	for n := 1; a.keys.locked(); n++ {
		if !sleep(ctx, a.backoff(n, 30*a.p.Pace.Retry, 15*time.Minute)) {
			return nil
		}
		if a.unlock(ctx) {
			a.wakeAll()
		}
	}
	<-ctx.Done()
	return nil
}

// wakeAll pokes every loop: something they all depend on has changed.
func (a *Agent) wakeAll() {
	for _, r := range []chan struct{}{a.rings.tunnel, a.rings.endpoint, a.rings.events, a.rings.reconcile, a.rings.save, a.rings.outbox, a.rings.farewells} {
		poke(r)
	}
}
