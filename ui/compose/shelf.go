package compose

import (
	"path/filepath"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
)

// shelf is the picker's list.
type shelf struct {
	widgets.List
	picker *picker
}

func newShelf(p *picker) *shelf {
	l := &shelf{picker: p}
	l.Length = func() int { return len(p.lines) }
	l.CreateItem = func() fyne.CanvasObject { return newShelfRow(l) }
	l.UpdateItem = func(at int, o fyne.CanvasObject) { o.(*shelfRow).show(at) }
	l.OnSelected = l.Chose
	l.ExtendBaseWidget(l)
	return l
}

// TypedKey is Fyne's.
func (l *shelf) TypedKey(k *fyne.KeyEvent) {
	switch k.Name {
	case fyne.KeySpace:
		l.picker.press(l.At())
	case fyne.KeyReturn, fyne.KeyEnter:
		if at := l.At(); at >= 0 && at < len(l.picker.lines) {
			l.picker.enter(at)
		}
	case fyne.KeyBackspace:
		l.picker.up()
	case fyne.KeyEscape:
		l.picker.leave()
	default:
		l.List.TypedKey(k)
	}
}

// shelfRow is one line: a tap is what Space is for the keyboard.
type shelfRow struct {
	widget.BaseWidget
	list    *shelf
	at      int
	icon    *widget.Icon
	name    *widgets.Line
	size    *widgets.Line
	content fyne.CanvasObject
}

func newShelfRow(l *shelf) *shelfRow {
	r := &shelfRow{list: l, icon: widget.NewIcon(theme.FolderIcon()), name: widgets.NewLine(""), size: widgets.NewCaption("")}
	r.name.Shorten, r.size.Shorten = true, false
	r.content = widgets.PadHV(8, 4, widgets.Across(r.icon, r.name, r.size))
	r.ExtendBaseWidget(r)
	return r
}

// CreateRenderer is Fyne's.
func (r *shelfRow) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(r.content) }

// Tapped is Fyne's.
func (r *shelfRow) Tapped(*fyne.PointEvent) {
	r.list.Select(r.at)
	r.list.picker.press(r.at)
	r.list.picker.screen.desk.Window.Canvas().Focus(r.list)
}

func (r *shelfRow) show(at int) {
	line := r.list.picker.lines[at]
	r.at = at
	r.name.Set(filepath.Base(line.path))
	size, icon := words.Size(line.size), theme.CheckButtonIcon()
	switch {
	case line.folder:
		size, icon = "", theme.FolderIcon()
	case slices.Contains(r.list.picker.chosen, line.path):
		icon = theme.NewColoredResource(theme.CheckButtonCheckedIcon(), look.Ink)
	}
	r.size.Set(size)
	r.icon.SetResource(icon)
	r.content.Refresh()
}
