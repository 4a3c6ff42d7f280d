// Package agent is the office's agent: the only package that knows the whole flow. It signs in, keeps the public
// address open, registers it as the webhook endpoint, handles stored events, asks the service for the truth,
// saves executed documents, sends drafts and says what is wrong. The UI and the commands reach the office through it alone.
//
// One run from start to end: Open reads the state and unlocks the keys; Run starts supervised loops, of which those with
// the work have a file each:
//
//	webhook       (a package) keeps the public address open, registers it with the service and stores what arrives
//	events.go     turns stored events into facts about packages
//	reconcile.go  asks for the status of packages that are not final, and reads the list (discover.go, listing.go)
//	save.go       downloads planned files into the folder
//	outbox        sends drafts: uploads and adds packages, and has copies of their bytes
//	form          keeps the form a draft is typed into
//	announce      raises notifications, few of many
//	forget.go     forgets the contents of old events
//
// The loops share no memory but what Agent names; they meet in the store and wake each other with pokes. Each loop
// can be killed at any instruction and started again: what it has promised is in the store.
//
// What keeps a fault from spreading has a file each: rest.go leaves a service alone that asks for it, troubles.go,
// savewatch.go and loop.Quarantine put off one package, one folder or whatever is wrong by itself and not the others,
// withheld.go gives up nothing that the service refuses, sweep.go limits how often everything is asked about,
// cooldown.go and clock.go believe no moment that a wrong clock has noted, state.go and precious.go survive a full disk and a damaged data file. kept.go holds what
// is in memory and on disk: the disk first. issuer.go keeps what one service gave out from every other one, and
// farewell.go tells a service that was left.
//
// It must not know how things look (ui), how a notification is raised (Params.Notify), nor how things are kept, sealed,
// signed or written (the leaves).
package agent

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/announce"
	"countersign/internal/agent/data"
	"countersign/internal/agent/download"
	"countersign/internal/agent/form"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/webhook"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/secret"
	"countersign/internal/store"

	"github.com/google/uuid"
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
	HTTP    *http.Client   // for the service; nil for one with sane time-outs

	// Notify raises a desktop notification. Nil raises none.
	Notify func(title, body string) error

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

	// Crash is called at named points of saving and sending; tests end the process there. Nil in production.
	Crash func(point string)

	Pace loop.Pace // the zero value is right for production
}

// Agent is one office's agent. All methods are safe for concurrent use.
type Agent struct {
	loop.Tools
	p      Params
	mirror *mirror

	installation string // tells this data folder from every other one

	documents *preview.Reader
	watchers  loop.Watchers
	account   *account.Room
	webhook   *webhook.Room
	rings     rings

	announcer *announce.Room
	outbox    *outbox.Room
	form      *form.Room
	backlog   atomic.Int64 // packages that wait to be asked about in this round
	budget    *rate.Limiter
	sweep     sweeper
	troubles  loop.Failures
	saves     *download.Room
	noRecords atomic.Bool // the service has no full records of packages, see withDeclined
}

// docInstallation names the document with Agent.installation.
const docInstallation = "installation"

// rings wake the loops; each has room for one poke.
type rings struct {
	events, reconcile, problems chan struct{}
}

// ErrLocked is returned for what needs the keyring while it is locked.
var ErrLocked = account.ErrLocked

