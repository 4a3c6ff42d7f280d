package widgets

import (
	"image/color"
	"slices"
	"sort"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/keys"
	"countersign/ui/theme"
)

// List is Fyne's list that also knows PageUp, PageDown, Home, End and Enter, in which the arrows choose, and whose rows
// may change under the person without the choice or the view jumping. Its rows are ListRows, all equally high but for the
// heads above some of them. It knows itself which row is chosen, as Fyne's shade would cover the head above it, too.
type List struct {
	widget.List
	named
	OnEnter  func()
	OnPress  func()                            // a row was pressed with the mouse; may be nil
	OnKey    func(*fyne.KeyEvent) (taken bool) // before the list; may be nil
	OnEscape func() (taken bool)               // in place of the window; may be nil
	OnRune   func(rune)                        // a letter was typed; may be nil
	OnAll    func()                            // Ctrl+A; may be nil
	OnMenu   func(row int, at fyne.Position)   // the menu key or F10 on the chosen row, the other mouse button on any, and where that is; may be nil
	at       int
	focused  bool
	heads    []Head
	holding  bool // nothing is drawn yet: more is about to change

	pattern fyne.CanvasObject // a row that is never shown, by which their height is known
	spoken  fyne.CanvasObject // another one, by which is known what the chosen row says
}

// Head is what stands above a row of a list, and begins a part of it.
type Head struct {
	Row  int
	Text string
}

func NewList(length func() int, create func() fyne.CanvasObject, update func(int, fyne.CanvasObject)) *List {
	l := &List{at: -1}
	l.Length, l.CreateItem = length, create
	l.ExtendBaseWidget(l)
	l.UpdateItem = func(id int, o fyne.CanvasObject) {
		if l.holding {
			return
		}
		if row, ok := o.(interface{ standIn(l *List, at int) }); ok {
			row.standIn(l, id)
		}
		update(id, o)
	}
	return l
}

func (l *List) CreateRenderer() fyne.WidgetRenderer { return &held{l.List.CreateRenderer(), l} }

// held draws nothing while its list says so.
type held struct {
	fyne.WidgetRenderer
	of *List
}

func (h *held) Refresh() {
	if !h.of.holding {
		h.WidgetRenderer.Refresh()
	}
}

func (l *List) FocusGained() { l.focused = showsFocus(l); l.Refresh() }

func (l *List) FocusLost() { l.focused = false; l.Refresh() }

// Select chooses a row, as a tap on it does, and scrolls to it.
func (l *List) Select(id widget.ListItemID) {
	if id != l.at {
		l.choose(id)
	}
}

func (l *List) choose(id int) {
	if id < 0 || id >= l.Length() {
		return
	}
	l.at = id
	l.ScrollTo(id)
	if l.OnSelected != nil {
		l.OnSelected(id)
	}
}

func (l *List) UnselectAll() {
	l.at = -1
	l.Refresh()
}

// At is the chosen row, -1 for none.
func (l *List) At() int { return l.at }

// Top is the row at the upper edge, and how much of it is scrolled out of sight.
func (l *List) Top() (row int, hidden float32) {
	offset := l.GetScrollOffset()
	row = l.rowAt(offset)
	return row, offset - l.edgeOf(row)
}

func (l *List) Bottom() int { return l.rowAt(l.GetScrollOffset() + l.Size().Height - 1) }

// edgeOf is where a row begins, its head included, and rowAt which row is somewhere.
func (l *List) edgeOf(row int) float32 {
	heads, _ := findHead(l.heads, row)
	return float32(row)*l.rowHeight() + float32(heads)*headHeight()
}

func findHead(heads []Head, row int) (at int, there bool) {
	return slices.BinarySearchFunc(heads, row, func(h Head, row int) int { return h.Row - row })
}

func (l *List) rowAt(y float32) int {
	return sort.Search(l.Length(), func(row int) bool { return l.edgeOf(row+1) > y })
}

// Renew draws the rows after they changed. chosen is the row that is the chosen one now, -1 for none; top and hidden are as Top
// gives them; heads ascend. Nobody is told: what is chosen has not changed, only its place.
func (l *List) Renew(chosen, top int, hidden float32, heads ...Head) {
	l.at, l.holding = chosen, true
	height := l.rowHeight() - l.Theme().Size(fynetheme.SizeNamePadding)
	for _, h := range l.heads {
		if _, still := findHead(heads, h.Row); !still {
			l.SetItemHeight(h.Row, height)
		}
	}
	for _, h := range heads {
		l.SetItemHeight(h.Row, height+headHeight())
	}
	l.heads, l.holding = heads, false
	l.Refresh()
	l.ScrollToOffset(l.edgeOf(top) + hidden)
}

