// Package widgets holds the pieces that several screens share. They show what they are given and call back; they know
// nothing of packages, signers or the office.
package widgets

import (
	"image/color"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/bidi"

	"countersign/ui/theme"
)

// Line is one line of text in a theme colour and size. Fyne's label has padding and can only truncate at the end, which is often
// what tells names apart.
type Line struct {
	widget.BaseWidget
	Text    string
	Colour  fyne.ThemeColorName
	Scale   fyne.ThemeSizeName
	Bold    bool
	Shorten bool // shortens the middle of the text to fit the given width
	Centred bool // each line centred
	Begins  bool // a sentence, whose beginning matters most: shortens the end
	Most    int  // maximum number of lines; 0 for no limit
	cut     bool // the current layout does not show all of it

	laid  laid // the last layout's input; shown is its rows
	shown []string
}

// laid is everything that determines a line's rows.
type laid struct {
	text                  string
	width, size           float32
	bold, shorten, begins bool
	most                  int
}

// Prose is wrapping text. What does not fit into Most lines is cut from the middle of the last one and shown in full as a tooltip.
type Prose struct {
	Line
	hoverable
}

// NewLine returns a line in body size and text colour, as wide as it needs.
func NewLine(text string) *Line {
	l := &Line{Text: text, Colour: theme.Text, Scale: theme.Body, Most: 1}
	l.ExtendBaseWidget(l)
	return l
}

func NewName(text string) *Line {
	l := NewLine(text)
	l.Shorten = true
	return l
}

// NewCaption returns a small line in the secondary colour that shortens itself.
func NewCaption(text string) *Line {
	l := NewName(text)
	l.Colour, l.Scale = theme.Secondary, theme.Caption
	return l
}

// NewTitle returns a bold section title that shortens itself.
func NewTitle(text string) *Line {
	l := NewName(text)
	l.Bold = true
	return l
}

func NewHeading(text string) *Line {
	l := NewTitle(text)
	l.Scale = theme.Heading
	return l
}

func NewParagraph(text string) *Prose {
	p := &Prose{Line: Line{Text: text, Colour: theme.Text, Scale: theme.Body, Shorten: true}}
	p.ExtendBaseWidget(p)
	return p
}

// NewFullName returns a name in body size on up to two lines that keeps its end.
func NewFullName(text string) *Prose {
	p := NewParagraph(text)
	p.Most = 2
	return p
}

// NewFullHeading returns a text in heading size on up to two lines that keeps its end.
func NewFullHeading(text string) *Prose {
	p := NewFullName(text)
	p.Scale, p.Bold = theme.Heading, true
	return p
}

func NewProse(text string) *Prose {
	p := NewParagraph(text)
	p.Colour, p.Scale = theme.Secondary, theme.Caption
	return p
}

// NewFullCaption returns a small text in the secondary colour on up to two lines that keeps its end.
func NewFullCaption(text string) *Prose {
	p := NewProse(text)
	p.Most = 2
	return p
}

// Whole makes the line as wide as its text.
func (l *Line) Whole() *Line {
	l.Shorten = false
	return l
}

func (l *Line) Set(text string) {
	if l.Text != text {
		l.Text = text
		l.Refresh()
	}
}

func (p *Prose) MouseIn(e *desktop.MouseEvent) { point(p, e, cut([]*Line{&p.Line})) }

func (p *Prose) MouseOut() { pointAway(p) }

// cut returns the texts of the lines that are not shown in full.
func cut(lines []*Line) (texts []string) {
	for _, l := range lines {
		if l.Visible() && l.cut && !slices.Contains(texts, l.Text) {
			texts = append(texts, l.Text)
		}
	}
	return texts
}

