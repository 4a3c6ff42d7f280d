package widgets

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
)

func TestTheFocusIsNeverOutOfSightInAPopUpThatIsTooLarge(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	behind := NewEntry("")
	window.SetContent(Roomy(AtLeast(fyne.NewSize(800, 600), behind)))
	window.Resize(fyne.NewSize(300, 200))
	rows := Stack(4)
	var fields []*Entry
	for range 20 {
		fields = append(fields, NewEntry(""))
		rows.Add(fields[len(fields)-1])
	}
	pop := Open(window.Canvas(), rows, fyne.Size{}, fields[0], nil)
	defer pop.Close()
	for _, i := range []int{19, 0, 10} {
		window.Canvas().Focus(fields[i])
		top := app.Driver().AbsolutePositionForObject(fields[i]).Y
		if bottom := top + fields[i].Size().Height; top < 0 || bottom > 200 {
			t.Errorf("field %d is between %v and %v of 200", i, top, bottom)
		}
	}
}

func TestAPopUpStandsBelowItsObjectWhereThereIsRoom(t *testing.T) {
	test.NewTempApp(t)
	for _, c := range []struct{ above, want float32 }{{300, 300 + 20}, {650, 650 - 200}} {
		at := AtLeast(fyne.NewSize(100, 20), NewEntry(""))
		w := test.NewTempWindow(t, container.NewWithoutLayout(at))
		w.SetPadded(false)
		w.Resize(fyne.NewSize(900, 700))
		at.Resize(fyne.NewSize(100, 20))
		at.Move(fyne.NewPos(100, c.above))
		p := OpenAt(w.Canvas(), AtLeast(fyne.NewSize(300, 200), NewEntry("")), at, nil, nil)
		if got := test.WidgetRenderer(p).Objects()[1].Position().Y; got < c.want-5 || got > c.want+5 {
			t.Errorf("beside what is at %v, it is at %v, want %v", c.above, got, c.want)
		}
	}
}

func TestAPopUpHasRoomForWhatIsShownInItLater(t *testing.T) {
	test.NewTempApp(t)
	w := test.NewTempWindow(t, NewEntry(""))
	w.Resize(fyne.NewSize(900, 700))
	said := NewProse(strings.Repeat("what is wrong and what to do ", 6))
	saying := Across(nil, said, nil)
	saying.Hide()
	content := Pad(20, Stack(16, NewHeading("Title"), saying, NewButton("Go on", nil)))
	p := Open(w.Canvas(), content, fyne.NewSize(300, 0), nil, nil)
	saying.Show()
	p.Refresh()
	if has, needs := content.Size().Height, content.MinSize().Height; has < needs {
		t.Errorf("it has a height of %v and needs %v", has, needs)
	}
	if panel := test.WidgetRenderer(p).Objects()[1]; panel.Size().Height < content.MinSize().Height {
		t.Errorf("the panel is %v high, its content %v", panel.Size().Height, content.MinSize().Height)
	}
}
