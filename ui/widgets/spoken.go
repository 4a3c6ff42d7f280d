package widgets

import (
	"cmp"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"
)

// Screen readers announce a widget's fyne.Accessible: a localized name, its kind if Fyne has no role for it, its state (chosen,
// ticked, not available) and its error. Fyne has few roles and no states, so both are part of the name. Everything that can be
// pressed has such a name; a test checks all screens.

// named is embedded by widgets that may show only an icon, or words that do not say everything.
type named struct {
	Says func() string // replaces the visible words; nil to use them
}

func (n *named) says() string {
	if n.Says == nil {
		return ""
	}
	return n.Says()
}

// inField is embedded by inputs; their Field registers itself to provide their name and error.
type inField struct{ field *Field }

func (i *inField) standIn(f *Field) { i.field = f }

func (i *inField) title() string {
	if i.field == nil {
		return ""
	}
	return i.field.name
}

// said returns the text below the input.
func (i *inField) said() string {
	if i.field == nil {
		return ""
	}
	return i.field.Said()
}

// Said joins the non-empty parts of what a screen reader announces.
func Said(parts ...string) string {
	var said []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			said = append(said, part)
		}
	}
	return strings.Join(said, ", ")
}

// Removing is the announcement of an icon that removes something.
func Removing(what string) string { return lang.L("Remove {{.Name}}", map[string]any{"Name": what}) }

func when(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

func unavailable(d fyne.Disableable) string { return when(d.Disabled(), lang.L("not available")) }

// Words returns an object's visible text in reading order.
func Words(o fyne.CanvasObject) string {
	if o == nil || !o.Visible() {
		return ""
	}
	var parts []fyne.CanvasObject
	switch o := o.(type) {
	case *Line:
		return o.Text
	case *Prose:
		return o.Text
	case *widget.Label:
		return o.Text
	case *fyne.Container:
		parts = o.Objects
	case *container.Scroll:
		parts = []fyne.CanvasObject{o.Content}
	}
	var said []string
	for _, part := range parts {
		said = append(said, Words(part))
	}
	return Said(said...)
}

func (b *Button) AccessibilityLabel() string { return Said(b.name(), unavailable(b)) }

func (b *Button) name() string { return cmp.Or(b.says(), Said(b.Text, b.Tip)) }

func (p *Tappable) AccessibilityLabel() string {
	return Said(cmp.Or(p.says(), Words(p.Content)), when(p.chosen || p.picked, lang.L("selected")), when(p.off, lang.L("not available")))
}

func (c *Check) AccessibilityLabel() string {
	ticked := lang.L("not ticked")
	if c.Checked {
		ticked = lang.L("ticked")
	}
	return Said(cmp.Or(c.Text, c.title()), ticked, unavailable(c), c.said())
}

func (s *Select) AccessibilityLabel() string {
	return Said(s.name(), lang.L("drop-down list"), s.Selected, unavailable(s), s.said())
}

func (s *Select) name() string { return cmp.Or(s.says(), s.title()) }

// AccessibilityLabel is the field's name, the typed text unless it is secret, and the error.
func (e *Entry) AccessibilityLabel() string {
	typed := e.Text
	if e.Password {
		typed = when(typed != "", lang.L("hidden"))
	}
	return Said(e.name(), lang.L("text field"), typed, unavailable(e), e.said())
}

func (e *Entry) name() string { return cmp.Or(e.says(), e.title(), e.PlaceHolder) }

func (s *Selectable) AccessibilityLabel() string { return Said(s.title(), s.Text) }

// AccessibilityLabel names the list and its chosen row, because the keys move the choice rather than the focus.
func (l *List) AccessibilityLabel() string { return Said(l.says(), lang.L("list"), l.chosenRow()) }

// chosenRow returns the chosen row's text, visible or not; empty for none.
func (l *List) chosenRow() string {
	if l.at < 0 || l.at >= l.Length() {
		return ""
	}
	if l.spoken == nil {
		l.spoken = l.CreateItem()
	}
	l.UpdateItem(l.at, l.spoken)
	if r, is := l.spoken.(interface{ words() string }); is {
		return r.words()
	}
	return Words(l.spoken)
}

func (r *ListRow) words() string {
	return Said(cmp.Or(r.says(), Words(r.Content)), r.More, when(r.marked, lang.L("marked")))
}

func (r *ListRow) AccessibilityLabel() string {
	return Said(r.words(), when(r.list != nil && r.list.at == r.at, lang.L("selected")))
}

func (l *Line) AccessibilityLabel() string { return l.Text }

func (s *Banner) AccessibilityLabel() string { return Said(s.Text(), s.note.Text) }

func (t *Toasts) AccessibilityLabel() string {
	var said []string
	for _, x := range t.shown {
		said = append(said, x.text)
	}
	return Said(said...)
}

func (g *UndoBar) AccessibilityLabel() string {
	var said []string
	for _, l := range g.lines {
		said = append(said, l.text.Text, l.clock.Text)
	}
	return Said(said...)
}

func (f *Field) AccessibilityLabel() string { return Said(f.name, f.Said()) }

// AccessibilityLabel is the first text in the pop-up, and that a press beside it closes it.
func (p *PopUp) AccessibilityLabel() string {
	return Said(firstWords(p.content), when(p.at != nil, lang.L("Close")))
}

func (c *Calendar) AccessibilityLabel() string { return c.Month() }

func (s *overlayGuard) AccessibilityLabel() string { return firstWords(s.of.content) }

func (p *Tappable) AccessibilityRole() fyne.AccessibleRole     { return fyne.AccessibleRoleButton }
func (c *Check) AccessibilityRole() fyne.AccessibleRole        { return fyne.AccessibleRoleButton }
func (s *Select) AccessibilityRole() fyne.AccessibleRole       { return fyne.AccessibleRoleButton }
func (e *Entry) AccessibilityRole() fyne.AccessibleRole        { return fyne.AccessibleRoleText }
func (s *Selectable) AccessibilityRole() fyne.AccessibleRole   { return fyne.AccessibleRoleText }
func (l *List) AccessibilityRole() fyne.AccessibleRole         { return fyne.AccessibleRoleButton }
func (r *ListRow) AccessibilityRole() fyne.AccessibleRole      { return fyne.AccessibleRoleButton }
func (l *Line) AccessibilityRole() fyne.AccessibleRole         { return fyne.AccessibleRoleText }
func (s *Banner) AccessibilityRole() fyne.AccessibleRole       { return fyne.AccessibleRoleText }
func (t *Toasts) AccessibilityRole() fyne.AccessibleRole       { return fyne.AccessibleRoleText }
func (g *UndoBar) AccessibilityRole() fyne.AccessibleRole      { return fyne.AccessibleRoleText }
func (f *Field) AccessibilityRole() fyne.AccessibleRole        { return fyne.AccessibleRoleText }
func (p *PopUp) AccessibilityRole() fyne.AccessibleRole        { return fyne.AccessibleRoleContainer }
func (c *Calendar) AccessibilityRole() fyne.AccessibleRole     { return fyne.AccessibleRoleContainer }
func (s *overlayGuard) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleContainer }

func firstWords(o fyne.CanvasObject) string {
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			if first := firstWords(part); first != "" {
				return first
			}
		}
		return ""
	case *container.Scroll:
		return firstWords(o.Content)
	case fyne.Accessible:
		return o.AccessibilityLabel()
	}
	return ""
}