func (l *Line) CreateRenderer() fyne.WidgetRenderer {
	r := &renderer{least: l.least}
	r.layout = func(size fyne.Size) {
		colour := l.Theme().Color(l.Colour, fyne.CurrentApp().Settings().ThemeVariant())
		rows, height := l.rows(size.Width), l.rowHeight()
		for len(r.objects) < len(rows) {
			r.objects = append(r.objects, canvas.NewText("", color.Transparent))
		}
		r.objects = r.objects[:len(rows)]
		top := float32(0)
		if l.Most == 1 {
			top = (size.Height - height) / 2
		}
		for i, o := range r.objects {
			text := o.(*canvas.Text)
			text.Text, text.TextSize, text.Color, text.TextStyle = inPlace(rows[i]), l.Theme().Size(l.Scale), colour, l.style()
			if text.Alignment = fyne.TextAlignLeading; l.Centred {
				text.Alignment = fyne.TextAlignCenter
			}
			text.Move(fyne.NewPos(0, top+float32(i)*height))
			text.Resize(fyne.NewSize(size.Width, height))
		}
	}
	r.paint = func() { r.layout(l.Size()) }
	return r
}

func (l *Line) style() fyne.TextStyle { return fyne.TextStyle{Bold: l.Bold} }

func (l *Line) measure(text string) float32 {
	return fyne.MeasureText(text, l.Theme().Size(l.Scale), l.style()).Width
}

// rowHeight is the same for any text, including none.
func (l *Line) rowHeight() float32 {
	return fyne.MeasureText("M", l.Theme().Size(l.Scale), l.style()).Height
}

// least returns the height of the text at its present width.
func (l *Line) least() fyne.Size {
	size := fyne.NewSize(3*l.Theme().Size(fynetheme.SizeNameText), l.rowHeight())
	switch {
	case !l.Shorten:
		size.Width = l.measure(l.Text)
	case l.Most == 1:
		size.Width = min(size.Width, l.measure(l.Text))
	default:
		size.Height *= float32(len(l.rows(l.Size().Width)))
	}
	return size
}

// rows returns the visible lines of the text at a width, cached because a page asks often during layout.
func (l *Line) rows(width float32) []string {
	now := laid{l.Text, width, l.Theme().Size(l.Scale), l.Bold, l.Shorten, l.Begins, l.Most}
	if l.laid != now || l.shown == nil {
		l.laid, l.shown = now, l.wrapped(width)
	}
	return l.shown
}

func (l *Line) wrapped(width float32) []string {
	rows := []string{l.Text}
	if l.Most != 1 {
		rows = wrap(l.Text, width, l.measure)
	}
	l.cut = l.Shorten && l.Most > 0 && (len(rows) > l.Most || l.Most == 1 && l.measure(l.Text) > width)
	if !l.cut {
		return rows
	}
	rows = rows[: l.Most-1 : l.Most-1]
	rest := strings.Join(words(l.Text), " ")
	for _, row := range rows { // which may have broken a word
		rest = strings.TrimSpace(strings.TrimPrefix(rest, row))
	}
	if !l.Begins {
		return append(rows, middleOut(rest, width, l.measure))
	}
	all := characters(rest)
	n := sort.Search(len(all), func(n int) bool { return l.measure(strings.Join(all[:n+1], "")+"…") > width })
	text := strings.Join(all[:n], "")
	if at := strings.LastIndex(text, " "); at > 0 && l.Most > 1 {
		text = text[:at] // a sentence ends with a whole word
	}
	return append(rows, text+"…")
}

// characters splits a text into user-perceived characters (Unicode annex 29).
func characters(text string) (all []string) {
	for next := graphemes.FromString(text); next.Next(); {
		all = append(all, next.Value())
	}
	return all
}

