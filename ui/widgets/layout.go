package widgets

import (
	"image"
	"image/color"
	"strings"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/assets"
	"countersign/ui/theme"
)

// Pad returns content with n units of padding on every side.
func Pad(n float32, content fyne.CanvasObject) *fyne.Container { return PadHV(n, n, content) }

// PadHV returns content with horizontal and vertical padding.
func PadHV(h, v float32, content fyne.CanvasObject) *fyne.Container {
	return container.New(layout.NewCustomPaddedLayout(v, v, h, h), content)
}

// Outdent aligns the words of buttons without a background with the text above them.
func Outdent(buttons fyne.CanvasObject) *fyne.Container {
	return container.New(layout.NewCustomPaddedLayout(0, 0, -8, 0), buttons)
}

// Stack puts objects below one another, n units apart.
func Stack(n float32, objects ...fyne.CanvasObject) *fyne.Container {
	return container.New(stack{layout.NewCustomPaddedVBoxLayout(n)}, objects...)
}

// Between puts content between a head and a foot, which may be nil, with a border's spacing. With Fyne's own border, Tab visits
// content before both.
func Between(head, foot, content fyne.CanvasObject) *fyne.Container {
	return container.New(stack{layout.NewBorderLayout(head, foot, nil, nil)}, present(head, content, foot)...)
}

// present returns those objects that are not nil, in Tab order.
func present(some ...fyne.CanvasObject) (there []fyne.CanvasObject) {
	for _, o := range some {
		if o != nil {
			there = append(there, o)
		}
	}
	return there
}

// stack gives its objects their width before asking for their height, so that wrapped text has the height for this width, not for
// the previous one.
type stack struct{ under fyne.Layout }

func (s stack) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		if o.Visible() && o.Size().Width != size.Width {
			o.Resize(fyne.NewSize(size.Width, o.Size().Height))
		}
	}
	s.under.Layout(objects, size)
}

func (s stack) MinSize(objects []fyne.CanvasObject) fyne.Size { return s.under.MinSize(objects) }

// Mark makes o a square beside text, n units wide, scaled with the text size.
func Mark(n float32, o fyne.CanvasObject) *fyne.Container { return container.New(square(n), o) }

type square float32

func (s square) Layout(objects []fyne.CanvasObject, _ fyne.Size) {
	size := s.MinSize(nil)
	place(objects[0], 0, 0, size.Width, size.Height)
}

func (s square) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSquareSize(Scaled(float32(s))) }

// Scaled returns n units, scaled with the text size.
func Scaled(n float32) float32 {
	const body = 14 // the text size at 100 %
	return n * fyne.CurrentApp().Settings().Theme().Size(theme.Body) / body
}

// Row puts objects side by side, n units apart, vertically centred.
func Row(n float32, objects ...fyne.CanvasObject) *fyne.Container {
	for i, o := range objects {
		if _, spacer := o.(layout.SpacerObject); !spacer {
			objects[i] = middle(o)
		}
	}
	return container.New(layout.NewCustomPaddedHBoxLayout(n), objects...)
}

// Across is one line: left and right take the width they need, mid the rest, all vertically centred. left and right may be nil.
func Across(left, mid, right fyne.CanvasObject) *fyne.Container {
	parts := [...]fyne.CanvasObject{left, mid, right}
	for i, o := range parts {
		if o != nil {
			parts[i] = middle(o)
		}
	}
	return container.New(&across{parts[0], parts[1], parts[2]}, present(parts[:]...)...)
}

func middle(o fyne.CanvasObject) *fyne.Container {
	return Stack(0, layout.NewSpacer(), o, layout.NewSpacer())
}

// across lays out Across with 8 units between its parts.
type across struct{ left, mid, right fyne.CanvasObject }

const gap = 8

func (a *across) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	x, end := float32(0), size.Width
	if w := width(a.left); w > 0 {
		place(a.left, 0, 0, w, size.Height)
		x = w + gap
	}
	if w := width(a.right); w > 0 {
		place(a.right, size.Width-w, 0, w, size.Height)
		end -= w + gap
	}
	place(a.mid, x, 0, max(0, end-x), size.Height)
}

func place(o fyne.CanvasObject, x, y, width, height float32) {
	if o != nil {
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(width, height))
	}
}

