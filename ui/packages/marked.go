package packages

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// Several packages can be marked, to be dealt with together: with Ctrl one beside the others, with Shift all from the one
// that was chosen last without it, with Ctrl+A all. Escape, or a choice without either, ends that.

// heldKeys are the modifiers that are held at the moment.
func heldKeys() fyne.KeyModifier {
	if d, ok := fyne.CurrentApp().Driver().(desktop.Driver); ok {
		return d.CurrentKeyModifiers()
	}
	return 0
}

// chose takes note of the row that the person chose, by a press or a key.
func (s *Screen) chose(row int) {
	s.list.Chose(row)
	before, id, had := s.chosen, s.at(row).line.ID, len(s.marked)
	switch held := s.held(); {
	case held&fyne.KeyModifierShift != 0:
		s.markTo(row)
	case held&fyne.KeyModifierShortcutDefault != 0:
		if had == 0 {
			s.mark(before, true)
		}
		s.mark(id, !s.marked[id])
		s.from = id
	default:
		s.marked, s.from = nil, id
	}
	s.choose(id)
	if had+len(s.marked) > 0 {
		s.showMarked()
	}
}

// mark marks a package, or takes the mark from it; issues and drafts cannot be marked.
func (s *Screen) mark(id string, marked bool) {
	if row := s.rowOf(id); row < len(s.heads) {
		return
	}
	if s.marked == nil {
		s.marked = map[string]bool{}
	}
	if s.marked[id] = marked; !marked {
		delete(s.marked, id)
	}
}

// markTo marks all rows from the one where marking began, and no others.
func (s *Screen) markTo(row int) {
	from := s.rowOf(s.from)
	if from < 0 {
		from, s.from = max(0, s.rowOf(s.chosen)), s.chosen
	}
	s.marked = nil
	for i := min(from, row); i <= max(from, row); i++ {
		s.mark(s.at(i).line.ID, true)
	}
}

// markAll marks every package that is listed.
func (s *Screen) markAll() {
	for i := len(s.heads); i < s.rows(); i++ {
		s.mark(s.at(i).line.ID, true)
	}
	s.showMarked()
}

// unmark ends the marking, and reports whether there was any.
func (s *Screen) unmark() bool {
	if len(s.marked) == 0 {
		return false
	}
	s.marked = nil
	s.showMarked()
	return true
}

func (s *Screen) showMarked() {
	s.list.Refresh()
	s.draw(true)
}

// several are the marked packages in the order of the list, when there is more than one. What is not listed any more is not
// marked any more.
func (s *Screen) several() (list []listed) {
	for id := range s.marked {
		if s.rowOf(id) < 0 {
			delete(s.marked, id)
		}
	}
	if len(s.marked) < 2 {
		return nil
	}
	for i := len(s.heads); i < s.rows(); i++ {
		if r := s.at(i); s.marked[r.line.ID] {
			list = append(list, r)
		}
	}
	return list
}

// deed is what can be done with packages.
type deed struct {
	name string
	icon fyne.Resource
	do   func()
}

// deedsOf are what can be done with each of several packages.
func (s *Screen) deedsOf(list []listed) (deeds []deed) {
	var open, saved, listedOnes, archived []string
	for _, r := range list {
		id := r.line.ID
		if canWithdrawLine(r.line) {
			open = append(open, id)
		}
		if r.line.Saved {
			saved = append(saved, id)
		}
		if r.line.Archived {
			archived = append(archived, id)
		} else {
			listedOnes = append(listedOnes, id)
		}
	}
	if len(open) > 0 && s.env.Office.CanWithdraw() {
		name := ""
		if len(open) == 1 {
			name = s.nameOf(open[0])
		}
		deeds = append(deeds, deed{lang.L("Withdraw…"), theme.CancelIcon(), func() { s.askWithdrawal(open, name, nil) }})
	}
	if len(saved) > 0 {
		deeds = append(deeds, deed{lang.L("Save again"), theme.DownloadIcon(), func() { s.saveAllAgain(saved) }})
	}
	if len(saved) > 0 {
		deeds = append(deeds,
			deed{lang.L("Export…"), theme.ContentCopyIcon(), func() { s.askExport(saved, len(list)-len(saved)) }},
			deed{lang.L("Open folder"), theme.FolderOpenIcon(), func() { s.openFolders(saved) }})
	}
	if len(listedOnes) > 0 {
		deeds = append(deeds, deed{lang.L("Archive"), theme.StorageIcon(), func() { s.putAllAway(listedOnes) }})
	}
	if len(archived) > 0 {
		deeds = append(deeds, deed{lang.L("Move back to the list"), theme.ContentUndoIcon(), func() { s.archiveAll(archived, false) }})
	}
	return deeds
}

func canWithdrawLine(l office.PackageLine) bool {
	return l.State.CanBeWithdrawn() && !l.Gone && !l.Withdrawing
}

func (s *Screen) nameOf(id string) string { return s.known(id).row.Name }

// severalPage is what stands on the right while several packages are marked.
func (s *Screen) severalPage(list []listed) fyne.CanvasObject {
	var buttons []fyne.CanvasObject
	for _, d := range s.deedsOf(list) {
		buttons = append(buttons, widgets.NewButtonWithIcon(d.name, d.icon, d.do))
	}
	buttons = append(buttons, widgets.NewButton(lang.L("End selection"), func() { s.unmark() }))
	return widgets.Stack(12, widgets.NewFullHeading(lang.N("{{.PluralCount}} packages selected", len(list))), widgets.Flow(8, buttons...))
}

// menu is a menu of deeds.
func menu(deeds []deed) *fyne.Menu {
	var items []*fyne.MenuItem
	for _, d := range deeds {
		item := fyne.NewMenuItem(d.name, d.do)
		item.Icon = d.icon
		items = append(items, item)
	}
	return fyne.NewMenu("", items...)
}

func (s *Screen) saveAllAgain(ids []string) {
	async.Try(s.env.Work, func(context.Context) error {
		for _, id := range ids {
			if err := s.env.Office.SaveAgain(id); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		if err != nil {
			s.env.Notice(i18n.Error(err))
			return
		}
		s.env.Notice(lang.N("The files of {{.PluralCount}} packages are being saved again.", len(ids)))
	})
}

func (s *Screen) archiveAll(ids []string, archived bool) {
	s.marked = nil
	s.env.Attempt(func(context.Context) error {
		for _, id := range ids {
			if err := s.env.Office.Archive(id, archived); err != nil {
				return err
			}
		}
		return nil
	}, s.Reload)
}

// putAllAway takes packages out of the list, which can be undone for some seconds.
func (s *Screen) putAllAway(ids []string) {
	if len(ids) == 1 {
		s.marked = nil
		s.putAway(ids[0], s.nameOf(ids[0]))
		return
	}
	s.archiveAll(ids, true)
	s.env.Soon(env.Deed{
		Says:   func(int) string { return lang.N("{{.PluralCount}} packages are archived.", len(ids)) },
		Undone: func() { s.archiveAll(ids, false) },
	})
}
