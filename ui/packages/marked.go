package packages

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/widgets"
)

// marking is the set of packages selected for a common action.
type marking struct {
	marked map[string]bool         // by package id
	from   string                  // where a Shift selection begins
	group  []listed                // what several returns, until marks or list change; nil for not known
	held   func() fyne.KeyModifier // returns the modifier keys being held
}

// Several packages can be marked: individually with Ctrl, a range from the row last chosen without Shift with Shift, all with
// Ctrl+A. Escape, or choosing a row without either key, ends that.

func heldKeys() fyne.KeyModifier {
	if d, ok := fyne.CurrentApp().Driver().(desktop.Driver); ok {
		return d.CurrentKeyModifiers()
	}
	return 0
}

// chose handles a choice by press or key.
func (s *Screen) chose(row int) {
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
		if len(s.marked) == 1 { // it alone is chosen
			for id = range s.marked {
			}
			s.clearMarks()
		}
	default:
		s.clearMarks()
		s.from = id
	}
	s.wanted = ""
	if s.choose(id); id != s.at(row).line.ID {
		top, hidden := s.list.Top()
		s.list.Renew(s.rowOf(id), top, hidden, s.parts()...)
	}
	if had+len(s.marked) > 0 {
		s.showMarked()
	}
}

func (m *marking) clearMarks() { m.marked, m.group = nil, nil }

// mark marks or unmarks a package.
func (s *Screen) mark(id string, marked bool) {
	s.group = nil
	if s.marked == nil {
		s.marked = map[string]bool{}
	}
	if s.marked[id] = marked; !marked {
		delete(s.marked, id)
	}
}

// ShowSeveral marks and shows packages, leaving out those no longer listed.
func (s *Screen) ShowSeveral(ids []string) {
	s.Show(ids[0])
	s.tabs.Choose(tabAll)
	for _, id := range ids {
		s.mark(id, true)
	}
	s.showMarked()
}

// markTo marks exactly the rows from where marking began to row.
func (s *Screen) markTo(row int) {
	from := s.rowOf(s.from)
	if from < 0 {
		from, s.from = max(0, s.rowOf(s.chosen)), s.chosen
	}
	s.clearMarks()
	for i := min(from, row); i <= max(from, row); i++ {
		s.mark(s.at(i).line.ID, true)
	}
}

// markAll marks all drafts if one of them is chosen, otherwise all packages.
func (s *Screen) markAll() {
	chosen, _ := s.headOfID(s.chosen)
	for i := range s.rows() {
		if r := s.at(i); (r.draft != nil) == (chosen.draft != nil) {
			s.mark(r.line.ID, true)
		}
	}
	s.showMarked()
}

// unmark ends the marking and reports whether there was any.
func (s *Screen) unmark() bool {
	if len(s.marked) == 0 {
		return false
	}
	s.clearMarks()
	s.showMarked()
	return true
}

func (s *Screen) showMarked() {
	s.list.Refresh()
	s.draw(true)
}

// several returns the marked packages in list order if there is more than one, and unmarks those no longer listed.
func (s *Screen) several() []listed {
	if len(s.marked) == 0 {
		return nil
	}
	if s.group == nil {
		still := make(map[string]bool, len(s.marked))
		s.group = make([]listed, 0, len(s.marked))
		for i := range s.rows() {
			if r := s.at(i); s.marked[r.line.ID] {
				s.group, still[r.line.ID] = append(s.group, r), true
			}
		}
		s.marked = still
	}
	if len(s.group) < 2 {
		return nil
	}
	return s.group
}

