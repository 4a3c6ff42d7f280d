package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/vector"
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

// grid is the side of the square that every drawing is made in, in its own units.
const grid = 64

type point struct{ x, y float32 }

// shape is one closed outline with one colour: either a polygon or, with a radius, a disc around its only point.
type shape struct {
	points []point
	radius float32
	fill   color.NRGBA
}

// drawing is a stack of shapes, painted in order. PNG and SVG come from the same shapes, so they cannot drift apart.
type drawing []shape

func (d drawing) png(size int) ([]byte, error) {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	d.paint(img, img.Bounds())
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encode a %d px icon: %w", size, err)
	}
	return out.Bytes(), nil
}

// paint draws d into a square of img.
func (d drawing) paint(img *image.NRGBA, where image.Rectangle) {
	k := float32(where.Dx()) / grid
	for _, s := range d {
		r := vector.NewRasterizer(where.Dx(), where.Dy())
		if s.radius > 0 {
			disc(r, s.points[0].x*k, s.points[0].y*k, s.radius*k)
		} else {
			r.MoveTo(s.points[0].x*k, s.points[0].y*k)
			for _, p := range s.points[1:] {
				r.LineTo(p.x*k, p.y*k)
			}
			r.ClosePath()
		}
		r.Draw(img, where, image.NewUniform(s.fill), image.Point{})
	}
}

// disc adds a circle made of four cubic curves; 0.5523 is the usual distance of their control points.
func disc(r *vector.Rasterizer, x, y, radius float32) {
	c := radius * 0.5523
	r.MoveTo(x+radius, y)
	r.CubeTo(x+radius, y+c, x+c, y+radius, x, y+radius)
	r.CubeTo(x-c, y+radius, x-radius, y+c, x-radius, y)
	r.CubeTo(x-radius, y-c, x-c, y-radius, x, y-radius)
	r.CubeTo(x+c, y-radius, x+radius, y-c, x+radius, y)
	r.ClosePath()
}

func (d drawing) svg() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n", grid, grid)
	for _, s := range d {
		fill := fmt.Sprintf("#%02X%02X%02X", s.fill.R, s.fill.G, s.fill.B)
		if s.radius > 0 {
			fmt.Fprintf(&b, "  <circle cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"%s\"/>\n", s.points[0].x, s.points[0].y, s.radius, fill)
			continue
		}
		var path strings.Builder
		for i, p := range s.points {
			verb := "L"
			if i == 0 {
				verb = "M"
			}
			fmt.Fprintf(&path, "%s%.3g %.3g", verb, p.x, p.y)
		}
		fmt.Fprintf(&b, "  <path d=\"%sZ\" fill=\"%s\"/>\n", path.String(), fill)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// stroke is a line of the given width through points, with round ends and corners.
func stroke(width float32, fill color.NRGBA, points ...point) drawing {
	var d drawing
	for i, p := range points {
		d = append(d, shape{points: []point{p}, radius: width / 2, fill: fill})
		if i == 0 {
			continue
		}
		q := points[i-1]
		length := float32(math.Hypot(float64(p.x-q.x), float64(p.y-q.y)))
		nx, ny := -(p.y-q.y)/length*width/2, (p.x-q.x)/length*width/2
		d = append(d, shape{fill: fill, points: []point{
			{q.x + nx, q.y + ny}, {p.x + nx, p.y + ny}, {p.x - nx, p.y - ny}, {q.x - nx, q.y - ny},
		}})
	}
	return d
}

type frame struct {
	size int
	png  []byte
}

// icoFile packs PNG frames into an .ico, as Windows reads it since Vista.
func icoFile(frames []frame) []byte {
	var head, body bytes.Buffer
	le := binary.LittleEndian
	head.Write(le.AppendUint16(le.AppendUint16(le.AppendUint16(nil, 0), 1), uint16(len(frames))))
	offset := 6 + 16*len(frames)
	for _, f := range frames {
		side := byte(f.size) // 256 is written as 0
		entry := []byte{side, side, 0, 0}
		entry = le.AppendUint16(entry, 1)  // planes
		entry = le.AppendUint16(entry, 32) // bits per pixel
		entry = le.AppendUint32(entry, uint32(len(f.png)))
		entry = le.AppendUint32(entry, uint32(offset+body.Len()))
		head.Write(entry)
		body.Write(f.png)
	}
	return append(head.Bytes(), body.Bytes()...)
}

// icnsKinds are the kinds of pictures in an .icns file that are PNG, with their size in pixels; a size twice is for
// screens of one and two pixels per point.
var icnsKinds = []struct {
	kind string
	size int
}{{"icp5", 32}, {"ic11", 32}, {"icp6", 64}, {"ic12", 64}, {"ic07", 128}, {"ic08", 256}, {"ic13", 256}, {"ic09", 512}, {"ic14", 512}}

// icnsFile packs PNG pictures, by their size, as macOS reads them: after the length of the whole, each with its kind and length.
func icnsFile(pictures map[int][]byte) []byte {
	var body bytes.Buffer
	for _, k := range icnsKinds {
		body.WriteString(k.kind)
		body.Write(binary.BigEndian.AppendUint32(nil, uint32(8+len(pictures[k.size]))))
		body.Write(pictures[k.size])
	}
	head := binary.BigEndian.AppendUint32([]byte("icns"), uint32(8+body.Len()))
	return append(head, body.Bytes()...)
}
