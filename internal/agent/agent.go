// Package agent is the office's agent: it makes the services, joins them and knows the order of things. The UI and the
// commands reach the office through it alone.
//
// The services are packages below it:
//
//	account   who is signed in: keys, session, sign-in, return address, sign-out
//	webhook   the public address, its registration, the inbox' keys, what was missed or taken over
//	outbox    drafts -> packages: their bytes, uploads, what became of them, and the templates that they begin from
//	hotfolder files that appear in a folder -> drafts, and what comes back signed
//	dropped   files without a place of their own, that are dropped on the window
//	form      the form a draft is typed into
//	withdraw  packages that are to be withdrawn
//	reconcile events, status and list answers -> what is known of a package, and what to do next
//	download  planned files -> the folder
//	announce  facts -> notifications
//	network   the network that the office is in: its sign-in page, and each step of the way out
//	updates   newer versions of the program
//	transfer  the one sealed format: backups, moving to another computer, and what administrators hand out
//
// What concerns several of them is here: Configure, Status, Act, and what is forgotten once a day.
//
// Three ways through the house; each passes a service once:
//
//	event    webhook (verified, stored, answered) -> reconcile (what it means) -> download (files) -> announce (people)
//	draft    outbox (stored, uploaded, added) -> its events and status answers, as above
//	sign-in  account (redirect, tokens and account in one commit) -> everything that waited for it is woken; webhook registers
//
// Services share no memory and no mutex. They meet in the store; what runs back is a function field, wired in Open; they wake
// each other. Each loop can be killed at any instruction and started again: what it has promised is in the store. What a service
// may call while it holds what is in its package comment: account may call webhook while the sign-in changes, and webhook
// never changes the sign-in.
//
// Configure (configure.go) is the order of steps when the settings change. What keeps a fault from spreading:
//
//   - loop.Breaker leaves a service alone that asks for it.
//   - loop.Retries puts off one package or one folder, and not the others.
//   - reconcile gives up nothing that the service refuses, and limits how often everything is asked about.
//   - loop.Cooldown and loop.WatchClock believe no moment that a wrong clock has noted.
//   - data, backup.go and restore.go survive a full disk, and a data file that is damaged or lost.
//   - issuer keeps what one service gave out from every other one.
//
// It must not know how things look (ui), how a notification is raised (Params.Notify), nor how things are kept, sealed,
// signed or written (the leaves).
package agent

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/announce"
	"countersign/internal/agent/data"
	"countersign/internal/agent/download"
	"countersign/internal/agent/form"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/network"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/transfer"
	"countersign/internal/agent/updates"
	"countersign/internal/agent/webhook"
	"countersign/internal/agent/withdraw"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/preview"
	"countersign/internal/proxy"
	"countersign/internal/safe"
	"countersign/internal/secret"

	"golang.org/x/time/rate"
)

// Params are what an Agent needs from outside. Only DataDir, Keeper and Version are required.
type Params struct {
	DataDir string        // holds state.db; made when it is missing, and closed to others
	Keeper  secret.Keeper // where the key is
	Version string
	Log     *slog.Logger
	Now     func() time.Time
	Jitter  func() float64 // 0..1
	Network *proxy.Finder  // the ways out of the office's network; nil for those of the system
	HTTP    *http.Client   // for the service; nil for one with sane time-outs, over Network

	// OpenPort opens the port behind the office's own proxy, as net.ListenConfig.Listen does; nil is the system's way.
	OpenPort func(ctx context.Context, network, address string) (net.Listener, error)

	// Notify raises a desktop notification. Nil raises none. Press is told what somebody pressed on it.
	Notify func(office.Notice) error

	// Windowed says that a window watches, which shows what somebody presses on in a notification.
	Windowed bool

	// OpenSaved opens a saved file, or shows it in its folder; token is that of the press, see office.Click. Where it is nil,
	// notifications do not offer it.
	OpenSaved func(path string, inFolder bool, token string) error

	// Words puts what people read beside the window into the language in use: notifications, and the page that the
	// browser shows after a sign-in. Nil is English.
	Words func() *message.Printer

	// Language is that of an office that chose none, such as "de": saved certificates and master files have it in their
	// names. Nil for English.
	Language func() string

	// ShowSteps receives each Activity as it is recorded. It must not block. Nil for none.
	ShowSteps func(office.Activity)

	// DocumentReader is a program and its first arguments that looks into documents, see preview.NewReader. Without it
	// pages are not counted and there are no pictures.
	DocumentReader []string

	// FolderEvents begins to listen for changes in the folders that send; nil for what the system tells of them.
	FolderEvents func(ring func()) hotfolder.Events

	Policy  func() policy.Policy // reads what the administrator of the computer has decided, see policy.Reader; nil is none
	Updates Updates              // newer versions of the program; the zero value for none

	// Crash is called at named points of saving and sending; tests end the process there. Nil in production.
	Crash func(point string)

	Pace loop.Pace // the zero value is right for production
}

