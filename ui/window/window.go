// Package window is Countersign's main window and tray: it puts the screens beside the sidebar, tells them when
// something changed, and leads from one to the other. It does not import Fyne's app package, so that it runs in tests
// without a display; package ui brings the two together.
package window

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"
	"fyne.io/fyne/v2/lang"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/about"
	"countersign/ui/activity"
	"countersign/ui/async"
	"countersign/ui/compose"
	"countersign/ui/drop"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/outbox"
	"countersign/ui/packages"
	"countersign/ui/settings"
	"countersign/ui/setup"
	"countersign/ui/status"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type looks struct {
	sharpens      bool // see staySharp
	drawn         int  // how fine the screen was when texts were drawn last; 0 before
	language      string
	painted       theme.Look
	accessibility system.Accessibility
}

// Office is the window's view of the agent: what its screens need, and the window itself. All methods may be called from any
// goroutine. Those without a context answer from memory or the local store, but may take milliseconds for large offices; the
// window calls them off its own goroutine. What could not be read is an error with a message for people, never an empty list.
type Office interface {
	packages.Office
	compose.Office
	activity.Office
	settings.Office
	setup.Office
	status.Office
	about.Office

	accounts
	trayOffice
	NetworkPage() string
}

// accounts is what the foot of the sidebar needs of the agent.
type accounts interface {
	SignIn(ctx context.Context, options agent.SignInOptions, open func(address string) error) error
	Paste(address string) error
	SignOut(ctx context.Context) error
	Status() (agent.Status, error)
}

// trayOffice is what the tray needs of the agent, with a window or without one.
type trayOffice interface {
	Settings() office.Settings
	Watch() (changes <-chan office.Change, stop func())
	Status() (agent.Status, error)
	Saved(limit int) ([]office.Job, error)
	UsedTemplates(limit int) ([]office.UsedTemplate, error)
	TemplatesOffered() bool
	Update() office.Update
	Snooze(until time.Time)
	Snoozed() time.Time
	SignIn(ctx context.Context, options agent.SignInOptions, open func(address string) error) error
}

// Options are what a window is made of. All fields but Comfort, Still, Tooltip, Demo, After, StartDemo, Autostart and Target are
// required.
type Options struct {
	Office        Office
	System        env.System
	Do            func(func()) // runs a function on the window's goroutine, soon; see async.NewPool
	Now           func() time.Time
	Country       string                                              // that the system is set to; see env.Env
	HasTray       func(context.Context) bool                          // whether a hidden window can be found again
	Accessibility func(context.Context) (system.Accessibility, error) // how the system is set for people who see little; nil where nobody asks
	ReduceMotion  func(bool)                                          // has Fyne's widgets stand still, or move; may be nil
	Quit          func()
	Tooltip       func(text string)                    // over the tray's icon; nil where there is none
	Demo          bool                                 // Office is the demo's
	After         func(time.Duration) <-chan time.Time // time.After when nil

	// StartDemo starts the demo, for "Try it without an account"; ctx bounds only the start. Nil where there is none.
	StartDemo func(ctx context.Context) (office Office, stop func(), err error)
	Autostart env.Autostart // nil where the program cannot start with the computer

	// Target makes a window of the system a drop target, as drop.Watch does. Nil where there is none.
	Target func(window uintptr, w drop.Window) (stop func(), err error)
}

type screen interface {
	Content() fyne.CanvasObject
	Reload()
}

// The screens, in the order of the sidebar.
const (
	showPackages = iota
	showCompose
	showActivity
	showStatus
	showSettings
	showAbout
)

// Window is the main window. Its methods belong to Fyne's goroutine, except where they say otherwise.
type Window struct {
	app     fyne.App
	window  fyne.Window
	options Options
	own     *async.Pool // for what outlives a change of office or language
	view                // what it shows now; see enter

	drops
	looks

	at        int
	shown     atomic.Pointer[Office] // office, for other goroutines
	shortcuts map[keys.Key]func()
	tray      *tray
	inTray    bool
	resting   bool // the window is closed
	maximized bool // it is to be, once it is shown
	leaving   leaving
	quitting  quitting
	answers   setup.Answers        // what was typed into the wizard, kept while the demo is shown
	played    atomic.Pointer[demo] // the demo that was started here; nil while none runs
}

