package compose

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// endings are the kinds of documents that the picker lists; dropping takes any file, and the service decides.
var endings = []string{".pdf", ".docx", ".doc", ".odt", ".rtf", ".txt", ".xlsx", ".xls", ".ods", ".pptx", ".ppt", ".odp", ".png", ".jpg", ".jpeg", ".tif", ".tiff"}

// picked is one line of the picker: a folder or a document.
type picked struct {
	path   string
	folder bool
	size   int64
}

// picker lets a person choose several files at once, which Fyne's dialog does not. The arrows move, Space chooses,
// Enter opens a folder or takes what is chosen, Backspace goes up, Escape leaves.
type picker struct {
	screen *Screen
	pop    *widget.PopUp
	list   *shelf
	path   *input
	add    *button
	why    *widgets.Field // around path
	folder string
	lines  []picked
	chosen []string // paths, in the order they were chosen
}

// pickFiles shows the picker where it was the last time.
func (s *Screen) pickFiles() {
	p := &picker{screen: s}
	p.path = s.newInput("")
	p.path.OnChanged, p.path.OnEscape = nil, p.leave
	p.path.OnSubmitted = func(text string) { p.open(text) }
	p.why = widgets.NewField(lang.L("Folder"), p.path, "")
	p.list = newShelf(p)
	up := s.newButton("", theme.MoveUpIcon(), p.up)
	p.add = s.newButton("", theme.ContentAddIcon(), p.take)
	p.add.Importance = widget.HighImportance
	leave := s.newButton(lang.L("Cancel"), nil, p.leave)
	for _, b := range []*button{up, p.add, leave} {
		b.escape = p.leave
	}
	head := widgets.Stack(8, widgets.NewHeading(lang.L("Add documents")), widgets.Across(nil, p.why, up), p.places())
	keys := widgets.NewCaption(lang.L("Press Space to select files and Enter to add them."))
	foot := widgets.Across(nil, keys, container.NewHBox(leave, p.add))
	content := widgets.Pad(12, container.NewBorder(head, widgets.PadHV(0, 8, foot), nil, nil, p.list))
	p.pop = widget.NewModalPopUp(content, s.desk.Window.Canvas())
	room := s.desk.Window.Canvas().Size()
	p.pop.Resize(fyne.NewSize(min(640, room.Width-32), room.Height-32))
	p.pop.Show()
	p.count()
	p.open(s.folder)
	s.desk.Window.Canvas().Focus(p.list)
}

// place is a folder people keep documents in.
type place struct{ name, path string }

// places are buttons for those that exist; the disk is asked beside the window's goroutine.
func (p *picker) places() fyne.CanvasObject {
	row := container.NewHBox()
	names := []place{{lang.L("Home"), ""}, {lang.L("Desktop"), "Desktop"}, {lang.L("Documents"), "Documents"}, {lang.L("Downloads"), "Downloads"}}
	work.Then(p.screen.desk.Work, func(context.Context) (there []place, err error) {
		home, err := os.UserHomeDir()
		for _, n := range names {
			n.path = filepath.Join(home, n.path)
			if info, err := os.Stat(n.path); err == nil && info.IsDir() {
				there = append(there, n)
			}
		}
		return there, err
	}, func(there []place, _ error) { // without a home there are none
		for _, n := range there {
			b := p.screen.newButton(n.name, nil, func() { p.open(n.path) })
			b.Importance, b.escape = widget.LowImportance, p.leave
			row.Add(b)
		}
	})
	return row
}

// open lists a folder, read beside the window's goroutine; an empty path is the home folder.
func (p *picker) open(folder string) {
	work.Then(p.screen.desk.Work, func(context.Context) ([]picked, error) {
		if folder == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			folder = home
		}
		return listed(folder)
	}, func(lines []picked, err error) {
		p.path.SetText(folder)
		if err != nil {
			p.why.Wrong(lang.L("This folder cannot be opened."))
			return
		}
		p.why.Wrong("")
		p.folder, p.lines = folder, lines
		p.list.UnselectAll()
		p.list.Refresh()
		p.list.ScrollToTop()
		if len(lines) > 0 {
			p.list.Select(0)
		}
	})
}

// listed are the folders and the documents in a folder, folders first, without what is hidden.
func listed(folder string) (lines []picked, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		line := picked{path: filepath.Join(folder, e.Name())}
		info, err := os.Stat(line.path) // follows links
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		line.folder, line.size = info.IsDir(), info.Size()
		if line.folder || slices.Contains(endings, strings.ToLower(filepath.Ext(e.Name()))) {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b picked) int {
		if a.folder != b.folder {
			if a.folder {
				return -1
			}
			return 1
		}
		return strings.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
	})
	return lines, err
}

func (p *picker) up() { p.open(filepath.Dir(p.folder)) }

// press chooses a document, or no longer, and opens a folder.
func (p *picker) press(at int) {
	if at < 0 || at >= len(p.lines) {
		return
	}
	line := p.lines[at]
	if line.folder {
		p.open(line.path)
		return
	}
	if i := slices.Index(p.chosen, line.path); i >= 0 {
		p.chosen = slices.Delete(p.chosen, i, i+1)
	} else {
		p.chosen = append(p.chosen, line.path)
	}
	p.list.RefreshItem(at)
	p.count()
}

// enter takes what is chosen; with nothing chosen it is the line itself that is meant.
func (p *picker) enter(at int) {
	if len(p.chosen) == 0 || p.lines[at].folder {
		p.press(at)
		if p.lines[at].folder {
			return
		}
	}
	p.take()
}

func (p *picker) count() {
	p.add.SetText(lang.L("Add"))
	if n := len(p.chosen); n > 0 {
		p.add.SetText(lang.L("Add {{.Documents}}", words.V{"Documents": words.Documents(n)}))
		p.add.Enable()
		return
	}
	p.add.Disable()
}

// take adds what is chosen, in that order.
func (p *picker) take() {
	p.leave()
	if len(p.chosen) > 0 {
		p.screen.folder = p.folder
		p.screen.Add(p.chosen)
	}
}

func (p *picker) leave() {
	p.pop.Hide()
	p.screen.desk.Window.Canvas().Focus(p.screen.add)
}
