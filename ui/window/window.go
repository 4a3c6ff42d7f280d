// Package window is Countersign's main window and tray: it puts the screens beside the sidebar, tells them of changes, and leads
// from one to another. It does not import Fyne's app package, so that it runs in tests without a display; package ui joins the two.
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
	"countersign/ui/signin"
	"countersign/ui/status"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type looks struct {
	sharpens      bool // see staySharp
	drawn         int  // the screen's pixel density when texts were last drawn; 0 before
	language      string
	painted       theme.Look
	accessibility system.Accessibility
}

// Office is the window's view of the agent: what its screens need, and the window itself. All methods may be called from any
// goroutine. Those without a context answer from memory or the local store, but may take milliseconds for large offices, so the
// window calls them off its own goroutine. Failed reads return an error with a message for people, never an empty list.
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

// accounts is what the foot of the sidebar needs from the agent.
type accounts interface {
	signin.Office
	SignOut(ctx context.Context) error
	Status() (agent.Status, error)
	Drafts() ([]office.Draft, error)
	Lists() ([]office.Bulk, error)
}

// trayOffice is what the tray needs from the agent, with or without a window.
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

// Options configure a window. All fields but Accessibility, ReduceMotion, Tooltip, Demo, After, StartDemo, Autostart and Target are required.
type Options struct {
	Office        Office
	System        env.System
	Do            func(func()) // runs a function on the UI goroutine, soon; see async.NewPool
	Now           func() time.Time
	Country       string                                              // the system's country; see env.Env
	HasTray       func(context.Context) bool                          // whether a hidden window can be reopened from a tray
	Accessibility func(context.Context) (system.Accessibility, error) // the system's accessibility settings; nil to ignore them
	ReduceMotion  func(bool)                                          // turns Fyne's animations off or on; may be nil
	Quit          func()
	Tooltip       func(text string)                    // sets the tray icon's tooltip; may be nil
	Demo          bool                                 // Office is the demo
	After         func(time.Duration) <-chan time.Time // time.After if nil

	// StartDemo starts the demo for "Try it without an account"; ctx bounds only the start. Nil if there is no demo.
	StartDemo func(ctx context.Context) (office Office, stop func(), err error)
	Autostart env.Autostart // nil if the program cannot start with the computer

	// Target makes a native window a drop target, as drop.Watch does. Nil if the system has none.
	Target func(window uintptr, w drop.Window) (stop func(), err error)
}

type screen interface {
	Content() fyne.CanvasObject
	Reload()
}

// Screens in sidebar order.
const (
	showPackages = iota
	showCompose
	showActivity
	showStatus
	showSettings
	showAbout
)

// Window is the main window. Its methods belong to Fyne's goroutine unless they say otherwise.
type Window struct {
	app     fyne.App
	window  fyne.Window
	options Options
	own     *async.Pool // for work that outlives a change of office or language
	view                // what is on show; see enter

	drops
	looks

	at        int
	shown     atomic.Pointer[Office] // office, for other goroutines
	shortcuts map[keys.Key]func()
	tray      *tray
	inTray    bool
	resting   bool // the window is closed
	maximized bool // maximize when shown
	leaving   leaving
	quitting  quitting
	answers   setup.Answers        // the wizard's input, kept while the demo is shown
	played    atomic.Pointer[demo] // the demo started here; nil if none runs
}

// New makes the window, hidden, and follows the office until Close.
func New(ctx context.Context, app fyne.App, o Options) *Window {
	if o.After == nil {
		o.After = time.After
	}
	w := &Window{app: app, options: o, window: app.NewWindow("Countersign"), own: async.NewPool(ctx, o.Do)}
	w.maximized = app.Preferences().Bool(maximizedKey)
	w.options.Quit = func() { w.keepMaximized(); o.Quit() }
	w.window.SetPadded(false)
	w.window.Resize(fyne.NewSize(1100, 720))
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

// ShowPackage shows a package. The keyboard focus moves to the list, unless another widget there needs it.
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
	case message.StepSignIn():
		w.ShowSettings()
		w.settings.get().ShowAccount()
	default:
		w.ShowSettings()
		w.settings.get().ShowService()
	}
}

func (w *Window) ShowSettings() { w.Go(showSettings) }

// goCompose opens Send and calls do with it; not while the wizard is shown.
func (w *Window) goCompose(do func(*compose.Screen)) {
	w.Go(showCompose)
	if w.setup == nil {
		do(w.compose.get())
	}
}

func (w *Window) ShowCompose() { w.goCompose((*compose.Screen).Focus) }

func (w *Window) ShowForOK(folder string) {
	w.Go(showPackages)
	w.packages.ShowForOK(folder)
}

func (w *Window) ShowList(id string) {
	w.goCompose(func(s *compose.Screen) { s.ShowList(id, lang.L("Activity"), func() { w.Go(showActivity) }) })
}

func (w *Window) EditDraft(d office.Draft) { w.goCompose(func(s *compose.Screen) { s.Edit(d) }) }

func (w *Window) SignIn(prompt string) { w.account.signIn(prompt) }

// SignOut signs out after the person confirms, and shows the result at the foot of the sidebar.
func (w *Window) SignOut() { w.account.askSignOut() }

