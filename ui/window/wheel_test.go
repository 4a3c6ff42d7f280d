package window

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// TestTheWheelScrollsOverTheFieldsOfEveryScreen turns the wheel over every field that is to be seen in something that can
// be scrolled.
func TestTheWheelScrollsOverTheFieldsOfEveryScreen(t *testing.T) {
	turned := func(b *bench, what string) (fields int) {
		canvas := b.window.window.Canvas()
		b.window.window.Resize(screentest.Small)
		b.Settle()
		b.inSight(func(o fyne.CanvasObject, seen rectangle, scroll *container.Scroll) {
			if _, field := o.(interface{ Mark(wrong bool) }); !field || scroll == nil || scroll.Offset.Y != 0 ||
				scroll.Content.MinSize().Height < scroll.Size().Height+20 {
				return
			}
			middle := fyne.NewPos((seen.from.X+seen.to.X)/2, (seen.from.Y+seen.to.Y)/2)
			test.Scroll(canvas, middle, 0, -20)
			if scroll.Offset.Y != 20 {
				t.Errorf("%s: over the field at %v the wheel moves the page by %v", what, middle, scroll.Offset.Y)
			}
			scroll.ScrollToTop()
			fields++
		})
		return fields
	}
	b := newBench(t, officetest.Busy())
	b.window.Go(showCompose)
	fill(b)
	if n := turned(b, "Send"); n < 4 {
		t.Errorf("Send has %d fields in sight", n)
	}
	b.window.Go(showSettings)
	for _, o := range test.LaidOutObjects(b.window.settings.get().Content()) {
		if tabs, ok := o.(*widgets.Tabs); ok {
			tabs.Choose(4) // the page with the most fields
		}
	}
	if n := turned(b, "Settings"); n < 4 {
		t.Errorf("Settings has %d fields in sight", n)
	}
}
