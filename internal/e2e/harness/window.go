//go:build linux

package harness

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strconv"
	"strings"
	"testing"
)

// Window is a window on the session's display.
type Window struct {
	d  *Desktop
	ID string
}

// Window waits for a visible window with this title.
func (d *Desktop) Window(title string) *Window {
	d.T.Helper()
	w := &Window{d: d}
	Eventually(d.T, "there is a window "+title, func() bool {
		ids := d.Visible(title)
		if len(ids) == 1 {
			w.ID = ids[0]
		}
		return len(ids) == 1
	})
	return w
}

// Visible returns the ids of the visible windows with this title.
func (d *Desktop) Visible(title string) []string {
	d.T.Helper()
	out, err := d.Run("xdotool", "search", "--onlyvisible", "--name", "^"+title+"$")
	if err != nil {
		return nil // xdotool's way of saying that there is none
	}
	return strings.Fields(out)
}

// Picture is a screenshot of the window.
func (w *Window) Picture() image.Image {
	w.d.T.Helper()
	out, err := w.d.Run("import", "-window", w.ID, "png:-")
	if err != nil {
		w.d.T.Fatalf("take a screenshot: %v", err)
	}
	picture, err := png.Decode(bytes.NewReader([]byte(out)))
	if err != nil {
		w.d.T.Fatalf("read the screenshot: %v", err)
	}
	return picture
}

// Drawn waits until the window shows more than a background.
func (w *Window) Drawn() image.Image {
	w.d.T.Helper()
	var picture image.Image
	Eventually(w.d.T, "something is drawn in the window", func() bool {
		picture = w.Picture()
		return len(colours(picture)) > 20
	})
	return picture
}

// Still waits until nothing moves any more.
func (w *Window) Still() image.Image {
	w.d.T.Helper()
	last := w.Picture()
	Eventually(w.d.T, "the window is still", func() bool {
		before := last
		last = w.Picture()
		return differing(before, last) == 0
	})
	return last
}

// ChangesFrom waits until the window looks quite different, and returns how.
func (w *Window) ChangesFrom(before image.Image) image.Image {
	w.d.T.Helper()
	var now image.Image
	Eventually(w.d.T, "the window shows something else", func() bool {
		now = w.Picture()
		return differing(before, now) > 500
	})
	return now
}

// Same says whether the window looks as in a picture.
func (w *Window) Same(p image.Image) bool {
	w.d.T.Helper()
	return Alike(p, w.Picture())
}

// Alike says whether two pictures are the same; no picture is like none.
func Alike(a, b image.Image) bool { return a != nil && b != nil && differing(a, b) == 0 }

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

// Open starts the program with its window.
func (o *Office) Open(files ...string) {
	o.T.Helper()
	o.Running = Start(o.T, o.Desk.Env(o.More...), Program, append(o.Global, files...)...)
	o.Answers()
}

// OpenOffice sets up a usual office on a desktop with a display and opens its window.
func OpenOffice(t testing.TB) (*Office, *Window) {
	t.Helper()
	o := beforeItsWindow(t)
	return o, o.opens()
}

// OpenSignedIn is OpenOffice where somebody is signed in before there is a window: what it shows changes with the sign-in,
// some time after the commands know of it, and a test would take that for what it waits for.
func OpenSignedIn(t testing.TB) (*Office, *Window) {
	t.Helper()
	o := beforeItsWindow(t)
	o.Serve()
	o.MustLogin()
	o.Registered()
	o.Stop()
	w := o.opens()
	o.Registered()
	return o, w
}

func beforeItsWindow(t testing.TB) *Office {
	t.Helper()
	desk := NewDesktop(t)
	desk.StartDisplay()
	o := UsualOffice(t, desk)
	o.Setup()
	return o
}

func (o *Office) opens() *Window {
	o.T.Helper()
	o.Open()
	w := o.Desk.Window("Countersign")
	w.Drawn()
	return w
}

// xdotool does what a hand does.
func (w *Window) xdotool(args ...string) {
	w.d.T.Helper()
	if _, err := w.d.Run("xdotool", args...); err != nil {
		w.d.T.Fatalf("xdotool %q: %v", args, err)
	}
}

// Keys presses keys in the window, as a person does who has no mouse.
func (w *Window) Keys(names ...string) {
	w.d.T.Helper()
	w.xdotool(append([]string{"key", "--clearmodifiers", "--delay", "60"}, names...)...)
}

func (w *Window) Types(text string) {
	w.d.T.Helper()
	w.xdotool("type", "--clearmodifiers", "--delay", "40", text)
}

// Point moves the mouse to a place of the window.
func (w *Window) Point(at image.Point) {
	w.d.T.Helper()
	w.xdotool("mousemove", "--window", w.ID, strconv.Itoa(at.X), strconv.Itoa(at.Y))
}

// Press presses a mouse button where the mouse is, as long as a hand does.
func (w *Window) Press(button int) {
	w.d.T.Helper()
	b := strconv.Itoa(button)
	w.xdotool("mousedown", b, "sleep", "0.1", "mouseup", b)
}

// Hide closes the window as a person does who wants it gone: once more answers the question of the first time.
func (w *Window) Hide() {
	w.d.T.Helper()
	w.Active()
	Eventually(w.d.T, "the window is gone", func() bool {
		w.Keys("ctrl+w")
		return len(w.d.Visible("Countersign")) == 0
	})
}

// Active is the window with the keyboard.
func (w *Window) Active() *Window {
	w.d.T.Helper()
	w.xdotool("windowactivate", "--sync", w.ID)
	return w
}
