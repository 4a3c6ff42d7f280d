package window

import (
	"fmt"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/ui/desk"
)

// tray is the icon in the panel and its menu. It talks to the panel only when something changed: every change crosses
// D-Bus.
type tray struct {
	app            desktop.App // nil where Fyne has no tray
	menu           *fyne.Menu
	state, account *fyne.MenuItem
	shown          assets.Tray
}

// traySize suits panels of 22 px at up to three times the density; larger icons cost time on D-Bus.
const traySize = 64

func newTray(app fyne.App, w *Window) *tray {
	t := &tray{state: fyne.NewMenuItem("Countersign", nil), account: fyne.NewMenuItem(lang.L("Not signed in"), nil)}
	t.state.Disabled, t.account.Disabled = true, true
	quit := fyne.NewMenuItem(lang.L("Quit"), w.options.Quit)
	quit.IsQuit = true
	t.menu = fyne.NewMenu("Countersign", t.state, t.account, fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(lang.L("New package"), func() { w.Show(); w.ShowCompose() }),
		fyne.NewMenuItem(lang.L("Open Countersign"), w.Show),
		fyne.NewMenuItem(lang.L("Open folder"), func() { w.packages.OpenFolder() }),
		fyne.NewMenuItemSeparator(), quit)
	t.app, _ = app.(desktop.App)
	return t
}

// attach puts the icon into the panel.
func (t *tray) attach(w *Window) {
	if t.app == nil {
		return
	}
	t.icon(assets.TrayFine)
	t.app.SetSystemTrayMenu(t.menu)
	t.app.SetSystemTrayWindow(w.window) // a left click opens the window
	w.window.SetCloseIntercept(w.Hide)  // which the line above replaced
}

// AttachTray puts Countersign into the system's tray. Call it once, on Fyne's goroutine.
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

func (t *tray) show(s agent.Status) {
	state, account := stateLine(s), accountLine(s)
	if t.app == nil || (t.state.Label == state && t.account.Label == account && t.shown == trayState(s)) {
		return
	}
	t.icon(trayState(s))
	t.state.Label, t.account.Label = state, account
	t.menu.Refresh()
}

// trayState is the icon for a status: attention needs a person, working is under way by itself.
func trayState(s agent.Status) assets.Tray {
	issue, _ := desk.Problem(s.Health)
	switch {
	case issue.Severity == agent.Problem:
		return assets.TrayAttention
	case s.Saves.Pending > 0, s.Outbox.Pending > 0, s.Events.Pending > 0, s.Tunnel.State == "connecting":
		return assets.TrayWorking
	}
	return assets.TrayFine
}

// longest is how many characters of a state fit into a menu.
const longest = 72

func stateLine(s agent.Status) string {
	issue, _ := desk.Problem(s.Health)
	switch {
	case issue.Text != "":
		return shorten(desk.Sentence(issue.Text))
	case s.Outbox.Pending > 0:
		return lang.N("Sending {{.PluralCount}} packages", s.Outbox.Pending)
	case s.Saves.Pending > 0:
		return lang.N("Saving {{.PluralCount}} documents", s.Saves.Pending)
	case s.Packages.Open > 0:
		return lang.N("{{.PluralCount}} packages wait for signatures", s.Packages.Open)
	}
	return lang.L("Everything is signed and saved")
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

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= longest {
		return text
	}
	return string(runes[:longest-1]) + "…"
}
