package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
)

// Flow puts objects beside each other with n units between them, and goes on below where the width ends. It never asks
// for more width than its widest object; Fyne's row wrap asks for that of its longest row, so that no window gets narrower.
func Flow(n float32, objects ...fyne.CanvasObject) *fyne.Container {
	return container.New(&flow{gap: n}, objects...)
}

// flow knows its width only once it is laid out; until then it is one line high.
type flow struct{ gap, width float32 }

func (f *flow) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	f.width = size.Width
	f.walk(objects, func(o fyne.CanvasObject, x, y float32) {
		o.Resize(o.MinSize())
		o.Move(fyne.NewPos(x, y))
	})
}

// walk tells where each visible object goes, and returns how high all of them are.
func (f *flow) walk(objects []fyne.CanvasObject, put func(o fyne.CanvasObject, x, y float32)) (height float32) {
	x, y := float32(0), float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		least := o.MinSize()
		if x > 0 && f.width > 0 && x+least.Width > f.width {
			x, y = 0, height+f.gap
		}
		put(o, x, y)
		x += least.Width + f.gap
		height = max(height, y+least.Height)
	}
	return height
}

func (f *flow) MinSize(objects []fyne.CanvasObject) (size fyne.Size) {
	for _, o := range objects {
		if o.Visible() {
			size.Width = max(size.Width, o.MinSize().Width)
		}
	}
	size.Height = f.walk(objects, func(fyne.CanvasObject, float32, float32) {})
	return size
}

// Aside puts what can be done with something beside it, at the right, or below it where less than least units would be
// left for the thing itself.
func Aside(least float32, thing, deeds fyne.CanvasObject) *fyne.Container {
	return container.New(&aside{least: least}, thing, deeds)
}

type aside struct{ least, width float32 }

// beside tells whether both fit into one line.
func (a *aside) beside(deeds fyne.CanvasObject) bool {
	return a.width == 0 || a.width-gap-deeds.MinSize().Width >= a.least
}

func (a *aside) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	a.width = size.Width
	thing, deeds := objects[0], objects[1]
	need := deeds.MinSize()
	if !deeds.Visible() {
		need = fyne.Size{Width: -gap}
	}
	width := size.Width
	if a.beside(deeds) {
		width -= need.Width + gap
	}
	thing.Resize(fyne.NewSize(width, thing.Size().Height)) // so that text in it wraps before it is measured
	high := thing.MinSize().Height
	thing.Resize(fyne.NewSize(width, high))
	if a.beside(deeds) {
		thing.Move(fyne.NewPos(0, max(0, (size.Height-high)/2)))
		deeds.Resize(need)
		deeds.Move(fyne.NewPos(size.Width-need.Width, max(0, (size.Height-need.Height)/2)))
		return
	}
	thing.Move(fyne.NewPos(0, 0))
	deeds.Resize(fyne.NewSize(size.Width, deeds.Size().Height))
	deeds.Resize(fyne.NewSize(size.Width, deeds.MinSize().Height))
	deeds.Move(fyne.NewPos(0, high+4))
}

func (a *aside) MinSize(objects []fyne.CanvasObject) fyne.Size {
	thing, deeds := objects[0].MinSize(), objects[1].MinSize()
	if !objects[1].Visible() {
		return thing
	}
	least := fyne.NewSize(max(thing.Width, deeds.Width), max(thing.Height, deeds.Height))
	if !a.beside(objects[1]) {
		least.Height = thing.Height + 4 + deeds.Height
	}
	return least
}
