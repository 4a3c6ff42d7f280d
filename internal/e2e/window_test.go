//go:build linux

package e2e

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

func TestTheWindowAndTheTrayShowTheOffice(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	s := o.Service
	o.Setup()
	o.Open()
	w := desk.Window("Countersign")
	first := w.Drawn()

	icon := tray.Item()
	if title := icon.Title(); title != "Countersign" {
		t.Errorf("the tray icon is called %q", title)
	}
	harness.Eventually(t, "the tray says who is signed in", func() bool { return harness.Contains(icon.Labels(), "Not signed in") })
	labels := icon.Labels()
	for _, want := range []string{"New package", "Open Countersign", "Open folder", "Quit"} {
		if !harness.Contains(labels, want) {
			t.Errorf("the tray's menu is %q, without %q", labels, want)
		}
	}
	harness.Eventually(t, "the tray says that nobody is signed in", func() bool { return strings.Contains(icon.Labels()[0], "signed in") })

	// The commands work beside the window, and the tray follows.
	o.MustLogin()
	o.Registered()
	harness.Eventually(t, "the tray shows the account", func() bool { return harness.Contains(icon.Labels(), harness.Olivia) })
	lease := sendLease(o)
	harness.Eventually(t, "the tray shows what waits", func() bool { return strings.Contains(icon.Labels()[0], "1 package") })
	w.ChangesFrom(first)
	s.SignAll(lease.ID)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	harness.Eventually(t, "the tray is at rest", func() bool { return icon.Labels()[0] == "Nothing is waiting for a signature" })
	savedAsServed(o, lease)
	toldOnce(o, false, lease)

	// Files dropped on the window are made ready to send.
	before := w.Still()
	desk.Dragger().Drop(w.ID, harness.Sample(t, "Mandate Keller"))
	dropped := w.ChangesFrom(before)

	// A second start hands its files over and ends.
	second := harness.Start(t, desk.Env(), harness.Program, append(o.Global, harness.Sample(t, "Offer 2026-118"))...)
	if code := second.Wait(); code != 0 {
		t.Errorf("the second start ended with %d: %s", code, second.Stderr)
	}
	composing := w.ChangesFrom(dropped)

	// Closed, it stays in the tray, which it says the first time, and comes back from there.
	if tip := icon.Tooltip(); tip != "Countersign\nNothing is waiting for a signature" {
		t.Errorf("over the icon stands %q", tip)
	}
	w.Active().Keys("ctrl+w")
	w.ChangesFrom(composing)
	w.Keys("Return")
	gone := func() {
		harness.Eventually(t, "the window is gone", func() bool { return len(desk.Visible("Countersign")) == 0 })
	}
	gone()
	icon.Click("Open Countersign")
	w = desk.Window("Countersign")
	w.Active().Keys("ctrl+w")
	gone()
	if _, err := o.Ask(); err != nil {
		t.Errorf("without its window the program does not answer: %v", err)
	}
	icon.Click("Open Countersign")
	w = desk.Window("Countersign")
	w.Drawn()
	if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
		keepPictures(t, map[string]image.Image{"first": first, "saved": before, "dropped": dropped, "composing": composing})
	}

	icon.Click("Quit")
	if code := o.Running.Wait(); code != 0 {
		t.Errorf("after Quit the program ended with %d: %s", code, o.Running.Stderr)
	}
	keepsSecrets(o)
}

// keepPictures writes screenshots where a developer wants to look at them.
func keepPictures(t testing.TB, pictures map[string]image.Image) {
	t.Helper()
	for name, p := range pictures {
		var b bytes.Buffer
		harness.Must(t, png.Encode(&b, p))
		harness.Must(t, os.WriteFile(filepath.Join(os.Getenv("COUNTERSIGN_E2E_PICTURES"), name+".png"), b.Bytes(), 0o600))
	}
}