func (a *across) MinSize([]fyne.CanvasObject) (size fyne.Size) {
	for _, o := range []fyne.CanvasObject{a.left, a.mid, a.right} {
		if w := width(o); w > 0 {
			if size.Width > 0 {
				size.Width += gap
			}
			size.Width += w
		}
		size.Height = max(size.Height, height(o)) // includes a line without text yet
	}
	return size
}

func width(o fyne.CanvasObject) float32 {
	if o == nil || !o.Visible() {
		return 0
	}
	return o.MinSize().Width
}

// Beside puts a mark at the first line of a text.
func Beside(mark, text fyne.CanvasObject) *fyne.Container {
	return Frame(nil, nil, container.New(layout.NewCustomPaddedLayout(0, 0, 0, gap), mark), text)
}

// Frame puts content between a top, a bottom and a left side, each of which may be nil. Fyne's border adds space between them.
func Frame(top, bottom, left, content fyne.CanvasObject) *fyne.Container {
	return container.New(&frame{top, bottom, left, content}, present(top, left, content, bottom)...)
}

type frame struct{ top, bottom, left, content fyne.CanvasObject }

func height(o fyne.CanvasObject) float32 {
	if o == nil || !o.Visible() {
		return 0
	}
	return o.MinSize().Height
}

func (f *frame) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	if f.top != nil {
		f.top.Resize(fyne.NewSize(size.Width, f.top.Size().Height)) // so that text in it wraps before it is measured
	}
	top, bottom, left := height(f.top), height(f.bottom), width(f.left)
	place(f.top, 0, 0, size.Width, top)
	place(f.bottom, 0, size.Height-bottom, size.Width, bottom)
	place(f.left, 0, top, left, size.Height-top-bottom)
	place(f.content, left, top, size.Width-left, size.Height-top-bottom)
}

func (f *frame) MinSize([]fyne.CanvasObject) fyne.Size {
	least := f.content.MinSize()
	return fyne.NewSize(max(width(f.left)+least.Width, width(f.top), width(f.bottom)),
		height(f.top)+height(f.bottom)+max(least.Height, height(f.left)))
}

// Halves puts two things side by side, equally wide, or one below the other if one of them needs more width.
func Halves(a, b fyne.CanvasObject) *fyne.Container { return container.New(&halves{}, a, b) }

// halves knows its width only once laid out; until then the two are side by side.
type halves struct{ width float32 }

const halvesGap = 16

func (h *halves) half() float32 { return (h.width - halvesGap) / 2 }

func (h *halves) beside(objects []fyne.CanvasObject) bool {
	return h.width == 0 || h.half() >= max(width(objects[0]), width(objects[1]))
}

func (h *halves) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	h.width = size.Width
	if h.beside(objects) {
		place(objects[0], 0, 0, h.half(), size.Height)
		place(objects[1], h.half()+halvesGap, 0, h.half(), size.Height)
		return
	}
	y := float32(0)
	for _, o := range objects {
		o.Resize(fyne.NewSize(size.Width, o.Size().Height)) // so that text in it wraps before it is measured
		place(o, 0, y, size.Width, height(o))
		y += height(o) + halvesGap*min(1, height(o))
	}
}

func (h *halves) MinSize(objects []fyne.CanvasObject) fyne.Size {
	a, b := height(objects[0]), height(objects[1])
	size := fyne.NewSize(max(width(objects[0]), width(objects[1])), max(a, b))
	if !h.beside(objects) {
		size.Height = a + b + halvesGap*min(1, a, b)
	}
	return size
}

// Wide returns content at least w units wide.
func Wide(w float32, content fyne.CanvasObject) *fyne.Container {
	return AtLeast(fyne.NewSize(w, 0), content)
}

// Column returns content at least w units wide, scaled with the text size.
func Column(w float32, content fyne.CanvasObject) *fyne.Container { return Wide(Scaled(w), content) }

// AtMost returns content at most w units wide, scaled with the text size, because long lines are hard to read. The rest of the width
// stays empty: on the right, or on both sides where there is much of it.
func AtMost(w float32, content fyne.CanvasObject) *fyne.Container {
	return container.New(atMost(w), content)
}

type atMost float32

func (w atMost) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	place(objects[0], w.left(size), 0, w.width(size), size.Height)
}

// spare is how much width may stay empty on the right, scaled with the text size.
const spare = 320

func (w atMost) left(size fyne.Size) float32 {
	rest := size.Width - w.width(size)
	return max(0, min(rest/2, rest-Scaled(spare)))
}

