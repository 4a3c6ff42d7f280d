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

// PopUp is content over a window that keeps mouse and keys from what it covers. All our pop-ups are made by Open, OpenAt, Ask or
// OpenMenu, and closing one always removes it from the window: Fyne's own can be hidden yet still block every click.
type PopUp struct {
	widget.BaseWidget
	window  fyne.Canvas
	content fyne.CanvasObject
	least   fyne.Size         // the panel's minimum size
	at      fyne.CanvasObject // the object beside which it opens; nil to centre it over a veil
	before  fyne.Focusable    // had the focus when it opened
	last    fyne.Focusable    // had the focus last in it
	over    func()
	open    bool
	held    bool      // a person cannot close it
	room    fyne.Size // the window's size when it was placed
	turned  bool      // a fold in it was
	wheel   *wheel    // scrolls it then over fields, too
	tips    *tips     // over the panel; nil if the window has none
	toasts  *Toasts   // as tips; what the window says meanwhile, over the veil
}

// Open shows content in the middle of a window, at least as large as least if it fits, with the cursor in first, which may be nil.
// It stays until Close or Escape. over, which may be nil, is called whichever way it is closed.
func Open(window fyne.Canvas, content fyne.CanvasObject, least fyne.Size, first fyne.Focusable, over func()) *PopUp {
	return open(&PopUp{window: window, content: content, least: least, over: over}, first)
}

// Most is the least size of a pop-up whose middle scrolls: much of the window.
func Most(window fyne.Canvas) fyne.Size {
	size := window.Size()
	return fyne.NewSize(min(720, size.Width*0.8), size.Height*0.8)
}

// OpenAt shows content beside an object of the window. Pressing elsewhere closes it, too.
func OpenAt(window fyne.Canvas, content, at fyne.CanvasObject, first fyne.Focusable, over func()) *PopUp {
	return open(&PopUp{window: window, content: content, at: at, over: over}, first)
}

func open(p *PopUp, first fyne.Focusable) *PopUp {
	EndTips(p.window)
	p.before, p.last, p.open = p.window.Focused(), first, true
	if t := windowTips(p.window); t != nil {
		p.tips, p.toasts = newTips(t.later), NewToasts(t.later)
	}
	p.ExtendBaseWidget(p)
	p.window.Overlays().Add(p)
	p.Resize(p.window.Size())
	switch first.(type) {
	case nil:
	case *Button: // Enter presses it, so its focus must be visible
		p.window.Focus(first)
	default:
		Focus(p.window, first)
	}
	return p
}

// Close removes the pop-up from its window and restores the focus. Closing twice does nothing.
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

// Leave closes, for a person, unless it is held.
func (p *PopUp) Leave() {
	if !p.held {
		p.Close()
	}
}

// Hold disables everything in the pop-up, and keeps it open, while something is done that leaving it would not end.
func (p *PopUp) Hold(held bool) {
	p.held = held
	EnableAll(p.content, !held)
	keepFocus(p.window)
}

// keepFocus returns the focus to what had it last in the pop-up on top: Fyne takes it away with every mouse press beside it.
func keepFocus(window fyne.Canvas) {
	if p := topOf(window); p != nil && p.last != nil && window.Focused() == nil {
		giveBack(func() { window.Focus(p.last) })
	}
}

// topOf returns the pop-up on top of a window, nil for none of ours; window may be nil.
func topOf(window fyne.Canvas) (p *PopUp) {
	if window != nil {
		p, _ = window.Overlays().Top().(*PopUp)
	}
	return p
}

// overTop returns the pop-up on top of an object's window.
func overTop(o fyne.CanvasObject) *PopUp { return topOf(fyne.CurrentApp().Driver().CanvasForObject(o)) }

// Hide closes: there are no hidden pop-ups.
func (p *PopUp) Hide() { p.Close() }

// CloseTop closes the topmost pop-up of a window, ours unless it is held, or one of Fyne's menus, and reports whether there was one.
func CloseTop(window fyne.Canvas) bool {
	if p := topOf(window); p != nil {
		p.Leave()
		return true
	}
	top := window.Overlays().Top()
	if top == nil {
		return false
	}
	if beside, ok := top.(fyne.Tappable); ok { // a press beside a menu dismisses it
		beside.Tapped(&fyne.PointEvent{})
	}
	window.Overlays().Remove(top)
	return true
}

// Uncovered calls do once no dialog covers a window. What pressing elsewhere would close, it closes.
func Uncovered(window fyne.Canvas, do func()) {
	p := topOf(window)
	for ; window.Overlays().Top() != nil && (p == nil || p.at != nil); p = topOf(window) {
		CloseTop(window)
	}
	if p == nil {
		do()
		return
	}
	over := p.over
	p.over = func() {
		if over != nil {
			over()
		}
		Uncovered(window, do)
	}
}