func (w *Window) SendLike(draft office.NewPackage, begun func()) {
	w.goCompose(func(s *compose.Screen) { s.Like(draft, begun) })
}

func (w *Window) Show() {
	w.packages.Return()
	if w.maximized { // before showing, so that it does not grow visibly; a new window is created by Show
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

// Add takes files from the command line, another start or a drop: documents to send, or an administrator's file.
func (w *Window) Add(paths []string) {
	send := slices.DeleteFunc(slices.Clone(paths), agent.IsOfficeFile)
	if at := slices.IndexFunc(paths, agent.IsOfficeFile); at >= 0 {
		w.openOffice(paths[at])
	}
	if len(send) == 0 {
		return
	}
	if w.covered() {
		w.env.Notice(lang.L("Added to Send: {{.Documents}}", i18n.V{"Documents": i18n.Documents(len(send))}))
	} else {
		w.Go(showCompose)
	}
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

// listen shows the window when another start of the program asks for it, even while the demo is shown.
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

// follow reports an office's changes on the UI goroutine until the pool closes.
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
		if w.office != w.options.Office { // the demo's requests; listen handles the office's own
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
		w.compose.Reload() // it shows who gets a copy of everything
		w.packages.Reload()
		w.readSettings()
	}
	w.status.Ask() // it counts nearly everything
}

// Bare is the tray of an office that has no window: its content and actions. It needs no Fyne driver. Its methods may be called from
// any goroutine.
type Bare struct {
	Office trayOffice
	System env.System
	Now    func() time.Time
	Why    func() // shows why there is no window
	Quit   func()
	Report func(error) // receives errors of actions
}

type BareTray struct {
	Icon    assets.Tray
	Tooltip string
	Items   []*fyne.MenuItem
	Says    string    // differs if the items do
	changes time.Time // when its content changes by itself; zero for never
}

// Until fires when the tray must be redrawn although nothing has happened; nil for never.
func (t BareTray) Until(now time.Time) <-chan time.Time {
	if t.changes.IsZero() {
		return nil
	}
	return time.After(t.changes.Sub(now))
}

// Tray returns the present content in the current language. What cannot be read is left out, and health explains.
func (b Bare) Tray() BareTray {
	o, _ := overviewOf(b.Office)
	line, account := stateLine(o.status), noteItem(accountLine(o.status))
	if !o.status.SignedIn {
		account = fyne.NewMenuItem(lang.L("Sign in"), b.signIn)
	}
	open := func(path string) { b.Report(b.System.OpenFile(context.Background(), path)) }
	items := []*fyne.MenuItem{noteItem(line), account, fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(lang.L("Why there is no window"), b.Why), fyne.NewMenuItemSeparator()}
	items = append(items, savedItems(o.saved, open)...)
	if b.Office.Settings().SaveTo != "" {
		items = append(items, fyne.NewMenuItem(lang.L("Open folder"), func() { open(b.Office.Settings().SaveTo) }))
	}
	items = append(items, pauseItem(b.Now, o.paused, b.Office.Snooze), fyne.NewMenuItemSeparator(), fyne.NewMenuItem(lang.L("Quit"), b.Quit))
	t := BareTray{Icon: trayState(o.status), Tooltip: "Countersign\n" + line, Items: items, Says: saysOf(items, o)}
	if o.paused.After(b.Now()) {
		t.changes = o.paused
	}
	return t
}

// signIn opens the service's page in the browser and waits for its answer.
func (b Bare) signIn() {
	b.Report(b.Office.SignIn(context.Background(), agent.SignInOptions{}, func(address string) error {
		return b.System.OpenAddress(context.Background(), address)
	}))
}

// show opens what a notification is about, once no dialog is open, which keeps what was entered. It does nothing for an empty
// subject, and during the first run, when there is nothing to show.
func (w *Window) show(s office.Subject) {
	if s != "" && w.covered() {
		widgets.Uncovered(w.window.Canvas(), func() { w.show(s) })
		return
	}
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

// Drawn reports whether the window exists after Show. Fyne 2.8.1 does not report that it could not create one for lack of OpenGL,
// and exits at the next window.
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

// lookEvery is how often the window checks whether the screen's pixel density has changed.
const lookEvery = 500 * time.Millisecond

// staySharp redraws texts whenever the screen's pixel density changes, until the window is hidden or closed. On Wayland a window
// learns the density only after drawing, and again when moved to another screen; there alone, Fyne 2.8.1 keeps its blurred texts.
func (w *Window) staySharp() {
	if w.sharpens || !w.onWayland() {
		return
	}
	w.sharpens, w.drawn = true, cmp.Or(w.drawn, w.fineness())
	w.lookAgain()
}

// lookAgain checks repeatedly, unless the window is hidden: nobody sees it, and the program should be idle.
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

// sharpen redraws everything if the density differs from drawn, and returns the present density.
func (w *Window) sharpen(drawn int) int {
	now := w.fineness()
	if now != drawn {
		w.app.Settings().SetTheme(w.app.Settings().Theme()) // drops the cached texts
	}
	return now
}

// fineness returns the number of screen pixels per thousand units of the window.
func (w *Window) fineness() int {
	dots, _ := w.window.Canvas().PixelCoordinateForPosition(fyne.NewPos(1000, 0))
	return dots
}
