//go:build linux

package e2e

import (
	"image"
	"os"
	"strconv"
	"testing"
)

// point moves the mouse to a place of the window.
func (w *window) point(at image.Point) {
	w.d.t.Helper()
	if _, err := w.d.run("xdotool", "mousemove", "--window", w.id, strconv.Itoa(at.X), strconv.Itoa(at.Y)); err != nil {
		w.d.t.Fatal(err)
	}
}

// press presses a mouse button where the mouse is, as long as a hand does.
func (w *window) press(button int) {
	w.d.t.Helper()
	b := strconv.Itoa(button)
	if _, err := w.d.run("xdotool", "mousedown", b, "sleep", "0.1", "mouseup", b); err != nil {
		w.d.t.Fatal(err)
	}
}

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
	desk := newDesktop(t)
	desk.startDisplay()
	o := usualOffice(t, desk)
	o.setup()
	o.open()
	w := desk.window("Countersign")
	w.drawn()
	w.active()
	w.still()
	defer func() {
		if t.Failed() && os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
			keepPictures(t, map[string]image.Image{"failed": w.picture()})
		}
	}()
	for _, c := range []struct {
		name string
		on   image.Point // the screen
		at   image.Point // where the mouse is
		open func()
	}{
		{"adding documents", navSend, addDocuments, func() { w.press(1) }},
		{"the calendar", navSend, calendarButton, func() { w.press(1) }},
		{"choosing a folder", navSettings, chooseFolder, func() { w.press(1) }},
		{"a selection", navSettings, readyMadeNames, func() { w.press(1) }},
		{"the menu of a field", navPackages, searchField, func() { w.press(3) }},
		{"closing without a tray", navPackages, searchField, func() { w.keys("ctrl+w") }},
	} {
		w.point(c.on)
		w.press(1)
		w.point(c.at) // what is under the mouse looks different already
		before := w.still()
		if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
			keepPictures(t, map[string]image.Image{c.name + " before": before})
		}
		c.open()
		w.changesFrom(before)
		opened := w.still() // the focus comes first
		w.active().keys("Escape")
		w.changesFrom(opened)
		w.point(navStatus)
		closed := w.still()
		w.press(1)
		now := w.changesFrom(closed)
		if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
			keepPictures(t, map[string]image.Image{c.name: opened, c.name + " closed": closed, c.name + " after": now})
		}
	}
}
