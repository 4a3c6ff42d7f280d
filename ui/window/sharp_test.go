package window

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"

	"countersign/ui/officetest"
)

func TestTextsAreDrawnAnewOnAFinerScreen(t *testing.T) {
	b := newBench(t, officetest.Busy())
	redrawn := 0
	b.App.Settings().AddListener(func(fyne.Settings) { redrawn++ })
	w := b.window
	drawn := w.fineness()
	if drawn = w.sharpen(drawn); redrawn != 0 {
		t.Error("everything is drawn anew on the same screen")
	}
	w.window.Canvas().(software.WindowlessCanvas).SetScale(2)
	if drawn = w.sharpen(drawn); redrawn != 1 || drawn != 2000 {
		t.Errorf("on a screen with %d dots it was drawn anew %d times", drawn, redrawn)
	}
	if w.sharpen(drawn); redrawn != 1 {
		t.Error("it is drawn anew again and again")
	}
}

func TestAHiddenWindowLooksAtNoScreen(t *testing.T) {
	b := newBench(t, officetest.Busy())
	w := b.window
	looks := func() bool {
		return slices.ContainsFunc(b.alarms, func(a alarm) bool { return a.after == lookEvery })
	}
	w.sharpens = true
	w.lookAgain()
	b.pass(lookEvery)
	b.Until(looks)
	w.resting = true
	b.pass(lookEvery)
	b.Until(func() bool { return !w.sharpens })
	if looks() {
		t.Error("it goes on")
	}
}
