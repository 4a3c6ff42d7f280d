package widgets

import (
	"image/color"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"
)

func TestNumbersStandLeftOfTheHebrewAndArabicWordsBeforeThem(t *testing.T) {
	for said, want := range map[string]string{
		"Lease 4":              "Lease 4",
		"דוד כהן":              "דוד כהן",
		"חוזה 7":               "7חוזה ",
		"חוזה 7 שכירות":        " שכירות7חוזה ",
		"Sent “חוזה 7” to Ana": "Sent “7חוזה ” to Ana",
		"7 חוזה":               "7 חוזה",
		"עסקה 2026-118":        "2026-118עסקה ",
		"waiting for דוד, Ana": "waiting for דוד, Ana",
		"עקד Ana 7":            "עקד Ana 7",
	} {
		got := strings.NewReplacer(fromLeft, "", fromRight, "").Replace(inPlace(said))
		if got != want {
			t.Errorf("%q is placed as %q, want %q", said, got, want)
		}
	}
}

func TestANameKeepsBothEndsAndUsesItsRoom(t *testing.T) {
	letters := func(text string) float32 { return float32(len([]rune(text))) }
	const name = "Mietvertrag Sonnenweg 4 zwischen Keller AG und Familie Weber-Ruiz, Nachtrag 3"
	for width, want := range map[float32]string{100: name, 40: "Mietvertrag…Weber-Ruiz, Nachtrag 3", 3: "M…3", 1: "…"} {
		if got := middleOut(name, width, letters); got != want {
			t.Errorf("in %v it is %q, want %q", width, got, want)
		}
	}
}

func TestALongWordGoesOnWhereItsLineWasBroken(t *testing.T) {
	test.NewTempApp(t)
	name := NewFullName("olivia.office@notariat-keller-und-partner-rechtsanwaelte.example.com")
	if rows := name.rows(150); len(rows) != 2 || strings.Contains(rows[1], "olivia") || !strings.HasSuffix(rows[1], ".com") {
		t.Errorf("it is shown as %q", rows)
	}
}

func TestALineIsDrawnInItsPlace(t *testing.T) {
	test.NewTempApp(t)
	line := NewLine("חוזה 7")
	line.Resize(line.MinSize())
	drawn := test.WidgetRenderer(line).Objects()[0].(*canvas.Text)
	if drawn.Text != inPlace(line.Text) || drawn.Text == line.Text {
		t.Errorf("%q is drawn", drawn.Text)
	}
	if said, placed := line.measure(line.Text), fyne.MeasureText(drawn.Text, drawn.TextSize, drawn.TextStyle).Width; placed > said+1 {
		t.Errorf("it is %v wide in its place, %v before", placed, said)
	}
}

func TestAnOutlineHasNoFringe(t *testing.T) {
	ink := color.NRGBA{R: 0x22, G: 0x50, B: 0x7b, A: 0xff}
	r := canvas.NewRectangle(color.Black)
	stroke(r, ink, 2)
	fill := color.NRGBAModel.Convert(r.FillColor).(color.NRGBA)
	if fill.A != 1 || fill.R != ink.R || fill.G != ink.G || fill.B != ink.B {
		t.Errorf("the line %v is blended with %v", ink, fill)
	}
	if stroke(r, color.Transparent, 0); r.FillColor != (color.NRGBA{}) {
		t.Errorf("without a line there is a fill: %v", r.FillColor)
	}
}

func TestAnEdgeThatCannotBeSeenIsNotDrawn(t *testing.T) {
	r := canvas.NewRectangle(color.White)
	if edge(r, color.NRGBA{R: 0xff}); r.StrokeWidth != 0 {
		t.Errorf("it is %v wide", r.StrokeWidth)
	}
	if edge(r, color.Black); r.StrokeWidth != 1 || r.StrokeColor != color.Black {
		t.Errorf("an edge is %v wide, of %v", r.StrokeWidth, r.StrokeColor)
	}
}
