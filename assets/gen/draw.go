package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"

	"golang.org/x/image/vector"
)

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

// frame is one picture of a Windows icon file.
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
