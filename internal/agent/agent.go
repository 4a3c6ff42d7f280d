// Package agent is the office's agent: the only package that knows the whole flow. It signs in, keeps the public
// address open, registers it as the webhook endpoint, handles stored events, asks the service for the truth,
// saves executed documents, sends drafts and says what is wrong. The UI and the commands talk to it alone.
//
// One run from start to end: Open reads the state and unlocks the keys; Run starts one supervised loop per file of
// this package:
//
//	tunnel.go     keeps the public address open and routes what arrives
//	endpoint.go   registers that address with the service
//	events.go     turns stored events into facts about packages
//	reconcile.go  asks for the status of packages that are not final
//	save.go       downloads planned files into the folder
//	outbox.go     uploads drafts and adds packages
//	announce.go   raises notifications
//
// The loops share no memory but what Agent names; they meet in the store and wake each other with pokes. Each loop
// can be killed at any instruction and started again: what it has promised is in the store.
//
// It must not know how things look (ui), nor how they are kept, sealed, signed or written (the leaves).
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/inbox"
	"countersign/internal/secret"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// Params are what an Agent needs from outside. Only DataDir, Keeper and Version are required.
type Params struct {
	DataDir string        // holds state.db; created with mode 0700 when missing
	Keeper  secret.Keeper // where the key is
	Version string
	Log     *slog.Logger
	Now     func() time.Time
	Jitter  func() float64 // 0..1
	HTTP    *http.Client   // for the service; nil for one with sane time-outs

	// Notify raises a desktop notification. Nil raises none.
	Notify func(title, body string) error

	// ShowSteps receives each Activity as it is recorded. It must not block. Nil for none.
	ShowSteps func(store.Activity)

	// PagePainter is a program and its first arguments that draws page 1 of a document, see preview.Page. Without it
	// there are no pictures.
	PagePainter []string

	// Crash is called at named points of saving and sending; tests end the process there. Nil in production.
	Crash func(point string)
}

// Agent is one office's agent. All methods are safe for concurrent use.
type Agent struct {
	p    Params
	log  *slog.Logger
	now  func() time.Time
	st   *store.Store
	keys *vault

	installation string // tells this data folder from every other one

	health   *health
	watchers watchers
	closing  sync.WaitGroup // sessions that settings have replaced
	inbox    *inbox.Inbox
	rings    rings

	mu          sync.Mutex // guards what follows
	settings    Settings
	service     *service // nil while not configured
	tunnel      TunnelStatus
	trouble     tunnelTrouble
	login       *login // the sign-in that waits for its answer
	account     account
	pausedUntil time.Time

	restartTunnel atomic.Bool
	endpoints     endpoints
	outbox        outboxWatch
	announcer     announcer
	refusals      refusals
	sweep         sweeper
	silence       silence
	before        tally        // as it was when the agent opened
	written       atomic.Int64 // rejected requests, as on disk
}

// docInstallation names the document with Agent.installation.
const docInstallation = "installation"

// rings wake the loops; each has room for one poke.
type rings struct {
	tunnel, endpoint, events, reconcile, save, outbox chan struct{}
}

// ErrLocked is returned for what needs the keyring while it is locked.
var ErrLocked = errLocked

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
	if p.Crash == nil {
		p.Crash = func(string) {}
	}
	if err := os.MkdirAll(p.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	st, err := store.Open(filepath.Join(p.DataDir, "state.db"), store.Options{Now: p.Now, Log: p.Log})
	if err != nil {
		return nil, fmt.Errorf("open the state: %w", err)
	}
	ring := func() chan struct{} { return make(chan struct{}, 1) }
	a := &Agent{
		p: p, log: p.Log, now: p.Now, st: st,
		keys:  &vault{st: st, keeper: p.Keeper},
		rings: rings{ring(), ring(), ring(), ring(), ring(), ring()},
	}
	a.health = newHealth(p.Now, func() { a.watchers.signal(StatusChanged) })
	a.announcer.ring = ring()
	a.endpoints.changing = ring()
	if err := a.load(ctx); err != nil {
		st.Close()
		return nil, err
	}
	return a, nil
}

