// Package widgets holds the pieces that several screens share. They show what they are given and call back; they know
// nothing of packages, signers or the office.
package widgets

import (
	"image/color"
	"sort"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"countersign/ui/theme"
)

// Line is one line of text without the padding of a label, in a colour and size of the theme. With Shorten it takes
// what width it gets; where that is too little it leaves out what is in the middle, as what tells names apart is often at
// their end.
type Line struct {
	widget.BaseWidget
	Text    string
	Colour  fyne.ThemeColorName
	Scale   fyne.ThemeSizeName
	Bold    bool
	Shorten bool
	Begins  bool // a sentence, of which the beginning matters most: its end is left out
	cut     bool // as it is laid out, it is not whole
}

// NewLine returns a line in body size and text colour that takes the width it needs.
func NewLine(text string) *Line {
	l := &Line{Text: text, Colour: theme.Text, Scale: theme.Body}
	l.ExtendBaseWidget(l)
	return l
}

// NewCaption returns a small line in the secondary colour that shortens itself.
func NewCaption(text string) *Line {
	l := NewLine(text)
	l.Colour, l.Scale, l.Shorten = theme.Secondary, theme.Caption, true
	return l
}

// NewName returns a line in body size that shortens itself.
func NewName(text string) *Line {
	l := NewLine(text)
	l.Shorten = true
	return l
}

// NewHeading returns a line in heading size that shortens itself.
func NewHeading(text string) *Line {
	l := NewLine(text)
	l.Scale, l.Bold, l.Shorten = theme.Heading, true, true
	return l
}

// NewTitle returns a bold line for the head of a section.
func NewTitle(text string) *Line {
	l := NewLine(text)
	l.Bold, l.Shorten = true, true
	return l
}

// Set changes the text.
func (l *Line) Set(text string) {
	if l.Text != text {
		l.Text = text
		l.Refresh()
	}
}

// CreateRenderer is Fyne's.
func (l *Line) CreateRenderer() fyne.WidgetRenderer {
	r := &lineRenderer{line: l, text: canvas.NewText("", color.Transparent)}
	r.apply()
	return r
}

type lineRenderer struct {
	line *Line
	text *canvas.Text
}

func (r *lineRenderer) apply() {
	th := r.line.Theme()
	r.text.Color = th.Color(r.line.Colour, fyne.CurrentApp().Settings().ThemeVariant())
	r.text.TextSize = th.Size(r.line.Scale)
	r.text.TextStyle.Bold = r.line.Bold
}

// Layout fits the text into the width there is.
func (r *lineRenderer) Layout(size fyne.Size) {
	r.text.Text = r.line.Text
	if r.line.cut = r.line.Shorten && r.measure(r.line.Text) > size.Width; r.line.cut {
		r.text.Text = r.shortened(size.Width)
	}
	height := r.text.MinSize().Height
	r.text.Resize(fyne.NewSize(size.Width, height))
	r.text.Move(fyne.NewPos(0, (size.Height-height)/2))
}

func (r *lineRenderer) measure(text string) float32 {
	return fyne.MeasureText(text, r.text.TextSize, r.text.TextStyle).Width
}

func (r *lineRenderer) shortened(width float32) string {
	if !r.line.Begins {
		return middleOut(r.line.Text, width, r.measure)
	}
	all := characters(r.line.Text)
	n := sort.Search(len(all), func(n int) bool { return r.measure(strings.Join(all[:n+1], "")+"…") > width })
	return strings.Join(all[:n], "") + "…"
}

// characters are those of a text as a reader counts them (Unicode annex 29).
func characters(text string) (all []string) {
	for next := graphemes.FromString(text); next.Next(); {
		all = append(all, next.Value())
	}
	return all
}

// middleOut leaves out as much of the middle of a text as it takes to fit it into a width.
func middleOut(text string, width float32, measure func(string) float32) string {
	if measure(text) <= width {
		return text
	}
	all := characters(text)
	with := func(kept int) string {
		front := (kept + 1) / 2
		return strings.TrimRight(strings.Join(all[:front], ""), " ") + "…" + strings.TrimLeft(strings.Join(all[len(all)-(kept-front):], ""), " ")
	}
	return with(sort.Search(len(all)-1, func(n int) bool { return measure(with(n+1)) > width }))
}

func (r *lineRenderer) MinSize() fyne.Size {
	size := fyne.MeasureText(r.line.Text, r.text.TextSize, r.text.TextStyle)
	size.Height = fyne.MeasureText("M", r.text.TextSize, r.text.TextStyle).Height // also while there is no text
	if r.line.Shorten {
		size.Width = min(size.Width, 3*r.line.Theme().Size(fynetheme.SizeNameText))
	}
	return size
}

func (r *lineRenderer) Refresh() {
	r.apply()
	r.Layout(r.line.Size())
	r.text.Refresh()
}

func (r *lineRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.text} }
func (r *lineRenderer) Destroy()                     {}
