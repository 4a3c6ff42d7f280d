//go:build linux

package e2e

import (
	"image"
	"os"
	"testing"

	"countersign/internal/e2e/harness"
)

// Where things are in the window as it opens, for a person who has not signed in.
var (
	navPackages    = image.Pt(80, 85)
	navSend        = image.Pt(80, 124)
	navStatus      = image.Pt(80, 202)
	navSettings    = image.Pt(80, 241)
	searchField    = image.Pt(450, 68)
	addDocuments   = image.Pt(288, 304)
	calendarButton = image.Pt(849, 408)
	chooseFolder   = image.Pt(1020, 227)
	readyMadeNames = image.Pt(430, 415)
)

// TestTheMouseReachesTheWindowAfterEscape opens what can lie over the window, leaves it with Escape, and clicks with a
// real mouse: the click arrives, every time.
func TestTheMouseReachesTheWindowAfterEscape(t *testing.T) {
	t.Parallel()
	_, w := harness.OpenOffice(t)
	w.Active()
	w.Still()
	defer func() {
		if t.Failed() && os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
			keepPictures(t, map[string]image.Image{"failed": w.Picture()})
		}
	}()
	for _, c := range []struct {
		name string
		on   image.Point // the screen
		at   image.Point // where the mouse is
		open func()
	}{
		{"adding documents", navSend, addDocuments, func() { w.Press(1) }},
		{"the calendar", navSend, calendarButton, func() { w.Press(1) }},
		{"choosing a folder", navSettings, chooseFolder, func() { w.Press(1) }},
		{"a selection", navSettings, readyMadeNames, func() { w.Press(1) }},
		{"the menu of a field", navPackages, searchField, func() { w.Press(3) }},
		{"closing without a tray", navPackages, searchField, func() { w.Keys("ctrl+w") }},
	} {
		w.Point(c.on)
		w.Press(1)
		w.Point(c.at) // what is under the mouse looks different already
		before := w.Still()
		if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
			keepPictures(t, map[string]image.Image{c.name + " before": before})
		}
		c.open()
		w.ChangesFrom(before)
		opened := w.Still() // the focus comes first
		w.Active().Keys("Escape")
		w.ChangesFrom(opened)
		w.Point(navStatus)
		closed := w.Still()
		w.Press(1)
		now := w.ChangesFrom(closed)
		if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
			keepPictures(t, map[string]image.Image{c.name: opened, c.name + " closed": closed, c.name + " after": now})
		}
	}
}
