package widgets

import (
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
)

func TestTheOfferToUndoCountsFromThePressAndEndsWithWhatIsDone(t *testing.T) {
	test.NewTempApp(t)
	bar := NewUndoBar(func(time.Duration, func()) {})
	over := bar.Begin("Sending", 3*time.Second, "Undo", func() {})
	if said := bar.AccessibilityLabel(); said != "Sending, 7 s" {
		t.Errorf("it says %q", said)
	}
	over()
	over()
	if bar.Busy() {
		t.Error("it is still offered")
	}
}
