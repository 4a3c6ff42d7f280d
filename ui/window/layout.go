package window

import (
	"fmt"

	"fyne.io/fyne/v2"

	"countersign/assets"
)

// floor keeps the window usable: it never gets smaller than this.
type floor struct{ least fyne.Size }

func (f *floor) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		o.Resize(size)
	}
}

func (f *floor) MinSize([]fyne.CanvasObject) fyne.Size { return f.least }

// piled puts what is visible under each other with some room between, and measures text only when its width is known;
// nothing visible takes no room.
type piled struct{ gap float32 }

func (p *piled) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	y := float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		o.Resize(fyne.NewSize(size.Width, o.Size().Height)) // so that text in it wraps before it is measured
		height := o.MinSize().Height
		o.Resize(fyne.NewSize(size.Width, height))
		o.Move(fyne.NewPos(0, y))
		y += height + p.gap
	}
}

func (p *piled) MinSize(objects []fyne.CanvasObject) (size fyne.Size) {
	for _, o := range objects {
		if o.Visible() {
			size.Height += o.MinSize().Height + p.gap
		}
	}
	size.Height = max(0, size.Height-p.gap)
	return size
}

// icon is the program's icon as a PNG.
func (w *Window) icon(size int) fyne.Resource {
	data, err := assets.Icon(size)
	if err != nil {
		fyne.LogError("read the program's icon", err)
		return nil
	}
	return fyne.NewStaticResource(fmt.Sprintf("countersign-%d.png", size), data)
}
