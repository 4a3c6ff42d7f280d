package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/announce"
	"countersign/internal/agent/data"
	"countersign/internal/agent/desks"
	"countersign/internal/agent/download"
	"countersign/internal/agent/form"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/network"
	"countersign/internal/agent/proof"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/transfer"
	"countersign/internal/agent/webhook"
	"countersign/internal/agent/withdraw"
	"countersign/internal/disk"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/preview"
	"countersign/internal/proxy"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// Open opens the office's data folder and unlocks its keys. An unreadable keyring is not an error: the agent runs, reports it to
// health and tries again. The errors of store.Open (in use, newer, corrupt) are returned wrapped.
func Open(ctx context.Context, p Params) (*Agent, error) {
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.FolderEvents == nil {
		p.FolderEvents = hotfolder.Listen
	}
	if p.Jitter == nil {
		p.Jitter = rand.Float64
	}
	if p.Language == nil {
		p.Language = func() string { return "" }
	}
	if p.Words == nil {
		p.Words = message.English
	}
	if p.ShowSteps == nil {
		p.ShowSteps = func(office.Activity) {}
	}
	if p.Policy == nil {
		p.Policy = func() policy.Policy { return policy.Policy{} }
	}
	if p.Crash == nil {
		p.Crash = func(string) {}
	}
	if p.Stream.Connect == nil {
		p.Stream = desks.NATS()
	}
	p.Network = cmp.Or(p.Network, proxy.OfSystem())
	if p.HTTP == nil {
		p.HTTP = esign.NewHTTPClient(p.Network.DialContext)
	}
	p.Pace = p.Pace.Complete()
	a := &Agent{p: p, gate: gate{rings: make(chan struct{}, 1)}, services: services{documents: preview.NewReader(p.DocumentReader...), budget: reconcile.NewBudget(p.Pace)}}
	a.decided.Store(&decided{})
	watchers := &loop.Watchers[office.Change]{}
	a.Base = loop.Base{
		Log: p.Log, Now: p.Now, Jitter: p.Jitter, Pace: p.Pace, Signal: watchers.Signal, Show: p.ShowSteps,
		Quarantine: &loop.Retries{}, Asked: &loop.Retries{}, Breaker: &loop.Breaker{}, Served: &loop.Served{}, Watch: watchers.Watch, Crash: p.Crash,
	}
	healthChanges := make(chan struct{}, 1)
	a.Health = health.New(p.Now, func() {
		a.Signal(office.StatusChanged)
		loop.Wake(healthChanges)
	})
	var aside string
	var err error
	if a.Data, aside, err = data.Open(locations.State(p.DataDir), p.Log, p.Now, a.Health); err != nil {
		return nil, err
	}
	a.backup = &backup{path: locations.Backup(p.DataDir), st: a.Data}
	if err = a.join(healthChanges); err == nil {
		err = a.load(ctx, aside)
	}
	if err != nil {
		a.Data.Close()
		return nil, err
	}
	return a, nil
}