// middleOut cuts the middle of a text until it fits the width, by whole words if most of the width stays in use.
func middleOut(text string, width float32, measure func(string) float32) string {
	if measure(text) <= max(width, 0) {
		return text
	}
	all := characters(text)
	n := sort.Search(len(all)-1, func(n int) bool { return measure(strings.Join(all[:n+1], "")+"…") > (width+measure("…"))/2 })
	begin := strings.Join(all[:n], "")
	if at := strings.LastIndex(begin, " "); all[n] != " " && at > len(begin)/2 {
		begin = begin[:at]
	}
	begin = strings.TrimRight(begin, " ") + "…"
	from := len(all) - sort.Search(len(all)-1, func(n int) bool { return measure(begin+strings.Join(all[len(all)-n-1:], "")) > width })
	end := strings.Join(all[from:], "") // takes what a shorter beginning has left
	if at := strings.Index(end, " "); all[from-1] != " " && at >= 0 && at < len(end)/2 {
		end = end[at:]
	}
	return begin + strings.TrimLeft(end, " ")
}

// words splits a text where a line may break: not at a no-break space, such as the one before a closing guillemet.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' })
}

// wrap breaks a text into lines no wider than width, at line ends and between words. A longer word, such as an address or file name,
// is broken at a punctuation mark or at the end of the line. Before the width is known, the text is one line.
func wrap(text string, width float32, measure func(string) float32) (lines []string) {
	if width <= 0 {
		return []string{text}
	}
	for text := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range words(text) {
			longer := strings.TrimSpace(line + " " + word)
			if line != "" && measure(longer) > width {
				lines = append(lines, line)
				longer = word
			}
			for measure(longer) > width {
				all := characters(longer)
				n := max(1, sort.Search(len(all), func(n int) bool { return measure(strings.Join(all[:n+1], "")) > width })) // at least one character
				if n == len(all) {
					break
				}
				fits := len(strings.Join(all[:n], ""))
				if sign := strings.LastIndexAny(longer[:fits+1], `@./\?&=`); sign > fits/3 {
					fits = sign
				} else if sign := strings.LastIndexAny(longer[:fits], "_-:"); sign > fits/3 {
					fits = sign + 1
				}
				lines, longer = append(lines, longer[:fits]), longer[fits:]
			}
			line = longer
		}
		lines = append(lines, line)
	}
	return lines
}

// Invisible marks: left-to-right and right-to-left.
const (
	fromLeft  = "\u200e"
	fromRight = "\u200f"
)

// inPlace arranges a line for Fyne, which draws left-to-right and right-to-left runs in logical order. But among Hebrew and Arabic
// words, a number that follows them belongs to their left (Unicode annex 9, rule L2).
func inPlace(line string) string {
	if !strings.ContainsFunc(line, func(r rune) bool { return classOf(r) == bidi.R || classOf(r) == bidi.AL }) {
		return line
	}
	var p bidi.Paragraph
	_, err := p.SetString(line, bidi.DefaultDirection(bidi.LeftToRight))
	order, mixed := p.Order()
	if err != nil || mixed != nil {
		return line
	}
	var placed, span []string // span: a right-to-left passage including its numbers
	end := func() {
		slices.Reverse(span)
		placed, span = append(placed, span...), nil
	}
	for i := range order.NumRuns() {
		run := order.Run(i)
		text := run.String()
		if run.Direction() == bidi.RightToLeft {
			span = append(span, fromRight+text+fromRight)
			continue
		}
		if n := number(text); len(span) > 0 && n > 0 {
			span = append(span, fromLeft+text[:n]+fromLeft)
			text = text[n:]
		}
		if text != "" {
			end()
			placed = append(placed, text)
		}
	}
	end()
	return strings.Join(placed, "")
}

// number returns the length of the number at the start of a text: digits and the separators between them.
func number(text string) (end int) {
	for at, r := range text {
		switch classOf(r) {
		case bidi.EN, bidi.AN, bidi.ET:
			end = at + utf8.RuneLen(r)
		case bidi.ES, bidi.CS:
		default:
			return end
		}
	}
	return end
}

func classOf(r rune) bidi.Class {
	p, _ := bidi.LookupRune(r)
	return p.Class()
}
