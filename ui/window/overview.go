package window

import (
	"cmp"
	"context"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/about"
	"countersign/ui/env"
	"countersign/ui/settings"
)

// lastSaved is how many saved files the tray offers.
const lastSaved = 5

// lastUsed is how many templates the tray offers.
const lastUsed = 5

// overview is what the strip, the status screen, the account and the tray show.
type overview struct {
	status agent.Status
	saved  []office.Job // newest first
	paused time.Time    // notifications are paused until then; zero when they are not

	templates bool                  // the service may have some
	used      []office.UsedTemplate // that packages were made from here, most recent first
	update    office.Update
}

func overviewOf(office env.Office) (overview, error) {
	status, err1 := office.Status()
	saved, err2 := office.Saved(lastSaved)
	used, err3 := office.UsedTemplates(lastUsed)
	return overview{status, saved, office.Snoozed(), office.TemplatesOffered(), used, office.Update()}, cmp.Or(err1, err2, err3)
}

// showOverview shows what was read. What could not be read stays as it was, and health says why.
func (w *Window) showOverview(o overview, err error) {
	if err != nil && w.last != nil {
		o.saved, o.used, o.status.Events, o.status.Packages, o.status.Saves = w.last.saved, w.last.used, w.last.status.Events, w.last.status.Packages, w.last.status.Saves
	}
	w.last = &o
	if !o.paused.After(w.options.Now()) {
		o.paused = time.Time{}
	}
	if o.paused != w.paused {
		w.paused = o.paused
		if !o.paused.IsZero() {
			w.later(o.paused.Sub(w.options.Now()), w.status.Ask) // the tray says so until then
		}
	}
	w.showHealth(o.status)
	w.packages.ShowHealth(o.status.Health)
	w.packages.ShowChecked(o.status.Checked, o.status.Checking)
	w.statusView.show(o.status)
	w.account.show(o.status)
	w.settings.ifMade(func(s *settings.Screen) {
		s.ShowStatus(o.status)
		s.ShowUpdate(o.update)
	})
	w.about.ifMade(func(s *about.Screen) { s.ShowUpdate(o.update) })
	w.tray.show(o)
	if w.setup != nil {
		w.setup.ShowHealth(o.status.Health)
	}
}

// soon offers to undo what was pressed; also while the window is hidden.
func (w *Window) soon(deed env.Deed) { w.grace.Begin(deed.Says, lang.L("Undo"), deed.Undone) }

// later calls f on the window's goroutine when d has passed, unless the view is left by then.
func (w *Window) later(d time.Duration, f func()) {
	pool, passed := w.watcher, w.options.After(d)
	pool.Start(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-passed:
			pool.Do(f)
		}
	})
}
