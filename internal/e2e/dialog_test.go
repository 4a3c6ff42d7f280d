//go:build linux

package e2e

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
	"countersign/internal/e2e/portaltest"
)

// picker presses "Add documents" and answers in the desktop's dialog.
type picker struct {
	t      *testing.T
	desk   *harness.Desktop
	office *harness.Office
	window *harness.Window
}

// newPicker starts the program with its window, a tray and somebody signed in.
func newPicker(t *testing.T) *picker {
	t.Helper()
	o, w := harness.OpenSignedIn(t)
	w.Active().Keys("ctrl+n") // the keyboard is at "Add documents" while there are none
	w.Still()
	return &picker{t, o.Desk, o, w}
}

// press asks for the dialog.
func (p *picker) press() { p.window.Active().Keys("space") }

// sent sends what stands in the draft, which was empty before, and returns the names of its documents in the service.
func (p *picker) sent(before image.Image, name string) (names []string) {
	p.t.Helper()
	p.window.ChangesFrom(before)
	p.window.Active().Keys("ctrl+n") // to the first person
	for i, text := range []string{"Ana", "Ruiz", "ana.ruiz@example.com"} {
		if i > 0 {
			p.window.Keys("Tab")
		}
		p.window.Types(text)
	}
	sendsByKey(p.office, p.window)
	for _, d := range p.office.Service.Named(name).Documents {
		names = append(names, d.Name)
	}
	return names
}

func TestFilesChosenInTheDesktopsDialogStandInTheDraft(t *testing.T) {
	t.Parallel()
	p := newPicker(t)
	portal := p.desk.StartPortal()
	id, err := strconv.Atoi(p.window.ID)
	harness.Must(t, err)

	// Cancelling is no error and changes nothing.
	before := p.window.Still()
	p.press()
	d := portal.Dialog()
	if d.Method != "OpenFile" || d.Title != "Add documents" || d.Parent != fmt.Sprintf("x11:%x", id) {
		t.Errorf("%s %q over %s, the window is %x", d.Method, d.Title, d.Parent, id)
	}
	p.window.ChangesFrom(before)
	harness.Must(t, d.Cancel())
	harness.Eventually(t, "the window is as it was", func() bool { return p.window.Same(before) })

	// Pressing again while it is open opens no second one, and the file's names arrive exactly.
	folder := filepath.Join(t.TempDir(), "Büro & 100% +\xff")
	harness.Must(t, os.Mkdir(folder, 0o700))
	names := []string{"Vertrag 4+5 (100%25)", "Größe #1"}
	var paths []string
	for _, name := range names {
		content, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
		harness.Must(t, err)
		paths = append(paths, filepath.Join(folder, name+".pdf"))
		harness.Must(t, os.WriteFile(paths[len(paths)-1], content, 0o600))
	}
	p.press()
	d = portal.Dialog()
	panel := p.window.ChangesFrom(before)
	p.window.Keys("space", "Return", "space", "Tab") // the last one shows that the others have arrived
	harness.Eventually(t, "the keyboard is at Cancel", func() bool { return !p.window.Same(panel) })
	harness.Must(t, d.Choose(paths...))
	p.window.ChangesFrom(panel)
	if got := p.sent(before, names[0]); !slices.Equal(got, names) {
		t.Errorf("the service got %q", got)
	}
	if !portal.None() {
		t.Error("a second dialog was asked for")
	}
}

// TestWithoutAPortalOurPickerAsks has no portal at first, and then one that dies while its dialog is open.
func TestWithoutAPortalOurPickerAsks(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"none": false, "it dies": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPicker(t)
			content, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
			harness.Must(t, err)
			for _, name := range []string{"Mandate A", "Mandate B"} {
				harness.Must(t, os.WriteFile(filepath.Join(p.desk.Home, "home", name+".pdf"), content, 0o600))
			}
			before := p.window.Still()
			if dies {
				portal := p.desk.StartPortal()
				p.press()
				portal.Dialog()
				panel := p.window.ChangesFrom(before)
				portal.Die()
				p.window.ChangesFrom(panel)
			} else {
				p.press()
				p.window.ChangesFrom(before)
			}
			open := p.window.Still()
			p.window.Keys("End", "space", "Up", "space", "Return")
			p.window.ChangesFrom(open)
			if got := p.sent(before, "Mandate B"); !slices.Equal(got, []string{"Mandate B", "Mandate A"}) {
				t.Errorf("the service got %q", got)
			}
		})
	}
}

// TestTheProgramEndsWhileADialogIsOpen: neither the person nor the portal has to do anything for it.
func TestTheProgramEndsWhileADialogIsOpen(t *testing.T) {
	t.Parallel()
	p := newPicker(t)
	portal := p.desk.StartPortal()
	p.press()
	d := portal.Dialog()
	began := time.Now()
	if code := p.office.Running.Stop(); code != 0 || time.Since(began) > endsWithin() {
		t.Errorf("it ended with %d after %v: %s", code, time.Since(began), p.office.Running.Stderr)
	}
	closes(t, d)
}

// closes waits until the program has taken a dialog away.
func closes(t *testing.T, d *portaltest.Dialog) {
	t.Helper()
	select {
	case <-d.Closed:
	case <-time.After(harness.Patience):
		t.Errorf("the dialog %q stays open", d.Title)
	}
}

// sendsByKey sends the draft in the window. That is refused until the files are looked at, and then does nothing more.
func sendsByKey(o *harness.Office, w *harness.Window) {
	o.T.Helper()
	harness.EventuallyWithin(o.T, 2*harness.Patience, "the service has the package", func() bool {
		w.Keys("ctrl+Return")
		s, err := o.Ask()
		return err == nil && s.Packages.Total == 1 && s.Outbox.Pending == 0
	})
}