// join makes and wires the services. healthChanges signals that the issues have changed.
func (a *Agent) join(healthChanges <-chan struct{}) (err error) {
	p := a.p
	a.network = network.New(a.Base, network.Deps{HTTP: p.HTTP, Settings: a.Settings, Free: a.networkFree})
	a.account = account.New(a.Base, account.Deps{
		Keeper: p.Keeper, HTTP: p.HTTP, Words: p.Words, Message: Message,
		Address: func(ctx context.Context) (string, bool) { return a.webhook.WaitOpen(ctx) },
		Changed: a.backUp,
		SignedUp: func() {
			a.saves.Resume()
			a.packages.Sweep("somebody signed in")
			a.wakeAll()
		},
		Unlocked: a.wakeAll,
		Returned: func() { a.packages.SweepInTime("the service works again") },
		Failed:   a.network.Failed,
	})
	a.Session = a.account
	a.desks = desks.New(a.Base, desks.Deps{
		Stream: p.Stream, Folder: locations.Desks(p.DataDir), Settings: a.Settings, Vault: a.account.Vault(), Dial: p.Network.DialContext,
		Person: func() string { return a.account.Current().Account.Email },
		Hears:  func() time.Time { return a.webhook.ListeningSince() },
		Take: func(ctx context.Context, url, service, signature string, body []byte) error {
			return a.webhook.Take(ctx, url, service, signature, body)
		},
		Returned: func() { a.packages.SweepOpened() },
		Changed:  a.backUp,
		Adopt: func(ctx context.Context, servers, pin string) error {
			_, err := a.ChangeSettings(ctx, func(s office.Settings) office.Settings {
				s.Office, s.OfficePin = servers, pin
				return s
			}, office.Secrets{})
			return err
		},
	})
	a.webhook = webhook.New(a.Base, webhook.Deps{
		Vault: a.account.Vault(),
		Current: func() webhook.Current {
			o := a.account.Current()
			client, _ := a.account.OnlineIn(o)
			return webhook.Current{Settings: o.Settings, Client: client, Account: o.Sender(), MayRegister: o.Account.May("organization")}
		},
		Certificate: a.account.Certificate,
		Callback:    a.account.ServeCallback,
		OpenPort:    p.OpenPort,
		Dial:        p.Network.DialContext,
		HTTP:        p.HTTP,
		Office:      a.desks,
		Arrived:     func() { a.packages.WakeEvents() },
		ReadList:    func() { a.packages.ReadList() },
		Sweep:       func(why string) { a.packages.Sweep(why) },
		Returned:    func() { a.packages.SweepOpened() },
	})
	a.account.Endpoint = a.webhook
	a.announcer, err = announce.New(a.Base, announce.Deps{
		Settings: a.Settings, Member: func() string { return a.account.Current().Account.MemberID }, Notify: p.Notify, Words: p.Words, MoreToCome: a.moreToCome, CatchingUp: a.catchingUp, HealthChanges: healthChanges,
		Windowed: p.Windowed, CanOpen: p.OpenSaved != nil,
	})
	if err != nil {
		return err
	}
	a.saves = download.New(a.Base, download.Deps{
		Settings: a.Settings, Language: p.Language, Installation: func() string { return a.installation },
		Lasts: func(folder string) bool { return !locations.Fleeting(folder) && !disk.Inside(folder, p.DataDir) }, Saved: a.saved, Announce: a.announcer.Announce, Ended: a.fileEnded,
		Ask: func() { a.packages.Wake() },
	})
	examiner := preview.NewReader(p.DocumentReader...) // separate, so that it does not delay pictures
	a.proof = proof.New(a.Base, proof.Deps{
		FolderAway: a.saves.FolderAway, Settings: a.Settings, Installation: func() string { return a.installation }, Vault: a.account.Vault(), HTTP: p.HTTP,
		Examine: func(ctx context.Context, document *os.File, what string) ([]byte, error) {
			if what == "seal" { // other files may name authorities, too
				if err := preview.CheckHeader(document); err != nil {
					return nil, err
				}
			}
			return examiner.Ask(ctx, document, what, proof.MaxFound)
		},
		Comparing: proof.Comparing{
			Compare: func(ctx context.Context, sent, back *os.File) ([]byte, error) {
				return examiner.AskAboutBoth(ctx, sent, back, "compare", proof.MaxFound)
			},
			Draw: a.documents.Page,
			Sent: func(f office.DraftFile) (*os.File, error) { return a.outbox.OpenSent(f) },
		},
		Busy: a.catchingUp, Words: p.Words, Version: p.Version,
	})
	a.packages = reconcile.New(a.Base, reconcile.Deps{
		Settings: a.Settings, Since: func() time.Time { return a.account.Current().Account.Since },
		Budget: a.budget,
		Files:  a.saves, News: a.announcer, Webhook: a.webhook,
		Claim:  a.claim,
		Drafts: func() { a.outbox.Wake(); a.lists.Wake(); a.withdrawals.Wake() }, WokeUp: a.wokeUp,
	})
	a.Data.Committed = func(added []office.Activity) {
		a.Committed(added)
		a.announcer.WorkEnded()
	}
	a.outbox = a.newOutbox()
	a.lists = a.newLists()
	a.withdrawals = withdraw.New(a.Base, withdraw.Deps{
		Who: func() string { return a.account.Current().Account.Email }, Question: a.budget.Wait,
		Note: a.packages.Note, NoteGone: a.packages.NoteGone, NotDone: a.announcer.NotWithdrawn, Announce: a.announcer.Announce,
		Ended: a.outbox.Wake,
	})
	a.folders = a.newHotFolders()
	if a.updates, err = a.newUpdates(); err != nil {
		return err
	}
	a.backups = transfer.NewBackups(a.Base, transfer.Options{
		Folder: locations.Backups(p.DataDir), Documents: locations.Outbox(p.DataDir), Header: a.header, Busy: a.catchingUp,
		Key: func() (safe.Secret, bool) {
			key, err := a.account.BackupKey()
			return safe.Secret(key), err == nil
		},
	})
	a.form, err = form.New(a.Base)
	return err
}

