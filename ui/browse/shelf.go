package browse

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

// shelf is the dialog's list.
type shelf struct {
	widgets.List
	browser *browser
}

func newShelf(b *browser) *shelf {
	l := &shelf{browser: b}
	l.Length = func() int { return len(b.lines) }
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
	r.list.browser.press(r.at)
	r.list.browser.desk.Window.Canvas().Focus(r.list)
}

func (r *shelfRow) show(at int) {
	line := r.list.browser.lines[at]
	r.at = at
	r.name.Set(filepath.Base(line.path))
	size, icon := words.Size(line.size), theme.CheckButtonIcon()
	switch {
	case !r.list.browser.many && !line.folder:
		icon = theme.DocumentIcon()
	case line.folder:
		size, icon = "", theme.FolderIcon()
	case slices.Contains(r.list.browser.chosen, line.path):
		icon = theme.NewColoredResource(theme.CheckButtonCheckedIcon(), look.Ink)
	}
	r.size.Set(size)
	r.icon.SetResource(icon)
	r.content.Refresh()
}