// Open opens the office's data folder and unlocks its keys. A keyring that cannot be read now is not an error:
// the agent runs, says so in its health and tries again. The errors of store.Open (in use, newer, corrupt) are
// returned as they are, wrapped.
func Open(ctx context.Context, p Params) (*Agent, error) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Now == nil {
		p.Now = time.Now
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
	if p.Crash == nil {
		p.Crash = func(string) {}
	}
	p.Pace = p.Pace.Complete()
	ring := func() chan struct{} { return make(chan struct{}, 1) }
	a := &Agent{
		p: p, documents: preview.NewReader(p.DocumentReader...), budget: newBudget(p.Pace),
		rings: rings{ring(), ring(), ring()},
	}
	a.Tools = loop.Tools{
		Log: p.Log, Now: p.Now, Jitter: p.Jitter, Pace: p.Pace, Signal: a.watchers.Signal, Show: p.ShowSteps,
		Quarantine: &loop.Quarantine{}, Suspects: &loop.Suspects{}, Breaker: &loop.Breaker{},
	}
	a.Health = health.New(p.Now, func() {
		a.Signal(office.StatusChanged)
		loop.Wake(a.rings.problems)
	})
	var aside string
	var err error
	if a.Data, aside, err = data.Open(locations.State(p.DataDir), p.Log, p.Now, a.Health); err != nil {
		return nil, err
	}
	a.mirror = &mirror{path: locations.Mirror(p.DataDir), st: a.Data}
	a.account = account.New(a.Tools, account.Params{
		Keeper: p.Keeper, HTTP: p.HTTP, Words: p.Words, Message: Message,
		Address: func(ctx context.Context) (string, bool) { return a.webhook.WaitOpen(ctx) },
		Changed: a.keepPrecious,
		SignedUp: func() {
			a.saves.Resume()
			a.reconcileSoon("somebody signed in")
			a.wakeAll()
		},
		Unlocked: a.wakeAll,
		Returned: func() { a.reconcileSoon(sweepReturn) },
		Crash:    p.Crash,
	})
	a.webhook = webhook.New(a.Tools, webhook.Params{
		Vault: a.account.Vault(),
		Current: func() webhook.Current {
			o := a.account.Current()
			client, _ := a.account.OnlineIn(o)
			return webhook.Current{Settings: o.Settings, Client: client, MayRegister: o.Account.May("organization")}
		},
		Certificate: a.account.Certificate,
		Callback:    a.account.ServeCallback,
		Answered:    a.account.Note,
		SignedOut:   a.account.SignedOut,
		Arrived:     func() { loop.Wake(a.rings.events) },
		Sweep:       a.reconcileSoon,
		Returned:    func() { a.reconcileSoon(sweepReturn) },
		Crash:       p.Crash,
	})
	a.announcer, err = announce.New(a.Tools, announce.Needs{
		Settings: a.Settings, Notify: p.Notify, Words: p.Words, MoreToCome: a.moreToCome, CatchingUp: a.catchingUp, HealthChanges: a.rings.problems,
	})
	a.account.Endpoint = a.webhook
	if err == nil {
		a.saves = download.New(a.Tools, download.Needs{
			Settings: a.Settings, Language: p.Language, Installation: func() string { return a.installation },
			Online: a.online, Answered: a.noteServiceError, SignedOut: a.signedOut,
			Saved: a.announcer.Saved, Announce: a.announcer.Announce, Ended: a.announcer.WorkEnded,
			Ask: func() { loop.Wake(a.rings.reconcile) }, Crash: p.Crash,
		})
		a.Data.Committed = a.announcer.WorkEnded
		a.form, err = form.New(a.Tools)
	}
	if err == nil {
		a.outbox = a.newOutbox()
		err = a.load(ctx, aside)
	}
	if err != nil {
		a.Data.Close()
		return nil, err
	}
	return a, nil
}

// load reads the settings and the account, unlocks the keys and sets the service up. aside names a damaged file that
// was set aside.
func (a *Agent) load(ctx context.Context, aside string) error {
	restored, err := a.mirror.restore()
	if err != nil {
		return err
	}
	if err := a.account.Load(); err != nil {
		return err
	}
	err = a.Data.Update(func(tx *store.Tx) error {
		known, err := tx.GetDoc(docInstallation, &a.installation)
		if err == nil && !known {
			a.installation = uuid.NewString()
			err = tx.PutDoc(docInstallation, a.installation)
		}
		if err != nil {
			return err
		}
		return tx.UseService(issuer.Home(a.Settings())) // which an earlier version did not note
	})
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	if err := a.webhook.Load(); err != nil {
		return err
	}
	a.account.Begin(ctx)
	a.keepPrecious()
	a.tellRestored(aside, restored)
	return nil
}

// Watch returns a channel that names what changed; see Change. Call stop when done with it.
func (a *Agent) Watch() (changes <-chan office.Change, stop func()) { return a.watchers.Watch() }

// Show asks whoever watches to bring the window up.
func (a *Agent) Show() { a.Signal(office.ShowRequested) }

// Snooze raises no notifications until then, also after a restart; a moment gone by ends the snooze.
func (a *Agent) Snooze(until time.Time) { a.announcer.Snooze(until) }

// Snoozed returns until when no notifications are raised; zero when they are.
func (a *Agent) Snoozed() time.Time { return a.announcer.Snoozed() }