// actionsOf returns what can be done with packages and drafts, most wanted first. one is the record of a single package, nil for
// several. What concerns only some of several says of how many. first reports whether they wait for the first action.
func (s *Screen) actionsOf(list []listed, one *record) (actions []outbox.Action, first bool) {
	apart := false
	addFor := func(n int, name string, icon fyne.Resource, do func()) {
		if n > 0 {
			actions, apart = append(actions, outbox.Action{Name: name, Icon: icon, Do: do, N: n, Apart: apart}), false
		}
	}
	add := func(wanted bool, name string, icon fyne.Resource, do func()) {
		if wanted {
			addFor(len(list), name, icon, do)
		}
	}
	var p record
	if one != nil {
		p = *one
	}
	signed, files := p.signed(), pathsOf(p.saved())
	openFolder := func(saved []string) {
		addFor(len(saved), lang.L("Open folder"), fynetheme.FolderOpenIcon(), func() { s.openFolders(saved) })
	}
	canEnd := func(r *listed) bool {
		return r.draft == nil && r.line.State.CanBeWithdrawn() && !r.line.Gone && !r.line.Withdrawing && !p.row.Away
	}
	isListed := func(r *listed) bool { return r.draft == nil && !r.line.Archived }
	pick := func(which func(*listed) bool) (some []listed) { // only once it is pressed: there may be tens of thousands
		for i := range list {
			if which(&list[i]) {
				some = append(some, list[i])
			}
		}
		return some
	}
	var late, saved, archived []string
	var drafts []office.Draft
	open, listedOnes := 0, 0
	for i := range list {
		r := &list[i]
		id := r.line.ID
		if r.draft != nil {
			drafts = append(drafts, *r.draft)
			continue
		}
		if canEnd(r) {
			open++
		}
		if isListed(r) {
			listedOnes++
		}
		if r.stage == i18n.Open && r.line.Next != "" && !r.line.Withdrawing {
			late = append(late, id)
		}
		if r.line.Saved || len(files) > 0 {
			saved = append(saved, id)
		}
		if r.line.Archived {
			archived = append(archived, id)
		}
	}
	if len(drafts) > 0 {
		actions = outbox.Actions(s.env, s.office, drafts, s.env.Go.EditDraft, s.sent)
		add(len(list) == 1 && drafts[0].State == office.DraftFailed && len(drafts[0].Files) > 0, lang.L("Show in folder"), fynetheme.FolderOpenIcon(),
			func() { s.showRefused(drafts[0]) })
	}
	again := lang.N("The files of {{.PluralCount}} packages are being saved again.", len(saved))
	if len(list) == 1 {
		again = lang.L("The files of “{{.Package}}” are being saved again.", i18n.V{"Package": i18n.Title(list[0].line.Name)})
	}
	saveAgain := func(wanted bool) {
		if wanted {
			addFor(len(saved), lang.L("Save again"), fynetheme.DownloadIcon(), func() { s.saveAgain(saved, again) })
		}
	}
	astray := slices.ContainsFunc(p.row.Files, p.astray)
	saveAgain(astray)
	if f, i := p.altered(); i >= 0 {
		add(true, lang.L("Show differences"), fynetheme.SearchIcon(), func() { s.showDifferences(p.row.ID, f) })
	}
	add(signed != "", lang.L("Open signed document"), fynetheme.FileTextIcon(), func() { s.env.OpenFile(signed) })
	if p.several() {
		openFolder(saved)
	}
	add(p.row.State.Unsent(), lang.L("Finish in the browser…"), fynetheme.DocumentCreateIcon(), func() { s.openEditor(p.row.ID) })
	addFor(len(late), lang.L("Remind"), fynetheme.MailComposeIcon(), func() { s.remind(late) })
	if !s.office.CanWithdraw() {
		open = 0
	}
	declined := p.row.Status() == office.StatusDeclined
	correct := func(wanted bool) {
		add(wanted && open > 0 && p.sentHere, lang.L("Correct and send again…"), fynetheme.DocumentCreateIcon(),
			func() { s.askWithdrawal(pick(canEnd), func(withdraw func()) { s.again(p, p.row.ID, withdraw) }) })
	}
	correct(declined)
	first = len(actions) > 0
	addFor(open, lang.L("Withdraw…"), fynetheme.CancelIcon(), func() { s.askWithdrawal(pick(canEnd), nil) })
	add(p.sentHere, lang.L("Duplicate"), fynetheme.ContentCopyIcon(), func() { s.again(p, "", nil) })
	addFor(listedOnes, lang.L("Archive"), fynetheme.StorageIcon(), func() { s.putAway(pick(isListed)) })
	addFor(len(archived), lang.L("Move back to the list"), fynetheme.ContentUndoIcon(), func() { s.archive(archived, false, nil) })
	correct(!declined)
	apart = true
	if !p.several() {
		openFolder(saved)
	}
	addFor(len(saved), lang.L("Export…"), fynetheme.UploadIcon(), func() { s.askExport(saved, len(list)-len(saved)) })
	add(len(files) > 0, lang.L("Save proof…"), fynetheme.DocumentSaveIcon(), func() { s.askProof(p.row.ID, p.row.Name) })
	saveAgain(len(saved) > 0 && !astray)
	apart = true
	add(len(files) > 1, lang.L("Copy all files"), fynetheme.ContentCopyIcon(), func() { s.copyFiles(files) })
	add(len(files) > 1, lang.L("Attach all files to a mail…"), fynetheme.MailAttachmentIcon(), func() { s.mailFiles(p.row, files) })
	add(len(files) > 1, lang.L("Print all files"), fynetheme.DocumentPrintIcon(), func() { s.printFiles(files) })
	return outbox.Partly(actions, len(list)), first
}

func (s *Screen) listed(p record) listed {
	return listed{line: p.row.Line(), sorted: sorted{stage: s.all.unsaved.stage(i18n.StageOf(p.row), p.row.ID)}}
}

