package window

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/ui/keys"
	"countersign/ui/widgets"
)

// bindKeys binds the shortcuts of the window.
func (w *Window) bindKeys() {
	w.shortcuts = map[keys.Key]func(){}
	for _, bound := range []struct {
		keys   keys.Binding
		do     func()
		always bool // also in the wizard, behind which there is nothing to lead to
	}{
		{keys.New, w.ShowCompose, false},
		{keys.Search, func() { w.Go(showPackages); w.packages.Find() }, false},
		{keys.Settings, w.ShowSettings, false},
		{keys.Send, w.sendNow, false},
		{keys.Close, w.Hide, true},
		{keys.Quit, w.askToQuit, true},
	} {
		for _, key := range bound.keys {
			w.shortcuts[key] = bound.do
			w.window.Canvas().AddShortcut(key.Shortcut(), func(fyne.Shortcut) {
				if w.setup == nil || bound.always {
					bound.do()
				}
			})
		}
	}
	w.window.Canvas().SetOnTypedKey(w.onKey)
}

// sendNow is Ctrl+Enter: Enter alone sends nothing.
func (w *Window) sendNow() {
	if w.at == showCompose {
		w.compose.get().Send()
	}
}

// onKey gets keys that no field wants: Enter goes on, where that can be taken back, and Escape leaves.
func (w *Window) onKey(e *fyne.KeyEvent) {
	switch {
	case keys.Leave.Is(e):
		w.leave()
	case keys.CheckNow.Is(e):
		if w.setup == nil {
			w.CheckNow()
		}
	case keys.Enter.Is(e):
		if w.setup != nil && w.window.Canvas().Overlays().Top() == nil {
			w.setup.Next()
			return
		}
		switch {
		case w.window.Canvas().Overlays().Top() != nil: // a question has its own buttons
		case w.at == showSettings:
			w.settings.get().Save()
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

// leave closes what is on top, or goes back to the list of packages, which is as it was left.
func (w *Window) leave() {
	if widgets.CloseTop(w.window.Canvas()) {
		return
	}
	if w.setup != nil {
		w.setup.Leave()
		return
	}
	w.Go(showPackages)
	w.packages.FocusList()
}
