package widgets

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// ListRow is what a row of a list embeds, of which a type of its own is made. It shows whole what its lines shorten, and that
// the mouse is on it, as Fyne's rows do.
type ListRow struct {
	widget.BaseWidget
	hoverable
	Content fyne.CanvasObject
	Lines   []*Line // that may be shortened
	More    string  // that the mouse shows in any case, empty for nothing
	hovered bool
}

// CreateRenderer is Fyne's.
func (r *ListRow) CreateRenderer() fyne.WidgetRenderer {
	back := canvas.NewRectangle(color.Transparent)
	return painted(&renderer{
		objects: []fyne.CanvasObject{back, r.Content},
		least:   r.Content.MinSize,
		layout: func(size fyne.Size) {
			back.Resize(size)
			r.Content.Resize(size)
		},
		paint: func() {
			th := r.Theme()
			back.FillColor, back.CornerRadius = color.Transparent, th.Size(fynetheme.SizeNameSelectionRadius)
			if r.hovered {
				back.FillColor = th.Color(fynetheme.ColorNameHover, fyne.CurrentApp().Settings().ThemeVariant())
			}
		},
	})
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
