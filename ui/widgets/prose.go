package widgets

import (
	"image/color"
	"sort"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Prose is a text that takes as many lines as it needs, without the padding of a label, so that a long sentence beside
// a field is read to its end.
type Prose struct {
	widget.BaseWidget
	Text   string
	Colour fyne.ThemeColorName
	Scale  fyne.ThemeSizeName
	Bold   bool
	Most   int // lines, of which the last then leaves out what is in its middle; 0 for as many as it takes
	cut    bool
}

// NewFullHeading returns a text in heading size on up to two lines that keeps its end.
func NewFullHeading(text string) *Prose {
	p := NewParagraph(text)
	p.Scale, p.Bold, p.Most = theme.Heading, true, 2
	return p
}

// NewFullName returns a name in body size on up to two lines that keeps its end.
func NewFullName(text string) *Prose {
	p := NewParagraph(text)
	p.Most = 2
	return p
}

// NewFullCaption returns a small text in the secondary colour on up to two lines that keeps its end.
func NewFullCaption(text string) *Prose {
	p := NewProse(text)
	p.Most = 2
	return p
}

// NewParagraph returns a text in body size and text colour.
func NewParagraph(text string) *Prose {
	p := NewProse(text)
	p.Colour, p.Scale = theme.Text, theme.Body
	return p
}

// NewProse returns a small text in the secondary colour.
func NewProse(text string) *Prose {
	p := &Prose{Text: text, Colour: theme.Secondary, Scale: theme.Caption}
	p.ExtendBaseWidget(p)
	return p
}

// Set changes the text.
func (p *Prose) Set(text string) {
	if p.Text != text {
		p.Text = text
		p.Refresh()
	}
}

// MouseIn is Fyne's. What is not shown whole shows near the mouse.
func (p *Prose) MouseIn(e *desktop.MouseEvent) {
	if p.cut {
		point(p, e, []string{p.Text})
	}
}

// MouseMoved is Fyne's.
func (p *Prose) MouseMoved(*desktop.MouseEvent) {}

// MouseOut is Fyne's.
func (p *Prose) MouseOut() { pointAway(p) }

// CreateRenderer is Fyne's.
func (p *Prose) CreateRenderer() fyne.WidgetRenderer {
	return &proseRenderer{prose: p}
}

type proseRenderer struct {
	prose *Prose
	lines []fyne.CanvasObject
}

// wrap cuts a text into lines of at most a width, between words. A longer word, as addresses and paths are, is cut before
// a sign, or where the line ends. Without a width yet, it is one line.
func wrap(text string, width float32, measure func(string) float32) (lines []string) {
	if width <= 0 {
		return []string{text}
	}
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && measure(longer) > width {
			lines = append(lines, line)
			longer = word
		}
		for measure(longer) > width {
			fits := fitting(longer, width, measure)
			if fits == len(longer) {
				break
			}
			if sign := strings.LastIndexAny(longer[:fits+1], `@./\?&=`); sign > fits/3 {
				fits = sign
			}
			lines, longer = append(lines, longer[:fits]), longer[fits:]
		}
		line = longer
	}
	return append(lines, line)
}

// fitting is how many bytes of a text fit into a width, at least one letter.
func fitting(text string, width float32, measure func(string) float32) int {
	ends := []int{}
	for at := range text {
		if at > 0 {
			ends = append(ends, at)
		}
	}
	ends = append(ends, len(text))
	return ends[max(0, sort.Search(len(ends), func(n int) bool { return measure(text[:ends[n]]) > width })-1)]
}

func (r *proseRenderer) size() float32 { return r.prose.Theme().Size(r.prose.Scale) }

func (r *proseRenderer) style() fyne.TextStyle { return fyne.TextStyle{Bold: r.prose.Bold} }

func (r *proseRenderer) wrapped(width float32) []string {
	measure := func(s string) float32 { return fyne.MeasureText(s, r.size(), r.style()).Width }
	lines := wrap(r.prose.Text, width, measure)
	most := r.prose.Most
	if r.prose.cut = most > 0 && len(lines) > most; !r.prose.cut {
		return lines
	}
	rest := strings.TrimPrefix(strings.Join(strings.Fields(r.prose.Text), " "), strings.Join(lines[:most-1], " "))
	return append(lines[:most-1:most-1], middleOut(strings.TrimSpace(rest), width, measure))
}

func (r *proseRenderer) height() float32 {
	return fyne.MeasureText("M", r.size(), r.style()).Height
}

// Layout wraps the text into the width there is.
func (r *proseRenderer) Layout(size fyne.Size) {
	texts := r.wrapped(size.Width)
	for len(r.lines) < len(texts) {
		r.lines = append(r.lines, canvas.NewText("", color.Transparent))
	}
	r.lines = r.lines[:len(texts)]
	colour := r.prose.Theme().Color(r.prose.Colour, fyne.CurrentApp().Settings().ThemeVariant())
	height := r.height()
	for i, text := range texts {
		line := r.lines[i].(*canvas.Text)
		line.Text, line.TextSize, line.Color, line.TextStyle = text, r.size(), colour, r.style()
		line.Move(fyne.NewPos(0, float32(i)*height))
		line.Resize(fyne.NewSize(size.Width, height))
	}
}

// MinSize is as high as the text is at its present width.
func (r *proseRenderer) MinSize() fyne.Size {
	lines := len(r.wrapped(r.prose.Size().Width))
	return fyne.NewSize(3*r.prose.Theme().Size(fynetheme.SizeNameText), float32(lines)*r.height())
}

// Refresh wraps anew.
func (r *proseRenderer) Refresh() {
	r.Layout(r.prose.Size())
	for _, line := range r.lines {
		line.Refresh()
	}
	canvas.Refresh(r.prose)
}

func (r *proseRenderer) Objects() []fyne.CanvasObject { return r.lines }
func (r *proseRenderer) Destroy()                     {}
