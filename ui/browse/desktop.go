package browse

import (
	"context"
	"log/slog"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/system"
	"countersign/ui/widgets"
)

// ask shows the desktop's dialog and hands on what it gives; ours asks in its place where there is none. Meanwhile a panel
// covers the window: not every desktop keeps the person from it, and a dialog may start slowly, or behind. Leaving the panel
// leaves the dialog. The panel takes no focus, so that a second press of Enter does nothing.
func ask(d *env.Env, q system.FileDialog, chosen func(paths []string), ours func()) {
	q.Window = env.Handle(d.Window)
	var panel *widgets.PopUp
	left := false
	stop := async.Then(d.Work, func(ctx context.Context) ([]string, error) { return d.System.Choose(ctx, q) }, func(paths []string, err error) {
		if left {
			return
		}
		panel.Close()
		switch {
		case err != nil:
			slog.Info("the window asks for files itself", "err", err)
			ours()
		case len(paths) > 0:
			chosen(paths)
		}
	})
	text := widgets.NewParagraph(lang.L("Choose in the window that has opened."))
	cancel := widgets.NewButton(lang.L("Cancel"), func() { panel.Close() })
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(q.Title), text, widgets.Row(8, layout.NewSpacer(), cancel)))
	panel = widgets.Open(d.Window.Canvas(), content, fyne.NewSize(440, 0), nil, func() {
		left = true
		stop()
	})
}
