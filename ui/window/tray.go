package window

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/compose"
	"countersign/ui/env"
	"countersign/ui/i18n"
)

// tray is the icon in the panel and its menu. It calls the panel only on changes, because each call crosses D-Bus.
type tray struct {
	app    desktop.App // nil if Fyne has no tray
	window *Window
	menu   *fyne.Menu
	shown  assets.Tray
	says   string // see saysOf
	tip    string // the icon's tooltip
}

// traySize suits panels of 22 px at up to triple density; larger icons cost time on D-Bus.
const traySize = 64

const pauseFor = time.Hour

func newTray(app fyne.App, w *Window) *tray {
	t := &tray{window: w, menu: fyne.NewMenu("Countersign")}
	t.app, _ = app.(desktop.App)
	t.menu.Items = t.items("Countersign", "", overview{})
	return t
}

// items builds the menu: the state, the last saved files, what can be started, and quitting.
func (t *tray) items(state, account string, o overview) []*fyne.MenuItem {
	w := t.window
	items := []*fyne.MenuItem{noteItem(state)}
	if issue, _ := env.Problem(o.status.Health); !issue.Message.IsZero() {
		items[0] = fyne.NewMenuItem(state, func() { w.Show(); w.ShowStatus() })
		if word := i18n.Action(issue.Action); word != "" {
			items = append(items, fyne.NewMenuItem(word, func() { w.Show(); w.Act(issue, nil) }))
		}
	}
	if stuck := w.packages.Stuck(); stuck.Count > 0 {
		label := lang.N("{{.PluralCount}} packages declined or expired", stuck.Count)
		if stuck.Count == 1 {
			label = i18n.Title(stuck.First.Name) + ": " + i18n.Line(stuck.First)
		}
		items = append(items, fyne.NewMenuItem(shorten(label), func() { w.Show(); w.Go(showPackages); w.packages.ShowStuck() }))
	}
	if waits := w.packages.ForOK(""); len(waits) > 0 {
		items = append(items, fyne.NewMenuItem(i18n.Message(message.WaitForOKSomewhere(len(waits))), func() { w.Show(); w.ShowForOK("") }))
	}
	if o.update.Newer {
		items = append(items, fyne.NewMenuItem(i18n.Message(message.UpdateAvailable(o.update.Newest)), func() { w.Show(); w.showUpdate() }))
	}
	if account != "" { // not known at once
		items = append(items, noteItem(account))
	}
	items = append(items, fyne.NewMenuItemSeparator())
	items = append(items, savedItems(o.saved, w.env.OpenFile)...)
	quit := fyne.NewMenuItem(lang.L("Quit"), w.askToQuit)
	quit.IsQuit = true
	items = append(items, fyne.NewMenuItem(lang.L("Open folder"), w.packages.OpenFolder),
		fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(lang.L("New package"), func() { w.Show(); w.ShowCompose() }))
	if o.templates {
		items = append(items, w.templateItem(o.used))
	}
	return append(items, w.pauseItem(o.paused),
		fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(lang.L("Open Countersign"), w.Show),
		fyne.NewMenuItem(lang.L("Settings"), func() { w.Show(); w.ShowSettings() }),
		quit)
}

// noteItem is a line that only says something.
func noteItem(label string) *fyne.MenuItem {
	item := fyne.NewMenuItem(label, nil)
	item.Disabled = true
	return item
}

// savedItems open the files that were saved last.
func savedItems(saved []office.Job, open func(path string)) (items []*fyne.MenuItem) {
	if len(saved) > 0 {
		items = append(items, noteItem(lang.L("Recently saved")))
	}
	for i, name := range savedNames(saved) {
		items = append(items, fyne.NewMenuItem(name, func() { open(saved[i].Path()) }))
	}
	return items
}

// pauseItem pauses notifications, or resumes them while they are paused.
func pauseItem(now func() time.Time, paused time.Time, pause func(until time.Time)) *fyne.MenuItem {
	if paused.After(now()) {
		label := lang.L("Resume notifications, paused until {{.When}}", i18n.V{"When": paused.In(now().Location()).Format("15:04")})
		return fyne.NewMenuItem(label, func() { pause(time.Time{}) })
	}
	return fyne.NewMenuItem(lang.L("Pause notifications for an hour"), func() { pause(now().Add(pauseFor)) })
}

// saysOf lists the labels of a menu and what they lead to, to detect changes.
func saysOf(items []*fyne.MenuItem, o overview) string {
	worst, _ := env.Problem(o.status.Health)
	says := worst.ID + string(worst.Action) + "\n"
	for _, item := range items {
		says += item.Label + "\n"
	}
	for _, j := range o.saved {
		says += j.Path() + "\n"
	}
	for _, t := range o.used {
		says += t.ID + t.Name + "\n"
	}
	return says
}

// templateItem starts a package from a template: a recently used one, or any.
func (w *Window) templateItem(used []office.UsedTemplate) *fyne.MenuItem {
	all := func() { w.Show(); w.goCompose((*compose.Screen).ChooseTemplate) }
	if len(used) == 0 {
		return fyne.NewMenuItem(lang.L("New from template…"), all)
	}
	var list []*fyne.MenuItem
	for _, t := range used {
		list = append(list, fyne.NewMenuItem(shorten(t.Name), func() {
			w.Show()
			w.goCompose(func(s *compose.Screen) { s.FromTemplate(t.ID, t.Name) })
		}))
	}
	list = append(list, fyne.NewMenuItemSeparator(), fyne.NewMenuItem(lang.L("All templates…"), all))
	item := fyne.NewMenuItem(lang.L("New from template"), nil)
	item.ChildMenu = fyne.NewMenu("", list...)
	return item
}

