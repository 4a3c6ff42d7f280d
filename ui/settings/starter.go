package settings

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// starter is the choice whether the program starts with the computer, which the computer keeps, not the office.
type starter struct {
	screen  *Screen
	content fyne.CanvasObject
	field   *widgets.Field
	check   *widgets.Check
}

func newStarter(s *Screen) *starter {
	t := &starter{screen: s}
	t.check = widgets.NewCheck(lang.L("Start Countersign when the computer starts"), t.set)
	t.field = widgets.NewField("", t.check, lang.L("It starts in the tray and saves signed documents from there."))
	t.content = t.field
	return t
}

// show shows how it is, without setting anything.
func (t *starter) show(on bool, err error) {
	if err != nil {
		t.field.Wrong(i18n.Error(err))
		t.check.Disable()
		return
	}
	t.check.Enable()
	t.check.Checked = on
	t.check.Refresh()
}

func (t *starter) set(on bool) {
	autostart := t.screen.env.Autostart
	async.Try(t.screen.env.Work, func(context.Context) error { return autostart.Set(on) }, func(err error) {
		if err != nil {
			t.check.Checked = !on
			t.check.Refresh()
			t.field.Wrong(i18n.Error(err))
			return
		}
		t.field.Wrong("")
		t.field.Note(theme.Done, lang.L("Saved and in use."))
	})
}
