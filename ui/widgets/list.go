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

// List is Fyne's list with PageUp, PageDown, Home, End and Enter, whose arrow keys choose, and whose rows may change without the
// choice or the view jumping. Its rows are ListRows of equal height, except for the heads above some of them. It tracks the chosen
// row itself because Fyne's highlight would cover the head, too.
type List struct {
	widget.List
	named
	OnEnter  func()
	OnPress  func()                            // a mouse press on a row; may be nil
	OnKey    func(*fyne.KeyEvent) (taken bool) // sees each key first; may be nil
	OnEscape func() (taken bool)               // replaces the window's handling; may be nil
	OnRune   func(rune)                        // a letter was typed; may be nil
	OnAll    func()                            // Ctrl+A; may be nil
	OnMenu   func(row int, at fyne.Position)   // the menu key or F10 on the chosen row, a secondary click on any row; may be nil
	at       int
	focused  bool
	heads    []Head
	holding  bool // defers drawing: more changes follow

	pattern fyne.CanvasObject // a hidden row to measure the row height
	spoken  fyne.CanvasObject // a hidden row to read out the chosen row's text
}

// Head is a title above a list row, where a section begins.
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

// held suppresses drawing while its list is holding.
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

// Select chooses a row, like a tap, and scrolls to it.
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

// At returns the chosen row, -1 for none.
func (l *List) At() int { return l.at }

// Top returns the row at the upper edge and how much of it is scrolled out of sight.
func (l *List) Top() (row int, hidden float32) {
	offset := l.GetScrollOffset()
	row = l.rowAt(offset)
	return row, offset - l.edgeOf(row)
}

func (l *List) Bottom() int { return l.rowAt(l.GetScrollOffset() + l.Size().Height - 1) }

// edgeOf returns where a row, including its head, begins; rowAt is the inverse.
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

// Renew redraws changed rows. chosen is the new index of the chosen row, -1 for none; top and hidden are as returned by Top; heads
// are in ascending order. No callback runs, because only the position of the choice has changed.
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
	if l.OnRune != nil && r != ' ' { // Space is handled as a key
		l.OnRune(r)
	}
}

// TypedShortcut passes shortcuts that do not concern the list to the window.
func (l *List) TypedShortcut(shortcut fyne.Shortcut) {
	_, all := shortcut.(*fyne.ShortcutSelectAll)
	switch {
	case l.OnAll != nil && (all || keys.All.Are(shortcut)):
		l.OnAll()
	default:
		PassShortcut(l, shortcut)
	}
}

// openMenu opens the chosen row's menu at the middle of its visible part.
func (l *List) openMenu() {
	if l.OnMenu == nil || l.at < 0 {
		return
	}
	y := min(max(l.edgeOf(l.at+1)-l.rowHeight()/2-l.GetScrollOffset(), 0), l.Size().Height)
	l.OnMenu(l.at, fyne.CurrentApp().Driver().AbsolutePositionForObject(l).AddXY(l.Size().Width/4, y))
}

// page is how many rows PageUp and PageDown move: one fewer than fit, so one stays visible.
func (l *List) page() int { return max(1, int(l.Size().Height/l.rowHeight())-1) }

// rowHeight is cached: every key in the search asks for it, and making a row takes longer than the search.
func (l *List) rowHeight() float32 {
	if l.pattern == nil {
		l.pattern = l.CreateItem()
	}
	return max(1, l.pattern.MinSize().Height+l.Theme().Size(fynetheme.SizeNamePadding))
}

// ListRow is embedded by a list's row types. It shows shortened lines in full as a tooltip and highlights on hover, as Fyne's rows
// do.
type ListRow struct {
	widget.BaseWidget
	hoverable
	named
	Content fyne.CanvasObject
	Lines   []*Line // may be shortened
	More    string  // always in the tooltip; may be empty
	Most    float32 // its greatest width, scaled with the text size; 0 for the list's
	hovered bool
	marked  bool
	several bool    // some rows are marked: they alone are chosen
	list    *List   // the list that shows it
	at      int     // its row number
	head    string  // the title above it; may be empty
	drawn   [2]bool // whether drawn as chosen, with the ring
}

// headHeight includes the space above the head.
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
	return r.list != nil && r.at == max(0, r.list.at) && r.list.focused // without a choice, the arrow keys begin at the first row
}

func (r *ListRow) chosen() bool {
	return r.marked || r.list != nil && r.list.at == r.at && !r.several
}

// Tapped chooses the row and reports it even if already chosen, which may end a selection. Fyne's row does not get taps on a widget
// that handles either mouse button.
func (r *ListRow) Tapped(*fyne.PointEvent) {
	if r.choose(); r.list != nil && r.list.OnPress != nil {
		r.list.OnPress()
	}
}

// TappedSecondary opens the menu of the row, chosen as by a tap, or of all those marked if it is one.
func (r *ListRow) TappedSecondary(e *fyne.PointEvent) {
	if !r.marked {
		r.choose()
	}
	if r.list != nil && r.list.OnMenu != nil {
		r.list.OnMenu(r.at, e.AbsolutePosition)
	}
}

func (r *ListRow) choose() {
	if r.list != nil {
		byKey = false
		Focus(fyne.CurrentApp().Driver().CanvasForObject(r.list), r.list)
		r.list.choose(r.at)
	}
}

// Mark marks a row, or not, among several marked rows or none.
func (r *ListRow) Mark(marked, several bool) {
	if r.marked != marked || r.several != several {
		r.marked, r.several = marked, several
		r.Refresh()
	}
}

// rowInset is the distance of a row's background from the list's sides.
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
		left := atMost(r.Most).left(size)
		size.Width = atMost(r.Most).width(size)
		place(head, left+16, top()-head.MinSize().Height-6, size.Width-32, head.MinSize().Height)
		place(back, left+rowInset, top(), max(0, size.Width-2*rowInset), size.Height-top())
		place(bar, left+rowInset+1, top()+barInset, barWidth, max(0, size.Height-top()-2*barInset))
		place(r.Content, left+rowInset, top(), max(0, size.Width-2*rowInset), size.Height-top())
	}
	ring := newRinged(painted(&renderer{
		objects: []fyne.CanvasObject{back, bar, head, r.Content},
		least:   r.Content.MinSize,
		layout:  layout,
		paint: func() {
			th, variant := r.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
			bar.FillColor, bar.CornerRadius = color.Transparent, barWidth/2
			if r.chosen() { // for people who cannot see the shade
				bar.FillColor = th.Color(theme.Ink, variant)
			}
			back.FillColor, back.CornerRadius = color.Transparent, th.Size(fynetheme.SizeNameSelectionRadius)
			switch {
			case r.chosen():
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
	ring.top, ring.inset, ring.most = top, rowInset, atMost(r.Most)
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

// Shown redraws the row after its lines changed and ends a tooltip of the old ones.
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

// Table is Fyne's table with a header line; it passes keys that do not move within it to the window.
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
