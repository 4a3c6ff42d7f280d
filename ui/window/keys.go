package window

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"

	"countersign/ui/widgets"
)

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
