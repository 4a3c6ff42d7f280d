package widgets

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/keys"
	"countersign/ui/theme"
)

// List is Fyne's list that also knows PageUp, PageDown, Home, End and Enter, in which the arrows choose, and whose rows
// may change under the person without the choice or the view jumping. Its rows are all equally high.
type List struct {
	widget.List
	named
	OnEnter  func()
	OnEscape func() (taken bool)             // in place of the window; may be nil
	OnAll    func()                          // Ctrl+A; may be nil
	OnMenu   func(row int, at fyne.Position) // the menu key or F10 on the chosen row, the other mouse button on any, and where that is; may be nil
	at       int
	focused  bool

	pattern fyne.CanvasObject // a row that is never shown, by which their height is known
	spoken  fyne.CanvasObject // another one, by which is known what the chosen row says
}

func NewList(length func() int, create func() fyne.CanvasObject, update func(int, fyne.CanvasObject)) *List {
	l := &List{at: -1}
	l.Length, l.CreateItem = length, create
	l.UpdateItem = func(id int, o fyne.CanvasObject) {
		if row, ok := o.(interface{ standIn(l *List, at int) }); ok {
			row.standIn(l, id)
		}
		update(id, o)
	}
	l.ExtendBaseWidget(l)
	return l
}

func (l *List) CreateRenderer() fyne.WidgetRenderer {
	return newRinged(l.List.CreateRenderer(), l, func() bool { return l.focused })
}

func (l *List) FocusGained() { l.focused = true; l.List.FocusGained() }

func (l *List) FocusLost() { l.focused = false; l.List.FocusLost() }

// Select chooses a row, as a tap on it does, and scrolls to it.
func (l *List) Select(id widget.ListItemID) {
	l.at = id
	l.List.Select(id)
	l.Highlight(id) // where Fyne shows the focus
}

func (l *List) UnselectAll() {
	l.at = -1
	l.List.UnselectAll()
}

// Chose tells the list which row was chosen by a tap; call it from OnSelected.
func (l *List) Chose(id widget.ListItemID) { l.at = id }

// At is the chosen row, -1 for none.
func (l *List) At() int { return l.at }

// Top is the row at the upper edge, and how much of it is scrolled out of sight.
func (l *List) Top() (row int, hidden float32) {
	height, offset := l.rowHeight(), l.GetScrollOffset()
	row = int(offset / height)
	return row, offset - float32(row)*height
}

func (l *List) Bottom() int { return int((l.GetScrollOffset() + l.Size().Height - 1) / l.rowHeight()) }

// Renew draws the rows after they changed. chosen is the row that is the chosen one now, -1 for none; top and hidden
// are as Top gives them. Nobody is told: what is chosen has not changed, only its place.
func (l *List) Renew(chosen, top int, hidden float32) {
	tell := l.OnSelected
	l.OnSelected = nil
	l.at = chosen
	l.List.UnselectAll()
	if chosen >= 0 {
		l.List.Select(chosen)
	}
	l.OnSelected = tell
	l.Refresh()
	l.Highlight(max(chosen, 0))
	l.ScrollToOffset(float32(top)*l.rowHeight() + hidden)
}

func (l *List) TypedKey(e *fyne.KeyEvent) {
	last := l.Length() - 1
	if e.Name == fyne.KeyEscape && l.OnEscape != nil && l.OnEscape() {
		return
	}
	if last < 0 || e.Name == fyne.KeyEscape || e.Name == fyne.KeyF5 {
		pass(l, e)
		return
	}
	switch e.Name {
	case fyne.KeyUp:
		l.Select(max(0, l.at-1))
	case fyne.KeyDown:
		l.Select(min(last, l.at+1))
	case fyne.KeyPageUp:
		l.Select(max(0, l.at-l.page()))
	case fyne.KeyPageDown:
		l.Select(min(last, max(0, l.at)+l.page()))
	case fyne.KeyHome:
		l.Select(0)
	case fyne.KeyEnd:
		l.Select(last)
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeySpace:
		if l.OnEnter != nil && l.at >= 0 {
			l.OnEnter()
		}
	case desktop.KeyMenu, fyne.KeyF10: // with Shift or without
		l.openMenu()
	default:
		l.List.TypedKey(e)
	}
}

