package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Banner is a line across the top with a sentence and at most one action. It is hidden until it has something to say.
type Banner struct {
	widget.BaseWidget
	content *fyne.Container
	Changed func() // called when the strip came or went, for whoever lays it out; may be nil
	OnNote  func() // makes the note something to press; nil for a plain note
	text    *widget.Label
	more    *Line
	link    *Button // the note, when it can be pressed
	button  *Button
}

// NewBanner returns a hidden strip in a colour, with a mark at its start (nil for none).
func NewBanner(colour fyne.ThemeColorName, mark fyne.Resource) *Banner {
	s := &Banner{text: widget.NewLabel(""), more: NewCaption(""), button: NewButton("", nil)}
	s.text.Wrapping = fyne.TextWrapWord
	s.more.Shorten = false
	var left fyne.CanvasObject
	if mark != nil {
		left = widget.NewIcon(mark)
	}
	s.link = NewButton("", func() { s.OnNote() })
	s.link.Importance = widget.LowImportance
	s.content = On(colour, PadHV(12, 4, Across(left, s.text, Row(8, s.more, s.link, s.button))))
	s.ExtendBaseWidget(s)
	s.Hide()
	return s
}

func (s *Banner) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(s.content) }

// Say shows a sentence, a small note beside it, and a button unless action is empty.
func (s *Banner) Say(sentence, note, action string, act func()) {
	s.text.SetText(sentence)
	s.more.Set(note)
	s.more.Hidden = note == "" || s.OnNote != nil
	s.link.SetText(note)
	s.link.Hidden = note == "" || s.OnNote == nil
	s.button.SetText(action)
	s.button.OnTapped = act
	s.button.SetIcon(nil)
	s.button.Hidden = action == ""
	s.Show()
	s.tell()
}

// Clear says nothing any more. What was pressed last may have been its button: the focus does not stay there unseen.
func (s *Banner) Clear() {
	if c := fyne.CurrentApp().Driver().CanvasForObject(s); c != nil && (c.Focused() == fyne.Focusable(s.button) || c.Focused() == fyne.Focusable(s.link)) {
		c.Unfocus()
	}
	s.Hide()
	s.tell()
}

func (s *Banner) tell() {
	s.content.Refresh()
	if s.Changed != nil {
		s.Changed()
	}
}

// Text is the sentence that is shown, empty while the strip is hidden.
func (s *Banner) Text() string {
	if s.Hidden {
		return ""
	}
	return s.text.Text
}

func MarkLine(mark theme.Mark, text string) (*fyne.Container, *Line) {
	line := NewLine(text)
	line.Colour = mark.Colour()
	line.Bold = true
	return Row(6, widget.NewIcon(mark.Resource()), line), line
}
