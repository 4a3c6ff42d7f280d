package compose

import (
	"fmt"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// scanned is an office in whose outbox n documents from a folder wait.
func scanned(n int) *officetest.Office {
	o := officetest.Busy()
	o.Waiting = nil
	for i := range n {
		o.Waiting = append(o.Waiting, office.Draft{ID: fmt.Sprint("scan ", i), Name: fmt.Sprint("Scan ", i), State: office.DraftHeld, Folder: "f", Signers: []office.Signer{ana},
			Files: []office.DraftFile{{Path: fmt.Sprintf("/scans/Scan %d.pdf", i), Name: fmt.Sprintf("Scan %d.pdf", i)}}})
	}
	return o
}

func TestTheDraftThatANotificationIsAboutIsChosen(t *testing.T) {
	b := newBench(t, scanned(20))
	left := b.screen.columns.Objects[0]
	b.screen.ShowDraft("scan 17")
	b.Settle()
	button, is := b.focused().(*widgets.Button)
	if !is || button.Text != "Send" || fyne.CanvasObject(button) != b.screen.draftDeeds["scan 17"][2] {
		t.Fatalf("%T has the focus", b.focused())
	}
	edge, at := fyne.CurrentApp().Driver().AbsolutePositionForObject(left), fyne.CurrentApp().Driver().AbsolutePositionForObject(button)
	if at.Y < edge.Y || at.Y+button.Size().Height > edge.Y+left.Size().Height {
		t.Errorf("it is out of sight: at %v of %v", at, left.Size())
	}
	b.screen.Reload()
	b.Settle()
	if again, is := b.focused().(*widgets.Button); !is || fyne.CanvasObject(again) != b.screen.draftDeeds["scan 17"][2] {
		t.Errorf("once the list is drawn anew, %T has the focus", b.focused())
	}
	b.screen.ShowDraft("decided about meanwhile")
	b.Settle()
	if fyne.CanvasObject(b.focused().(*widgets.Button)) != b.screen.draftDeeds["scan 0"][2] {
		t.Error("the next one that waits is not chosen")
	}
}

func TestADraftIsNotSentFromTheOutboxWhileItIsChanged(t *testing.T) {
	b := newBench(t, scanned(2))
	b.screen.Reload()
	b.Settle()
	b.screen.Edit(b.Office.Waiting[0])
	b.Settle()
	if len(b.screen.draftDeeds["scan 0"]) != 0 || len(b.screen.draftDeeds["scan 1"]) != 3 {
		t.Errorf("it can be sent beside the form:\n%s", screentest.Text(b.screen.outbox))
	}
	b.screen.Clear()
	b.Settle()
	if len(b.screen.draftDeeds["scan 0"]) != 3 {
		t.Errorf("nobody changes it any more, and it cannot be sent:\n%s", screentest.Text(b.screen.outbox))
	}
}

// An attempt that could not even begin takes the place of the same draft as before once it is made again.
func TestTheNextAttemptTakesThePlaceOfWhatWasRefused(t *testing.T) {
	p := parcel{fate: refused}
	if p.left("before") != "before" {
		t.Errorf("left is %q", p.left("before"))
	}
	if p.state.DraftID = "refused"; p.left("before") != "refused" {
		t.Errorf("left is %q", p.left("before"))
	}
}
