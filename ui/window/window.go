// Package window is Countersign's main window and tray: it puts the screens beside the sidebar, tells them when
// something changed, and leads from one to the other. It does not import Fyne's app package, so that it runs in tests
// without a display; package ui brings the two together.
package window

import (
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/activity"
	"countersign/ui/compose"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/packages"
	"countersign/ui/settings"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// Options are what a window is made of. All fields but Demo are required.
type Options struct {
	Office  desk.Office
	System  desk.System
	Do      func(func()) // runs a function on the window's goroutine, soon; see work.NewPool
	Now     func() time.Time
	HasTray func(context.Context) bool // whether a hidden window can be found again
	Quit    func()
	Demo    bool
}

// screen is one of the pages beside the sidebar.
type screen interface {
	Content() fyne.CanvasObject
	Reload()
}

// The screens, in the order of the sidebar.
const (
	showPackages = iota
	showCompose
	showActivity
	showSettings
)

// Window is the main window. Its methods belong to Fyne's goroutine, except where they say otherwise.
type Window struct {
	app     fyne.App
	window  fyne.Window
	options Options
	desk    *desk.Desk
	pool    *work.Pool // slow work of the screens
	watcher *work.Pool // the one that waits for changes

	packages *packages.Screen
	compose  *compose.Screen
	activity *activity.Screen
	settings *settings.Screen
	screens  []screen
	nav      []*widgets.Press
	at       int
	stage    *fyne.Container

	shortcuts map[fyne.KeyName]func() // with the system's modifier

	status  *work.Reader[agent.Status]
	issue   agent.Issue // the one the strip shows
	health  *widgets.Strip
	notice  *widgets.Strip
	account *account
	tray    *tray
}

// New makes the window, hidden, and begins to follow the office. Close ends that.
func New(ctx context.Context, app fyne.App, o Options) *Window {
	w := &Window{app: app, options: o, window: app.NewWindow("Countersign"), at: -1,
		pool: work.NewPool(ctx, o.Do), watcher: work.NewPool(ctx, o.Do)}
	w.health = widgets.NewStrip(look.Wash, look.MarkProblem.Resource())
	w.notice = widgets.NewStrip(look.Calm, nil)
	w.desk = &desk.Desk{Office: o.Office, System: o.System, Work: w.pool, Now: o.Now, Window: w.window,
		Notice: w.notice.SayUntilClosed, Go: w}
	w.packages, w.compose = packages.New(w.desk), compose.New(w.desk)
	w.activity, w.settings = activity.New(w.desk), settings.New(w.desk)
	w.screens = []screen{w.packages, w.compose, w.activity, w.settings}
	w.account = newAccount(w.desk, w.app.Clipboard())
	w.status = work.NewReader(w.pool, func(context.Context) agent.Status { return o.Office.Status() }, w.showStatus)
	w.tray = newTray(app, w)
	w.build()
	w.keys()
	w.window.SetCloseIntercept(w.Hide)
	w.window.SetOnDropped(w.OnDropped)
	w.Go(showPackages)
	w.watch() // before the first reading, so that no change falls between
	w.status.Ask()
	for _, s := range w.screens {
		s.Reload()
	}
	return w
}

func (w *Window) build() {
	names := []string{lang.L("Packages"), lang.L("Send"), lang.L("Activity"), lang.L("Settings")}
	icons := []fyne.Resource{theme.StorageIcon(), theme.MailSendIcon(), theme.HistoryIcon(), theme.SettingsIcon()}
	list := widgets.Stack(4)
	for i, name := range names {
		item := widgets.NavItem(icons[i], name, func() { w.Go(i) })
		w.nav = append(w.nav, item)
		list.Add(item)
	}
	brand := widgets.NewLine("Countersign")
	brand.Bold, brand.Scale = true, look.Title
	logo := canvas.NewImageFromResource(w.icon(64))
	logo.FillMode = canvas.ImageFillContain
	logo.SetMinSize(fyne.NewSquareSize(28))
	head := widgets.PadHV(8, 14, widgets.Across(logo, brand, nil))
	side := container.NewBorder(container.NewVBox(head, list), w.account.content, nil, nil)
	w.stage = container.NewStack() // holds all screens, so that hidden ones follow light and dark, too
	for _, s := range w.screens {
		w.stage.Add(s.Content())
	}
	top := container.New(&piled{})
	if w.options.Demo {
		demo := widgets.NewStrip(look.Calm, nil)
		demo.Say(lang.L("Demo: the signing service runs inside this program. Nothing leaves this computer."), "", "", nil)
		top.Add(demo)
	}
	for _, strip := range []*widgets.Strip{w.health, w.notice} {
		strip.Changed = func() { top.Refresh(); w.window.Content().Refresh() }
		top.Add(strip)
	}
	sidebar := widgets.Wide(190, widgets.Pad(8, side))
	content := widgets.Frame(nil, nil, container.NewBorder(nil, nil, nil, widget.NewSeparator(), sidebar),
		widgets.Frame(top, nil, nil, w.stage))
	w.window.SetPadded(false)
	w.window.SetContent(widgets.On(look.Paper, container.New(&floor{fyne.NewSize(860, 560)}, content)))
	w.window.Resize(fyne.NewSize(1100, 720))
	w.window.SetIcon(w.icon(128))
}

// Go shows a screen.
func (w *Window) Go(to int) {
	if w.at == to {
		return
	}
	w.at = to
	for i, item := range w.nav {
		item.Choose(i == to)
	}
	for i, s := range w.screens {
		if i == to {
			s.Content().Show()
		} else {
			s.Content().Hide()
		}
	}
	w.stage.Refresh()
	w.window.Canvas().Focus(nil)
}

// ShowPackage shows a package.
func (w *Window) ShowPackage(id string) {
	w.Go(showPackages)
	w.packages.Show(id)
}

// ShowSettings shows the settings.
func (w *Window) ShowSettings() { w.Go(showSettings) }

// ShowCompose shows the screen for a new package.
func (w *Window) ShowCompose() {
	w.Go(showCompose)
	w.compose.Focus()
}

// Show brings the window to the front.
func (w *Window) Show() {
	w.window.Show()
	w.window.RequestFocus()
}

// Add takes files to be sent, from the command line, another start or a drop.
func (w *Window) Add(paths []string) {
	if len(paths) == 0 {
		return
	}
	w.Go(showCompose)
	w.compose.Add(paths)
}

// OnDropped takes files that were dropped anywhere on the window. The position does not matter; on Windows it may be
// 0,0. Only files of this computer count.
func (w *Window) OnDropped(_ fyne.Position, uris []fyne.URI) {
	var paths []string
	for _, u := range uris {
		if u.Scheme() == "file" {
			paths = append(paths, u.Path())
		}
	}
	if len(paths) == 0 && len(uris) > 0 {
		w.desk.Notice(lang.L("Only files of this computer can be added. Save it first, then drop it here."))
		return
	}
	w.Add(paths)
}

// Close ends everything the window started and waits for it. Call it when Fyne's loop has ended.
func (w *Window) Close() {
	w.watcher.Close()
	w.pool.Close()
}

// Post runs f on Fyne's goroutine. It may be called from any goroutine.
func (w *Window) Post(f func()) { w.pool.Do(f) }

// watch follows the office and reloads what changed.
func (w *Window) watch() {
	changes, stop := w.options.Office.Watch()
	w.watcher.Start(func(ctx context.Context) {
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case change, open := <-changes:
				if !open {
					return
				}
				w.watcher.Do(func() { w.changed(change) })
			}
		}
	})
}

func (w *Window) changed(change agent.Change) {
	switch change {
	case agent.PackagesChanged:
		w.packages.Reload()
	case agent.ActivityChanged:
		w.activity.Reload()
	case agent.OutboxChanged:
		w.compose.Reload()
	case agent.SettingsChanged:
		w.settings.Reload()
		w.packages.Reload()
	case agent.ShowRequested:
		w.Show()
	}
	w.status.Ask() // nearly everything is counted in it
}

func (w *Window) showStatus(s agent.Status) {
	w.showHealth(s)
	w.account.show(s)
	w.tray.show(s)
}

// since is "since 14:02".
func (w *Window) since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return lang.L("since {{.When}}", words.V{"When": words.Clock(w.options.Now(), t)})
}