func (w atMost) width(size fyne.Size) float32 {
	if w == 0 {
		return size.Width
	}
	return min(size.Width, Scaled(float32(w)))
}

func (w atMost) MinSize(objects []fyne.CanvasObject) fyne.Size { return objects[0].MinSize() }

// Middle returns content at most w units wide, scaled with the text size, centred in all the space.
func Middle(w float32, content fyne.CanvasObject) *fyne.Container {
	return container.New(inMiddle{atMost(w)}, content)
}

type inMiddle struct{ atMost }

func (w inMiddle) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	w.atMost.Layout(objects, fyne.NewSize(size.Width, 0)) // so that text in it wraps before it is measured
	least, o := objects[0].MinSize(), objects[0]
	place(o, (size.Width-o.Size().Width)/2, max(0, size.Height-least.Height)/2, o.Size().Width, least.Height)
}

// Pair is two things side by side with a thin line between them. The left one gets three sevenths of the width, at least 300 units
// and no more than a given maximum, both scaled with the text size. If only one fits, the right one, while open, replaces the left
// one and has a link back above it.
type Pair struct {
	Content *fyne.Container
	most    float32
	open    bool
	single  bool
}

// NewPair returns a pair. most is the left side's maximum width; name labels the link back, which calls back.
func NewPair(most float32, left, right fyne.CanvasObject, name string, back func()) *Pair {
	p := &Pair{most: most}
	p.Content = container.New(p, left, NewBack(theme.Line), right, On(theme.Paper, PadHV(16, 6, Row(0, NewLink("‹ "+name, back)))))
	return p
}

// Open opens or closes the right side and reports whether anything new is visible.
func (p *Pair) Open(open bool) (changed bool) {
	if changed = p.open != open; changed {
		p.open = open
		p.Content.Refresh()
	}
	return changed && p.single
}

func (p *Pair) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	least := max(objects[0].MinSize().Width, Scaled(300))
	p.single = size.Width < least+Scaled(300)
	for i, shown := range []bool{!p.single || !p.open, !p.single, !p.single || p.open, p.single && p.open} {
		if objects[i].Visible() != shown {
			Show(objects[i], shown)
		}
	}
	if p.single {
		top := height(objects[3])
		place(objects[0], 0, 0, size.Width, size.Height)
		place(objects[2], 0, top, size.Width, size.Height-top)
		place(objects[3], 0, 0, size.Width, top)
		return
	}
	at := max(least, min(size.Width*3/7, Scaled(p.most)))
	place(objects[0], 0, 0, at, size.Height)
	place(objects[1], at, 0, 1, size.Height)
	place(objects[2], at+1, 0, max(0, size.Width-at-1), size.Height)
}

func (p *Pair) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return objects[0].MinSize().Max(objects[2].MinSize())
}

// Tall returns content at least h units high, even while parts of it are hidden.
func Tall(h float32, content fyne.CanvasObject) *fyne.Container {
	return AtLeast(fyne.NewSize(0, h), content)
}

// AtLeast returns content at least that large.
func AtLeast(size fyne.Size, content fyne.CanvasObject) *fyne.Container {
	room := canvas.NewRectangle(color.Transparent)
	room.SetMinSize(size)
	return container.NewStack(room, content)
}

// Flow puts objects side by side, n units apart, and wraps when a row is full. Its minimum width is that of its widest object;
// Fyne's row wrap asks for that of its longest row, which would keep the window from getting narrower.
func Flow(n float32, objects ...fyne.CanvasObject) *fyne.Container {
	return container.New(&flow{gap: n}, objects...)
}

// flow knows its width only once laid out; until then it is one line high.
type flow struct{ gap, width float32 }

func (f *flow) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	f.width = size.Width
	for _, o := range objects {
		o.Resize(fyne.NewSize(f.least(o).Width, o.Size().Height)) // so that text in it wraps before it is measured
	}
	f.walk(objects, func(o fyne.CanvasObject, x, y float32) {
		o.Resize(f.least(o))
		o.Move(fyne.NewPos(x, y))
	})
}

// least returns an object's size: its natural width, limited to the available width.
func (f *flow) least(o fyne.CanvasObject) fyne.Size {
	least := o.MinSize()
	if wide, is := o.(interface{ natural() float32 }); is && f.width > 0 {
		least.Width = max(least.Width, min(wide.natural(), f.width))
	}
	return least
}