// sent ends the marking after an action.
func (s *Screen) sent() {
	s.unmark()
	s.Reload()
}

// mostListed limits the packages listed for several, mostAsked those listed in a question.
const (
	mostListed = 20
	mostAsked  = 5
)

// severalPage fills the right side while several packages are marked. Of drafts it shows what one must know before approving them.
func (s *Screen) severalPage(list []listed) fyne.CanvasObject {
	actions, first := s.actionsOf(list, nil)
	head := widgets.Across(nil, widgets.NewFullHeading(lang.N("{{.PluralCount}} packages selected", len(list))),
		widgets.NewLink(lang.L("Clear selection"), func() { s.unmark() }))
	page := widgets.Stack(24, widgets.Stack(12, head, s.actions(actions, first, 3)))
	var drafts []fyne.CanvasObject
	others := list // below the drafts
	for len(others) > 0 && others[0].draft != nil {
		if len(drafts) < maxPictures {
			drafts = append(drafts, s.draftTile(others[0]))
		}
		others = others[1:]
	}
	if len(drafts) > 0 {
		page.Add(tiles(drafts...))
	}
	page.Add(s.briefly(others, mostListed))
	return page
}

// showRefused shows the document of a draft that was refused in its folder, which is another one if it came from a watched folder.
func (s *Screen) showRefused(d office.Draft) {
	if folder := s.folders[d.Folder]; folder != "" {
		s.env.OpenFile(filepath.Join(folder, office.HotProblems))
		return
	}
	env.Get(s.env, func(context.Context) (string, error) { return s.office.Original(d.Files[0]) }, s.env.ShowInFolder)
}

func menu(actions []outbox.Action) *fyne.Menu {
	var items []*fyne.MenuItem
	for _, d := range actions {
		if d.Apart && len(items) > 0 {
			items = append(items, fyne.NewMenuItemSeparator())
		}
		items = append(items, menuItem(d.Name, d.Icon, d.Do))
	}
	return fyne.NewMenu("", items...)
}

func (s *Screen) saveAgain(ids []string, said string) {
	s.env.Do(func(context.Context) error {
		_, err := async.Each(ids, func(id string) (bool, error) { return true, s.office.SaveAgain(id) })
		return err
	}, func() { s.env.Notice(said) })
}

// archive archives packages or moves them back, and calls then, unless nil, with those that were not before.
func (s *Screen) archive(ids []string, archived bool, then func(done []string)) {
	s.clearMarks()
	var done []string
	s.env.Attempt(func(context.Context) (err error) {
		done, err = async.Each(ids, func(id string) (bool, error) { return s.office.Archive(id, archived) })
		return err
	}, func() {
		if then != nil && len(done) > 0 {
			then(done)
		}
		s.Reload()
	})
}

// putAway archives packages, with some seconds to undo. After a single one, the next is chosen.
func (s *Screen) putAway(list []listed) {
	var ids []string
	waits := false
	for _, r := range list {
		ids, waits = append(ids, r.line.ID), waits || r.stage == i18n.Open && r.line.Due.After(s.env.Now())
	}
	s.archive(ids, true, func(done []string) {
		says := lang.N("{{.PluralCount}} packages are archived.", len(done))
		if len(ids) == 1 {
			says = lang.L("“{{.Package}}” is archived.", i18n.V{"Package": i18n.Title(list[0].line.Name)})
			if row := s.rowOf(ids[0]); row >= 0 && s.chosen == ids[0] {
				switch {
				case row+1 < s.rows():
					s.chosen = s.at(row + 1).line.ID
				case row > 0:
					s.chosen = s.at(row - 1).line.ID
				}
			}
		}
		if waits {
			says += " " + lang.L("There will be no reminder before the due date.")
		}
		s.env.Soon(env.Undoable{Says: says, Undone: func() {
			if len(ids) == 1 {
				s.wanted, s.chosen = ids[0], ids[0] // chosen once it is listed again
			}
			s.archive(done, false, nil)
		}})
	})
}

// askExport copies the packages' saved files to a folder that the person chooses. without is how many other packages have none.
func (s *Screen) askExport(ids []string, without int) {
	browse.Folder(s.env, "", func(folder string) {
		env.Get(s.env, func(ctx context.Context) (office.Exported, error) { return s.office.Export(ctx, ids, folder) }, func(x office.Exported) {
			s.env.Notice(howExported(x, filepath.Base(folder), len(ids)-x.Packages+without))
		})
	})
}

