package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/bmp"
)

var (
	paper = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}
	fold  = color.NRGBA{0xC9, 0xD6, 0xE3, 0xFF}
	rule  = color.NRGBA{0xB4, 0xC0, 0xCC, 0xFF}
	ink   = color.NRGBA{0x24, 0x50, 0x7A, 0xFF}
	seal  = color.NRGBA{0xB8, 0x43, 0x2F, 0xFF}
	amber = color.NRGBA{0xA9, 0x70, 0x1A, 0xFF}
)

// sheet is the paper with its folded corner: an ink edge that shows on light panels around a white page that shows on
// dark ones. edge is the width of the ink line.
func sheet(left, top, right, bottom, corner, edge float32) drawing {
	outline := func(in float32) []point {
		c := corner + in*0.4 // keeps the diagonal edge as wide as the straight ones
		return []point{{left + in, top + in}, {right - in - c + in, top + in}, {right - in, top + in + c - in},
			{right - in, bottom - in}, {left + in, bottom - in}}
	}
	d := drawing{{points: outline(0), fill: ink}, {points: outline(edge), fill: paper}}
	flap := corner - edge*0.4
	return append(d,
		shape{fill: ink, points: []point{{right - corner - edge/2, top}, {right, top + corner + edge/2}, {right - corner - edge/2, top + corner + edge/2}}},
		shape{fill: fold, points: []point{{right - corner + edge/2, top + edge*1.6}, {right - edge*1.6, top + flap}, {right - corner + edge/2, top + flap}}})
}

// programIcon is the sheet with a wax seal that carries a check mark; simple leaves out the lines of text and draws
// everything larger, for sizes of 32 px and less.
func programIcon(simple bool) drawing {
	if simple {
		return badge(seal, check)
	}
	d := sheet(9, 3, 48, 59, 13, 2.6)
	for i, end := range []float32{29, 41, 41, 27} {
		d = append(d, stroke(2.4, rule, point{16, 17 + float32(i)*8}, point{end, 17 + float32(i)*8})...)
	}
	d = append(d, shape{points: []point{{43, 45}}, radius: 18, fill: paper}, shape{points: []point{{43, 45}}, radius: 15.5, fill: seal})
	return append(d, check(43, 45, 15.5)...)
}

// trayIcons are the three states of the tray. Sign and colour change together, so neither is needed to tell them apart.
func trayIcons() map[string]drawing {
	return map[string]drawing{"fine": badge(ink, check), "working": badge(amber, dots), "attention": badge(seal, bang)}
}

// badge is a small sheet with a large round seal of one colour and a sign on it.
func badge(fill color.NRGBA, sign func(x, y, r float32) drawing) drawing {
	const x, y, r = 41, 41, 20
	d := sheet(4, 2, 46, 60, 14, 4.5)
	d = append(d, shape{points: []point{{x, y}}, radius: r + 3, fill: paper}, shape{points: []point{{x, y}}, radius: r, fill: fill})
	return append(d, sign(x, y, r)...)
}

func check(x, y, r float32) drawing {
	return stroke(r*0.27, paper, point{x - r*0.48, y + r*0.04}, point{x - r*0.12, y + r*0.4}, point{x + r*0.5, y - r*0.34})
}

func dots(x, y, r float32) drawing {
	var d drawing
	for _, dx := range []float32{-0.5, 0, 0.5} {
		d = append(d, shape{points: []point{{x + dx*r, y}}, radius: r * 0.18, fill: paper})
	}
	return d
}

func bang(x, y, r float32) drawing {
	d := stroke(r*0.28, paper, point{x, y - r*0.52}, point{x, y + r*0.12})
	return append(d, shape{points: []point{{x, y + r*0.54}}, radius: r * 0.17, fill: paper})
}

// installerPictures are those on the pages of the Windows installer, at twice the size of NSIS's forms, for screens of today: of the
// first and last page, and of the head of the others. They have 24 bits and no transparency, as NSIS wants them.
func installerPictures() (welcome, head []byte, err error) {
	page := color.NRGBA{0xFA, 0xF9, 0xF6, 0xFF} // of the window, as ui/theme has it
	if welcome, err = installerPicture(2*164, 2*314, page, 12, image.Rect(64, 96, 276, 308)); err != nil {
		return nil, nil, err
	}
	head, err = installerPicture(2*150, 2*57, color.White, 0, image.Rect(194, 8, 292, 106))
	return welcome, head, err
}

// installerPicture has the icon on a colour, and an edge of ink on the left; sizes are in pixels.
func installerPicture(width, height int, page color.Color, edge int, icon image.Rectangle) ([]byte, error) {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.Draw(img, img.Bounds(), image.NewUniform(page), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(0, 0, edge, height), image.NewUniform(ink), image.Point{}, draw.Src)
	programIcon(false).paint(img, icon)
	var out bytes.Buffer
	err := bmp.Encode(&out, img)
	return out.Bytes(), err
}
