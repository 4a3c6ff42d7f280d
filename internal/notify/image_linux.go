package notify

import (
	"bytes"
	"image"
	"image/png"

	"golang.org/x/image/draw"
)

// iconSize is the longest side of an icon in pixels. More is scaled down by the desktop anyway, after a megabyte of it
// has gone over the bus.
const iconSize = 64

// picture is an image as the "image-data" hint wants it: (iiibiiay).
type picture struct {
	Width, Height, Stride int32
	Alpha                 bool
	Bits, Channels        int32
	Data                  []byte
}

// imageData turns a PNG into a picture.
func imageData(icon []byte) (picture, error) {
	src, err := png.Decode(bytes.NewReader(icon))
	if err != nil {
		return picture{}, err
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	if long := max(w, h); long > iconSize {
		w, h = max(1, w*iconSize/long), max(1, h*iconSize/long)
	}
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Src, nil)
	return picture{int32(w), int32(h), int32(dst.Stride), true, 8, 4, dst.Pix}, nil
}