// load reads the settings and the account, unlocks the keys and sets the service up. aside names a damaged file that was set aside.
func (a *Agent) load(ctx context.Context, aside string) error {
	settings, restored, err := a.restoreFirst(ctx, aside)
	if err != nil {
		return err
	}
	if err := a.account.Load(); err != nil {
		return err
	}
	a.readRules()
	if err := a.loadInstallation(); err != nil {
		return err
	}
	if err := errors.Join(a.webhook.Load(), a.desks.Load()); err != nil {
		return err
	}
	a.account.Begin(ctx)
	a.backUp()
	a.loadUnread()
	a.tellRestored(aside, settings, restored)
	a.loadMoved()
	if restored.waits {
		a.Data.Freeze(message.RestoreWaits())
	}
	return nil
}

// Component names a part of the agent for Run.
type Component string

const (
	ComponentTunnel   Component = "tunnel"
	ComponentSave     Component = "save"
	ComponentOutbox   Component = "outbox"
	ComponentLists    Component = "lists"
	ComponentWithdraw Component = "withdraw"
)

// NotRunning makes health say that only a command works here.
func (a *Agent) NotRunning() { a.Health.Set(health.NotRunning, message.NotRunning()) }

// Run works until ctx ends, then returns with every goroutine gone, within five seconds whatever hangs. It runs all parts, or only
// those named, for commands that need one. Afterwards the agent can only be read and closed.
//
// If the gate is shut, Run waits for it to open, and it restarts whenever it has been shut for a moment.
func (a *Agent) Run(ctx context.Context, only ...Component) {
	for a.pass(ctx) {
		if working, ended := a.gate.enter(ctx); ended != nil {
			a.work(working, only)
			ended()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// work is what Run does while the gate is open.
func (a *Agent) work(ctx context.Context, only []Component) {
	// What finds facts ends before what reports them: a fact committed as reported must be reported. The tunnel may take longer
	// because it finishes its answers, and so may a renewal of the sign-in.
	finding := []loop.Loop{
		{Name: "endpoint", Run: a.webhook.RunEndpoint},
		{Name: "events", Run: a.packages.RunEvents},
		{Name: "status", Run: a.packages.RunStatus},
		{Name: "records", Run: a.packages.RunRecords},
		{Name: "list", Run: a.packages.RunList},
		{Name: "watch", Run: a.packages.RunWatch},
		{Name: string(ComponentSave), Run: a.saves.Run},
		{Name: string(ComponentOutbox), Run: a.outbox.Run},
		{Name: string(ComponentLists), Run: a.lists.Run},
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
	_ = a.obey(ctx) // health reports errors; before any work, also for a command and an office that was moved in
	if len(only) == 0 {
		finding = append(finding, loop.Loop{Name: "deadlines", Run: a.packages.RunDeadlines}, loop.Loop{Name: "hot folders", Run: a.folders.Run}, loop.Loop{Name: "desks", Run: a.desks.Run})
		beside = append(beside, loop.Loop{Name: "updates", Run: a.updates.Run}, loop.Loop{Name: "record", Run: a.proof.RunRecord}, loop.Loop{Name: "rules", Run: a.followRules},
			loop.Loop{Name: "forget", Run: func(ctx context.Context) error { return a.Daily(ctx, a.forget) }}, loop.Loop{Name: "backups", Run: a.backups.Run})
		if len(a.p.DocumentReader) > 0 {
			beside = append(beside, loop.Loop{Name: "seals", Run: a.proof.Run})
		}
		a.announcer.Resume()
	} else {
		if slices.Contains(only, ComponentOutbox) {
			only = append(slices.Clone(only), ComponentLists)
		}
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

// forget counts the day and deletes what is old. It counts days on which the program ran, as the store does, so that a wrong clock
// has no effect.
func (a *Agent) forget(ctx context.Context) error {
	err := a.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(a.Now()); return err })
	if err != nil {
		return fmt.Errorf("count the day: %w", err)
	}
	failed := func(what string, err error) error {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	}
	return errors.Join( // a step that fails every day must not stop the others
		failed("let go of stopped lists", a.lists.Forget()),
		failed("let go of copies", a.outbox.ForgetCopies()),
		failed("let go of what was sent", a.outbox.ForgetSent(ctx, a.Settings().KeepEvents)),
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