// New makes the window, hidden, and begins to follow the office. Close ends that.
func New(ctx context.Context, app fyne.App, o Options) *Window {
	if o.After == nil {
		o.After = time.After
	}
	w := &Window{app: app, options: o, window: app.NewWindow("Countersign"), own: async.NewPool(ctx, o.Do)}
	w.maximized = app.Preferences().Bool(maximizedKey)
	w.options.Quit = func() { w.keepMaximized(); o.Quit() }
	w.window.SetPadded(false)
	w.window.Resize(fyne.NewSize(1100, 720))
	w.window.SetIcon(w.icon(128))
	w.window.SetCloseIntercept(w.Hide)
	w.window.SetOnDropped(w.OnDropped)
	w.bindKeys()
	w.listen()
	w.enter(o.Office, o.Demo)
	app.Lifecycle().SetOnEnteredForeground(w.askComfort)
	w.askComfort()
	return w
}

func (w *Window) Go(to int) {
	if w.at == to {
		return
	}
	widgets.EndTips(w.window.Canvas())
	w.at = to
	for i, item := range w.nav {
		item.Choose(i == to)
	}
	for i, s := range w.screens {
		if unmade, ok := s.(interface{ open() }); ok && i == to {
			unmade.open()
		}
		widgets.Show(s.Content(), i == to)
	}
	w.stage.Refresh()
	w.window.Canvas().Focus(nil)
	if to == showStatus {
		w.standing.Enter()
	}
	if w.last != nil {
		w.showHealth(w.last.status.Health)
	}
	if to == showActivity && w.stale {
		w.stale = false
		w.activity.Reload()
	}
}

// ShowPackage shows a package. The keys go on in the list, unless they are meant for something else there.
func (w *Window) ShowPackage(id string) {
	w.Go(showPackages)
	w.packages.Show(id)
	if canvas := w.window.Canvas(); canvas.Focused() == nil && canvas.Overlays().Top() == nil {
		w.packages.FocusList()
	}
}

func (w *Window) Quit() { w.options.Quit() }

func (w *Window) ShowStatus() { w.Go(showStatus) }

func (w *Window) ShowStep(step message.Message) {
	switch step {
	case message.StepEvent():
		w.Go(showActivity)
		w.activity.ShowEvents()
	case message.StepDocuments():
		w.ShowSettings()
		w.settings.get().ShowDocuments()
	default:
		w.ShowSettings()
		w.settings.get().ShowService()
	}
}

func (w *Window) ShowSettings() { w.Go(showSettings) }

// goCompose shows Send and does something there; in the wizard, nothing.
func (w *Window) goCompose(do func(*compose.Screen)) {
	w.Go(showCompose)
	if w.setup == nil {
		do(w.compose.get())
	}
}

func (w *Window) ShowCompose() { w.goCompose((*compose.Screen).Focus) }

func (w *Window) EditDraft(d office.Draft) { w.goCompose(func(s *compose.Screen) { s.Edit(d) }) }

func (w *Window) SignIn(prompt string) { w.account.signIn(prompt) }

// SignOut signs out once the person has confirmed it, and shows at the foot of the sidebar how that went.
func (w *Window) SignOut() { w.account.askSignOut() }

func (w *Window) SendLike(draft office.NewPackage) {
	w.goCompose(func(s *compose.Screen) { s.Like(draft) })
}

func (w *Window) Show() {
	w.packages.Return()
	if w.maximized { // before it is shown, lest it grows before one's eyes; a new one is made as it is shown
		system.Maximize(env.Handle(w.window))
	}
	w.resting = false
	w.window.Show()
	if w.maximized {
		w.maximized = false
		system.Maximize(env.Handle(w.window))
	}
	w.staySharp()
	w.takeDrops()
	w.window.RequestFocus()
}

// Add takes files from the command line, another start or a drop: those to be sent, and one that an administrator made.
func (w *Window) Add(paths []string) {
	send := slices.DeleteFunc(slices.Clone(paths), agent.IsOfficeFile)
	if at := slices.IndexFunc(paths, agent.IsOfficeFile); at >= 0 {
		w.openOffice(paths[at])
	}
	if len(send) == 0 {
		return
	}
	w.Go(showCompose)
	w.compose.get().Add(send)
}

