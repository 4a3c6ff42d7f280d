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
	"countersign/ui/widgets"
)

// rectangle is a part of the window.
type rectangle struct{ from, to fyne.Position }

func (r rectangle) cut(by rectangle) rectangle {
	return rectangle{fyne.NewPos(max(r.from.X, by.from.X), max(r.from.Y, by.from.Y)), fyne.NewPos(min(r.to.X, by.to.X), min(r.to.Y, by.to.Y))}
}

func (r rectangle) empty() bool { return r.from.X >= r.to.X || r.from.Y >= r.to.Y }

// inSight hands over every object within o that is to be seen, where, and what it is scrolled by, nil for nothing.
func inSight(o fyne.CanvasObject, at fyne.Position, seen rectangle, by *container.Scroll, found func(fyne.CanvasObject, rectangle, *container.Scroll)) {
	at = at.Add(o.Position())
	own := rectangle{at, at.Add(o.Size())}.cut(seen)
	if !o.Visible() || own.empty() {
		return
	}
	found(o, own, by)
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			inSight(part, at, seen, by, found)
		}
	case fyne.Widget:
		if scroll, scrolls := o.(*container.Scroll); scrolls {
			seen, by = own, scroll
		}
		for _, part := range test.WidgetRenderer(o).Objects() {
			inSight(part, at, seen, by, found)
		}
	}
}

// inSight is all that is to be seen of the window, without pop-ups.
func (b *bench) inSight(found func(fyne.CanvasObject, rectangle, *container.Scroll)) {
	canvas := b.window.window.Canvas()
	inSight(canvas.Content(), fyne.Position{}, rectangle{to: fyne.Position{}.Add(canvas.Size())}, nil, found)
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
		{"about to send", officetest.Busy(), pressed},
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
						b.coversNothing(fmt.Sprintf("%s, in %s, screen %d, %v, %d letters", scene.name, language, at, size, len(text)))
					}
				}
			}
		}
	}
}

func (b *bench) coversNothing(where string) {
	b.t.Helper()
	toasts, pressed := b.window.notice, 0
	if !toasts.Visible() || toasts.MinSize().Height > toasts.Size().Height {
		b.t.Fatalf("%s: it is not shown whole", where)
	}
	var room rectangle
	b.inSight(func(o fyne.CanvasObject, seen rectangle, _ *container.Scroll) {
		if o == toasts {
			room = seen
		}
	})
	own := test.LaidOutObjects(toasts)
	b.inSight(func(o fyne.CanvasObject, seen rectangle, _ *container.Scroll) {
		_, tappable := o.(fyne.Tappable)
		_, draggable := o.(fyne.Draggable)
		if !tappable && !draggable || slices.Contains(own, o) {
			return
		}
		if !seen.cut(room).empty() {
			b.t.Fatalf("%s: it covers a %T at %v", where, o, seen)
		}
		pressed++
	})
	if pressed < 6 {
		b.t.Fatalf("%s: only %d things can be pressed", where, pressed)
	}
}

// TestUndoIsNeverWhereSendComes presses the button that prevents something, once more or too late. What lies there then must
// send nothing; nor must a second press on Send prevent what the first one meant.
func TestUndoIsNeverWhereSendComes(t *testing.T) {
	for _, size := range []fyne.Size{screentest.Small, screentest.Big} {
		b := newBench(t, officetest.Busy())
		fill(b)
		b.window.window.Resize(size)
		b.Run()
		send := b.buttons()["Send 2 documents to 2 people"]
		b.Office.Patient = true
		b.window.compose.get().Send()
		b.Until(b.window.grace.Busy)
		undo := b.buttons()["Undo"]
		if send.empty() || undo.empty() {
			t.Fatalf("Send lies at %v, Undo at %v: %v", send, undo, b.buttons())
		}
		if !send.cut(undo).empty() {
			t.Errorf("at %v a second press on Send, at %v, meets Undo, at %v", size, send, undo)
		}
	}
}

// buttons are those that are to be seen, by what they say.
func (b *bench) buttons() map[string]rectangle {
	all := map[string]rectangle{}
	b.inSight(func(o fyne.CanvasObject, seen rectangle, _ *container.Scroll) {
		if button, is := o.(*widgets.Button); is {
			all[button.Text] = seen
		}
	})
	return all
}