// walk calls put with the position of each visible object and returns their total height.
func (f *flow) walk(objects []fyne.CanvasObject, put func(o fyne.CanvasObject, x, y float32)) (height float32) {
	x, y := float32(0), float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		least := f.least(o)
		if x > 0 && f.width > 0 && x+least.Width > f.width {
			x, y = 0, height+f.gap
		}
		put(o, x, y)
		x += least.Width + f.gap
		height = max(height, y+least.Height)
	}
	return height
}

func (f *flow) MinSize(objects []fyne.CanvasObject) (size fyne.Size) {
	for _, o := range objects {
		if o.Visible() {
			size.Width = max(size.Width, o.MinSize().Width)
		}
	}
	size.Height = f.walk(objects, func(fyne.CanvasObject, float32, float32) {})
	return size
}

// Aside puts a thing's buttons to its right, or below it if that would leave the thing less than least units.
func Aside(least float32, thing, buttons fyne.CanvasObject) *fyne.Container {
	return container.New(&aside{least: least}, thing, buttons)
}

type aside struct{ least, width float32 }

// beside reports whether both fit on one line.
func (a *aside) beside(buttons fyne.CanvasObject) bool {
	return a.width == 0 || a.width-gap-buttons.MinSize().Width >= a.least
}

func (a *aside) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	a.width = size.Width
	thing, buttons := objects[0], objects[1]
	need := buttons.MinSize()
	if !buttons.Visible() {
		need = fyne.Size{Width: -gap}
	}
	width := size.Width
	if a.beside(buttons) {
		width -= need.Width + gap
	}
	thing.Resize(fyne.NewSize(width, thing.Size().Height)) // so that text in it wraps before it is measured
	high := thing.MinSize().Height
	thing.Resize(fyne.NewSize(width, high))
	if a.beside(buttons) {
		thing.Move(fyne.NewPos(0, max(0, (size.Height-high)/2)))
		buttons.Resize(need)
		buttons.Move(fyne.NewPos(size.Width-need.Width, max(0, (size.Height-need.Height)/2)))
		return
	}
	thing.Move(fyne.NewPos(0, 0))
	buttons.Resize(fyne.NewSize(size.Width, buttons.Size().Height))
	buttons.Resize(fyne.NewSize(size.Width, buttons.MinSize().Height))
	buttons.Move(fyne.NewPos(0, high+4))
}

func (a *aside) MinSize(objects []fyne.CanvasObject) fyne.Size {
	thing, buttons := objects[0].MinSize(), objects[1].MinSize()
	if !objects[1].Visible() {
		return thing
	}
	least := fyne.NewSize(max(thing.Width, buttons.Width), max(thing.Height, buttons.Height))
	if !a.beside(objects[1]) {
		least.Height = thing.Height + 4 + buttons.Height
	}
	return least
}

func Show(o fyne.CanvasObject, shown bool) {
	if shown {
		o.Show()
	} else {
		o.Hide()
	}
}

type Enabler interface {
	Enable()
	Disable()
}

func Enable(o Enabler, enabled bool) {
	if enabled {
		o.Enable()
	} else {
		o.Disable()
	}
}

// EnableAll enables or disables all inputs and buttons in an object.
func EnableAll(o fyne.CanvasObject, enabled bool) {
	switch o := o.(type) {
	case Enabler:
		Enable(o, enabled)
	case *Field:
		EnableAll(o.parts, enabled)
	case *container.Scroll:
		EnableAll(o.Content, enabled)
	case *fyne.Container:
		for _, part := range o.Objects {
			EnableAll(part, enabled)
		}
	}
}

// Remake replaces the content of a container.
func Remake(in *fyne.Container, objects ...fyne.CanvasObject) {
	in.Objects = objects
	in.Refresh()
}

// Back is a plain area in a theme colour. Fyne's rectangle keeps its colour when the theme changes.
type Back struct {
	widget.BaseWidget
	colour  fyne.ThemeColorName
	outline fyne.ThemeColorName // empty for none
	round   bool                // with fully rounded ends
	raised  bool                // casts a soft shadow, like paper on a desk
}

// NewBack returns an area in a colour, "" for none.
func NewBack(colour fyne.ThemeColorName) *Back {
	b := &Back{colour: colour}
	b.ExtendBaseWidget(b)
	return b
}

// Outline gives the area a thin border in a colour, with round corners.
func (b *Back) Outline(colour fyne.ThemeColorName) {
	if b.outline != colour {
		b.outline = colour
		b.Refresh()
	}
}

