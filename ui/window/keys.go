package window

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/work"
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

// onKey gets keys that no field wants: Enter does the primary thing, Escape leaves.
func (w *Window) onKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyEscape:
		w.leave()
	case fyne.KeyReturn, fyne.KeyEnter:
		if w.setup != nil {
			w.setup.Next()
			return
		}
		switch w.at {
		case showCompose:
			w.compose.Send()
		case showSettings:
			w.settings.Save()
		}
	}
}

// leave closes what is on top, or goes back to the packages.
func (w *Window) leave() {
	if top := w.window.Canvas().Overlays().Top(); top != nil {
		top.Hide()
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
	work.Then(w.pool, func(ctx context.Context) (bool, error) { return w.options.HasTray(ctx), nil }, func(has bool, _ error) {
		if has {
			w.window.Hide()
			return
		}
		w.tellThatItKeepsRunning()
	})
}

func (w *Window) tellThatItKeepsRunning() {
	text := widget.NewLabel(lang.L("Countersign keeps saving signed documents after you close the window. To open the window, start Countersign again."))
	text.Wrapping = fyne.TextWrapWord
	ask := dialog.NewCustomConfirm(lang.L("Keep running?"), lang.L("Keep running"), lang.L("Quit"), text, func(keep bool) {
		if !keep {
			w.options.Quit()
			return
		}
		w.app.Preferences().SetBool(toldKey, true)
		w.window.Hide()
	}, w.window)
	ask.Resize(fyne.NewSize(420, 200))
	ask.Show()
}
