package ui

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"fyne.io/fyne/v2"
	"fyne.io/systray"
)

// TestAMenuThatChangesPressesNothing: the library closes the channel of an entry that it removes, which is no click. One on Quit
// would end the program.
func TestAMenuThatChangesPressesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer systray.ResetMenu()
		p := panel{ctx: t.Context()}
		var pressed atomic.Int32
		press := func() { pressed.Add(1) }
		for range 50 { // mostly before anybody waits for a click on the one before
			p.menu([]*fyne.MenuItem{fyne.NewMenuItem("Open folder", press), fyne.NewMenuItemSeparator(), fyne.NewMenuItem("Quit", press)})
		}
		synctest.Wait()
		if n := pressed.Load(); n > 0 {
			t.Errorf("%d entries were pressed that nobody pressed", n)
		}
	})
}
