//go:build linux

package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// window is a window on the session's display.
type window struct {
	d  *desktop
	id string
}

// window waits for a visible window with this title.
func (d *desktop) window(title string) *window {
	d.t.Helper()
	w := &window{d: d}
	eventually(d.t, "there is a window "+title, func() bool {
		ids := d.visible(title)
		if len(ids) == 1 {
			w.id = ids[0]
		}
		return len(ids) == 1
	})
	return w
}

// visible returns the ids of the visible windows with this title.
func (d *desktop) visible(title string) []string {
	d.t.Helper()
	out, err := d.run("xdotool", "search", "--onlyvisible", "--name", "^"+title+"$")
	if err != nil {
		return nil // xdotool's way of saying that there is none
	}
	return strings.Fields(out)
}

// picture is a screenshot of the window.
func (w *window) picture() image.Image {
	w.d.t.Helper()
	out, err := w.d.run("import", "-window", w.id, "png:-")
	if err != nil {
		w.d.t.Fatalf("take a screenshot: %v", err)
	}
	picture, _, err := image.Decode(bytes.NewReader([]byte(out)))
	if err != nil {
		w.d.t.Fatalf("read the screenshot: %v", err)
	}
	return picture
}

// drawn waits until the window shows more than a background.
func (w *window) drawn() image.Image {
	w.d.t.Helper()
	var picture image.Image
	eventually(w.d.t, "something is drawn in the window", func() bool {
		picture = w.picture()
		return len(colours(picture)) > 20
	})
	return picture
}

// still waits until nothing moves any more.
func (w *window) still() image.Image {
	w.d.t.Helper()
	last := w.picture()
	eventually(w.d.t, "the window is still", func() bool {
		before := last
		last = w.picture()
		return differing(before, last) == 0
	})
	return last
}

// changesFrom waits until the window looks quite different, and returns how.
func (w *window) changesFrom(before image.Image) image.Image {
	w.d.t.Helper()
	var now image.Image
	eventually(w.d.t, "the window shows something else", func() bool {
		now = w.picture()
		return differing(before, now) > 500
	})
	return now
}

func colours(p image.Image) map[color.Color]int {
	count := map[color.Color]int{}
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y += 2 {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x += 2 {
			count[p.At(x, y)]++
		}
	}
	return count
}

// differing is how many pixels two pictures do not share.
func differing(a, b image.Image) (n int) {
	if a.Bounds() != b.Bounds() {
		return a.Bounds().Dx() * a.Bounds().Dy()
	}
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

// open starts the program with its window.
func (o *office) open(files ...string) {
	o.t.Helper()
	o.running = start(o.t, o.desk.env(), program, append(o.global, files...)...)
	o.answers()
}

func TestTheWindowAndTheTrayShowTheOffice(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	desk.startDisplay()
	tray := serveTray(t, desk.connect())
	o := usualOffice(t, desk)
	s := o.service
	o.setup()
	o.open()
	w := desk.window("Countersign")
	first := w.drawn()

	icon := tray.item()
	if title := icon.title(); title != "Countersign" {
		t.Errorf("the tray icon is called %q", title)
	}
	eventually(t, "the tray says who is signed in", func() bool { return contains(icon.labels(), "Not signed in") })
	labels := icon.labels()
	for _, want := range []string{"New package", "Open Countersign", "Open folder", "Quit"} {
		if !contains(labels, want) {
			t.Errorf("the tray's menu is %q, without %q", labels, want)
		}
	}
	eventually(t, "the tray says that nobody is signed in", func() bool { return strings.Contains(icon.labels()[0], "signed in") })

	// The commands work beside the window, and the tray follows.
	o.mustLogin()
	o.registered()
	eventually(t, "the tray shows the account", func() bool { return contains(icon.labels(), olivia) })
	lease := o.sendLease()
	eventually(t, "the tray shows what waits", func() bool { return strings.Contains(icon.labels()[0], "1 package") })
	w.changesFrom(first)
	s.signAll(lease.ID)
	o.until("the package is saved", func(s status) bool { return s.Packages.Saved == 1 })
	eventually(t, "the tray is at rest", func() bool { return icon.labels()[0] == "Everything is signed and saved" })
	o.savedAsServed(lease)
	o.toldOnce(false, lease)

	// Files dropped on the window are made ready to send.
	before := w.still()
	desk.dragger().drop(w.id, sample(t, "Mandate Keller"))
	dropped := w.changesFrom(before)

	// A second start hands its files over and ends.
	second := start(t, desk.env(), program, append(o.global, sample(t, "Offer 2026-118"))...)
	if code := second.wait(); code != 0 {
		t.Errorf("the second start ended with %d: %s", code, second.stderr)
	}
	composing := w.changesFrom(dropped)

	// Closed, it stays in the tray, which it says the first time, and comes back from there.
	if tip := icon.tooltip(); tip != "Countersign\nEverything is signed and saved" {
		t.Errorf("over the icon stands %q", tip)
	}
	w.active().keys("ctrl+w")
	w.changesFrom(composing)
	w.keys("Return")
	gone := func() {
		eventually(t, "the window is gone", func() bool { return len(desk.visible("Countersign")) == 0 })
	}
	gone()
	icon.click("Open Countersign")
	w = desk.window("Countersign")
	w.active().keys("ctrl+w")
	gone()
	if _, err := o.ask(); err != nil {
		t.Errorf("without its window the program does not answer: %v", err)
	}
	icon.click("Open Countersign")
	w = desk.window("Countersign")
	w.drawn()
	if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
		keepPictures(t, map[string]image.Image{"first": first, "saved": before, "dropped": dropped, "composing": composing})
	}

	icon.click("Quit")
	if code := o.running.wait(); code != 0 {
		t.Errorf("after Quit the program ended with %d: %s", code, o.running.stderr)
	}
	o.keepsSecrets()
}

// keepPictures writes screenshots where a developer wants to look at them.
func keepPictures(t testing.TB, pictures map[string]image.Image) {
	t.Helper()
	for name, p := range pictures {
		var b bytes.Buffer
		if err := png.Encode(&b, p); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(os.Getenv("COUNTERSIGN_E2E_PICTURES"), name+".png"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