func (w *Window) readSettings() {
	o := w.office
	async.Then(w.pool, func(context.Context) (office.Settings, error) { return o.Settings(), nil },
		func(s office.Settings, _ error) { w.follows(s) })
}

// Close ends everything the window started and waits for it. Call it when Fyne's loop has ended.
func (w *Window) Close() {
	if w.endDrops != nil {
		w.endDrops()
	}
	w.view.close()
	w.own.Close()
	w.endDemo()
}

// Post runs f on Fyne's goroutine. It may be called from any goroutine.
func (w *Window) Post(f func()) { w.own.Do(f) }

// listen shows the window when a later start asks for it, also while the demo is shown.
func (w *Window) listen() {
	follow(w.own, w.options.Office, func(change office.Change) {
		subject, asked := change.Shows()
		if asked {
			w.Show()
		}
		if asked && w.office == w.options.Office {
			w.show(subject)
		}
	})
}

// follow tells of an office's changes, on the window's goroutine, until the pool closes.
func follow(pool *async.Pool, office Office, tell func(office.Change)) {
	changes, stop := office.Watch()
	pool.Start(func(ctx context.Context) {
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case change, open := <-changes:
				if !open {
					return
				}
				pool.Do(func() { tell(change) })
			}
		}
	})
}

func (w *Window) changed(change office.Change) {
	if subject, asked := change.Shows(); asked {
		if w.office != w.options.Office { // the demo's; listen hears the office's own
			w.Show()
			w.show(subject)
		}
		return
	}
	switch change {
	case office.PackagesChanged:
		w.packages.Reload()
	case office.ActivityChanged:
		if w.stale = w.at != showActivity; !w.stale {
			w.activity.Reload()
		}
	case office.OutboxChanged:
		w.askAnew()
		w.compose.Reload()
		w.packages.Reload()
		w.settings.ifMade((*settings.Screen).ReloadFolders)
	case office.SettingsChanged:
		w.settings.Reload()
		w.compose.Reload() // which shows who gets a copy of everything
		w.packages.Reload()
		w.readSettings()
	}
	w.status.Ask() // nearly everything is counted in it
}

// Bare is the tray of an office that has no window: what it shows, and what can be done there without one. It needs no
// driver of Fyne's. Its methods may be called from any goroutine.
type Bare struct {
	Office trayOffice
	System env.System
	Now    func() time.Time
	Why    func() // tells why there is no window
	Quit   func()
	Report func(error) // of what was tried here
}

type BareTray struct {
	Icon    assets.Tray
	Tooltip string
	Entries []BareEntry
	changes time.Time // when it says something else by itself; zero for never
}

// Until is ready when the tray has to be shown anew although nothing happened; nil for never.
func (t BareTray) Until(now time.Time) <-chan time.Time {
	if t.changes.IsZero() {
		return nil
	}
	return time.After(t.changes.Sub(now))
}

func (t BareTray) Same(other BareTray) bool {
	return slices.EqualFunc(t.Entries, other.Entries, func(a, b BareEntry) bool { return a.Label == b.Label && a.leads == b.leads })
}

// BareEntry is a line of the tray's menu. One without a label separates others, one without Do only says something.
type BareEntry struct {
	Label string
	Do    func()
	leads string // to this file or folder
}

// Tray is what is to be shown now, in the language in use. What cannot be read is missing, and health says why.
func (b Bare) Tray() BareTray {
	o, _ := overviewOf(b.Office)
	line := stateLine(o.status)
	t := BareTray{Icon: trayState(o.status), Tooltip: "Countersign\n" + line}
	add := func(label string, do func()) { t.Entries = append(t.Entries, BareEntry{Label: label, Do: do}) }
	opens := func(label, path string) {
		t.Entries = append(t.Entries, BareEntry{Label: label, Do: func() { b.Report(b.System.OpenFile(context.Background(), path)) }, leads: path})
	}
	add(line, nil)
	if o.status.SignedIn {
		add(accountLine(o.status), nil)
	} else {
		add(lang.L("Sign in"), b.signIn)
	}
	add("", nil)
	add(lang.L("Why there is no window"), b.Why)
	add("", nil)
	if len(o.saved) > 0 {
		add(lang.L("Recently saved"), nil)
		for i, name := range savedNames(o.saved) {
			opens(name, pathOf(o.saved[i]))
		}
	}
	if folder := b.Office.Settings().SaveTo; folder != "" {
		opens(lang.L("Open folder"), folder)
	}
	if until := o.paused; until.After(b.Now()) {
		t.changes = until
		when := until.In(b.Now().Location()).Format("15:04")
		add(lang.L("Resume notifications, paused until {{.When}}", i18n.V{"When": when}), func() { b.Office.Snooze(time.Time{}) })
	} else {
		add(lang.L("Pause notifications for an hour"), func() { b.Office.Snooze(b.Now().Add(pauseFor)) })
	}
	add("", nil)
	add(lang.L("Quit"), b.Quit)
	return t
}