// savedNames returns the names of saved files, with the folder if only that tells two of them apart, as with master files of
// packages that have a folder each.
func savedNames(saved []office.Job) (names []string) {
	times := map[string]int{}
	for _, j := range saved {
		times[path.Base(j.Target)]++
	}
	for _, j := range saved {
		name := path.Base(j.Target)
		if times[name] > 1 {
			name = message.Shorten(name, longest/2) + " (" + message.Shorten(filepath.Base(filepath.Dir(j.Path())), longest/2-3) + ")"
		}
		names = append(names, shorten(name))
	}
	return names
}

func (w *Window) showUpdate() {
	w.Go(showSettings)
	w.settings.get().ShowProgram()
}

func (w *Window) pauseItem(paused time.Time) *fyne.MenuItem {
	return pauseItem(w.options.Now, paused, w.pause)
}

func (w *Window) pause(until time.Time) {
	office := w.office
	async.Try(w.pool, func(context.Context) error { office.Snooze(until); return nil }, func(error) { w.status.Ask() })
}

func (t *tray) attach(w *Window) {
	if t.app == nil {
		return
	}
	t.tell(func() {
		t.icon(assets.TrayFine)
		t.app.SetSystemTrayMenu(t.menu)
	})
	t.app.SetSystemTrayWindow(w.window) // a left click opens it
	w.window.SetCloseIntercept(w.Hide)  // the line above replaced it
}

// AttachTray adds Countersign to the system's tray. Call it once, on Fyne's goroutine.
func (w *Window) AttachTray() {
	w.inTray = true
	w.tray.attach(w)
}

func (t *tray) icon(state assets.Tray) {
	if t.shown == state {
		return
	}
	data, err := assets.TrayIcon(state, traySize)
	if err != nil {
		fyne.LogError("read the tray icon", err)
		return
	}
	t.shown = state
	t.app.SetSystemTrayIcon(fyne.NewStaticResource(fmt.Sprintf("tray-%s.png", state), data))
}

func (t *tray) point(text string) {
	if t.tip != text && t.window.options.Tooltip != nil {
		t.tip = text
		t.window.options.Tooltip(text)
	}
}

func (t *tray) show(o overview) {
	if t.app == nil {
		return
	}
	t.tell(func() { t.icon(trayState(o.status)) })
	t.tell(func() { t.point("Countersign\n" + stateLine(o.status)) })
	items := t.items(stateLine(o.status), accountLine(o.status), o)
	says := saysOf(items, o)
	if says == t.says {
		return
	}
	t.says, t.menu.Items = says, items
	t.tell(t.menu.Refresh)
}

// tell runs a call to the panel. On Linux, Fyne's code for it panics once the session bus is gone or the tray has ended before the
// window; neither may crash the program.
func (t *tray) tell(something func()) {
	defer func() {
		if reason := recover(); reason != nil {
			fyne.LogError("tell the panel", fmt.Errorf("%v", reason))
		}
	}()
	something()
}

// trayState returns the icon for a status: attention if a person is needed, working while something is in progress.
func trayState(s agent.Status) assets.Tray {
	issue, _ := env.Problem(s.Health)
	switch {
	case issue.Severity == agent.Problem:
		return assets.TrayAttention
	case s.Saves.Pending > 0, s.Outbox.Pending > 0, s.Events.Pending > 0, s.Tunnel.State == "connecting":
		return assets.TrayWorking
	}
	return assets.TrayFine
}

// longest is how many characters of a line fit into a menu.
const longest = 72

func stateLine(s agent.Status) string {
	issue, _ := env.Problem(s.Health)
	switch {
	case !issue.Message.IsZero():
		return shorten(i18n.Message(issue.Message))
	case s.Outbox.Pending > 0:
		return lang.N("Sending {{.PluralCount}} packages", s.Outbox.Pending)
	case s.Saves.Pending > 0:
		return lang.N("Saving {{.PluralCount}} files", s.Saves.Pending)
	case s.Packages.Open+s.Packages.Declined > 0:
		return waitingLine(s.Packages)
	}
	return lang.L("Nothing is waiting for a signature")
}

// waitingLine says how many packages wait for signatures, and how many are stuck.
func waitingLine(p agent.PackageCounts) string {
	waiting := lang.N("{{.PluralCount}} packages waiting for signatures", p.Open)
	switch {
	case p.Declined == 0:
		return waiting
	case p.Open == 0:
		return lang.N("{{.PluralCount}} packages declined", p.Declined)
	}
	return waiting + ", " + lang.N("{{.PluralCount}} declined", p.Declined)
}

func accountLine(s agent.Status) string {
	switch {
	case !s.SignedIn:
		return lang.L("Not signed in")
	case s.Account.Email != "":
		return shorten(s.Account.Email)
	}
	return lang.L("Signed in")
}

func shorten(text string) string { return message.Shorten(text, longest) }
