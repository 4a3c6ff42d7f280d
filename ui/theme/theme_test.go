package theme

import (
	"image/color"
	"math"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
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

func TestTextIsReadableOnEveryBackground(t *testing.T) {
	th := New()
	for _, variant := range []fyne.ThemeVariant{theme.VariantLight, theme.VariantDark} {
		for _, back := range []fyne.ThemeColorName{Paper, Surface, Calm, Wash} {
			for _, front := range []fyne.ThemeColorName{Text, Secondary, Ink, Done, Waiting, Attention} {
				if got := contrast(th.Color(front, variant), th.Color(back, variant)); got < 4.5 {
					t.Errorf("variant %d: %s on %s has contrast %.2f, want 4.5", variant, front, back, got)
				}
			}
		}
		for back, front := range map[fyne.ThemeColorName]fyne.ThemeColorName{
			Ink: theme.ColorNameForegroundOnPrimary, Attention: theme.ColorNameForegroundOnError,
			Done: theme.ColorNameForegroundOnSuccess, Waiting: theme.ColorNameForegroundOnWarning,
			theme.ColorNameButton: Text, Chosen: Text,
		} {
			if got := contrast(th.Color(front, variant), th.Color(back, variant)); got < 4.5 {
				t.Errorf("variant %d: %s on %s has contrast %.2f, want 4.5", variant, front, back, got)
			}
		}
	}
}
