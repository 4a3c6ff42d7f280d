package packages

import (
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// actionsOf are the buttons for what can be done with a package, the one that is wanted most first.
func (s *Screen) actionsOf(p record) (buttons []fyne.CanvasObject) {
	if path := p.signed(); path != "" {
		open := widgets.NewButtonWithIcon(lang.L("Open signed document"), theme.FileTextIcon(), func() { s.env.OpenFile(path) })
		open.Importance = widget.HighImportance
		buttons = append(buttons, open)
	}
	if p.row.State.Unsent() {
		edit := widgets.NewButtonWithIcon(lang.L("Finish in the browser…"), theme.DocumentCreateIcon(), nil)
		edit.Importance = widget.HighImportance
		edit.OnTapped = func() { edit.Disable(); s.openEditor(p.row.ID, edit.Enable) }
		buttons = append(buttons, edit)
	}
	if standing := i18n.StandingOf(p.row); standing == i18n.Saved || standing == i18n.Wrong && p.row.FilesDone > 0 {
		buttons = append(buttons, widgets.NewButtonWithIcon(lang.L("Save again"), theme.DownloadIcon(), func() { s.saveAgain(p.row) }))
	}
	buttons = append(buttons, s.withdrawals(p)...)
	if p.sentHere {
		buttons = append(buttons, widgets.NewButtonWithIcon(lang.L("Use for a new package"), theme.MailForwardIcon(), func() { s.sendAgain(p) }))
	}
	if p.row.Archived != nil {
		buttons = append(buttons, widgets.NewButtonWithIcon(lang.L("Move back to the list"), theme.ContentUndoIcon(), func() { s.archive(p.row.ID, false) }))
	} else {
		buttons = append(buttons, widgets.NewButtonWithIcon(lang.L("Archive"), theme.StorageIcon(), func() { s.putAway(p.row.ID, p.row.Name) }))
	}
	if paths := pathsOf(p.saved()); len(paths) > 1 {
		buttons = append(buttons, s.more(lang.L("More for all files"), func() *fyne.Menu { return s.menuOfFiles(paths) }))
	}
	return buttons
}

// putAway takes a package out of the list, which can be undone for some seconds, and goes on to the next one.
func (s *Screen) putAway(id, name string) {
	if row := s.rowOf(id); row >= 0 && s.chosen == id {
		switch {
		case row+1 < s.rows():
			s.chosen = s.at(row + 1).line.ID
		case row > 0:
			s.chosen = s.at(row - 1).line.ID
		}
	}
	s.archive(id, true)
	s.env.Soon(env.Deed{
		Says: func(int) string {
			return lang.L("“{{.Package}}” is archived.", i18n.V{"Package": i18n.Title(name)})
		},
		Undone: func() { s.wanted, s.chosen = id, id; s.archive(id, false) }, // shown when it is listed again
	})
}

func (s *Screen) archive(id string, archived bool) {
	s.env.Attempt(func(context.Context) error { return s.env.Office.Archive(id, archived) }, s.Reload)
}

// menuOf is what a press of the other mouse button on a row offers.
func (s *Screen) menuOf(r listed) *fyne.Menu {
	if r.issue != nil || r.draft != nil {
		return nil
	}
	if several := s.several(); len(several) > 0 && s.marked[r.line.ID] {
		return menu(s.deedsOf(several))
	}
	return menu(append(s.openDeeds(r), s.deedsOf([]listed{r})...))
}

// openDeeds are what can be opened of the chosen package.
func (s *Screen) openDeeds(r listed) (deeds []deed) {
	saved := s.record.saved()
	if s.record.row.ID != r.line.ID || len(saved) == 0 {
		return nil
	}
	return []deed{
		{lang.L("Open"), theme.FileTextIcon(), func() { s.env.OpenFile(saved[0].Path) }},
		{lang.L("Show in folder"), theme.FolderOpenIcon(), func() { s.env.ShowInFolder(saved[0].Path) }},
	}
}

// openEditor shows the service's own editor for a package; done is called in any case.
func (s *Screen) openEditor(id string, done func()) {
	async.Then(s.env.Work, func(ctx context.Context) (string, error) { return s.env.Office.EditPage(ctx, id) },
		func(address string, err error) {
			done()
			if err != nil {
				s.env.Notice(i18n.Error(err))
				return
			}
			s.env.OpenAddress(address)
		})
}

func (s *Screen) saveAgain(row office.PackageRow) {
	async.Try(s.env.Work, func(context.Context) error { return s.env.Office.SaveAgain(row.ID) }, func(err error) {
		if err != nil {
			s.env.Notice(i18n.Error(err))
			return
		}
		s.env.Notice(lang.L("The files of “{{.Package}}” are being saved again.", i18n.V{"Package": i18n.Title(row.Name)}))
	})
}

// sendAgain takes files, people, order, message and reference to a new package. The due date is not taken along: it
// would be over.
func (s *Screen) sendAgain(p record) {
	s.env.Again(p.draft.ID, func(like office.NewPackage) {
		like.Due, like.Corrects = time.Time{}, ""
		s.env.Go.SendLike(like)
	})
}
