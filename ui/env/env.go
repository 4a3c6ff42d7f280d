// Package env is what every screen works at: the office it shows, and the few things around it (slow work, the
// clock, the system's openers, a line to the person). It holds no widgets and decides nothing.
package env

import (
	"context"
	"errors"
	"image"
	"net/url"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/system"
)

// System opens things outside the program. Its methods may be called from any goroutine and return at once, but Exists,
// which may have to wait for a disk, OpenAddress, which waits some seconds for a browser, or until ctx ends, and Choose, which
// waits for the person.
type System interface {
	Exists(path string) bool
	OpenAddress(ctx context.Context, address string) error // https, http and mailto only
	OpenFile(path string) error                            // a file or a folder, with the program meant for it
	ShowInFolder(path string) error                        // the file's folder, with the file marked where the system can
	Choose(ctx context.Context, d system.FileDialog) (paths []string, err error)

	CopyFiles(ctx context.Context, paths []string) error // to the clipboard, as files; these three may take seconds
	MailFiles(ctx context.Context, paths []string) error // attached to a new mail
	PrintFiles(ctx context.Context, paths []string) error
}

// Autostart decides whether the program starts with the computer. Its methods may take a moment.
type Autostart interface {
	Enabled() (bool, error)
	Set(on bool) error
}

// Env is handed to every screen. All fields but Autostart are set.
type Env struct {
	Office  Office
	System  System
	Work    *async.Pool
	Now     func() time.Time // also fixes the time zone in which times are shown
	Country string           // that the system is set to, for example "GB"; empty when it is not known
	Window  fyne.Window      // for dialogs and focus
	Notice  func(text string)
	Copy    func(text string)                  // to the clipboard
	Later   func(d time.Duration, over func()) // calls over on the window's goroutine when d has passed
	Soon    func(Undoable)                     // says for some seconds what was pressed, and offers to undo it
	Go      Navigator

	Autostart Autostart // nil where the program cannot start with the computer
}

// Undoable is something that a person has pressed and can undo for some seconds. The office has it already, and does it then.
type Undoable struct {
	Says   func(seconds int) string // what will be done, and in how many seconds, or what was done
	Undone func()                   // has the office undo it
}

// Navigator lead from one screen to another.
type Navigator interface {
	ShowPackage(id string)
	ShowSettings()
	ShowCompose()
	SendLike(draft office.NewPackage) // shows the screen for a new package, filled in like an earlier one
	ShowHelp()
	EditDraft(draft office.Draft)       // shows what waits to be sent where it can be changed
	Act(issue agent.Issue, done func()) // does what can be done about an issue; done, which may be nil, is called after it
	SignIn(prompt string)               // begins a sign-in in the browser; prompt as in agent.SignInOptions
	SignOut()
	Quit() // ends the program
}

// OpenAddress opens an address and tells the person when that fails, be it some seconds later.
func (d *Env) OpenAddress(address string) { d.Browse(address, d.tell) }

// Browse opens an address beside the window and hands over how that went: nil, or a sentence why the person should open it
// without us. From another goroutine, call it through Work.Do.
func (d *Env) Browse(address string, then func(error)) {
	async.Try(d.Work, func(ctx context.Context) error { return d.System.OpenAddress(ctx, address) }, func(err error) {
		if !errors.Is(err, context.Canceled) {
			then(err)
		}
	})
}

// Attempt lets the office do something beside the window, tells the person when that fails, and calls done, which may be nil,
// however it went.
func (d *Env) Attempt(act func(context.Context) error, done func()) {
	async.Try(d.Work, act, func(err error) {
		d.tell(err)
		if done != nil {
			done()
		}
	})
}

// Again hands over what a draft was made of, and tells the person of documents that are not there any more as they were.
func (d *Env) Again(draftID string, then func(office.NewPackage)) {
	var lost []string
	async.Then(d.Work, func(ctx context.Context) (n office.NewPackage, err error) {
		n, lost, err = d.Office.Again(ctx, draftID)
		return n, err
	}, func(n office.NewPackage, err error) {
		if err != nil {
			d.tell(err)
			return
		}
		for _, name := range lost {
			d.Notice(i18n.Message(message.FileGone(name)))
		}
		then(n)
	})
}

