// Package agent is the office's agent: it makes the services, joins them and orders their steps. The UI and the commands reach the
// office only through it.
//
// The services are packages below it:
//
//	account   who is signed in: keys, session, sign-in, return address, sign-out
//	webhook   the public address, its registration, the inbox' keys, what was missed or taken over
//	outbox    drafts -> packages: their bytes, uploads and outcomes, and the templates that drafts start from
//	bulk      lists, each line of which becomes a package -> drafts, a few at a time
//	hotfolder files that appear in a folder -> drafts, and what comes back signed
//	dropped   files dropped on the window that have no path of their own
//	form      the form a draft is typed into
//	withdraw  packages to be withdrawn
//	reconcile events, status and list answers -> what is known of a package, and what to do next
//	download  planned files -> the folder
//	announce  facts -> notifications
//	network   the office's network: its sign-in page, and each stage of the way out
//	updates   newer versions of the program
//	desks     several computers of one office: one passes events on to the others
//	proof     saved files -> whether they are sealed, and are what was sent; the record, and the proof of a package
//	transfer  the one sealed format: backups, moving to another computer, and what administrators hand out
//
// What concerns several of them is here: Configure, Status, Act, and what is deleted once a day.
//
// Three paths through the agent, each visiting a service once:
//
//	event    webhook (verified, stored, answered) -> reconcile (what it means) -> download (files) -> announce (people)
//	draft    outbox (stored, uploaded, added) -> its events and status answers, as above
//	sign-in  account (redirect, tokens and account in one commit) -> everything waiting for it is woken; webhook registers
//
// Services share no memory and no mutex. They meet in the store and wake each other; calls back are function fields, wired in Open.
// Each loop can be killed at any instruction and restarted: everything it has promised is in the store. The package comments say
// what a service may call while holding a lock: account may call webhook while the sign-in changes, and webhook never changes the
// sign-in.
//
// Configure (configure.go) defines the order of steps when the settings change. What contains faults:
//
//   - loop.Breaker pauses all calls to a service that asks for it.
//   - loop.Retries postpones a single package or folder without affecting the others.
//   - reconcile gives up nothing that the service refuses, and limits how often everything is checked.
//   - loop.Cooldown and loop.WatchClock do not trust times recorded by a wrong clock.
//   - data, backup.go and restore.go survive a full disk, and a damaged or lost data file.
//   - issuer keeps one service's secrets from every other service.
//
// It must not know the UI (ui), how a notification is raised (Params.Notify), nor how data is stored, sealed, signed or written (the
// leaves).
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

	"golang.org/x/time/rate"
)

// Params are what an Agent needs from outside. Only DataDir, Keeper and Version are required.
type Params struct {
	DataDir string        // holds state.db; created if missing, with access only for its owner
	Keeper  secret.Keeper // stores the key
	Version string
	Log     *slog.Logger
	Now     func() time.Time
	Jitter  func() float64 // 0..1
	Network *proxy.Finder  // how to leave the office's network; nil for the system's settings
	HTTP    *http.Client   // for the service; nil for one with sensible time-outs, through Network

	// OpenPort opens the port behind the office's own proxy, like net.ListenConfig.Listen; nil for the system's default.
	OpenPort func(ctx context.Context, network, address string) (net.Listener, error)

	Desktop

	// ShowSteps receives each Activity as it is recorded. It must not block. May be nil.
	ShowSteps func(office.Activity)

	// DocumentReader is a program, with its first arguments, that reads documents, see preview.NewReader. Without it pages are not
	// counted, there are no pictures, and seals are not examined.
	DocumentReader []string

	// FolderEvents listens for changes in hot folders; nil for the system's notifications.
	FolderEvents func(ring func()) hotfolder.Events

	Policy  func() policy.Policy // reads the decisions of the computer's administrator, see policy.Reader; nil for none
	Updates Updates              // newer versions of the program; the zero value for none

	Stream desks.Stream // carries events to the office's other desks; zero for NATS

	// Crash is called at named points of saving and sending, where tests kill the process. Nil in production.
	Crash func(point string)

	Pace loop.Pace // zero in production
}

// Desktop is how the program reaches people besides its window. The zero value means not at all, in English.
type Desktop struct {
	// Notify raises a desktop notification; nil for none. Click receives what somebody pressed on it.
	Notify func(office.Notice) error

	// Windowed says that there is a window to show what somebody presses in a notification.
	Windowed bool

	// OpenSaved opens a saved file, or shows it in its folder; token comes from the press, see office.Click. If nil, notifications
	// do not offer it.
	OpenSaved func(path string, inFolder bool, token string) error

	// Words translates what people read outside the window: notifications, and the browser's page after a sign-in. Nil is English.
	Words func() *message.Printer

	// Language is that of an office that has not chosen one, such as "de", used in the names of saved certificates and master files.
	// Nil for English.
	Language func() string
}

