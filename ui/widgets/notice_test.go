package widgets

import (
	"fmt"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
)

func TestTheOfferToUndoCountsFromThePressAndEndsWithWhatIsDone(t *testing.T) {
	test.NewTempApp(t)
	bar := NewUndoBar(func(time.Duration, func()) {})
	over := bar.Begin(func(seconds int) string { return fmt.Sprint(seconds, " seconds") }, 3*time.Second, "Undo", func() {})
	if said := bar.AccessibilityLabel(); said != "7 seconds" {
		t.Errorf("it says %q", said)
	}
	over()
	over()
	if bar.Busy() {
		t.Error("it is still offered")
	}
}