// OpenFile opens a file or folder and tells the person when that fails.
func (d *Env) OpenFile(path string) { d.tell(d.System.OpenFile(path)) }

// ShowInFolder shows a file in its folder and tells the person when that fails.
func (d *Env) ShowInFolder(path string) { d.tell(d.System.ShowInFolder(path)) }

func (d *Env) tell(err error) {
	if err != nil {
		d.Notice(i18n.Error(err))
	}
}

// Problems are the issues that need a person, the gravest first and within a severity the oldest first: what the strip and
// the list of problems show. Infos need nobody.
func Problems(issues []agent.Issue) (list []agent.Issue) {
	for _, severity := range []agent.Severity{agent.Problem, agent.Warning} {
		from := len(list)
		for _, issue := range issues {
			if issue.Severity == severity {
				list = append(list, issue)
			}
		}
		slices.SortStableFunc(list[from:], func(a, b agent.Issue) int { return a.Since.Compare(b.Since) })
	}
	return list
}

// Problem returns the issue that matters most, and how many others there are.
func Problem(issues []agent.Issue) (worst agent.Issue, others int) {
	list := Problems(issues)
	if len(list) == 0 {
		return worst, 0
	}
	return list[0], len(list) - 1
}

// Mailto is the address of a letter to write in the mail program (RFC 6068), to somebody or, where to is empty, to nobody
// yet. Spaces and line ends are escaped, not written as a form does.
func Mailto(to, subject, text string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	to = strings.ReplaceAll(escape(to), "%40", "@")
	return "mailto:" + to + "?subject=" + escape(subject) + "&body=" + escape(strings.ReplaceAll(text, "\n", "\r\n"))
}

// Office is everything the window needs of the agent, by topic. All methods may be called from any goroutine. Those without a
// context answer from memory or the local store, but may take milliseconds for large offices; the window calls them
// off its own goroutine. What could not be read is an error with a message for people, never an empty list; i18n.Error knows
// it.
type Office interface {
	Packages
	Withdrawals
	Documents
	Outbox
	Templates
	History
	Health
	Connection
	Account
	Settings
	SetUp
	Folders
	Updates
}

// Packages are the office's packages, and what can be asked about one.
type Packages interface {
	Package(id string) (row office.PackageRow, known bool, err error)
	// LinesSince are all packages in a few words, newest first: 50,000 in some milliseconds. With the version that was read
	// last, it may be those alone that are new or changed since. Package has the details.
	LinesSince(version uint64) (office.Lines, error)
	// SaveAgain fetches the files of an executed package once more.
	SaveAgain(packageID string) error
	// Export copies the saved files of packages into a folder and replaces nothing there. It may take long. An error says why
	// nothing was begun.
	Export(ctx context.Context, packageIDs []string, folder string) (office.Exported, error)
	// Archive takes a package out of the list, or puts it back; nothing else changes.
	Archive(packageID string, archived bool) error
	// CheckNow asks the service about everything at once; Status tells when that has happened.
	CheckNow() error
	// DraftOf is the draft a package was sent from, when it was made here.
	DraftOf(packageID string) (d office.Draft, known bool, err error)
	// EditPage returns the address of the service's own editor for a package.
	EditPage(ctx context.Context, packageID string) (string, error)
	// Saved are the files saved last, newest first.
	Saved(limit int) ([]office.Job, error)
	// SignerPage asks for the address of the page on which a person signs. It lives only briefly and lets whoever has it sign.
	// An error that is agent.ErrNoLinks means that the service gives out none, whoever asks.
	SignerPage(ctx context.Context, packageID, signerID string) (string, error)
}

