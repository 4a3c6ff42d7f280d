package notify

import (
	"bytes"
	"image"
	"image/draw"
	"image/png"
)

// picture is an image in the format of the "image-data" hint: (iiibiiay).
type picture struct {
	Width, Height, Stride int32
	Alpha                 bool
	Bits, Channels        int32
	Data                  []byte
}

func imageData(icon []byte) (picture, error) {
	src, err := png.Decode(bytes.NewReader(icon))
	if err != nil {
		return picture{}, err
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(dst, dst.Bounds(), src, src.Bounds().Min, draw.Src)
	return picture{int32(w), int32(h), int32(dst.Stride), true, 8, 4, dst.Pix}, nil
}