func (b *Back) CreateRenderer() fyne.WidgetRenderer {
	rect := canvas.NewRectangle(color.Transparent)
	return painted(&renderer{objects: []fyne.CanvasObject{rect}, layout: rect.Resize, least: none, paint: func() {
		th, variant := b.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
		if b.colour != "" {
			rect.FillColor = th.Color(b.colour, variant)
		}
		if b.outline != "" {
			rect.StrokeColor, rect.StrokeWidth = th.Color(b.outline, variant), 1
			rect.CornerRadius = th.Size(fynetheme.SizeNameCardRadius)
		}
		if b.raised {
			rect.Shadow = canvas.Shadow{Color: th.Color(fynetheme.ColorNameShadow, variant), BlurRadius: 10, Offset: fyne.NewPos(0, 3)}
		}
		if b.round {
			rect.CornerRadius = canvas.RadiusMaximum
		}
	}})
}

func Card(content fyne.CanvasObject) fyne.CanvasObject {
	back := NewBack(theme.Surface)
	back.outline = theme.Line
	return container.NewStack(back, Pad(12, content))
}

// Avatar is a disc with a person's initials in their status colour, or with the status's shape if it stands for no person,
// surrounded by a progress arc.
type Avatar struct {
	widget.BaseWidget
	Done     float32 // 0 to 1
	initials *Line
	shape    *widget.Icon
}

func NewAvatar(name string, mark theme.Mark) *Avatar {
	a := &Avatar{initials: NewCaption("").Whole(), shape: widget.NewIcon(nil)}
	a.initials.Bold = true
	a.ExtendBaseWidget(a)
	a.Set(name, mark)
	return a
}

func (a *Avatar) CreateRenderer() fyne.WidgetRenderer {
	disc, arc := NewBack(theme.Calm), canvas.NewArc(0, 0, 0.88, color.Transparent)
	disc.round = true
	content := Mark(32, container.NewStack(disc, container.NewCenter(a.initials), container.NewCenter(Mark(18, a.shape))))
	return painted(&renderer{objects: []fyne.CanvasObject{content, arc}, least: content.MinSize, layout: func(size fyne.Size) {
		content.Resize(size)
		arc.Resize(fyne.NewSquareSize(Scaled(32)))
		arc.Move(fyne.NewPos(0, (size.Height-arc.Size().Height)/2))
	}, paint: func() {
		arc.EndAngle, arc.FillColor = 360*a.Done, a.Theme().Color(theme.Done, fyne.CurrentApp().Settings().ThemeVariant())
		arc.Hidden = a.Done == 0
	}})
}

// Set shows a person, or only the shape if name is empty.
func (a *Avatar) Set(name string, mark theme.Mark) {
	a.initials.Text, a.initials.Colour = "", mark.Colour()
	if words := strings.Fields(name); len(words) > 1 {
		a.initials.Text = initial(words[0]) + initial(words[len(words)-1])
	} else {
		a.initials.Text = initial(name)
	}
	a.shape.SetResource(mark.Resource())
	a.shape.Hidden = name != ""
	a.Refresh()
}

func initial(word string) string {
	for _, r := range word {
		return string(unicode.ToUpper(r))
	}
	return ""
}

// Part groups objects under a small title, on the surrounding background.
func Part(title string, gap float32, objects ...fyne.CanvasObject) fyne.CanvasObject {
	head := NewCaption(title)
	head.Bold = true
	return Stack(10, head, Stack(gap, objects...))
}

func Section(title string, gap float32, objects ...fyne.CanvasObject) fyne.CanvasObject {
	return Part(title, 0, Card(Stack(gap, objects...)))
}

// Fold is content that pressing its title shows and hides. Both begin at the same edge.
type Fold struct {
	Object  fyne.CanvasObject
	title   *Drop
	content fyne.CanvasObject
}

func NewFold(title string, open bool, content fyne.CanvasObject) *Fold {
	f := &Fold{title: NewDrop(title, nil), content: content}
	f.title.OnPress = func() { f.Open(!f.IsOpen()) }
	f.Object = Stack(8, PadHV(-dropRoom, 0, Row(0, f.title)), content)
	f.Open(open)
	return f
}

func (f *Fold) IsOpen() bool { return f.content.Visible() }