// Withdrawals are what becomes of packages that are to be withdrawn.
type Withdrawals interface {
	// Withdraw stores the wish to withdraw packages and says what became of each; it waits for that as long as Patience and
	// ctx allow, and goes on with it in any case.
	Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error)
	// KeepPackage takes such a wish back, and says whether that came in time.
	KeepPackage(id string) (inTime bool, err error)
	// LetWithdrawalGo ends one that the service may have fulfilled and does not confirm.
	LetWithdrawalGo(id string) error
	// CanWithdraw says whether packages can be withdrawn at the service, as far as is known. It answers from memory at once.
	CanWithdraw() bool
}

// Documents are files that are to be sent, before they are.
type Documents interface {
	// Inspect looks at a file that is to be sent; it may take a moment.
	Inspect(ctx context.Context, path string) agent.FileInfo
	// NewDelivery takes the files of one drop that another program hands over without a place of their own.
	NewDelivery() *agent.Delivery
	// Preview draws page 1 of a document on this computer, width pixels wide; an error means that there is no picture.
	Preview(ctx context.Context, path string, width int) (image.Image, error)
}

// Outbox is what waits to be sent, and the form that it is typed into.
type Outbox interface {
	// People are the signers used before, most recent first.
	People() ([]office.Signer, error)
	Drafts() ([]office.Draft, error) // not yet packages: on their way, unknown or refused; oldest first
	// Send blocks until the package is accepted, refused or unknown, or ctx ended; progress may come from any
	// goroutine. A refusal is a SendState with a Problem; an error means that nothing was begun or ctx ended. When
	// ctx ends early, the draft that the SendState names stays and goes out later, unless Cancel withdraws it.
	Send(ctx context.Context, draft office.NewPackage, progress func(office.SendState)) (office.SendState, error)
	// KeepForm keeps what is typed into the form for a new package, also over a restart; Form is what was kept last. Both
	// answer from memory at once.
	KeepForm(form office.Form)
	Form() office.Form
	// Again is what a draft was made of, to be changed or to be sent once more. Its documents are those that the draft had, to
	// the byte; lost are the names of those that are not there any more. It may take a moment.
	Again(ctx context.Context, draftID string) (d office.NewPackage, lost []string, err error)
	// Cancel withdraws a draft that has not been handed over yet, and says whether it came in time.
	Cancel(draftID string) (inTime bool, err error)
	// Stop holds a draft that waits to be sent, for a person to decide about, and says whether it came in time.
	Stop(draftID string) (inTime bool, err error)
	// Decide stores a person's decision about a draft that is held, unknown or refused: send it (again), or forget it. It is done
	// once undo is over, also by another start; UndoDecision takes it back until then, and says whether that came in time.
	Decide(draftID string, send bool, undo time.Duration) error
	UndoDecision(draftID string) (inTime bool, err error)
}

// Templates are those of the service.
type Templates interface {
	// Templates are those of the service, those used last first; with a search, those that the service finds.
	Templates(ctx context.Context, search string) ([]office.Template, error)
	// TemplatesOffered says whether the service may have templates: it has not said that it has none.
	TemplatesOffered() bool
	// UsedTemplates are those that packages were made from here last, most recent first.
	UsedTemplates(limit int) ([]office.UsedTemplate, error)
}

// History is what happened.
type History interface {
	// Events are all authentic events, newest first, a page at a time; the cursor of the first page is "".
	Events(before office.Cursor, limit int) (page []office.Event, next office.Cursor, err error)
	// Refused are samples of refused requests, newest first.
	Refused() []agent.Refusal
	// RetryEvent handles an event once more.
	RetryEvent(eventID string) error
	Activity(limit int) ([]office.Activity, error) // newest first
}

// Health is how the office is, and what can be done about it.
type Health interface {
	// Status is what is in memory even with an error.
	Status() (agent.Status, error)
	// Snooze raises no notifications until then; Snoozed is zero when they are not off.
	Snooze(until time.Time)
	Snoozed() time.Time
	// About says where things are; Diagnostics is a text for whoever helps, without secrets, for which it tries the connection.
	About() agent.About
	Diagnostics(ctx context.Context) string
	// Act does the one action of a health issue, where the agent can do it.
	Act(ctx context.Context, issue agent.Issue) error
	// Watch tells what changed until stop is called; the channel is then closed. Changes may be merged.
	Watch() (changes <-chan office.Change, stop func())
}