// CloseAll closes all pop-ups of a window, also held ones.
func CloseAll(window fyne.Canvas) {
	for top := window.Overlays().Top(); top != nil; top = window.Overlays().Top() {
		if p, ours := top.(*PopUp); ours {
			p.held = false
		}
		CloseTop(window)
	}
}

// OpenMenuAt shows a context menu at a position in the window.
func OpenMenuAt(window fyne.Canvas, menu *fyne.Menu, place fyne.Position) {
	EndTips(window)
	widget.ShowPopUpMenuAtPosition(menu, window, place)
}

// OpenMenu shows a menu below an object, or above it if there is more room.
func OpenMenu(window fyne.Canvas, menu *fyne.Menu, at fyne.CanvasObject) *widget.PopUpMenu {
	EndTips(window)
	pop := widget.NewPopUpMenu(menu, window)
	below, height := at.Size().Height, pop.MinSize().Height
	if top := fyne.CurrentApp().Driver().AbsolutePositionForObject(at).Y; top+below+height > window.Size().Height && top >= height {
		below = -height
	}
	pop.ShowAtRelativePosition(fyne.NewPos(0, below), at)
	return pop
}

func (p *PopUp) Tapped(*fyne.PointEvent) {
	if p.at != nil {
		p.Close()
	}
	keepFocus(p.window)
}

func (p *PopUp) TappedSecondary(*fyne.PointEvent) { p.Tapped(nil) }

func (p *PopUp) CreateRenderer() fyne.WidgetRenderer {
	veil, back := canvas.NewRectangle(color.Transparent), NewBack(fynetheme.ColorNameOverlayBackground)
	back.outline = theme.Line
	shield := &overlayGuard{of: p}
	shield.ExtendBaseWidget(shield)
	lens := newLens(p.content, p) // scrolls only if the window is too small
	p.wheel = &wheel{scroll: lens}
	p.wheel.ExtendBaseWidget(p.wheel)
	p.wheel.Hide()
	lens.Content.(*fyne.Container).Add(p.wheel)
	panel := container.NewStack(shield, back, lens)
	r := &renderer{objects: []fyne.CanvasObject{veil, panel}, least: none}
	if p.tips != nil {
		r.objects = append(r.objects, p.toasts, p.tips)
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

// place centres the panel, or puts it below its object, or above if only there is room. What changes in it later moves its upper edge
// only if there is no room below; opening a fold, which is under the mouse, not even then.
func (p *PopUp) place(panel fyne.CanvasObject, room fyne.Size) {
	const margin = 16
	least := fyne.NewSize(Scaled(p.least.Width), p.least.Height)
	now := fyne.NewSize(min(max(least.Width, p.content.MinSize().Width), room.Width-2*margin), panel.Size().Height)
	p.content.Resize(now.AddWidthHeight(0, 1)) // a different height forces a layout, so new content gets its width
	p.content.Resize(now)
	size := p.content.MinSize().Max(least) // only now is the height of wrapped text known
	size = fyne.NewSize(min(size.Width, room.Width-2*margin), min(size.Height, room.Height-2*margin))
	at := fyne.NewPos((room.Width-size.Width)/2, (room.Height-size.Height)/2)
	if p.room == room {
		if at.Y = panel.Position().Y; p.turned {
			size.Height = min(size.Height, room.Height-margin-at.Y)
		}
		at.Y = max(margin, min(at.Y, room.Height-size.Height-margin))
	}
	p.room = room
	if p.at != nil {
		edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(p.at)
		at = fyne.NewPos(edge.X, edge.Y+p.at.Size().Height)
		if above := edge.Y - size.Height; at.Y+size.Height > room.Height-margin && above >= margin {
			at.Y = above
		}
		at = fyne.NewPos(max(margin, min(at.X, room.Width-size.Width-margin)), max(margin, min(at.Y, room.Height-size.Height-margin)))
	}
	panel.Resize(size)
	panel.Move(at)
}

// overlayGuard keeps taps on the panel from counting as taps beside it.
type overlayGuard struct {
	widget.BaseWidget
	of *PopUp
}

func (s *overlayGuard) Tapped(*fyne.PointEvent)          { keepFocus(s.of.window) }
func (s *overlayGuard) TappedSecondary(*fyne.PointEvent) { keepFocus(s.of.window) }

func (s *overlayGuard) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(canvas.NewRectangle(color.Transparent))
}

// Question asks before something that cannot be undone. The safe answer has the focus, so that Enter does no harm; the filled button is
// the action. Escape gives no answer.
type Question struct {
	Title, Text string
	Safe, Do    string // the answers
	Stay        bool   // the safe answer is the filled one
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
	if q.Stay {
		safe.Primary()
	} else {
		do.Primary()
	}
	text := NewParagraph(q.Text)
	text.Colour = theme.Text
	content := Pad(20, Stack(16, NewFullHeading(q.Title), text, Row(8, layout.NewSpacer(), safe, do)))
	p = Open(window, content, fyne.NewSize(440, 0), safe, nil)
	return p
}
