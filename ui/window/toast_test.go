package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

// rectangle is a part of the window.
type rectangle struct{ from, to fyne.Position }

func (r rectangle) cut(by rectangle) rectangle {
	return rectangle{fyne.NewPos(max(r.from.X, by.from.X), max(r.from.Y, by.from.Y)), fyne.NewPos(min(r.to.X, by.to.X), min(r.to.Y, by.to.Y))}
}

func (r rectangle) empty() bool { return r.from.X >= r.to.X || r.from.Y >= r.to.Y }

// pressable hands over what a person can press within o, and where that is to be seen; what is scrolled away is not.
func pressable(o fyne.CanvasObject, at fyne.Position, seen rectangle, found func(fyne.CanvasObject, rectangle)) {
	at = at.Add(o.Position())
	own := rectangle{at, at.Add(o.Size())}.cut(seen)
	if !o.Visible() || own.empty() {
		return
	}
	_, tappable := o.(fyne.Tappable)
	_, draggable := o.(fyne.Draggable)
	if tappable || draggable {
		found(o, own)
	}
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			pressable(part, at, seen, found)
		}
	case fyne.Widget:
		if _, scrolls := o.(*container.Scroll); scrolls {
			seen = own
		}
		for _, part := range test.WidgetRenderer(o).Objects() {
			pressable(part, at, seen, found)
		}
	}
}

// TestWhatIsSaidInPassingCoversNothingToPress says things in passing wherever a person may be, at every size and in
// every language.
func TestWhatIsSaidInPassingCoversNothingToPress(t *testing.T) {
	t.Cleanup(func() { i18n.Use("") })
	short := "6 events were exported."
	long := strings.Repeat("“Mandate Keller - certificate.pdf” is no longer where it was saved (/home/office/Documents/Signed). ", 2)
	for _, scene := range []struct {
		name   string
		office *officetest.Office
		play   func(*bench)
	}{
		{"an ordinary day", officetest.Busy(), func(*bench) {}},
		{"something is wrong", officetest.Wrong(), func(*bench) {}},
		{"long names", officetest.World(), func(*bench) {}},
		{"signing in", officetest.Empty(), signingIn},
		{"about to send", officetest.Busy(), func(b *bench) { fill(b); b.window.compose.Send(); b.Settle() }},
	} {
		for _, language := range []string{"en", "de", "fr", "es"} {
			sizes := []fyne.Size{screentest.Small}
			if language == "en" {
				sizes = append(sizes, screentest.Big)
			}
			scene.office.Kept.Language = language
			b := newBench(t, scene.office)
			scene.play(b)
			for _, text := range []string{short, long} {
				b.window.env.Notice(text)
				for _, size := range sizes {
					b.window.window.Resize(size)
					for at := range b.window.screens {
						b.window.Go(at)
						b.Run() // a sign-in waits
						b.coversNothing(size, fmt.Sprintf("%s, in %s, screen %d, %v, %d letters", scene.name, language, at, size, len(text)))
					}
				}
			}
		}
	}
}

func (b *bench) coversNothing(size fyne.Size, where string) {
	b.t.Helper()
	toasts, pressed := b.window.notice, 0
	if !toasts.Visible() || toasts.MinSize().Height > toasts.Size().Height {
		b.t.Fatalf("%s: it is not shown whole", where)
	}
	from := b.App.Driver().AbsolutePositionForObject(toasts)
	pressable(b.window.main, fyne.Position{}, rectangle{to: fyne.Position{}.Add(size)}, func(o fyne.CanvasObject, shown rectangle) {
		if over := shown.cut(rectangle{from, from.Add(toasts.Size())}); !over.empty() && !slices.Contains(test.LaidOutObjects(toasts), o) {
			b.t.Fatalf("%s: it covers a %T at %v", where, o, shown)
		}
		pressed++
	})
	if pressed < 8 {
		b.t.Fatalf("%s: only %d things can be pressed", where, pressed)
	}
}