// TypedShortcut is Fyne's. What is not about the list goes to the window.
func (l *List) TypedShortcut(shortcut fyne.Shortcut) {
	_, all := shortcut.(*fyne.ShortcutSelectAll)
	switch {
	case l.OnAll != nil && (all || keys.All.Are(shortcut)):
		l.OnAll()
	default:
		PassShortcut(l, shortcut)
	}
}

// openMenu asks for the menu of the chosen row, at its middle as far as it is in sight.
func (l *List) openMenu() {
	if l.OnMenu == nil || l.at < 0 {
		return
	}
	height := l.rowHeight()
	y := min(max((float32(l.at)+0.5)*height-l.GetScrollOffset(), 0), l.Size().Height)
	l.OnMenu(l.at, fyne.CurrentApp().Driver().AbsolutePositionForObject(l).AddXY(l.Size().Width/4, y))
}

// page is how many rows PageUp and PageDown move: one less than fit, so that one stays in sight.
func (l *List) page() int { return max(1, int(l.Size().Height/l.rowHeight())-1) }

// rowHeight is asked for with every key of a search: making a row takes longer than the search.
func (l *List) rowHeight() float32 {
	if l.pattern == nil {
		l.pattern = l.CreateItem()
	}
	return max(1, l.pattern.MinSize().Height+l.Theme().Size(fynetheme.SizeNamePadding))
}

// ListRow is what a row of a list embeds, of which a type of its own is made. It shows whole what its lines shorten, and that
// the mouse is on it, as Fyne's rows do.
type ListRow struct {
	widget.BaseWidget
	hoverable
	named
	Content fyne.CanvasObject
	Lines   []*Line // that may be shortened
	More    string  // that the mouse shows in any case, empty for nothing
	hovered bool
	marked  bool
	chosen  bool
	list    *List // in which it is shown
	at      int   // and as which row
}

func (r *ListRow) standIn(l *List, at int) {
	r.list, r.at = l, at
	if chosen := at == l.at; r.chosen != chosen {
		r.chosen = chosen
		r.Refresh()
	}
}

// Tapped chooses the row, and tells so of the chosen one, too: that may end a marking. Fyne's row, which does the first, gets
// no press on what answers to either mouse button.
func (r *ListRow) Tapped(*fyne.PointEvent) {
	if r.list == nil {
		return
	}
	if c := fyne.CurrentApp().Driver().CanvasForObject(r.list); c != nil {
		c.Focus(r.list)
	}
	r.list.Unselect(r.at)
	r.list.Select(r.at)
}

func (r *ListRow) TappedSecondary(e *fyne.PointEvent) {
	if r.list != nil && r.list.OnMenu != nil {
		r.list.OnMenu(r.at, e.AbsolutePosition)
	}
}

func (r *ListRow) Mark(marked bool) {
	if r.marked != marked {
		r.marked = marked
		r.Refresh()
	}
}

func (r *ListRow) CreateRenderer() fyne.WidgetRenderer {
	back, bar := canvas.NewRectangle(color.Transparent), canvas.NewRectangle(color.Transparent)
	return painted(&renderer{
		objects: []fyne.CanvasObject{back, bar, r.Content},
		least:   r.Content.MinSize,
		layout: func(size fyne.Size) {
			back.Resize(size)
			place(bar, 1, barInset, barWidth, max(0, size.Height-2*barInset))
			r.Content.Resize(size)
		},
		paint: func() {
			th := r.Theme()
			bar.FillColor, bar.CornerRadius = color.Transparent, barWidth/2
			if r.marked || r.chosen { // for whom a shade tells nothing
				bar.FillColor = th.Color(theme.Ink, fyne.CurrentApp().Settings().ThemeVariant())
			}
			back.FillColor, back.CornerRadius = color.Transparent, th.Size(fynetheme.SizeNameSelectionRadius)
			if r.marked {
				back.FillColor = th.Color(fynetheme.ColorNameSelection, fyne.CurrentApp().Settings().ThemeVariant())
			}
			if r.hovered && !r.marked {
				back.FillColor = th.Color(fynetheme.ColorNameHover, fyne.CurrentApp().Settings().ThemeVariant())
			}
		},
	})
}

func (r *ListRow) MouseIn(e *desktop.MouseEvent) {
	r.hover(true)
	texts := cut(r.Lines)
	if r.More != "" {
		texts = append(texts, r.More)
	}
	point(r.Content, e, texts)
}

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
