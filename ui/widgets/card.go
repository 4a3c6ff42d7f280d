package widgets

import (
	"image"
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/assets"
	"countersign/ui/theme"
)

// Back is a plain area in a colour of the theme. Fyne's rectangle keeps its colour when light turns to dark.
type Back struct {
	widget.BaseWidget
	colour  fyne.ThemeColorName
	outline fyne.ThemeColorName // empty for none
	round   bool                // as round as it can be
}

// NewBack returns an area of one colour; of none for "".
func NewBack(colour fyne.ThemeColorName) *Back {
	b := &Back{colour: colour}
	b.ExtendBaseWidget(b)
	return b
}

// Outline gives the area a fine edge with round corners, or another one.
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

// Avatar is a person's initials on a disc, in the colour of where the person stands.
func Avatar(initials string, mark theme.Mark) fyne.CanvasObject {
	disc := NewBack(theme.Calm)
	disc.round = true
	text := NewCaption(initials)
	text.Bold, text.Shorten, text.Colour = true, false, mark.Colour()
	return Mark(32, container.NewStack(disc, container.NewCenter(text)))
}

// Part is things under a small title, on what is around them.
func Part(title string, gap float32, objects ...fyne.CanvasObject) fyne.CanvasObject {
	head := NewCaption(title)
	head.Bold = true
	return Stack(10, head, Stack(gap, objects...))
}

func Section(title string, gap float32, objects ...fyne.CanvasObject) fyne.CanvasObject {
	return Stack(8, NewTitle(title), Card(Stack(gap, objects...)))
}

// NewFold is content that a press on its title shows and hides.
func NewFold(title string, open bool, content fyne.CanvasObject) fyne.CanvasObject {
	Show(content, open)
	return Stack(8, Row(0, NewDrop(title, func() { Show(content, !content.Visible()) })), content)
}

func On(colour fyne.ThemeColorName, content fyne.CanvasObject) *fyne.Container {
	return container.NewStack(NewBack(colour), content)
}

// Sheet is the picture of a page, as large as fits into a room and in its middle, with a fine edge: paper on paper has none
// of its own.
func Sheet(picture image.Image, room fyne.Size, edge fyne.ThemeColorName) fyne.CanvasObject {
	page := canvas.NewImageFromImage(picture)
	page.ScaleMode = canvas.ImageScaleSmooth
	size := picture.Bounds().Size()
	ratio := float32(size.X) / float32(max(1, size.Y))
	fit := fyne.NewSize(min(room.Width, room.Height*ratio), min(room.Height, room.Width/ratio))
	return container.NewGridWrap(room, container.NewCenter(container.NewGridWrap(fit, container.NewStack(NewBack(edge), Pad(1, page)))))
}

// Empty is what a screen shows when it has nothing: a picture, a sentence, and perhaps one action.
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

// Failure is what a screen shows in place of what could not be read, and why; again reads once more.
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
		picture.SetMinSize(fyne.NewSquareSize(28))
		logo = picture
	}
	return PadHV(8, 14, Across(logo, name, nil))
}
