package widgets

import (
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
