package widgets

import (
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// cut are the texts among some lines that are not shown whole.
func cut(lines []*Line) (texts []string) {
	for _, l := range lines {
		if l.Visible() && l.cut && !slices.Contains(texts, l.Text) {
			texts = append(texts, l.Text)
		}
	}
	return texts
}

// ListRow is what a row of a list embeds, of which a type of its own is made. It shows whole what its lines shorten, and that
// the mouse is on it, as Fyne's rows do.
type ListRow struct {
	widget.BaseWidget
	Content fyne.CanvasObject
	Lines   []*Line // that may be shortened
	More    string  // that the mouse shows in any case, empty for nothing
	hovered bool
}

// CreateRenderer is Fyne's.
func (r *ListRow) CreateRenderer() fyne.WidgetRenderer {
	x := &rowRenderer{row: r, back: canvas.NewRectangle(color.Transparent)}
	x.apply()
	return x
}

// MouseIn is Fyne's.
func (r *ListRow) MouseIn(e *desktop.MouseEvent) {
	r.hover(true)
	texts := cut(r.Lines)
	if r.More != "" {
		texts = append(texts, r.More)
	}
	point(r.Content, e, texts)
}

// MouseMoved is Fyne's.
func (r *ListRow) MouseMoved(*desktop.MouseEvent) {}

// MouseOut is Fyne's.
func (r *ListRow) MouseOut() {
	r.hover(false)
	pointAway(r.Content)
}

// Shown draws the row anew after its lines changed. What the mouse showed of the ones before is over.
func (r *ListRow) Shown() {
	if r.hovered {
		pointAway(r.Content)
	}
	r.Content.Refresh()
}

func (r *ListRow) hover(hovered bool) {
	r.hovered = hovered
	r.Refresh()
}

type rowRenderer struct {
	row  *ListRow
	back *canvas.Rectangle
}

func (r *rowRenderer) apply() {
	th := r.row.Theme()
	r.back.FillColor = color.Transparent
	r.back.CornerRadius = th.Size(fynetheme.SizeNameSelectionRadius)
	if r.row.hovered {
		r.back.FillColor = th.Color(fynetheme.ColorNameHover, fyne.CurrentApp().Settings().ThemeVariant())
	}
}

func (r *rowRenderer) Layout(size fyne.Size) {
	r.back.Resize(size)
	r.row.Content.Resize(size)
}
func (r *rowRenderer) MinSize() fyne.Size { return r.row.Content.MinSize() }
func (r *rowRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.back, r.row.Content}
}
func (r *rowRenderer) Destroy() {}
func (r *rowRenderer) Refresh() {
	r.apply()
	r.back.Refresh()
	r.row.Content.Refresh()
}
