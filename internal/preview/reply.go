package preview

import (
	"encoding/binary"
	"fmt"
	"image"
	"io"
)

// isReady is the first byte of an answer: the process is confined, and now it reads the document.
const isReady = 'R'

// verdict is how reading went.
type verdict uint32

const (
	isRead verdict = iota + 1
	isProtected
	isUnreadable
)

// reply follows, in a fixed number of bytes, and then the picture's pixels as image.RGBA has them.
type reply struct {
	Verdict       verdict
	Pages         uint32
	Width, Height uint32 // of the picture, 0 when there is none
}

// send writes an answer. img is nil when no picture was asked for.
func send(out io.Writer, r reply, img *image.RGBA) error {
	if img != nil {
		size := img.Bounds().Size()
		r.Width, r.Height = uint32(size.X), uint32(size.Y)
	}
	if err := binary.Write(out, binary.LittleEndian, r); err != nil {
		return err
	}
	if img == nil {
		return nil
	}
	for y := range int(r.Height) {
		if _, err := out.Write(img.Pix[y*img.Stride:][:4*r.Width]); err != nil {
			return err
		}
	}
	return nil
}

// receive reads what send wrote. The sender is not trusted: nothing larger than what width allows is believed.
func receive(in io.Reader, width int) (reply, *image.RGBA, error) {
	var r reply
	if err := binary.Read(in, binary.LittleEndian, &r); err != nil {
		return reply{}, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	switch {
	case r.Verdict == isProtected:
		return reply{}, nil, ErrPassword
	case r.Verdict != isRead:
		return reply{}, nil, ErrUnreadable
	case width == 0:
		return r, nil, nil
	case r.Width == 0, r.Height == 0, r.Width > uint32(width), r.Height > uint32(maxTall*width):
		return reply{}, nil, fmt.Errorf("%w: a picture of %d x %d pixels", ErrUnreadable, r.Width, r.Height)
	}
	img := image.NewRGBA(image.Rect(0, 0, int(r.Width), int(r.Height)))
	if _, err := io.ReadFull(in, img.Pix); err != nil {
		return reply{}, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, img, nil
}
