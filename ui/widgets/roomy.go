package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"
)

// Roomy is content that never has less room than least: where the window is smaller, it moves below the window, by its
// bars, by the wheel beside what scrolls itself, and with the focus. So large text loses nothing.
func Roomy(content fyne.CanvasObject, least fyne.Size) fyne.CanvasObject {
	l := &lens{scroll: container.NewScroll(nil)}
	l.ExtendBaseWidget(l)
	l.scroll.Content = container.NewStack(l, atLeast(least, content))
	return l.scroll
}

// lens lies below content that moves in both directions, unseen, and brings what has got the focus into sight.
type lens struct {
	widget.BaseWidget
	scroll *container.Scroll
}

// CreateRenderer is Fyne's.
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