// Connection is the way to the service and back.
type Connection interface {
	// TestService asks whether there is a signing service at the addresses of the settings.
	TestService(ctx context.Context, settings office.Settings) error
	// TestTunnel opens the public address of the settings for a moment and returns it.
	TestTunnel(ctx context.Context, settings office.Settings, secrets office.Secrets) (publicURL string, err error)
	// NetworkPage is the address at which the network wants people to sign in, while health says that it does. It answers
	// from memory at once.
	NetworkPage() string
	// Connection is what is known of the way to the service and back, step by step; it may ask the system, but nobody else.
	// TryConnection tries all of it, and TryNgrok the way to ngrok with settings that need not be in use. They hand all
	// steps to show, from any goroutine, whenever one more is known. Hosts are the addresses to allow in a firewall.
	Connection(ctx context.Context) []office.Check
	TryConnection(ctx context.Context, show func([]office.Check)) []office.Check
	TryNgrok(ctx context.Context, settings office.Settings, show func([]office.Check)) []office.Check
	Hosts() []string
}

// Account is who is signed in, and where.
type Account interface {
	// Services are the presets of signing services, the neutral one first.
	Services() []agent.Preset
	HasSecrets() (clientSecret, ngrokToken bool, err error)
	// SignIn blocks until signed in, failed or ctx ended. It calls open once with the address to show in a browser.
	SignIn(ctx context.Context, options agent.SignInOptions, open func(address string) error) error
	// Paste completes the running SignIn with the address the browser ended on.
	Paste(address string) error
	SignOut(ctx context.Context) error
}

// Settings are what the office has chosen.
type Settings interface {
	// PreviewName is what a file of a real package would be called with the settings.
	PreviewName(settings office.Settings) (string, error)
	Settings() office.Settings
	// Configure checks, keeps and applies settings; an empty secret is left as it is.
	Configure(ctx context.Context, settings office.Settings, secrets office.Secrets) error
	// Fixed reports whether the administrator of the computer has fixed the setting with that JSON name. From memory.
	Fixed(setting string) bool
}

// SetUp brings an office to a new computer, or to another one.
type SetUp interface {
	// ReadOffice reads what an administrator has made for the office; it changes nothing.
	ReadOffice(path string) (agent.OfficeFile, error)
	// MoveOut writes everything into a new sealed file and stops working here. ReadMove says what is in such a file and touches
	// nothing; MoveIn brings the office of the file with that digest over, to a computer that is not set up. Each takes a moment.
	MoveOut(ctx context.Context, path, password string) error
	ReadMove(ctx context.Context, path, password string) (agent.Arrival, error)
	MoveIn(ctx context.Context, path, password, digest, saveTo string) error
	// KeepFirstRun keeps what was entered into the first run, sealed, until Configure; FirstRun gives it back.
	KeepFirstRun(agent.FirstRun) error
	FirstRun() (f agent.FirstRun, kept bool, err error)
}

// Folders are the folders that send.
type Folders interface {
	// HotFolders are the folders that send. PutHotFolder checks and keeps one, a new one when it has no id; what is wrong is an
	// agent.ConfigError. TryHotFolder checks one and says that it works.
	HotFolders() ([]office.HotFolderRow, error)
	PutHotFolder(office.HotFolder) (office.HotFolder, error)
	RemoveHotFolder(id string) (known bool, err error)
	TryHotFolder(office.HotFolder) (message.Message, error)
}

// Updates are newer versions of the program.
type Updates interface {
	// Update is what is known of newer versions of the program, from memory; CheckUpdate asks now. InstallUpdate fetches and
	// checks the file where Update.Offers says so, and returns its path. It starts the installer where Update.OneClick says so:
	// after nil the program then has to end. Progress may come from any goroutine.
	Update() office.Update
	CheckUpdate(ctx context.Context) (office.Update, error)
	InstallUpdate(ctx context.Context, progress func(office.UpdateStep)) (path string, err error)
}