// signIn shows the service's page in the browser and waits for its answer.
func (b Bare) signIn() {
	b.Report(b.Office.SignIn(context.Background(), agent.SignInOptions{}, func(address string) error {
		return b.System.OpenAddress(context.Background(), address)
	}))
}

// show goes to what a notification is about. An empty subject leaves everything as it is, and so does the first run, which
// has nothing to show yet.
func (w *Window) show(s office.Subject) {
	if w.setup != nil {
		return
	}
	if id, ok := s.Package(); ok {
		w.ShowPackage(id)
	}
	if ids, ok := s.Packages(); ok {
		w.Go(showPackages)
		w.packages.ShowSeveral(ids)
	}
	if _, ok := s.Problem(); ok {
		w.ShowStatus()
	}
	if id, ok := s.Draft(); ok {
		w.ShowPackage(outbox.RowID(id))
	}
	if _, ok := s.HotFolder(); ok || s == office.ActivitySubject {
		w.Go(showActivity)
	}
	if s == office.UpdateSubject {
		w.showUpdate()
	}
}

// Drawn says whether the window, which was shown, is there. Fyne 2.8.1 tells nobody when it could not make it, for lack of
// OpenGL, and ends the program with the next one.
func (w *Window) Drawn() bool {
	native, ok := w.window.(driver.NativeWindow)
	if !ok {
		return true
	}
	there := true
	native.RunNative(func(context any) {
		switch c := context.(type) {
		case driver.WindowsWindowContext:
			there = c.HWND != 0
		case driver.X11WindowContext:
			there = c.WindowHandle != 0
		case driver.WaylandWindowContext:
			there = c.WaylandSurface != 0
		case driver.MacWindowContext:
			there = c.NSWindow != 0
		}
	})
	return there
}

// lookEvery is how often the window looks whether the screen draws finer or coarser than before.
const lookEvery = 500 * time.Millisecond

// staySharp has texts drawn anew whenever the screen draws them finer or coarser than before, until the window is hidden or
// closed. On Wayland the window learns only after it was drawn how fine its screen is, and again when it comes to another one;
// Fyne 2.8.1 goes on with the texts it has, blurred, as it does nowhere else.
func (w *Window) staySharp() {
	if w.sharpens || !w.onWayland() {
		return
	}
	w.sharpens, w.drawn = true, cmp.Or(w.drawn, w.fineness())
	w.lookAgain()
}

// lookAgain looks once more, and then again, unless the window is hidden by then: nobody sees it, and the program is to be idle.
func (w *Window) lookAgain() {
	w.after(w.own, lookEvery, func() {
		if w.resting {
			w.sharpens = false
			return
		}
		w.drawn = w.sharpen(w.drawn)
		w.lookAgain()
	})
}

func (w *Window) onWayland() (there bool) {
	if native, ok := w.window.(driver.NativeWindow); ok {
		native.RunNative(func(context any) { _, there = context.(driver.WaylandWindowContext) })
	}
	return there
}

// sharpen draws everything anew unless the screen is as fine as drawn, and returns how fine it is.
func (w *Window) sharpen(drawn int) int {
	now := w.fineness()
	if now != drawn {
		w.app.Settings().SetTheme(w.app.Settings().Theme()) // which drops what was drawn of texts
	}
	return now
}

// fineness is how many dots of the screen are in a thousand of the window's.
func (w *Window) fineness() int {
	dots, _ := w.window.Canvas().PixelCoordinateForPosition(fyne.NewPos(1000, 0))
	return dots
}
