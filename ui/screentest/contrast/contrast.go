// Package contrast measures how visibly two pictures differ, for tests of what must be seen. It knows nothing of screens.
package contrast

import (
	"image"
	"image/color"
	"math"
)

// StandsOut counts the pixels with a contrast of at least 3 to their earlier colour (WCAG 2.2, 2.4.13).
func StandsOut(before, after image.Image) (n int) {
	bounds := before.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			was, is := before.At(x, y), after.At(x, y)
			if was == is {
				continue
			}
			a, b := luminance(was), luminance(is)
			if (math.Max(a, b)+0.05)/(math.Min(a, b)+0.05) >= 3 {
				n++
			}
		}
	}
	return n
}

// luminance is as defined in WCAG 2.2.
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
