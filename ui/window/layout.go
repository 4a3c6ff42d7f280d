package window

import (
	"fmt"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

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

// shell puts the sidebar beside the page. Toasts, here called passing, stand in the free part of the sidebar, or below
// everything else where that is too small: they cover nothing that one presses next.
type shell struct{ nav, foot, edge, page, passing fyne.CanvasObject }

const (
	sidebarLeast = 174 // what is in it may need more width
	sidebarRoom  = 8   // around what is in it
)

func newShell(nav, foot, edge, page, passing fyne.CanvasObject) *fyne.Container {
	return container.New(&shell{nav, foot, edge, page, passing}, edge, nav, foot, page, passing)
}

func (s *shell) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	width := s.inner()
	nav, foot := heightAt(s.nav, width), heightAt(s.foot, width)
	place(s.nav, sidebarRoom, sidebarRoom, width, nav)
	place(s.foot, sidebarRoom, size.Height-sidebarRoom-foot, width, foot)
	edge := s.edge.MinSize().Width
	left := s.sidebar()
	place(s.edge, left-edge, 0, edge, size.Height)

	free := size.Height - 4*sidebarRoom - nav - foot
	below := float32(0)
	if heightAt(s.passing, width) <= free {
		place(s.passing, sidebarRoom, 2*sidebarRoom+nav, width, free)
	} else {
		below = heightAt(s.passing, size.Width-left)
		place(s.passing, left, size.Height-below, size.Width-left, below)
	}
	place(s.page, left, 0, size.Width-left, size.Height-below)
}

// inner is the width of what is in the sidebar.
func (s *shell) inner() float32 {
	return max(sidebarLeast, s.nav.MinSize().Width, s.foot.MinSize().Width)
}

// sidebar is how wide all of it is, with its edge.
func (s *shell) sidebar() float32 {
	return s.inner() + 2*sidebarRoom + theme.Padding() + s.edge.MinSize().Width
}

func (s *shell) MinSize([]fyne.CanvasObject) fyne.Size {
	return s.page.MinSize().AddWidthHeight(s.sidebar(), 0)
}

func place(o fyne.CanvasObject, x, y, width, height float32) {
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(width, height))
}

// heightAt is how high an object is at a width, which text in it needs to know before it is measured.
func heightAt(o fyne.CanvasObject, width float32) float32 {
	o.Resize(fyne.NewSize(width, o.Size().Height))
	return o.MinSize().Height
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
