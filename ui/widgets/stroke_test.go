package widgets

import (
	"image/color"
	"testing"

	"fyne.io/fyne/v2/canvas"
)

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
