package widgets

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

func TestTheFocusIsNeverOutOfSightInAPopUpThatIsTooLarge(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	behind := NewEntry("")
	window.SetContent(Roomy(behind, fyne.NewSize(800, 600)))
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
