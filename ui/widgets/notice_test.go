package widgets

import (
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
)

func TestTheOfferToUndoCountsFromThePressAndEndsWithWhatIsDone(t *testing.T) {
	test.NewTempApp(t)
	now := time.Now()
	var tick func()
	bar := NewUndoBar(func() time.Time { return now }, func(_ time.Duration, over func()) { tick = over })
	over := bar.Begin("Sending", 3*time.Second, "Undo", func() {})
	if said := bar.AccessibilityLabel(); said != "Sending, 7 s" {
		t.Errorf("it says %q", said)
	}
	over()
	over()
	if bar.Busy() {
		t.Error("it is still offered")
	}
	tick()
	bar.Begin("Sending", 0, "Undo", func() {})
	now = now.Add(4 * time.Second) // the computer was busy
	tick()
	if said := bar.AccessibilityLabel(); said != "Sending, 6 s" {
		t.Errorf("after four seconds it says %q", said)
	}
	now = now.Add(time.Hour)
	tick()
	if bar.Busy() {
		t.Error("it is offered although the office has gone on")
	}
}