func (l *List) TypedKey(e *fyne.KeyEvent) {
	last := l.Length() - 1
	byKey, quiet = true, nil
	if !l.focused {
		l.FocusGained()
	}
	if l.OnKey != nil && l.OnKey(e) || e.Name == fyne.KeyEscape && l.OnEscape != nil && l.OnEscape() {
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
	}
}

func (l *List) TypedRune(r rune) {
	if l.OnRune != nil && r != ' ' { // which is a key
		l.OnRune(r)
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
	y := min(max(l.edgeOf(l.at+1)-l.rowHeight()/2-l.GetScrollOffset(), 0), l.Size().Height)
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
	list    *List   // in which it is shown
	at      int     // and as which row
	head    string  // above it, empty for none
	drawn   [2]bool // as the chosen one, with the ring
}

// headHeight is the room of the head above a row, with what is left free above it.
func headHeight() float32 { return Scaled(34) }

func (r *ListRow) standIn(l *List, at int) {
	r.list, r.at = l, at
	head := ""
	if n, has := findHead(l.heads, at); has {
		head = l.heads[n].Text
	}
	if now := [...]bool{r.chosen(), r.ringed()}; r.drawn != now || r.head != head {
		r.drawn, r.head = now, head
		r.Refresh()
	}
}

func (r *ListRow) ringed() bool {
	return r.list != nil && r.at == max(0, r.list.at) && r.list.focused // with none chosen, the arrows begin at the first
}

func (r *ListRow) chosen() bool { return r.list != nil && r.list.at == r.at }

// Tapped chooses the row, and tells so of the chosen one, too: that may end a marking. Fyne's row, which does the first, gets
// no press on what answers to either mouse button.
func (r *ListRow) Tapped(*fyne.PointEvent) {
	if r.list != nil {
		byKey = false
		Focus(fyne.CurrentApp().Driver().CanvasForObject(r.list), r.list)
		if r.list.choose(r.at); r.list.OnPress != nil {
			r.list.OnPress()
		}
	}
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

// rowInset is how far the ground of a row stays away from the sides of its list.
const rowInset = 6

func (r *ListRow) CreateRenderer() fyne.WidgetRenderer {
	back, bar, head := canvas.NewRectangle(color.Transparent), canvas.NewRectangle(color.Transparent), NewCaption("")
	top := func() float32 {
		if head.Text == "" {
			return 0
		}
		return headHeight()
	}
	layout := func(size fyne.Size) {
		place(head, 16, top()-head.MinSize().Height-6, size.Width-32, head.MinSize().Height)
		place(back, rowInset, top(), max(0, size.Width-2*rowInset), size.Height-top())
		place(bar, rowInset+1, top()+barInset, barWidth, max(0, size.Height-top()-2*barInset))
		place(r.Content, rowInset, top(), max(0, size.Width-2*rowInset), size.Height-top())
	}
	ring := newRinged(painted(&renderer{
		objects: []fyne.CanvasObject{back, bar, head, r.Content},
		least:   r.Content.MinSize,
		layout:  layout,
		paint: func() {
			th, variant := r.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
			bar.FillColor, bar.CornerRadius = color.Transparent, barWidth/2
			if r.marked || r.chosen() { // for whom a shade tells nothing
				bar.FillColor = th.Color(theme.Ink, variant)
			}
			back.FillColor, back.CornerRadius = color.Transparent, th.Size(fynetheme.SizeNameSelectionRadius)
			switch {
			case r.marked || r.chosen():
				back.FillColor = th.Color(fynetheme.ColorNameSelection, variant)
			case r.hovered:
				back.FillColor = th.Color(fynetheme.ColorNameHover, variant)
			}
			if head.Text != r.head {
				head.Text = r.head
				layout(r.Size())
			}
		},
	}), r, r.ringed)
	ring.top, ring.inset = top, rowInset
	return ring
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
	r.Refresh()
}

func (r *ListRow) hover(hovered bool) {
	r.hovered = hovered
	r.Refresh()
}

// Table is Fyne's table with a line of headings, which leaves keys that do not move in it to the window.
type Table struct{ widget.Table }

func NewTable(size func() (rows, columns int), create func() fyne.CanvasObject, update func(widget.TableCellID, fyne.CanvasObject)) *Table {
	t := &Table{}
	t.Length, t.CreateCell, t.UpdateCell, t.ShowHeaderRow = size, create, update, true
	t.ExtendBaseWidget(t)
	return t
}

func (t *Table) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyLeft, fyne.KeyRight, fyne.KeySpace:
		t.Table.TypedKey(e)
	default:
		pass(t, e)
	}
}
