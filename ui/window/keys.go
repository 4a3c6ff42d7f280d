package window

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"

	"countersign/ui/async"
	"countersign/ui/widgets"
)

// toldKey remembers that the person knows what closing the window does.
const toldKey = "told-that-it-keeps-running"

// keys are the shortcuts of the window. On a Mac, Fyne's default modifier is Command.
func (w *Window) keys() {
	w.shortcuts = map[fyne.KeyName]func(){
		fyne.KeyN:     w.ShowCompose,
		fyne.KeyF:     func() { w.Go(showPackages); w.packages.Find() },
		fyne.KeyComma: w.ShowSettings,
		fyne.KeyW:     w.Hide,
		fyne.KeyQ:     w.options.Quit,

		fyne.KeyReturn: w.sendNow,
		fyne.KeyEnter:  w.sendNow,
	}
	for key, do := range w.shortcuts {
		w.window.Canvas().AddShortcut(&desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierShortcutDefault},
			func(fyne.Shortcut) {
				if w.setup == nil || key == fyne.KeyW || key == fyne.KeyQ { // behind the wizard there is nothing to lead to
					do()
				}
			})
	}
	w.window.Canvas().SetOnTypedKey(w.onKey)
}

// sendNow is Ctrl+Enter: Enter alone sends nothing.
func (w *Window) sendNow() {
	if w.at == showCompose {
		w.compose.Send()
	}
}

// onKey gets keys that no field wants: Enter goes on, where that can be taken back, and Escape leaves.
func (w *Window) onKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyEscape:
		w.leave()
	case fyne.KeyF5:
		if w.setup == nil {
			w.CheckNow()
		}
	case fyne.KeyReturn, fyne.KeyEnter:
		if w.setup != nil && w.window.Canvas().Overlays().Top() == nil {
			w.setup.Next()
			return
		}
		switch {
		case w.window.Canvas().Overlays().Top() != nil: // a question has its own buttons
		case w.at == showSettings:
			w.settings.Save()
		}
	}
}

// CheckNow asks the service about everything, and says so where nothing else shows it.
func (w *Window) CheckNow() {
	w.packages.CheckNow()
	if w.at != showPackages && w.last != nil && w.last.status.SignedIn {
		w.env.Notice(lang.L("Checking…"))
	}
}

// leave closes what is on top, or goes back to the packages.
func (w *Window) leave() {
	if widgets.CloseTop(w.window.Canvas()) {
		return
	}
	if w.setup != nil {
		w.setup.Leave()
		return
	}
	w.Go(showPackages)
}

// Hide hides the window into the tray. Where there is no tray, it first says, once, that the program keeps running.
func (w *Window) Hide() {
	if w.app.Preferences().Bool(toldKey) {
		w.window.Hide()
		return
	}
	async.Then(w.pool, func(ctx context.Context) (bool, error) { return w.options.HasTray(ctx), nil }, func(has bool, _ error) {
		if has {
			w.window.Hide()
			return
		}
		w.tellThatItKeepsRunning()
	})
}

func (w *Window) tellThatItKeepsRunning() {
	widgets.Ask(w.window.Canvas(), widgets.Question{Title: lang.L("Keep running?"),
		Text: lang.L("Countersign keeps saving signed documents after you close the window. To open the window, start Countersign again."),
		Safe: lang.L("Keep running"), Do: lang.L("Quit"), OnDo: w.options.Quit, OnSafe: func() {
			w.app.Preferences().SetBool(toldKey, true)
			w.window.Hide()
		}})
}