func (f *Fold) Open(open bool) {
	Show(f.content, open)
	f.title.point(map[bool]fyne.Resource{false: fynetheme.MenuExpandIcon(), true: fynetheme.MenuDropDownIcon()}[open])
	if p := overTop(f.title); p != nil {
		p.turned = true
		p.wheel.Show()
		p.Refresh()
	}
	if open {
		scrollTo(f.Object, Scaled(160)) // its first lines
	}
}

func On(colour fyne.ThemeColorName, content fyne.CanvasObject) *fyne.Container {
	return container.NewStack(NewBack(colour), content)
}

// Sheet shows a page's picture centred and as large as room allows, with a thin border because paper on paper has none.
func Sheet(picture image.Image, room fyne.Size, edge fyne.ThemeColorName) fyne.CanvasObject {
	page := canvas.NewImageFromImage(picture)
	page.ScaleMode = canvas.ImageScaleSmooth
	size := picture.Bounds().Size()
	ratio := float32(size.X) / float32(max(1, size.Y))
	back := NewBack(edge)
	back.raised = true
	fit := fyne.NewSize(min(room.Width, room.Height*ratio), min(room.Height, room.Width/ratio))
	return container.NewGridWrap(room, container.NewCenter(container.NewGridWrap(fit, container.NewStack(back, Pad(1, page)))))
}

// Sheets draws three overlapping pages with the seal.
func Sheets() fyne.CanvasObject {
	picture := container.NewWithoutLayout()
	size := fyne.NewSize(92, 124)
	for _, at := range []fyne.Position{{X: 0, Y: 14}, {X: 128, Y: 14}, {X: 64, Y: 0}} {
		page := DrawnPage(size)
		place(page, at.X, at.Y, size.Width, size.Height)
		picture.Add(page)
	}
	seal := widget.NewIcon(fynetheme.NewColoredResource(theme.MarkSigned.Resource(), theme.Attention))
	place(seal, 134, 96, 36, 36)
	picture.Add(seal)
	return container.NewGridWrap(fyne.NewSize(220, 138), picture)
}

// NoPage is a page of which there is no picture, and says so.
func NoPage(size fyne.Size, says string) fyne.CanvasObject {
	icon, text := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary)), NewProse(says)
	text.Centred = true
	return paper(size, Middle(size.Width, Stack(6, container.NewCenter(Mark(28, icon)), text)))
}

func paper(size fyne.Size, content fyne.CanvasObject) fyne.CanvasObject {
	back := NewBack(theme.Surface)
	back.raised = true
	back.Outline(theme.Line)
	return container.NewGridWrap(size, container.NewStack(back, content))
}

// DrawnPage draws a page with a heading, some lines and space for a signature.
func DrawnPage(size fyne.Size) fyne.CanvasObject {
	lines := container.NewWithoutLayout()
	for i, width := range []float32{0.48, 0.74, 0.74, 0.54, 0, 0.35} {
		colour := theme.Line
		switch i {
		case 0:
			colour = theme.Secondary
		case 5:
			colour = theme.Attention
		}
		line := NewBack(colour)
		place(line, size.Width*0.13, size.Height*(0.12+0.105*float32(i)), size.Width*width, 3)
		lines.Add(line)
	}
	return paper(size, lines)
}

// Empty is what a screen shows when it has no content: a picture, a sentence and an optional action.
func Empty(picture fyne.Resource, sentence, action string, act func()) fyne.CanvasObject {
	icon := canvas.NewImageFromResource(picture)
	icon.FillMode = canvas.ImageFillContain
	icon.SetMinSize(fyne.NewSquareSize(48))
	text := NewParagraph(sentence)
	text.Centred = true
	parts := []fyne.CanvasObject{icon, Wide(280, Pad(8, text))}
	if action != "" {
		parts = append(parts, container.NewCenter(NewButton(action, act)))
	}
	return container.NewCenter(Stack(8, parts...))
}

// Failure replaces content that could not be read with the reason; again retries.
func Failure(why string, again func()) fyne.CanvasObject {
	return Empty(theme.MarkProblem.Resource(), why, lang.L("Try again"), again)
}

func Brand() fyne.CanvasObject {
	name := NewLine("Countersign")
	name.Bold, name.Scale = true, theme.Title
	var logo fyne.CanvasObject
	if data, err := assets.Icon(64); err == nil {
		picture := canvas.NewImageFromResource(fyne.NewStaticResource("countersign-64.png", data))
		picture.FillMode = canvas.ImageFillContain
		logo = Mark(28, picture)
	}
	return PadHV(8, 14, Across(logo, name, nil))
}
