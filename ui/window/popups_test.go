package window

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

// key presses a key as the driver does: what has the focus gets it, else the window.
func (b *bench) key(name fyne.KeyName) {
	e := &fyne.KeyEvent{Name: name}
	if focused := b.window.window.Canvas().Focused(); focused != nil {
		focused.TypedKey(e)
	} else {
		b.window.onKey(e)
	}
	b.Settle()
}

// isOpen says whether something lies over the window.
func (b *bench) isOpen() bool { return b.window.window.Canvas().Overlays().Top() != nil }

// TestEscapeTakesEveryPopUpFromTheWindow presses everything there is to press on every screen. Whatever opens over the
// window is gone after Escape, also when Tab has led through all of it.
func TestEscapeTakesEveryPopUpFromTheWindow(t *testing.T) {
	b := newBench(t, officetest.Busy())
	opened := 0
	escape := func(what string, tabs int) {
		for range tabs {
			b.window.window.Canvas().FocusNext()
		}
		b.key(fyne.KeyEscape)
		if b.isOpen() {
			t.Fatalf("%s, after %d times Tab: Escape leaves something over the window", what, tabs)
		}
	}
	try := func(what string, open func()) {
		for tabs := range 8 {
			open()
			b.Settle()
			if !b.isOpen() {
				return
			}
			if tabs == 0 {
				opened++
			}
			escape(what, tabs)
		}
	}
	b.openers(try)
	if opened < 12 {
		t.Errorf("only %d things opened", opened)
	}
}

// openers tries everything there is to press on every screen, and what else opens something over the window.
func (b *bench) openers(try func(what string, open func())) {
	waits := []string{lang.L("Sign in"), lang.L("Sign in with another account"), lang.L("Test the service"), lang.L("Test the address")} // for somebody outside
	for at := range b.window.screens {
		b.window.Go(at)
		b.Settle()
		for _, o := range test.LaidOutObjects(b.window.main) {
			switch o := o.(type) {
			case *widgets.Button:
				if o.Visible() && !o.Disabled() && o.OnTapped != nil && !slices.Contains(waits, o.Text) {
					try(o.Text, func() { b.window.Go(at); o.OnTapped() })
				}
			case *widgets.Select:
				try(o.Selected, func() { o.Tapped(nil) })
			case *widgets.Entry:
				try("the menu of an entry", func() { o.TappedSecondary(&fyne.PointEvent{}) })
			}
		}
	}
	b.tray = false
	try("closing without a tray", b.window.Hide)
	try("the folder", b.window.settings.get().PickFolder)
	b.window.compose.get().Fill(office.NewPackage{Message: "typed", Signers: signers(1)})
	try("beginning anew", func() { b.window.SendLike(office.NewPackage{Message: "another", Signers: signers(2)}) })
	b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
		o.Waiting = append(o.Waiting, office.Draft{ID: "d9", State: office.DraftUnknown})
	})
	b.Settle()
	for _, o := range test.LaidOutObjects(b.window.compose.get().Content()) {
		if again, ok := o.(*widgets.Button); ok && again.Text == lang.L("Send again") {
			try(again.Text, again.OnTapped)
		}
	}
}