// Agent is one office's agent. All methods are safe for concurrent use.
type Agent struct {
	loop.Base
	p      Params
	backup *backup

	installation string // tells this data folder from every other one

	documents *preview.Reader
	account   *account.Service
	webhook   *webhook.Service
	announcer *announce.Service
	outbox    *outbox.Service
	folders   *hotfolder.Service
	form      *form.Service
	updates   *updates.Service
	decided   atomic.Pointer[decided]

	configuring sync.Mutex      // held from reading the settings until they are changed
	left        message.Message // why what is decided was not put to use when that was tried last; empty when it was; under configuring
	budget      *rate.Limiter
	saves       *download.Service
	packages    *reconcile.Service

	withdrawals *withdraw.Service
	network     *network.Service
	backups     *transfer.Backups
	gate        gate
}

// ErrLocked is returned for what needs the keyring while it is locked.
var ErrLocked = account.ErrLocked

// Open opens the office's data folder and unlocks its keys. A keyring that cannot be read now is not an error:
// the agent runs, says so in its health and tries again. The errors of store.Open (in use, newer, corrupt) are
// returned as they are, wrapped.
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
	p.Network = cmp.Or(p.Network, proxy.OfSystem())
	if p.HTTP == nil {
		p.HTTP = esign.NewHTTPClient(p.Network.DialContext)
	}
	p.Pace = p.Pace.Complete()
	a := &Agent{p: p, documents: preview.NewReader(p.DocumentReader...), budget: reconcile.NewBudget(p.Pace)}
	a.decided.Store(&decided{})
	watchers := &loop.Watchers[office.Change]{}
	a.Base = loop.Base{
		Log: p.Log, Now: p.Now, Jitter: p.Jitter, Pace: p.Pace, Signal: watchers.Signal, Show: p.ShowSteps,
		Quarantine: &loop.Retries{}, Asked: &loop.Retries{}, Breaker: &loop.Breaker{}, Watch: watchers.Watch, Crash: p.Crash,
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

// join makes the services and wires what runs from one to another. healthChanges rings when something else is wrong than before.
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
		Returned: func() { a.packages.Sweep(reconcile.SweepService) },
		Failed:   a.network.Failed,
	})
	a.Session = a.account
	a.webhook = webhook.New(a.Base, webhook.Deps{
		Vault: a.account.Vault(),
		Current: func() webhook.Current {
			o := a.account.Current()
			client, _ := a.account.OnlineIn(o)
			return webhook.Current{Settings: o.Settings, Client: client, MayRegister: o.Account.May("organization")}
		},
		Certificate: a.account.Certificate,
		Callback:    a.account.ServeCallback,
		OpenPort:    p.OpenPort,
		Dial:        p.Network.DialContext,
		HTTP:        p.HTTP,
		Arrived:     func() { a.packages.WakeEvents() },
		Settled:     func(id string) { a.packages.Settled(id) },
		Sweep:       func(why string) { a.packages.Sweep(why) },
		Returned:    func() { a.packages.Sweep(reconcile.SweepReturn) },
	})
	a.account.Endpoint = a.webhook
	a.announcer, err = announce.New(a.Base, announce.Deps{
		Settings: a.Settings, Notify: p.Notify, Words: p.Words, MoreToCome: a.moreToCome, CatchingUp: a.catchingUp, HealthChanges: healthChanges,
		Windowed: p.Windowed, CanOpen: p.OpenSaved != nil,
	})
	if err != nil {
		return err
	}
	a.saves = download.New(a.Base, download.Deps{
		Settings: a.Settings, Language: p.Language, Installation: func() string { return a.installation },
		Saved: a.saved, Announce: a.announcer.Announce, Ended: a.announcer.WorkEnded,
		Ask: func() { a.packages.Wake() },
	})
	a.packages = reconcile.New(a.Base, reconcile.Deps{
		Settings: a.Settings, Since: func() time.Time { return a.account.Current().Account.Since },
		Budget: a.budget,
		Files:  a.saves, News: a.announcer, Webhook: a.webhook,
		Claim:  a.claim,
		Drafts: func() { a.outbox.Wake() }, WokeUp: a.wokeUp,
	})
	a.Data.Committed = a.announcer.WorkEnded
	a.outbox = a.newOutbox()
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

// load reads the settings and the account, unlocks the keys and sets the service up. aside names a damaged file that
// was set aside.
func (a *Agent) load(ctx context.Context, aside string) error {
	settings, restored, err := a.restoreFirst(ctx)
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
	if err := a.webhook.Load(); err != nil {
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

// Watch returns a channel that names what changed; see office.Change. Call stop when done with it.
func (a *Agent) Watch() (changes <-chan office.Change, stop func()) { return a.Base.Watch() }

func (a *Agent) Show() { a.Signal(office.ShowRequested) }

// Snooze raises no notifications until then, also after a restart; a moment gone by ends the snooze.
func (a *Agent) Snooze(until time.Time) { a.announcer.Snooze(until) }

// Snoozed returns until when no notifications are raised; zero when they are.
func (a *Agent) Snoozed() time.Time { return a.announcer.Snoozed() }