// Updates say where newer versions of the program come from, and how they are installed.
type Updates struct {
	Address string   // the manifest's address, set when the release was built; "" for none
	Keys    string   // the public keys of its signatures, separated by commas
	Server  bool     // this is the windowless program for servers
	Again   []string // the arguments for restarting after the installation
}

// Agent is one office's agent. All methods are safe for concurrent use.
type Agent struct {
	loop.Base
	services
	p      Params
	backup *backup
	gate   gate

	installation string // identifies this data folder

	decided     atomic.Pointer[decided]
	configuring sync.Mutex      // held from reading the settings until they have been changed
	left        message.Message // why the administrator's decisions could not be applied; empty if they were; guarded by configuring
}

// services are the packages below, as wired by join.
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
	budget      *rate.Limiter // for calls to the service
}

// ErrLocked is returned by calls that need the keyring while it is locked.
var ErrLocked = account.ErrLocked

// Account is who is signed in; fields are empty if the service did not supply them.
type Account = account.Account

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
	ActSwitch       = health.ActSwitch
	ActSettings     = health.ActSettings
	ActFolders      = health.ActFolders
	ActChooseFolder = health.ActChooseFolder
	ActUnlock       = health.ActUnlock
	ActNetwork      = health.ActNetwork
	ActTakeEndpoint = health.ActTakeEndpoint
	ActBeHub        = health.ActBeHub
	ActTakeBack     = health.ActTakeBack
	ActRetry        = health.ActRetry
	ActReview       = health.ActReview
	ActQuit         = health.ActQuit
	ActDismiss      = health.ActDismiss
)

// IssueKeyring is the ID of the issue that the key is unavailable: nothing secret can be read or stored; IssueSignIn, that nobody is
// signed in.
var IssueKeyring, IssueSignIn = health.KeyringLocked.ID, health.SignedOut.ID

// The IDs of the issues that the service cannot be asked, that documents cannot be saved, nor the data written, that the hub turns
// this desk away, that the record cannot be stamped or copied, that files of watched folders were not sent, and that saved documents
// are not what was sealed or sent, or are missing or changed.
var (
	IssueService, IssueFolder, IssueData = health.ServiceFails.ID, health.FolderFails.ID, health.DataNotWritten.ID
	IssueHub, IssueRecord, IssueNotSent  = health.DeskUnwelcome.ID, health.RecordWaits.ID, health.FilesNotSent.ID
	IssueWrong, IssueAstray              = health.DocumentsWrong.ID, health.FilesAstray.ID
)

// Message returns what to tell people of err: what happened and what to do, without a chain of causes and without secrets.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	if errors.Is(err, context.Canceled) {
		return message.Stopped()
	}
	return esign.Message(err)
}

// Watch returns a channel that names what has changed; see office.Change. Call stop when done with it.
func (a *Agent) Watch() (changes <-chan office.Change, stop func()) { return a.Base.Watch() }

func (a *Agent) Show() { a.Signal(office.ShowRequested) }

// Snooze suppresses notifications until then, even across a restart; a time in the past ends the snooze.
func (a *Agent) Snooze(until time.Time) { a.announcer.Snooze(until) }

// Snoozed returns when the snooze ends; zero without one.
func (a *Agent) Snoozed() time.Time { return a.announcer.Snoozed() }

func (a *Agent) wakeAll() {
	loop.Wake(a.gate.rings)
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

// decided holds the administrator's decisions as last read.
type decided struct {
	read  policy.Policy
	rules office.Rules
}

// gate controls whether the loops may run: while it is shut none does, so nothing is sent, received or saved. It is shut while the
// state is about to be replaced (restore.go), and during a move to or from another computer (move.go).
type gate struct {
	moves sync.Mutex // held while moving or restoring the office

	mu    sync.Mutex
	held  bool               // held by shut
	stop  context.CancelFunc // stops the loops; nil if none runs
	ended chan struct{}      // closed when they have ended
	rings chan struct{}      // signals Run, which waits while the loops must not run, that this may have changed
}

// shut waits until it has the gate alone and no loop runs any more. open lets the loops run again.
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
		loop.Wake(g.rings)
	}
}

// enter lets the loops run until ctx ends or the gate is shut. Call ended once they have stopped; it is nil if they must not start.
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
