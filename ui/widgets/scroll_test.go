package widgets

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

// text is an entry of several lines.
func text() *Entry {
	e := NewEntry("")
	e.MultiLine, e.Wrapping = true, fyne.TextWrapWord
	e.SetMinRowsVisible(3)
	return e
}

func TestTheWheelScrollsOverFieldsToo(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	name, message := NewEntry("Name"), text()
	pressed := false
	button := NewButton("Add", func() { pressed = true })
	rows := Stack(4, button, name, message)
	for range 20 {
		rows.Add(NewEntry(""))
	}
	scroll := NewVScroll(rows)
	window.SetContent(scroll)
	window.Resize(fyne.NewSize(300, 200))
	for what, entry := range map[string]fyne.CanvasObject{"one line": name, "several lines": message} {
		scroll.ScrollToTop()
		at := app.Driver().AbsolutePositionForObject(entry).AddXY(20, entry.Size().Height/2)
		test.Scroll(window.Canvas(), at, 0, -40)
		if scroll.Offset.Y != 40 {
			t.Errorf("over %s the wheel moves the form by %v", what, scroll.Offset.Y)
		}
	}
	scroll.ScrollToTop()
	test.TapCanvas(window.Canvas(), fyne.NewPos(20, 15))
	if !pressed {
		t.Error("a press must go through to the button")
	}
}
