package window

import (
	"context"
	"runtime/debug"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/ui/async"
	"countersign/ui/widgets"
)

// These remember that the person knows where the program is while the window is closed: in the tray, or nowhere to be
// seen, which is told for itself.
const (
	toldTrayKey = "told-that-it-stays-in-the-tray"
	toldKey     = "told-that-it-keeps-running"
)

// leaving is how far the window is with being closed.
type leaving struct {
	asking   bool           // the panel, whether there is a tray
	question *widgets.PopUp // says where the window is found again; nil before the first time
	key      string         // remembers that it was said
}

// Hide closes the window, which the program survives. Before the first time it says where the window is found again.
func (w *Window) Hide() {
	canvas, told := w.window.Canvas(), w.app.Preferences()
	switch {
	case told.Bool(toldKey):
		w.vanish()
		return
	case w.leaving.question != nil && canvas.Overlays().Top() == w.leaving.question: // closing it once more is an answer, too
		w.leaving.question.Close()
		w.leaveFor(w.leaving.key)
		return
	case w.leaving.asking:
		return
	}
	w.leaving.asking = true
	async.Then(w.pool, func(ctx context.Context) (bool, error) { return w.options.HasTray(ctx), nil }, func(has bool, _ error) {
		w.leaving.asking = false
		switch {
		case has && told.Bool(toldTrayKey):
			w.vanish()
		case has:
			w.askToLeave(toldTrayKey, lang.L("Countersign keeps saving signed documents after you close the window. To open the window, click its icon in the tray."))
		default:
			w.askToLeave(toldKey, lang.L("Countersign keeps saving signed documents after you close the window. To open the window, start Countersign again."))
		}
	})
}

// askToLeave says where the window is found again, and closes it. key remembers that it was said.
func (w *Window) askToLeave(key, text string) {
	w.leaving.key = key
	w.leaving.question = widgets.Ask(w.window.Canvas(), widgets.Question{Title: lang.L("Keep running?"), Text: text,
		Safe: lang.L("Keep running"), Do: lang.L("Quit"), OnDo: w.askToQuit, OnSafe: func() { w.leaveFor(key) }})
}

func (w *Window) leaveFor(key string) {
	w.app.Preferences().SetBool(key, true)
	w.vanish()
}

// vanish takes the window from the screen.
func (w *Window) vanish() {
	w.clearLanding()
	w.window.Hide()
	w.Rest()
}

// restAfter is how long after the window was closed its memory goes back to the system: what was under way has ended, and
// somebody who opens it again at once does not wait.
const restAfter = 5 * time.Second

// Rest lets go of what only a window on the screen needs, until Show.
func (w *Window) Rest() {
	w.resting = true
	w.later(restAfter, func() {
		if w.resting {
			w.packages.Rest()
			w.own.Start(func(context.Context) { debug.FreeOSMemory() })
		}
	})
}
