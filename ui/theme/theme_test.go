package theme

import (
	"image/color"
	"math"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"
	fynetheme "fyne.io/fyne/v2/theme"
)

// luminance and contrast are those of WCAG 2.2, section 1.4.3.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	f := func(v uint32) float64 {
		s := float64(v) / 0xFFFF
		if s <= 0.03928 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*f(r) + 0.7152*f(g) + 0.0722*f(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// over is what is seen of a colour that lets some of another one through.
func over(front, back color.Color) color.Color {
	f, b := color.NRGBAModel.Convert(front).(color.NRGBA), color.NRGBAModel.Convert(back).(color.NRGBA)
	mix := func(f8, b8 uint8) uint8 { return uint8((int(f8)*int(f.A) + int(b8)*(255-int(f.A))) / 255) }
	return color.NRGBA{R: mix(f.R, b.R), G: mix(f.G, b.G), B: mix(f.B, b.B), A: 0xFF}
}

// TestEveryPairOfColoursCanBeTold computes the contrast of everything that is shown on something, with what Fyne lays between:
// WCAG 2.2 asks for 4.5 for text (1.4.3) and 3 for the edges of controls (1.4.11); high contrast has 7 for text (1.4.6).
func TestEveryPairOfColoursCanBeTold(t *testing.T) {
	texts := []fyne.ThemeColorName{Text, Secondary, Ink, Done, Waiting, Attention, fynetheme.ColorNameHyperlink}
	pages := []fyne.ThemeColorName{Paper, Surface, Calm, Wash, fynetheme.ColorNameInputBackground, fynetheme.ColorNameMenuBackground, fynetheme.ColorNameOverlayBackground}
	on := map[fyne.ThemeColorName]fyne.ThemeColorName{Ink: fynetheme.ColorNameForegroundOnPrimary, Attention: fynetheme.ColorNameForegroundOnError,
		Done: fynetheme.ColorNameForegroundOnSuccess, Waiting: fynetheme.ColorNameForegroundOnWarning, fynetheme.ColorNameButton: Text, Chosen: Text,
		fynetheme.ColorNameHeaderBackground: Text}
	veils := []fyne.ThemeColorName{fynetheme.ColorNameHover, fynetheme.ColorNameSelection, fynetheme.ColorNamePressed}
	for _, look := range []Look{{Variant: "light"}, {Variant: "dark"}, {Variant: "light", Contrast: true}, {Variant: "dark", Contrast: true}} {
		th, pairs := look.Theme(), 0
		is := func(name fyne.ThemeColorName) color.Color { return th.Color(name, 0) }
		want := func(what string, front, back color.Color, least float64) {
			t.Helper()
			pairs++
			if got := contrast(front, back); got < least {
				t.Errorf("%+v: %s has a contrast of %.2f, want %.1f", look, what, got, least)
			}
		}
		text := 4.5
		if look.Contrast {
			text = 7
		}
		for _, back := range pages {
			for _, front := range texts {
				want(string(front+" on "+back), is(front), is(back), text)
			}
			for _, veil := range veils {
				want(string("text on "+back+" under "+veil), is(Text), over(is(veil), is(back)), text)
			}
			for _, edge := range []fyne.ThemeColorName{fynetheme.ColorNameInputBorder, Ink, Attention} { // of inputs, of the focus, of what is wrong
				want(string(edge+" around what is on "+back), is(edge), is(back), 3)
			}
			if look.Contrast {
				want(string("the disabled on "+back), is(fynetheme.ColorNameDisabled), is(back), text)
				want(string("an edge on "+back), is(Edge), is(back), 3)
				want(string("a line on "+back), is(Line), is(back), 3)
				want(string("the scroll bar on "+back), is(fynetheme.ColorNameScrollBar), is(back), 3)
			}
		}
		for back, front := range on {
			want(string(front+" on "+back), is(front), is(back), text)
			want(string(front+" on a hovered "+back), is(front), over(is(fynetheme.ColorNameHover), is(back)), min(text, 6))
		}
		if pairs < 80 {
			t.Errorf("only %d pairs", pairs)
		}
	}
}

func TestLargerTextLeavesTheRoomAroundItAlone(t *testing.T) {
	plain, large := New(), Look{Text: 200}.Theme()
	for _, name := range []fyne.ThemeSizeName{Body, Caption, Title, Heading, fynetheme.SizeNameInlineIcon} {
		if large.Size(name) != 2*plain.Size(name) {
			t.Errorf("%s is %v, and %v where text is twice as large", name, plain.Size(name), large.Size(name))
		}
	}
	for _, name := range []fyne.ThemeSizeName{fynetheme.SizeNamePadding, fynetheme.SizeNameInnerPadding, fynetheme.SizeNameScrollBar, fynetheme.SizeNameInputBorder, fynetheme.SizeNameCardRadius} {
		if large.Size(name) != plain.Size(name) {
			t.Errorf("%s grows with the text", name)
		}
	}
}

// TestMarksDifferWithoutColour: each state has a shape of its own, told apart in grey as in colour.
func TestMarksDifferWithoutColour(t *testing.T) {
	window := software.NewCanvas()
	test.NewTempApp(t).Settings().SetTheme(Look{Variant: "light"}.Theme())
	shapes := map[string]Mark{}
	for mark := range marks {
		const side = 18 // as large as beside a line of text
		icon := canvas.NewImageFromResource(mark.Resource())
		icon.Resize(fyne.NewSquareSize(side))
		window.SetContent(container.NewWithoutLayout(icon))
		window.Resize(fyne.NewSquareSize(side))
		shown := window.Capture()
		paper := shown.At(shown.Bounds().Max.X-1, 0)
		outline := ""
		for at := range side * side {
			outline += map[bool]string{true: "#", false: " "}[contrast(shown.At(at%side, at/side), paper) > 1.5]
		}
		for other, mark2 := range shapes {
			differ := 0
			for i := range other {
				if other[i] != outline[i] {
					differ++
				}
			}
			if differ < side { // a stroke across
				t.Errorf("%s and %s differ by %d pixels of %d", mark, mark2, differ, side*side)
			}
		}
		shapes[outline] = mark
	}
}
