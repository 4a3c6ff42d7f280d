package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"
)

// Roomy is content that never has less room than least: where the window is smaller, it moves below the window, by its
// bars, by the wheel beside what scrolls itself, and with the focus. So large text loses nothing.
func Roomy(content fyne.CanvasObject, least fyne.Size) fyne.CanvasObject {
	return newLens(atLeast(least, content), nil)
}

// lens lies below content that moves in both directions, unseen, and brings what has got the focus into sight.
type lens struct {
	widget.BaseWidget
	scroll *container.Scroll
	over   fyne.CanvasObject // the pop-up that it lies in; nil for the window itself
}

// newLens has content move in both directions where there is too little room for it.
func newLens(content, over fyne.CanvasObject) *container.Scroll {
	l := &lens{scroll: container.NewScroll(nil), over: over}
	l.ExtendBaseWidget(l)
	l.scroll.Content = container.NewStack(l, content)
	return l.scroll
}

func (l *lens) CreateRenderer() fyne.WidgetRenderer { return newUnseen(l) }

// reveal moves the content until what is at a place of the window is in sight.
func (l *lens) reveal(at fyne.Position, size fyne.Size) {
	edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(l.scroll)
	to := fyne.NewPos(inSight(at.X-edge.X, size.Width, l.scroll.Offset.X, l.scroll.Size().Width),
		inSight(at.Y-edge.Y, size.Height, l.scroll.Offset.Y, l.scroll.Size().Height))
	if to != l.scroll.Offset {
		l.scroll.ScrollToOffset(to)
	}
}
