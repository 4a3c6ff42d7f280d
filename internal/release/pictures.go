package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"

	"golang.org/x/image/bmp"
	scale "golang.org/x/image/draw"
)

// The pictures on the installer's pages, in pixels at twice the size of NSIS's forms, for screens of today. They are drawn from the
// icon, on the colours of the window (Paper and Ink in ui/theme).
var (
	welcomeSize = image.Pt(2*164, 2*314)
	headSize    = image.Pt(2*150, 2*57)
	paper       = color.NRGBA{0xFA, 0xF9, 0xF6, 0xFF}
	ink         = color.NRGBA{0x24, 0x50, 0x7A, 0xFF}
)

// installerPictures writes the picture of the first and last page, and that of the head of the others, and returns their paths.
func (p product) installerPictures() (welcome, head string, err error) {
	file, err := os.ReadFile(filepath.Join(p.root, "assets", "icons", "icon-512.png"))
	if err != nil {
		return "", "", err
	}
	icon, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return "", "", err
	}
	first := image.NewNRGBA(image.Rectangle{Max: welcomeSize})
	fill(first, first.Bounds(), paper)
	fill(first, image.Rect(0, 0, 12, welcomeSize.Y), ink)
	put(first, icon, image.Rect(64, 96, 64+212, 96+212))
	other := image.NewNRGBA(image.Rectangle{Max: headSize})
	fill(other, other.Bounds(), color.White)
	put(other, icon, image.Rect(headSize.X-106, 8, headSize.X-8, 8+98))
	if welcome, err = p.picture("welcome.bmp", first); err != nil {
		return "", "", err
	}
	head, err = p.picture("head.bmp", other)
	return welcome, head, err
}

func fill(on draw.Image, where image.Rectangle, with color.Color) {
	draw.Draw(on, where, image.NewUniform(with), image.Point{}, draw.Src)
}

func put(on draw.Image, what image.Image, where image.Rectangle) {
	scale.CatmullRom.Scale(on, where, what, what.Bounds(), scale.Over, nil)
}

// picture writes a picture without transparency, as NSIS wants it: of 24 bits.
func (p product) picture(name string, m *image.NRGBA) (string, error) {
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		return "", err
	}
	path := filepath.Join(p.out, "windows", name)
	return path, write(path, b.Bytes())
}
