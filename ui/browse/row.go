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

// fileList is the picker's list.
type fileList struct {
	widgets.List
	picker *picker
}

func newFileList(p *picker) *fileList {
	l := &fileList{picker: p}
	l.HideSeparators = true
	l.ExtendBaseWidget(l)
	l.Make(func() int { return len(p.entries) }, func() fyne.CanvasObject { return newFileRow(l) }, func(at int, o fyne.CanvasObject) { o.(*fileRow).show(at) })
	return l
}

func (l *fileList) TypedKey(k *fyne.KeyEvent) {
	switch k.Name {
	case fyne.KeySpace:
		l.picker.press(l.At())
	case fyne.KeyReturn, fyne.KeyEnter:
		l.picker.enter(l.At())
	case fyne.KeyBackspace:
		l.picker.up()
	case fyne.KeyEscape:
		l.picker.leave()
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

func (r *fileRow) Tapped(*fyne.PointEvent) {
	r.list.Select(r.at)
	r.list.picker.press(r.at)
	r.list.picker.env.Window.Canvas().Focus(r.list)
}

func (r *fileRow) show(at int) {
	p := r.list.picker
	e := p.entries[at]
	r.at = at
	r.name.Set(filepath.Base(e.path))
	size, icon := i18n.Size(e.size), fynetheme.CheckButtonIcon()
	switch {
	case e.folder:
		size, icon = "", fynetheme.FolderIcon()
	case !p.many:
		icon = fynetheme.DocumentIcon()
	case slices.Contains(p.chosen, e.path):
		icon = fynetheme.NewColoredResource(fynetheme.CheckButtonCheckedIcon(), theme.Ink)
	}
	r.size.Set(size)
	r.icon.SetResource(icon)
	r.Shown()
}
