package widgets

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// PopUp is content over a window, which it covers: what is below gets neither mouse nor keys. All pop-ups of ours are
// made by Open, OpenAt, Ask or OpenMenu, and every way to close one takes it from the window: Fyne's own can be hidden and
// still cover it, unseen, so that no click arrives any more.
type PopUp struct {
	widget.BaseWidget
	window  fyne.Canvas
	content fyne.CanvasObject
	least   fyne.Size         // of the panel
	at      fyne.CanvasObject // near what it stands; nil for the middle, over a veil
	before  fyne.Focusable    // had the focus
	over    func()
	open    bool
	tips    *tips // over the panel; nil where the window has none
}

// Open shows content in the middle of a window, at least as large as least as far as there is room, with the cursor in
// first, which may be nil. It stays until Close or Escape. over is called when it is closed, however; it may be nil.
func Open(window fyne.Canvas, content fyne.CanvasObject, least fyne.Size, first fyne.Focusable, over func()) *PopUp {
	return open(&PopUp{window: window, content: content, least: least, over: over}, first)
}

// OpenAt shows content beside an object of the window. A press elsewhere closes it, too.
func OpenAt(window fyne.Canvas, content, at fyne.CanvasObject, first fyne.Focusable, over func()) *PopUp {
	return open(&PopUp{window: window, content: content, at: at, over: over}, first)
}

func open(p *PopUp, first fyne.Focusable) *PopUp {
	EndTips(p.window)
	p.before, p.open = p.window.Focused(), true
	if t := windowTips(p.window); t != nil {
		p.tips = newTips(t.later)
	}
	p.ExtendBaseWidget(p)
	p.window.Overlays().Add(p)
	p.Resize(p.window.Size())
	switch first.(type) {
	case nil:
	case *Button: // which Enter presses: that has to be seen
		p.window.Focus(first)
	default:
		Focus(p.window, first)
	}
	return p
}

// Close takes the pop-up from its window and gives the focus back. Once it is closed it does nothing.
func (p *PopUp) Close() {
	if !p.open {
		return
	}
	p.open = false
	p.window.Overlays().Remove(p)
	if p.before != nil {
		p.window.Focus(p.before)
	}
	if p.over != nil {
		p.over()
	}
}

// Hide closes: there is no hidden pop-up.
func (p *PopUp) Hide() { p.Close() }

// CloseTop closes what lies uppermost over a window, of ours or of Fyne's own menus, and says whether there was anything.
func CloseTop(window fyne.Canvas) bool {
	top := window.Overlays().Top()
	if p, ours := top.(*PopUp); ours {
		p.Close()
		return true
	}
	if top == nil {
		return false
	}
	if beside, ok := top.(fyne.Tappable); ok { // a menu is dismissed by a press beside it
		beside.Tapped(&fyne.PointEvent{})
	}
	window.Overlays().Remove(top)
	return true
}

func CloseAll(window fyne.Canvas) {
	for CloseTop(window) {
		continue
	}
}

// OpenMenuAt shows a menu at a place of the window, as a secondary click asks for it.
func OpenMenuAt(window fyne.Canvas, menu *fyne.Menu, place fyne.Position) {
	EndTips(window)
	widget.ShowPopUpMenuAtPosition(menu, window, place)
}

// OpenMenu shows a menu below an object of the window, or above it where there is no room below and more above.
func OpenMenu(window fyne.Canvas, menu *fyne.Menu, at fyne.CanvasObject) {
	EndTips(window)
	pop := widget.NewPopUpMenu(menu, window)
	below, height := at.Size().Height, pop.MinSize().Height
	if top := fyne.CurrentApp().Driver().AbsolutePositionForObject(at).Y; top+below+height > window.Size().Height && top >= height {
		below = -height
	}
	pop.ShowAtRelativePosition(fyne.NewPos(0, below), at)
}

func (p *PopUp) Tapped(*fyne.PointEvent) {
	if p.at != nil {
		p.Close()
	}
}

func (p *PopUp) TappedSecondary(*fyne.PointEvent) { p.Tapped(nil) }

func (p *PopUp) CreateRenderer() fyne.WidgetRenderer {
	veil, back := canvas.NewRectangle(color.Transparent), NewBack(fynetheme.ColorNameOverlayBackground)
	back.outline = theme.Line
	shield := &overlayGuard{of: p}
	shield.ExtendBaseWidget(shield)
	panel := container.NewStack(shield, back, newLens(p.content, p)) // which moves only where the window is too small for it
	r := &renderer{objects: []fyne.CanvasObject{veil, panel}, least: none}
	if p.tips != nil {
		r.objects = append(r.objects, p.tips)
	}
	r.layout = func(room fyne.Size) {
		veil.Resize(room)
		p.place(panel, room)
		if p.tips != nil {
			p.tips.Resize(room)
		}
	}
	r.paint = func() {
		if p.at == nil {
			veil.FillColor = p.Theme().Color(theme.Veil, fyne.CurrentApp().Settings().ThemeVariant())
		}
	}
	return movable(r, p)
}

// place puts the panel into the middle of the room, or beside what it belongs to: above, as that is mostly low in the
// window.
func (p *PopUp) place(panel fyne.CanvasObject, room fyne.Size) {
	const margin = 16
	now := fyne.NewSize(min(max(p.least.Width, p.content.MinSize().Width), room.Width-2*margin), panel.Size().Height)
	p.content.Resize(now.AddWidthHeight(0, 1)) // of another height, so that what has just been shown gets its width
	p.content.Resize(now)
	size := p.content.MinSize().Max(p.least) // wrapped text knows its height only now
	size = fyne.NewSize(min(size.Width, room.Width-2*margin), min(size.Height, room.Height-2*margin))
	at := fyne.NewPos((room.Width-size.Width)/2, (room.Height-size.Height)/2)
	if p.at != nil {
		edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(p.at)
		at = fyne.NewPos(edge.X, edge.Y-size.Height)
		if at.Y < margin {
			at.Y = edge.Y + p.at.Size().Height
		}
		at = fyne.NewPos(max(margin, min(at.X, room.Width-size.Width-margin)), max(margin, min(at.Y, room.Height-size.Height-margin)))
	}
	panel.Resize(size)
	panel.Move(at)
}

// overlayGuard keeps presses on the panel from being presses beside it.
type overlayGuard struct {
	widget.BaseWidget
	of *PopUp
}

func (s *overlayGuard) Tapped(*fyne.PointEvent)          {}
func (s *overlayGuard) TappedSecondary(*fyne.PointEvent) {}

func (s *overlayGuard) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(canvas.NewRectangle(color.Transparent))
}

// Question is asked before something that cannot be taken back. Its first answer is the safe one, on which the cursor
// stands, so that Enter does no harm. Escape leaves without an answer.
type Question struct {
	Title, Text string
	Safe, Do    string // the answers
	OnSafe      func() // may be nil
	OnDo        func()
}

func Ask(window fyne.Canvas, q Question) *PopUp {
	var p *PopUp
	answer := func(text string, then func()) *Button {
		return NewButton(text, func() {
			p.Close()
			if then != nil {
				then()
			}
		})
	}
	safe, do := answer(q.Safe, q.OnSafe), answer(q.Do, q.OnDo)
	safe.Importance = widget.HighImportance
	text := NewParagraph(q.Text)
	text.Colour = theme.Text
	content := Pad(20, Stack(16, NewHeading(q.Title), text, Row(8, layout.NewSpacer(), safe, do)))
	p = Open(window, content, fyne.NewSize(440, 0), safe, nil)
	return p
}
