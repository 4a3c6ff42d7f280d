package window

import (
	"context"
	"errors"
	"path/filepath"

	"fyne.io/fyne/v2/lang"

	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/setup"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// openSetup shows the wizard in place of the screens, with what was typed into it before.
func (w *Window) openSetup() {
	at := *w.env
	w.setup = setup.New(&at, &w.answers, setup.Ways{Done: w.closeSetup, Demo: w.demoWay()})
	at.Notice = w.setup.Say
	w.hang(w.setup.Content())
	w.setup.Focus()
}

// openOffice hands the file of an administrator to the wizard. An office that is set up is not changed by a file.
func (w *Window) openOffice(path string) {
	if w.setup == nil && w.played.Load() != nil {
		w.LeaveDemo()
	}
	if w.setup == nil {
		w.env.Notice(lang.L("Countersign is already set up here, so “{{.File}}” was not opened. Change what is different in Settings.",
			i18n.V{"File": filepath.Base(path)}))
		return
	}
	w.setup.OpenFile(path)
}

// closeSetup shows the screens.
func (w *Window) closeSetup() {
	w.setup = nil
	w.answers = setup.Answers{}
	w.hang(w.main)
	at := w.at // Send, when files were handed over meanwhile
	w.at = -1
	w.Go(at)
	w.settings.Reload()
}

// demo is the demo that was started here: an office to look at, and how to end it.
type demo struct {
	office env.Office
	stop   func()
}

// demoWay starts the demo; nil where there is none.
func (w *Window) demoWay() func() (cancel func()) {
	if w.options.StartDemo == nil {
		return nil
	}
	return w.tryDemo
}

// tryDemo shows the demo as soon as it has started; the returned function gives up waiting for it.
func (w *Window) tryDemo() (cancel func()) {
	return async.Then(w.own, func(ctx context.Context) (*demo, error) {
		office, stop, err := w.options.StartDemo(ctx)
		if err != nil {
			return nil, err
		}
		d := &demo{office, stop}
		w.played.Store(d) // from here on Close ends it, should nobody else
		if ctx.Err() != nil {
			w.endDemo()
		}
		return d, ctx.Err()
	}, func(d *demo, err error) {
		switch {
		case errors.Is(err, context.Canceled):
			w.setup.DemoFailed("")
		case err != nil:
			w.setup.DemoFailed(i18n.Error(err))
		default:
			w.at = showPackages
			w.enter(d.office, true)
		}
	})
}

// endDemo ends the demo that was started here, if there is one. It may be called from any goroutine and takes a moment.
func (w *Window) endDemo() {
	if d := w.played.Swap(nil); d != nil {
		d.stop()
	}
}

// LeaveDemo goes back to the office, and ends the demo beside the window's goroutine.
func (w *Window) LeaveDemo() {
	w.at = showPackages
	w.enter(w.options.Office, w.options.Demo)
	w.own.Start(func(context.Context) { w.endDemo() })
}

// demoStrip says that this is the demo and, when it was started from the wizard, how to leave it.
func (w *Window) demoStrip() *widgets.Strip {
	strip := widgets.NewStrip(theme.Calm, nil)
	leave := ""
	if w.played.Load() != nil {
		leave = lang.L("Leave the demo")
	}
	strip.Say(lang.L("Demo: the signing service runs inside this program. Nothing leaves this computer."), "", leave, w.LeaveDemo)
	return strip
}
