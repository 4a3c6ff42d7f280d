package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Button is Fyne's button that shows the focus, is pressed by Enter, too, keeps the focus when a key presses it, and
// leaves other keys to the window.
type Button struct {
	widget.Button
	named
	OnEscape func()                    // in place of the window; may be nil
	OnKey    func(*fyne.KeyEvent) bool // gets keys first and says whether it used one; may be nil
	Tip      string                    // says more where the mouse rests; may be empty
	focused  bool
}

// NewButton returns a button with a text.
func NewButton(text string, pressed func()) *Button { return NewButtonWithIcon(text, nil, pressed) }

// NewButtonWithIcon returns a button with an icon and perhaps a text.
func NewButtonWithIcon(text string, icon fyne.Resource, pressed func()) *Button {
	b := &Button{}
	b.Text, b.Icon, b.OnTapped = text, icon, pressed
	b.ExtendBaseWidget(b)
	return b
}

func (b *Button) CreateRenderer() fyne.WidgetRenderer {
	b.ExtendBaseWidget(b)
	r := newRinged(b.Button.CreateRenderer(), b, b.Theme, func() bool { return b.focused })
	r.edge = theme.Edge
	r.draw()
	return r
}

func (b *Button) FocusGained() {
	b.focused = true
	b.Button.FocusGained()
	reveal(b)
}

func (b *Button) FocusLost() {
	b.focused = false
	b.Button.FocusLost()
}

func (b *Button) MouseIn(m *desktop.MouseEvent) {
	b.Button.MouseIn(m)
	tip := b.Tip
	if b.Text == "" { // an icon says little by itself
		tip = b.name()
	}
	if tip != "" {
		point(b, m, []string{tip})
	}
}

func (b *Button) Tapped(e *fyne.PointEvent) {
	pointAway(b)
	b.Button.Tapped(e)
}

func (b *Button) MouseOut() {
	b.Button.MouseOut()
	pointAway(b)
}

func (b *Button) TypedKey(e *fyne.KeyEvent) {
	switch {
	case b.OnKey != nil && b.OnKey(e):
	case isEnter(e) || e.Name == fyne.KeySpace:
		if !b.Disabled() && b.OnTapped != nil {
			b.OnTapped()
		}
	case e.Name == fyne.KeyEscape && b.OnEscape != nil:
		b.OnEscape()
	default:
		pass(b, e)
	}
}
