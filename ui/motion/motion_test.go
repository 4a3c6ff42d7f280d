package motion

import (
	"image"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"
)

func TestWhatTurnsStandsStillAndStillSaysThatWorkGoesOn(t *testing.T) {
	a := Use(test.NewTempApp(t))
	if !fyne.CurrentApp().Settings().ShowAnimations() {
		t.Fatal("nothing asked for stillness")
	}
	a.Rest(true)
	if fyne.CurrentApp().Settings().ShowAnimations() {
		t.Fatal("widgets move")
	}
	busy := widget.NewActivity()
	c := software.NewCanvas()
	c.SetContent(busy)
	c.Resize(fyne.NewSquareSize(40))
	none := c.Capture()
	busy.Start()
	defer busy.Stop()
	dots := c.Capture()
	if same(none, dots) {
		t.Error("nothing says that work goes on")
	}
	for range 5 {
		time.Sleep(time.Millisecond) // an animation draws with each frame
		if !same(dots, c.Capture()) {
			t.Error("it moves")
		}
	}
	a.Rest(false)
	if !fyne.CurrentApp().Settings().ShowAnimations() {
		t.Error("widgets move no more")
	}
}

func same(a, b image.Image) bool {
	x, y := a.(*image.NRGBA), b.(*image.NRGBA)
	return string(x.Pix) == string(y.Pix)
}
