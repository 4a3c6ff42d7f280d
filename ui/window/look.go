package window

import (
	"cmp"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/system"
	"countersign/ui/theme"
)

// look is how the window looks and moves by these settings; what they leave open is as the system is.
func (w *Window) look(s office.Settings) (l theme.Look, still bool) {
	l = theme.Look{Variant: s.Theme, Contrast: s.Contrast == "high", Text: cmp.Or(s.TextSize, w.comfort.Text)}
	if s.Contrast == "" {
		l.Contrast = w.comfort.Contrast
	}
	if l.Text == 100 { // as it is by itself
		l.Text = 0
	}
	return l, s.Motion == "reduced" || s.Motion == "" && w.comfort.Still
}

// paint makes the window look so, and its widgets stand still or move.
func (w *Window) paint(l theme.Look, still bool) {
	if w.options.Still != nil {
		w.options.Still(still)
	}
	if w.painted == l {
		return
	}
	w.painted = l
	w.app.Settings().SetTheme(l.Theme())
}

// askComfort asks the system, beside the window, how it is set for people who see little: at the start, and whenever the
// person comes back to the window, perhaps from the system's settings.
func (w *Window) askComfort() {
	if w.options.Comfort == nil {
		return
	}
	async.Then(w.own, w.options.Comfort,
		func(c system.Comfort, err error) {
			if err == nil && w.comfort != c { // else it stays as it was, and is asked again
				w.comfort = c
				w.follows(w.env.Office.Settings())
			}
		})
}
