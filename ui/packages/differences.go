package packages

import (
	"context"
	"image"
	"image/draw"
	"path/filepath"
	"slices"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Differences compares what was sent with what came back.
type Differences interface {
	// Differences compares a saved file with the document that was sent.
	Differences(ctx context.Context, packageID string, f office.File) (agent.Comparison, error)
	// ComparedPage draws a page of the saved file, or with original of the document that was sent.
	ComparedPage(ctx context.Context, packageID string, f office.File, original bool, page, width int) (image.Image, error)
}

// differences shows the pages sent beside those that came back, one difference after another.
type differences struct {
	screen *Screen
	id     string // package id
	file   office.File
	found  agent.Comparison
	steps  []agent.Difference // the differences, then the pages without any

	at     int
	large  bool // shows the place enlarged instead of the page
	pages  map[side]image.Image
	leave  context.CancelFunc // cancels drawing
	room   fyne.Size
	where  *widgets.Line
	what   *widgets.Prose
	sheets *fyne.Container

	back, next, enlarge, close *widgets.Button
}

// side is a page, counted from 1, of one of the two documents.
type side struct {
	original bool
	page     int
}

// pageWidth is the width in pixels at which pages are drawn.
const pageWidth = 1000

func (s *Screen) showDifferences(id string, f office.File) {
	wanted := s.last()
	env.Get(s.env, func(ctx context.Context) (agent.Comparison, error) { return s.office.Differences(ctx, id, f) }, func(found agent.Comparison) {
		if !wanted() {
			return
		}
		d := &differences{screen: s, id: id, file: f, found: found, steps: inOrder(found), pages: map[side]image.Image{}, leave: func() {}}
		d.open()
	})
}

// inOrder returns the changes, followed by all pages as they came back.
func inOrder(found agent.Comparison) []agent.Difference {
	steps := slices.Concat(found.Places, found.Same)
	page := func(d agent.Difference) int {
		if d.Kind != "" && d.Kind.Changed() {
			return 0
		}
		return d.Back
	}
	slices.SortStableFunc(steps, func(a, b agent.Difference) int { return page(a) - page(b) })
	return steps
}

func (d *differences) open() {
	window := d.screen.env.Window.Canvas()
	around := widgets.Scaled(185) // the height of head, captions and buttons
	d.room = fyne.NewSize(max(160, (window.Size().Width-32-40-16)/2), max(160, window.Size().Height-32-40-around))
	d.where, d.what, d.sheets = widgets.NewCaption(""), widgets.NewProse(""), container.NewGridWithColumns(2)
	d.what.Most = 2
	var pop *widgets.PopUp
	d.close = widgets.NewButton(lang.L("Close"), func() { pop.Close() })
	d.back = widgets.NewButton(lang.L("Previous"), func() { d.turn(-1) })
	d.next = widgets.NewButton(lang.L("Next"), func() { d.turn(1) })
	d.enlarge = widgets.NewButton(lang.L("Enlarge"), func() { d.large = !d.large; d.show() })
	for _, b := range []*widgets.Button{d.back, d.next, d.enlarge, d.close} {
		b.OnKey = d.key
	}
	whole := widgets.NewProse(i18n.Message(d.file.Match.Text()))
	widgets.Show(whole, d.file.Match.State != office.MatchChanged) // each difference says it
	head := widgets.Stack(4, widgets.NewHeading(filepath.Base(d.file.Path)), whole, d.where, d.what)
	foot := widgets.Across(nil, widgets.Flow(8, d.back, d.next, d.enlarge), d.close)
	d.show()
	pop = widgets.Open(window, widgets.Pad(20, widgets.Between(nil, foot, widgets.NewVScroll(widgets.Stack(12, head, d.sheets)))),
		fyne.NewSize(2*d.room.Width+16, d.room.Height+around+40), d.first(), func() { d.leave() })
}

// first returns the button to focus, one that leads on.
func (d *differences) first() *widgets.Button {
	for _, b := range []*widgets.Button{d.next, d.back} {
		if !b.Disabled() {
			return b
		}
	}
	return d.close
}

// key moves to another difference.
func (d *differences) key(e *fyne.KeyEvent) bool {
	switch e.Name {
	case fyne.KeyLeft, fyne.KeyUp, fyne.KeyPageUp:
		d.turn(-1)
	case fyne.KeyRight, fyne.KeyDown, fyne.KeyPageDown:
		d.turn(1)
	default:
		return false
	}
	return true
}

func (d *differences) turn(by int) {
	if at := d.at + by; at >= 0 && at < len(d.steps) {
		d.at = at
		d.show()
		window := d.screen.env.Window.Canvas()
		if b, is := window.Focused().(*widgets.Button); is && b.Disabled() {
			window.Focus(d.first())
		}
	}
}

// show shows a difference; its pages follow once drawn.
func (d *differences) show() {
	widgets.Enable(d.back, d.at > 0)
	widgets.Enable(d.next, d.at+1 < len(d.steps))
	if len(d.steps) == 0 {
		return
	}
	step := d.steps[d.at]
	d.where.Set(lang.L("{{.Done}} of {{.Total}}", i18n.V{"Done": d.at + 1, "Total": len(d.steps)}))
	d.what.Text = tellDifference(step)
	d.what.Colour = theme.Text
	if step.Kind != "" && step.Kind.Changed() {
		d.what.Colour = theme.Attention
	}
	d.what.Refresh()
	d.enlarge.SetText(map[bool]string{false: lang.L("Enlarge"), true: lang.L("Whole page")}[d.large])
	widgets.Show(d.enlarge, step.Box != agent.Difference{}.Box)
	d.leave()
	d.draw()
	var missing []side
	for _, p := range []side{{true, step.Page}, {false, step.Back}} {
		if _, drawn := d.pages[p]; !drawn && p.page > 0 {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return
	}
	type drawn map[side]image.Image
	left := false
	cancel := async.Then(d.screen.env.Work, func(ctx context.Context) (drawn, error) {
		found := drawn{}
		for _, p := range missing {
			picture, err := d.screen.office.ComparedPage(ctx, d.id, d.file, p.original, p.page, pageWidth)
			if err != nil {
				return found, err
			}
			found[p] = picture
		}
		return found, nil
	}, func(found drawn, err error) {
		if left {
			return
		}
		if err != nil {
			d.screen.env.Notice(i18n.Error(err))
		}
		if len(d.pages) > 12 {
			clear(d.pages)
		}
		for p, picture := range found {
			d.pages[p] = picture
		}
		d.draw()
	})
	d.leave = func() {
		left = true
		cancel()
	}
}

// draw shows the two pages side by side, as far as they are drawn.
func (d *differences) draw() {
	step := d.steps[d.at]
	half := func(title, none string, page int, picture image.Image, sent bool) fyne.CanvasObject {
		caption := widgets.NewCaption(title + " " + strconv.Itoa(page))
		caption.Centred = true
		switch {
		case page == 0:
			return widgets.Stack(4, widgets.NewCaption(""), d.blank(none))
		case picture == nil:
			return widgets.Stack(4, caption, d.blank(lang.L("Loading…")))
		}
		return widgets.Stack(4, caption, widgets.Sheet(d.marked(picture, page, sent), d.room, theme.Line))
	}
	widgets.Remake(d.sheets, half(lang.L("Sent: page"), lang.L("Not part of what was sent."), step.Page, d.pages[side{true, step.Page}], true),
		half(lang.L("Came back: page"), lang.L("Not part of what came back."), step.Back, d.pages[side{false, step.Back}], false))
}

// blank takes the space of a page that does not exist or is not drawn yet.
func (d *differences) blank(why string) fyne.CanvasObject {
	paper, words := widgets.NewBack(theme.Surface), widgets.NewProse(why)
	paper.Outline(theme.Line)
	words.Centred = true
	size := fyne.NewSize(min(d.room.Width, d.room.Height/1.414), d.room.Height) // A4
	return container.NewGridWrap(d.room, container.NewCenter(container.NewGridWrap(size, container.NewStack(paper, widgets.Middle(200, words)))))
}

// marked frames the places where a page differs, or crops and enlarges the one place.
func (d *differences) marked(page image.Image, number int, sent bool) image.Image {
	size := page.Bounds().Size()
	picture := image.NewRGBA(image.Rect(0, 0, size.X, size.Y))
	draw.Draw(picture, picture.Bounds(), page, page.Bounds().Min, draw.Src)
	for i, p := range d.steps {
		if p.Back != number && !sent || p.Page != number && sent || p.Box == (agent.Difference{}).Box {
			continue
		}
		colour := theme.Waiting
		if p.Kind.Changed() {
			colour = theme.Attention
		}
		r := image.Rect(int(p.Box[0]*float64(size.X)), int(p.Box[1]*float64(size.Y)), int(p.Box[2]*float64(size.X)), int(p.Box[3]*float64(size.Y))).Inset(-6)
		thick := 2
		if i == d.at {
			thick = 5
		}
		inner := r.Inset(thick)
		for _, edge := range []image.Rectangle{{r.Min, image.Pt(r.Max.X, inner.Min.Y)}, {image.Pt(r.Min.X, inner.Max.Y), r.Max}, {r.Min, image.Pt(inner.Min.X, r.Max.Y)}, {image.Pt(inner.Max.X, r.Min.Y), r.Max}} {
			draw.Draw(picture, edge, image.NewUniform(theme.OnPage(colour)), image.Point{}, draw.Src)
		}
	}
	if box := d.steps[d.at].Box; d.large && box != (agent.Difference{}).Box {
		w, h := size.X*2/5, size.X*2/5*int(d.room.Height)/int(d.room.Width)
		x, y := int((box[0]+box[2])/2*float64(size.X))-w/2, int((box[1]+box[3])/2*float64(size.Y))-h/2
		x, y = max(0, min(x, size.X-w)), max(0, min(y, size.Y-h))
		return picture.SubImage(image.Rect(x, y, x+w, y+h))
	}
	return picture
}

// tellDifference describes a difference.
func tellDifference(p agent.Difference) string {
	what := map[string]string{
		"":          lang.L("This page is the same."),
		"added":     lang.L("New on an empty place, as signing adds it"),
		"page":      lang.L("This page was added before or behind the others."),
		"altered":   lang.L("What was here is gone, covered or changed"),
		"hidden":    lang.L("Invisible text was inserted"),
		"field":     lang.L("A field has a different value"),
		"note":      lang.L("A note or stamp lies over the page"),
		"does":      lang.L("The document runs, sends, shows or prints something that it did not"),
		"size":      lang.L("The page was rotated or resized."),
		"missing":   lang.L("This page is missing."),
		"inserted":  lang.L("This page was put between the others."),
		"exchanged": lang.L("This is another page."),
		"remade":    lang.L("The page looks alike, but was made anew: it cannot be compared closely."),
	}[string(p.Kind)]
	switch p.Kind {
	case "added", "altered", "hidden", "field", "note", "does":
		switch {
		case p.Was == "" && p.Now == "":
			return what + "."
		case p.Was == "" || p.Now == "":
			return lang.L("{{.What}}: “{{.Words}}”", i18n.V{"What": what, "Words": p.Was + p.Now})
		}
		return lang.L("{{.What}}: “{{.Was}}”, now “{{.Now}}”", i18n.V{"What": what, "Was": p.Was, "Now": p.Now})
	}
	return what
}

// matchOf says in a few words whether a file is what was sent; pressing it compares the pages. It returns nil if there is nothing to
// say.
func (s *Screen) matchOf(p record, f office.File) fyne.CanvasObject {
	text := i18n.MatchWord(f.Match)
	if text == "" {
		return nil
	}
	mark, name, show := theme.MarkLater, filepath.Base(f.Path), func() { s.showDifferences(p.row.ID, f) }
	said := text + " · " + name
	switch f.Match.State {
	case office.MatchChanged:
		mark, said = theme.MarkProblem, name+": "+text
	case office.MatchSame, office.MatchAdded:
		mark = theme.MarkSaved
	case office.MatchUnread:
		said, show = name+": "+text, nil
	}
	return verdict(mark, said, show)
}

// verdict is a line with the result for a file; press may be nil.
func verdict(mark theme.Mark, text string, press func()) fyne.CanvasObject {
	prose := widgets.NewFullCaption(text)
	if mark == theme.MarkProblem {
		prose.Colour, prose.Most = theme.Attention, 3
	}
	content := widgets.PadHV(0, 2, widgets.Across(widgets.Mark(16, widget.NewIcon(mark.Resource())), prose, nil))
	if press == nil {
		return content
	}
	line := widgets.NewTappable(content, press)
	line.Says = func() string { return prose.Text }
	return line
}
