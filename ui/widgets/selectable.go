package widgets

import (
	"image/color"
	"math"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Selectable is a text to read, to mark and to copy, with the mouse as by keys: an entry without its box, in which nothing can
// be typed. Copying takes what is marked, else all of it. Fyne's selectable label is marked by the mouse alone.
type Selectable struct {
	widget.Entry
	inField
	focused bool
	rows    int // that its text takes at its width
}

// NewSelectable returns a text that breaks where the room ends.
func NewSelectable(text string) *Selectable {
	s := &Selectable{}
	s.Text, s.MultiLine, s.Wrapping, s.Scroll = text, true, fyne.TextWrapBreak, container.ScrollNone
	s.ExtendBaseWidget(s)
	return s
}

// Resize is Fyne's. An entry of several lines asks for three of them and scrolls; this one asks for all that its text takes.
func (s *Selectable) Resize(size fyne.Size) {
	s.Entry.Resize(size)
	s.fit()
}

func (s *Selectable) SetText(text string) {
	s.Entry.SetText(text)
	s.fit()
}

func (s *Selectable) fit() {
	th := s.Theme()
	size, pad := th.Size(fynetheme.SizeNameText), th.Size(fynetheme.SizeNameInnerPadding)
	room, rows := s.Size().Width-2*pad, 0
	if room <= 0 {
		return
	}
	for line := range strings.SplitSeq(s.Text, "\n") {
		width := fyne.MeasureText(line, size, s.TextStyle).Width
		rows += max(1, int(math.Ceil(float64(width/room))))
	}
	if s.rows != rows {
		s.rows = rows
		s.SetMinRowsVisible(rows)
	}
}

func (s *Selectable) AcceptsTab() bool { return false }

func (s *Selectable) FocusGained() { s.focused = true; s.Entry.FocusGained(); reveal(s) }

func (s *Selectable) FocusLost() { s.focused = false; s.Entry.FocusLost() }

func (s *Selectable) TypedRune(rune) {}

// TypedKey moves in the text, and leaves other keys to the window.
func (s *Selectable) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyLeft, fyne.KeyRight, fyne.KeyHome, fyne.KeyEnd, fyne.KeyPageUp, fyne.KeyPageDown:
		s.Entry.TypedKey(e)
	default:
		pass(s, e)
	}
}

// TypedShortcut copies, marks and moves in the text, and leaves what is not about text to the window.
func (s *Selectable) TypedShortcut(shortcut fyne.Shortcut) {
	switch x := shortcut.(type) {
	case *fyne.ShortcutCopy:
		s.copy()
	case *fyne.ShortcutSelectAll:
		s.Entry.TypedShortcut(x)
	case *desktop.CustomShortcut:
		switch {
		case x.KeyName == fyne.KeyBackspace, x.KeyName == fyne.KeyDelete: // would change the text
		case isText(x):
			s.Entry.TypedShortcut(x)
		default:
			PassShortcut(s, x)
		}
	}
}

func (s *Selectable) copy() {
	text := s.SelectedText()
	if text == "" {
		text = s.Text
	}
	fyne.CurrentApp().Clipboard().SetContent(text)
}

// TappedSecondary offers to copy.
func (s *Selectable) TappedSecondary(e *fyne.PointEvent) {
	if window := fyne.CurrentApp().Driver().CanvasForObject(s); window != nil {
		OpenMenuAt(window, fyne.NewMenu("", fyne.NewMenuItem(lang.L("Copy"), s.copy)), e.AbsolutePosition)
	}
}

func (s *Selectable) CreateRenderer() fyne.WidgetRenderer {
	return newRinged(unboxed{s.Entry.CreateRenderer()}, s, func() bool { return s.focused })
}

// unboxed is the renderer of an entry without what it draws first: its background and its edge.
type unboxed struct{ fyne.WidgetRenderer }

func (u unboxed) Objects() []fyne.CanvasObject { return u.WidgetRenderer.Objects()[2:] }

// Small is content whose text is as small as a caption.
func Small(content fyne.CanvasObject) fyne.CanvasObject {
	return container.NewThemeOverride(content, small{})
}

// small is the theme of the moment, which may change, with small text.
type small struct{}

func (small) now() fyne.Theme { return fyne.CurrentApp().Settings().Theme() }

func (t small) Color(name fyne.ThemeColorName, variant fyne.ThemeVariant) color.Color {
	return t.now().Color(name, variant)
}

func (t small) Font(style fyne.TextStyle) fyne.Resource { return t.now().Font(style) }

func (t small) Icon(name fyne.ThemeIconName) fyne.Resource { return t.now().Icon(name) }

func (t small) Size(name fyne.ThemeSizeName) float32 {
	if name == fynetheme.SizeNameText {
		name = theme.Caption
	}
	return t.now().Size(name)
}
