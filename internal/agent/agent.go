// Package agent is the office's agent: it makes the services, joins them and knows the order of things. The UI and the
// commands reach the office through it alone.
//
// The services are packages below it:
//
//	account   who is signed in: keys, session, sign-in, return address, sign-out
//	webhook   the public address, its registration, the inbox' keys, what was missed or taken over
//	outbox    drafts -> packages: their bytes, uploads, what became of them, and the templates that they begin from
//	bulk      lists, each line of which becomes a package -> drafts, a few at a time
//	hotfolder files that appear in a folder -> drafts, and what comes back signed
//	dropped   files without a place of their own, that are dropped on the window
//	form      the form a draft is typed into
//	withdraw  packages that are to be withdrawn
//	reconcile events, status and list answers -> what is known of a package, and what to do next
//	download  planned files -> the folder
//	announce  facts -> notifications
//	network   the network that the office is in: its sign-in page, and each step of the way out
//	updates   newer versions of the program
//	desks     several computers of one office: events that one hands on to the others
//	proof     saved files -> whether they are sealed, and are what was sent; the record, and the proof of a package
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
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/announce"
	"countersign/internal/agent/bulk"
	"countersign/internal/agent/desks"
	"countersign/internal/agent/download"
	"countersign/internal/agent/form"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/network"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/proof"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/transfer"
	"countersign/internal/agent/updates"
	"countersign/internal/agent/webhook"
	"countersign/internal/agent/withdraw"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/preview"
	"countersign/internal/proxy"
	"countersign/internal/secret"
	"countersign/internal/store"

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

	Desktop

	// ShowSteps receives each Activity as it is recorded. It must not block. Nil for none.
	ShowSteps func(office.Activity)

	// DocumentReader is a program and its first arguments that looks into documents, see preview.NewReader. Without it
	// pages are not counted, there are no pictures, and seals are not examined.
	DocumentReader []string

	// FolderEvents begins to listen for changes in the folders that send; nil for what the system tells of them.
	FolderEvents func(ring func()) hotfolder.Events

	Policy  func() policy.Policy // reads what the administrator of the computer has decided, see policy.Reader; nil is none
	Updates Updates              // newer versions of the program; the zero value for none

	Stream desks.Stream // to the office's other desks; the zero value for NATS

	// Crash is called at named points of saving and sending; tests end the process there. Nil in production.
	Crash func(point string)

	Pace loop.Pace // the zero value is right for production
}

// Desktop is where people meet the program beside its window. The zero value is none, in English.
type Desktop struct {
	// Notify raises a desktop notification. Nil raises none. Click is told what somebody pressed on it.
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
}

// Updates say where newer versions of the program come from, and how they are installed.
type Updates struct {
	Address string   // of the manifest, as the release was built; "" for none
	Keys    string   // the public keys it is signed with, with commas in between
	Server  bool     // this is the program without its window, for servers
	Again   []string // the arguments with which the program comes back once it is installed
}

// Agent is one office's agent. All methods are safe for concurrent use.
type Agent struct {
	loop.Base
	services
	p      Params
	backup *backup
	gate   gate

	installation string // tells this data folder from every other one

	decided     atomic.Pointer[decided]
	configuring sync.Mutex      // held from reading the settings until they are changed
	left        message.Message // why what is decided was not put to use when that was tried last; empty when it was; under configuring
}

// services are the packages below, as join wires them.
type services struct {
	account     *account.Service
	webhook     *webhook.Service
	packages    *reconcile.Service
	outbox      *outbox.Service
	lists       *bulk.Service
	withdrawals *withdraw.Service
	folders     *hotfolder.Service
	form        *form.Service
	saves       *download.Service
	proof       *proof.Service
	announcer   *announce.Service
	network     *network.Service
	desks       *desks.Service
	updates     *updates.Service
	backups     *transfer.Backups
	documents   *preview.Reader
	budget      *rate.Limiter // of questions to the service
}

// ErrLocked is returned for what needs the keyring while it is locked.
var ErrLocked = account.ErrLocked

// Account is who is signed in; empty strings where the service did not say.
type Account = account.Account

// What is wrong, as package health has it.
type (
	Severity = health.Severity
	Action   = health.Action
	Issue    = health.Issue
)

const (
	Info    = health.Info
	Warning = health.Warning
	Problem = health.Problem

	ActNone         = health.ActNone
	ActSignIn       = health.ActSignIn
	ActSettings     = health.ActSettings
	ActFolders      = health.ActFolders
	ActChooseFolder = health.ActChooseFolder
	ActUnlock       = health.ActUnlock
	ActNetwork      = health.ActNetwork
	ActTakeEndpoint = health.ActTakeEndpoint
	ActTakeBack     = health.ActTakeBack
	ActRetry        = health.ActRetry
	ActReview       = health.ActReview
	ActQuit         = health.ActQuit
	ActDismiss      = health.ActDismiss
)

// IssueKeyring is the ID of what is wrong while the key is out of reach: nothing secret can be read or kept.
var IssueKeyring = health.KeyringLocked.ID

// Message is what people are told of err: what happened and what to do, without a chain of causes and without anything
// secret.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if errors.Is(err, account.ErrLocked) {
		return account.KeyMessage(err)
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrNewer):
		return store.Message(err)
	case errors.Is(err, context.Canceled):
		return message.Stopped()
	default:
		return esign.Message(err)
	}
}

// Watch returns a channel that names what changed; see office.Change. Call stop when done with it.
func (a *Agent) Watch() (changes <-chan office.Change, stop func()) { return a.Base.Watch() }

func (a *Agent) Show() { a.Signal(office.ShowRequested) }

// Snooze raises no notifications until then, also after a restart; a moment gone by ends the snooze.
func (a *Agent) Snooze(until time.Time) { a.announcer.Snooze(until) }

// Snoozed returns until when no notifications are raised; zero when they are.
func (a *Agent) Snoozed() time.Time { return a.announcer.Snoozed() }

func (a *Agent) wakeAll() {
	a.gate.ring()
	a.webhook.Wake()
	a.account.Wake()
	a.packages.WakeEvents()
	a.packages.Wake()
	a.packages.WakeDeadlines()
	a.outbox.Wake()
	a.lists.Wake()
	a.withdrawals.Wake()
	a.saves.Wake()
	a.folders.Wake()
	a.updates.Wake()
	a.desks.Wake()
	a.proof.WakeRecord()
}

// decided is what the administrator of this computer has decided, as it was read last.
type decided struct {
	read  policy.Policy
	rules office.Rules
}

// gate is between Run and the loops: while it is shut none of them runs, and so nothing is sent, received or saved. It is shut
// while the state is another one than it will be (restore.go), and while it moves to or from another computer (move.go).
type gate struct {
	moves sync.Mutex // held by whoever moves the office or restores it

	mu    sync.Mutex
	held  bool               // by shut
	stop  context.CancelFunc // ends the loops; nil while none runs
	ended chan struct{}      // closed when they are gone
	rings chan struct{}      // closed when something has changed
}

// shut waits until nobody else moves the office, and returns when no loop runs any more. open lets them run again.
func (g *gate) shut() (open func()) {
	g.moves.Lock()
	g.mu.Lock()
	g.held = true
	stop, ended := g.stop, g.ended
	g.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
	return func() {
		g.mu.Lock()
		g.held = false
		g.mu.Unlock()
		g.moves.Unlock()
		g.ring()
	}
}

// enter lets the loops run until ctx ends, or somebody shuts the gate. ended is to be called when they are gone; it is nil
// when they must not begin.
func (g *gate) enter(ctx context.Context) (_ context.Context, ended func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held {
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
