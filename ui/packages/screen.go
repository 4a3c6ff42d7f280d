// Package packages is the screen that shows what was sent, what is waiting and what came back. It reads packages from
// the office and opens saved files; it changes nothing.
package packages

import (
	"context"
	"fmt"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// Screen is the packages screen. All methods belong to the window's goroutine.
type Screen struct {
	desk    *desk.Desk
	reader  *work.Reader[news]
	content fyne.CanvasObject

	rows   []listed         // everything, newest first
	shown  []listed         // what tab and search leave
	chosen string           // package id
	folder string           // where files are saved
	links  map[string]links // by package id

	tabs   *widgets.Tabs
	search *widgets.Entry
	list   *widgets.List
	left   *fyne.Container // the list, or why there is none
	detail *fyne.Container
	where  *widgets.Line
}

// New returns the screen, empty until Reload.
func New(d *desk.Desk) *Screen {
	s := &Screen{desk: d, links: map[string]links{}}
	s.reader = work.NewReader(d.Work, s.read, s.show)
	s.search = widgets.NewEntry(lang.L("Search name, person or e-mail"))
	s.search.SetIcon(theme.SearchIcon())
	s.search.OnChanged = func(string) { s.filter() }
	s.search.OnEscape = s.leaveSearch
	s.search.OnSubmitted = func(string) { s.enterList() }
	s.tabs = widgets.NewTabs(s.tabTexts([4]int{}), func(int) { s.filter() })
	s.list = widgets.NewList(func() int { return len(s.shown) },
		func() fyne.CanvasObject { return newItem() },
		func(id int, o fyne.CanvasObject) { o.(*item).show(s.desk.Now(), s.shown[id].row) })
	s.list.OnSelected = func(id int) {
		s.list.Chose(id)
		s.choose(s.shown[id].row.ID)
	}
	s.list.OnEnter = s.openFirstFile
	s.list.HideSeparators = true
	s.left = container.NewStack()
	s.detail = container.NewStack()
	s.where = widgets.NewCaption("")
	openFolder := widget.NewButtonWithIcon(lang.L("Open folder"), theme.FolderOpenIcon(), s.OpenFolder)
	openFolder.Importance = widget.LowImportance
	foot := widgets.On(look.Paper, widgets.PadHV(12, 4, widgets.Across(widget.NewIcon(theme.FolderIcon()), s.where, openFolder)))
	head := widgets.Stack(4, widgets.PadHV(12, 0, s.search), widgets.PadHV(6, 0, s.tabs))
	side := widgets.On(look.Surface, widgets.Frame(widgets.PadHV(0, 8, head), container.NewVBox(widget.NewSeparator(), foot), nil, s.left))
	split := container.NewHSplit(side, widgets.On(look.Paper, s.detail))
	split.SetOffset(0.41)
	s.content = split
	s.filter()
	return s
}

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the packages anew, beside the window's goroutine.
func (s *Screen) Reload() { s.reader.Ask() }

// news is what Reload reads.
type news struct {
	rows   []listed
	folder string
}

func (s *Screen) read(context.Context) news {
	return news{indexed(s.desk.Office.Packages()), s.desk.Office.Settings().SaveTo}
}

func (s *Screen) show(n news) {
	s.rows, s.folder = n.rows, n.folder
	s.where.Set(folderText(n.folder))
	clear(s.links)
	s.filter()
}

func folderText(folder string) string {
	if folder == "" {
		return lang.L("No folder is chosen yet")
	}
	return lang.L("Saved in {{.Folder}}", words.V{"Folder": folder})
}

// Find puts the focus into the search field.
func (s *Screen) Find() { s.desk.Window.Canvas().Focus(s.search) }

// Show chooses a package, in whatever tab it is.
func (s *Screen) Show(id string) {
	s.search.SetText("")
	s.chosen = id
	for i, r := range s.rows {
		if r.row.ID == id && !inTab(s.tabs.Chosen(), s.rows[i].row) {
			s.tabs.Choose(tabAll)
		}
	}
	s.filter()
}

// Listed are the ids of the packages that tab and search leave, in their order.
func (s *Screen) Listed() (ids []string) {
	for _, r := range s.shown {
		ids = append(ids, r.row.ID)
	}
	return ids
}

// OpenFolder opens the folder that files are saved in.
func (s *Screen) OpenFolder() {
	if s.folder == "" {
		s.desk.Go.ShowSettings()
		return
	}
	s.desk.OpenFile(s.folder)
}

func (s *Screen) leaveSearch() {
	if s.search.Text != "" {
		s.search.SetText("")
		return
	}
	s.enterList()
}

func (s *Screen) enterList() {
	s.desk.Window.Canvas().Focus(s.list)
	if len(s.shown) > 0 && s.chosenIndex() < 0 {
		s.list.Select(0)
	}
}

func (s *Screen) openFirstFile() {
	if row, ok := s.chosenRow(); ok && len(row.Files) > 0 {
		s.desk.OpenFile(row.Files[0])
	}
}

func (s *Screen) choose(id string) {
	changed := s.chosen != id
	s.chosen = id
	s.showDetail(changed)
}

func (s *Screen) chosenIndex() int {
	for i, r := range s.shown {
		if r.row.ID == s.chosen {
			return i
		}
	}
	return -1
}

func (s *Screen) chosenRow() (agent.PackageRow, bool) {
	if i := s.chosenIndex(); i >= 0 {
		return s.shown[i].row, true
	}
	return agent.PackageRow{}, false
}

// filter applies tab and search, keeps the choice where it can, and shows the result.
func (s *Screen) filter() {
	var counts [4]int
	s.shown, counts = sift(s.rows, s.tabs.Chosen(), s.search.Text)
	for i, text := range s.tabTexts(counts) {
		s.tabs.Label(i, text)
	}
	if len(s.shown) == 0 {
		widgets.Remake(s.left, s.nothing())
	} else {
		widgets.Remake(s.left, s.list)
	}
	at := s.chosenIndex()
	if at < 0 && len(s.shown) > 0 {
		at, s.chosen = 0, s.shown[0].row.ID
	}
	s.list.Refresh()
	if at >= 0 {
		s.list.UnselectAll() // the same row number may be another package now
		s.list.Select(at)
		return
	}
	s.list.Forget()
	s.showDetail(true)
}

func (s *Screen) tabTexts(counts [4]int) []string {
	texts := []string{lang.L("Waiting"), lang.L("Done"), lang.L("Problems"), lang.L("All")}
	for _, i := range []int{tabWaiting, tabProblems} {
		if counts[i] > 0 {
			texts[i] = fmt.Sprintf("%s %d", texts[i], counts[i])
		}
	}
	return texts
}

// nothing explains an empty list.
func (s *Screen) nothing() fyne.CanvasObject {
	icon := look.MarkSigned.Resource()
	switch {
	case s.search.Text != "":
		return widgets.Empty(theme.SearchIcon(), lang.L("Nothing found for “{{.Text}}”.", words.V{"Text": s.search.Text}),
			lang.L("Clear search"), func() { s.search.SetText("") })
	case len(s.rows) == 0:
		return widgets.Empty(look.MarkDrop.Resource(), lang.L("Nothing has been sent yet."), lang.L("New package"), s.desk.Go.ShowCompose)
	case s.tabs.Chosen() == tabWaiting:
		return widgets.Empty(icon, lang.L("Nothing is waiting for a signature."), lang.L("New package"), s.desk.Go.ShowCompose)
	case s.tabs.Chosen() == tabProblems:
		return widgets.Empty(icon, lang.L("There are no problems."), "", nil)
	default:
		return widgets.Empty(look.MarkLater.Resource(), lang.L("Nothing is finished yet."), "", nil)
	}
}