// load reads the settings and the account, unlocks the keys and sets the service up.
func (a *Agent) load(ctx context.Context) error {
	err := a.st.Update(func(tx *store.Tx) error {
		known, err := tx.GetDoc(docInstallation, &a.installation)
		if err == nil && !known {
			a.installation = uuid.NewString()
			err = tx.PutDoc(docInstallation, a.installation)
		}
		if err != nil {
			return err
		}
		if _, err := tx.GetDoc(docSettings, &a.settings); err != nil {
			return err
		}
		_, err = tx.GetDoc(docAccount, &a.account)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	a.settings = a.settings.complete()
	a.tunnel = TunnelStatus{Kind: string(a.settings.Tunnel), State: "off"}
	if err := a.loadTally(); err != nil {
		return err
	}
	a.inbox = a.newInbox()
	a.unlock(ctx)
	a.checkSetUp()
	return nil
}

// unlock tries to read the key and says in health how it went.
func (a *Agent) unlock(ctx context.Context) bool {
	replaced, err := a.keys.unlock(ctx)
	if err != nil {
		a.log.Warn("the key is not available", "err", err)
		a.health.set("keyring", Problem, ActUnlock, keySentence(err))
		return false
	}
	a.health.clear("keyring")
	if replaced {
		a.health.set("keyring-replaced", Problem, ActSettings,
			"The key to the saved sign-in was replaced. Enter the client secret in Settings and sign in again; documents and packages are not affected.")
	}
	if err := a.endpoints.load(a.keys, a.now()); err != nil {
		a.log.Error("read the endpoint", "err", err)
	}
	a.connect()
	return true
}

// keySentence is what a person reads when the key is out of reach.
func keySentence(err error) string {
	var u *secret.UnavailableError
	if errors.As(err, &u) || !errors.Is(err, errLocked) {
		return secret.Sentence(err)
	}
	return "The keyring is locked. Unlock it and try again; nothing was lost."
}

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

// Run works until ctx ends, then returns nil with every goroutine gone. With no parts named all of them run; a
// command that needs one thing alone names it.
func (a *Agent) Run(ctx context.Context, only ...Part) error {
	all := []part{
		{string(PartTunnel), a.runTunnel},
		{string(PartEndpoint), a.runEndpoint},
		{string(PartEvents), a.runEvents},
		{string(PartReconcile), a.runReconcile},
		{string(PartSave), a.runSaves},
		{string(PartOutbox), a.runOutbox},
	}
	always := []part{
		{"keys", a.runKeys},
		{"tally", a.runTally},
	}
	// Notifications stop last: a fact that is committed as told must be told.
	announcing, stopAnnouncing := context.WithCancel(context.WithoutCancel(ctx))
	var announcer sync.WaitGroup
	announcer.Go(func() { a.supervise(announcing, part{"announce", a.runAnnounce}) })
	defer announcer.Wait()
	defer stopAnnouncing()

	var wg sync.WaitGroup
	for _, p := range all {
		if len(only) == 0 || slices.Contains(only, Part(p.name)) {
			wg.Go(func() { a.supervise(ctx, p) })
		}
	}
	for _, p := range always {
		wg.Go(func() { a.supervise(ctx, p) })
	}
	wg.Wait()
	return nil
}

// Close closes the store. Call it after Run has returned.
func (a *Agent) Close() error {
	a.mu.Lock()
	svc := a.service
	a.mu.Unlock()
	if svc != nil {
		closeSession(svc.session)
	}
	a.closing.Wait()
	a.flushTally()
	return a.st.Close()
}

// Watch returns a channel that names what changed; see Change. Call stop when done with it.
func (a *Agent) Watch() (changes <-chan Change, stop func()) { return a.watchers.watch() }

// Show asks whoever watches to bring the window up.
func (a *Agent) Show() { a.watchers.signal(ShowRequested) }

// runKeys tries the keyring again while it is locked: a person may unlock it at any time.
func (a *Agent) runKeys(ctx context.Context) error {
	for a.keys.locked() {
		if !sleep(ctx, time.Minute) {
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
	for _, r := range []chan struct{}{a.rings.tunnel, a.rings.endpoint, a.rings.events, a.rings.reconcile, a.rings.save, a.rings.outbox} {
		poke(r)
	}
}

// record adds a line to the activity list.
func (a *Agent) record(x store.Activity) {
	if x.Time.IsZero() {
		x.Time = a.now()
	}
	if err := a.st.Update(func(tx *store.Tx) error { return tx.AddActivity(x) }); err != nil {
		a.log.Error("record an activity", "err", err)
	}
	a.tell(x)
}

// tell shows an activity that is already stored.
func (a *Agent) tell(x store.Activity) {
	if a.p.ShowSteps != nil {
		a.p.ShowSteps(x)
	}
	a.watchers.signal(ActivityChanged)
}