// howExported says what was copied and what was not. without is how many packages have no saved files.
func howExported(x office.Exported, folder string, without int) string {
	what := i18n.V{"Folder": folder, "Files": lang.N("{{.PluralCount}} files", x.Files), "Done": i18n.Number(x.Copied)}
	said := []string{lang.L("Copied to “{{.Folder}}”: {{.Files}}.", what)}
	if x.Copied < x.Files {
		said[0] = lang.L("Copied to “{{.Folder}}”: {{.Done}} of {{.Files}}.", what)
	}
	if x.Lost > 0 {
		said = append(said, lang.N("{{.PluralCount}} files are missing or were changed.", x.Lost))
	}
	if !x.Problem.IsZero() {
		said = append(said, i18n.Message(x.Problem))
	}
	if without > 0 {
		said = append(said, lang.N("{{.PluralCount}} packages have no saved files.", without))
	}
	return strings.Join(said, " ")
}

const mostFolders = 3

// openFolders opens the packages' folders, or the office's own folder if there are many.
func (s *Screen) openFolders(ids []string) {
	env.Get(s.env, func(context.Context) ([]string, error) { return s.foldersOf(ids) }, func(folders []string) {
		switch {
		case len(folders) == 0:
			s.env.Notice(lang.L("The files are no longer where they were saved."))
		case len(folders) > mostFolders:
			s.OpenFolder()
		default:
			for _, folder := range folders {
				s.env.OpenFile(folder)
			}
		}
	})
}

// foldersOf returns the distinct folders of the packages' saved files. It runs off the UI goroutine.
func (s *Screen) foldersOf(ids []string) (folders []string, err error) {
	for _, id := range ids {
		row, _, err := s.office.Package(id)
		if err != nil {
			return nil, err
		}
		for _, f := range row.Files {
			folder := filepath.Dir(f.Path)
			if f.State == office.JobDone && !slices.Contains(folders, folder) && s.env.System.Exists(f.Path) {
				folders = append(folders, folder)
			}
		}
	}
	return folders, nil
}

// actions makes buttons. The first action is filled if the package waits for it; shown others get buttons, the rest a menu.
func (s *Screen) actions(actions []outbox.Action, first bool, shown int) fyne.CanvasObject {
	var buttons []fyne.CanvasObject
	for i, d := range actions[:min(shown, len(actions))] {
		button := widgets.NewButton(d.Name, d.Do).Quiet()
		if first && i == 0 {
			button = widgets.NewButtonWithIcon(d.Name, d.Icon, d.Do).Primary()
		}
		buttons = append(buttons, button)
	}
	if rest := actions[len(buttons):]; len(rest) > 0 {
		buttons = append(buttons, widgets.NewMore(lang.L("More actions"), func() *fyne.Menu { return menu(rest) }))
	}
	row := widgets.PadHV(0, 4, widgets.Flow(4, buttons...))
	if !first {
		row = widgets.Outdent(row)
	}
	return row
}

// last notes that something is asked for that opens once it is read, and returns whether it is still wanted then: nothing was asked
// for since, no other package was chosen, and the screen is neither left nor covered.
func (s *Screen) last() (wanted func() bool) {
	s.asks++
	asked, chosen := s.asks, s.chosen
	return func() bool {
		return s.asks == asked && s.chosen == chosen && s.content.Visible() && s.env.Window.Canvas().Overlays().Top() == nil
	}
}

// askMenu opens a row's context menu.
func (s *Screen) askMenu(row int, at fyne.Position) {
	wanted := s.last()
	s.actionsFor(s.at(row), func(actions []outbox.Action) {
		if len(actions) > 0 && wanted() {
			widgets.OpenMenuAt(s.env.Window.Canvas(), menu(actions), at)
		}
	})
}

// actionsFor passes use all actions for a row, as on its page, after reading its record.
func (s *Screen) actionsFor(r listed, use func([]outbox.Action)) {
	several := s.several()
	if len(several) == 0 || !s.marked[r.line.ID] {
		several = []listed{r}
	}
	switch {
	case len(several) > 1 || r.draft != nil:
		actions, _ := s.actionsOf(several, nil)
		use(actions)
	default:
		env.Get(s.env, func(context.Context) (record, error) { p := s.recordOf(r.line.ID); return p, p.failure }, func(p record) {
			actions, _ := s.actionsOf([]listed{s.listed(p)}, &p)
			use(actions)
		})
	}
}

// openEditor opens the service's own editor for a package.
func (s *Screen) openEditor(id string) {
	s.withPage(id, func(ctx context.Context) (string, error) { return s.office.EditPage(ctx, id) }, s.env.OpenAddress)
}

// again starts a new package from the contents of another one, and then calls begun, which may be nil. If corrects names that one, the
// new package is sent once the old one is withdrawn.
func (s *Screen) again(p record, corrects string, begun func()) {
	outbox.Again(s.env, s.office, p.draft.ID, func(like office.NewPackage) {
		like.Corrects = corrects
		s.env.Go.SendLike(like, begun)
	})
}
