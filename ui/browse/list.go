package browse

import (
	"path/filepath"
	"slices"

	"fyne.io/fyne/v2"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// fileList is the dialog's list.
type fileList struct {
	widgets.List
	browser *browser
}

func newFileList(b *browser) *fileList {
	l := &fileList{browser: b}
	l.Length = func() int { return len(b.lines) }
	l.CreateItem = func() fyne.CanvasObject { return newFileRow(l) }
	l.UpdateItem = func(at int, o fyne.CanvasObject) { o.(*fileRow).show(at) }
	l.OnSelected = l.Chose
	l.ExtendBaseWidget(l)
	return l
}

// TypedKey is Fyne's.
func (l *fileList) TypedKey(k *fyne.KeyEvent) {
	switch k.Name {
	case fyne.KeySpace:
		l.browser.press(l.At())
	case fyne.KeyReturn, fyne.KeyEnter:
		if at := l.At(); at >= 0 && at < len(l.browser.lines) {
			l.browser.enter(at)
		}
	case fyne.KeyBackspace:
		l.browser.up()
	case fyne.KeyEscape:
		l.browser.leave()
	default:
		l.List.TypedKey(k)
	}
}

// fileRow is one line: a tap is what Space is for the keyboard.
type fileRow struct {
	widgets.ListRow
	list *fileList
	at   int
	icon *widget.Icon
	name *widgets.Line
	size *widgets.Line
}

func newFileRow(l *fileList) *fileRow {
	r := &fileRow{list: l, icon: widget.NewIcon(fynetheme.FolderIcon()), name: widgets.NewLine(""), size: widgets.NewCaption("")}
	r.name.Shorten, r.size.Shorten = true, false
	r.Lines, r.Content = []*widgets.Line{r.name}, widgets.PadHV(8, 4, widgets.Across(r.icon, r.name, r.size))
	r.ExtendBaseWidget(r)
	return r
}

// Tapped is Fyne's.
func (r *fileRow) Tapped(*fyne.PointEvent) {
	r.list.Select(r.at)
	r.list.browser.press(r.at)
	r.list.browser.env.Window.Canvas().Focus(r.list)
}

func (r *fileRow) show(at int) {
	line := r.list.browser.lines[at]
	r.at = at
	r.name.Set(filepath.Base(line.path))
	size, icon := i18n.Size(line.size), fynetheme.CheckButtonIcon()
	switch {
	case !r.list.browser.many && !line.folder:
		icon = fynetheme.DocumentIcon()
	case line.folder:
		size, icon = "", fynetheme.FolderIcon()
	case slices.Contains(r.list.browser.chosen, line.path):
		icon = fynetheme.NewColoredResource(fynetheme.CheckButtonCheckedIcon(), theme.Ink)
	}
	r.size.Set(size)
	r.icon.SetResource(icon)
	r.Shown()
}
