package window

import (
	"context"
	"slices"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/widgets"
)

// quitting is how far the window is with ending the program.
type quitting struct {
	looking  bool           // whether something would be left undone
	question *widgets.PopUp // nil before the first one
}

// askToQuit ends the program, as a person asks for it. Where something would be left undone that people take for done, it asks
// first; who asks once more meanwhile means it.
func (w *Window) askToQuit() {
	canvas := w.window.Canvas()
	if w.quitting.looking || w.quitting.question != nil && canvas.Overlays().Top() == w.quitting.question {
		w.options.Quit()
		return
	}
	w.quitting.looking = true
	async.Then(w.pool, func(context.Context) ([]office.Draft, error) { return w.env.Office.Drafts() }, func(drafts []office.Draft, _ error) {
		w.quitting.looking = false
		text := w.leftUndone(drafts)
		if text == "" {
			w.options.Quit()
			return
		}
		w.Show()
		w.quitting.question = widgets.Ask(canvas, widgets.Question{Title: lang.L("Quit now?"), Text: text,
			Safe: lang.L("Keep running"), Do: lang.L("Quit"), OnDo: w.options.Quit})
	})
}

// leftUndone says what would not be done when the program ended now; empty for nothing. What waits for a person is not
// meant.
func (w *Window) leftUndone(drafts []office.Draft) string {
	if w.grace.Busy() {
		return lang.L("You can still undo your last action. If you quit now, you can no longer undo it. What is not done yet will be done when you start Countersign again.")
	}
	drafts = slices.DeleteFunc(drafts, func(d office.Draft) bool {
		return d.Away || d.State != office.DraftQueued && d.State != office.DraftAdding
	})
	if len(drafts) == 0 {
		return ""
	}
	return lang.N("{{.PluralCount}} packages have not been sent yet. They will be sent when you start Countersign again.", len(drafts))
}
