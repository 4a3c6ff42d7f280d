package window

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// TestStatesAndFaultsAreSaid: what a person sees of a state, or of a fault, is part of what a screen reader says.
func TestStatesAndFaultsAreSaid(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.packages.Show("p3")
	b.Settle()
	b.says("Packages, selected")
	b.says("Packages, list, Mandate Keller")
	b.window.Go(showSettings)
	b.Settle()
	b.says("Documents, selected")
	b.says("Notifications")
	b.says("Folder, text field, /home/office/Documents/Signed")
	b.says("Ready-made patterns, drop-down list, All in one folder")
	b.says("Certificate of each document, not ticked")

	b = newBench(t, officetest.Busy())
	fill(b)
	b.window.compose.get().Fill(office.Form{Message: "typed", Signers: []office.Signer{{Email: "nobody"}}})
	b.window.compose.get().Send()
	b.Settle()
	b.says("E-mail, Signer 1, text field, nobody, Enter")
	b.window.env.Notice("Saved.")
	b.allNamed("what is said in passing")
}

// says checks that something in sight says what begins like this.
func (b *bench) says(begin string) {
	b.t.Helper()
	var all []string
	for _, o := range b.find(func(o fyne.CanvasObject) bool { _, is := o.(fyne.Accessible); return is }) {
		label := o.(fyne.Accessible).AccessibilityLabel()
		if strings.HasPrefix(label, begin) {
			return
		}
		all = append(all, label)
	}
	b.t.Errorf("nothing says %q; what is said:\n%s", begin, strings.Join(all, "\n"))
}

// find is all of the window, or of what lies over it, that is shown.
func (b *bench) find(wanted func(fyne.CanvasObject) bool) (found []fyne.CanvasObject) {
	b.within(b.top(), nil, func(o, _ fyne.CanvasObject) {
		if wanted(o) {
			found = append(found, o)
		}
	})
	return found
}

// tabs are what turns pages on the screen that is shown.
func (b *bench) tabs() (tabs []*widgets.Tappable) {
	for _, row := range b.find(func(o fyne.CanvasObject) bool { _, is := o.(*widgets.Tabs); return is }) {
		b.within(row, nil, func(o, _ fyne.CanvasObject) {
			if tab, is := o.(*widgets.Tappable); is {
				tabs = append(tabs, tab)
			}
		})
	}
	return tabs
}

func (b *bench) top() fyne.CanvasObject {
	canvas := b.window.window.Canvas()
	if over := canvas.Overlays().Top(); over != nil {
		return over
	}
	return canvas.Content()
}

// within hands over all that is shown in an object, and within which of our own named widgets it lies, nil for none.
func (b *bench) within(o, in fyne.CanvasObject, found func(o, in fyne.CanvasObject)) {
	if o == nil || !o.Visible() {
		return
	}
	found(o, in)
	if ours(o) && pressable(o) {
		in = o
	}
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			b.within(part, in, found)
		}
	case fyne.Widget:
		for _, part := range test.WidgetRenderer(o).Objects() {
			b.within(part, in, found)
		}
	}
}

func ours(o fyne.CanvasObject) bool {
	kind := reflect.TypeOf(o).Elem()
	return strings.HasPrefix(kind.PkgPath(), "countersign/")
}

func pressable(o fyne.CanvasObject) bool {
	switch o.(type) {
	case fyne.Tappable, fyne.SecondaryTappable, fyne.DoubleTappable, fyne.Focusable:
		return true
	}
	return false
}

// allNamed counts what can be pressed, and complains of what has no name. Parts of Fyne's own widgets lie within one of ours that
// has, or show words, as the entries of a menu do.
func (b *bench) allNamed(where string) (n int) {
	b.t.Helper()
	states := []string{"", lang.L("text field"), lang.L("drop-down list"), lang.L("list"), lang.L("selected"), lang.L("marked"), lang.L("ticked"), lang.L("not ticked"), lang.L("not available"), lang.L("hidden")}
	icons := map[string]bool{}
	b.within(b.top(), nil, func(o, in fyne.CanvasObject) {
		if !pressable(o) || o.Size().Width == 0 {
			return
		}
		n++
		if !ours(o) {
			scrolls := strings.HasSuffix(fmt.Sprintf("%T", o), ".scrollBarArea")
			if in == nil && !scrolls && screentest.Text(o) == "" {
				b.t.Errorf("%s: %T is not ours and has no name", where, o)
			}
			return
		}
		said, is := o.(fyne.Accessible)
		if !is {
			b.t.Errorf("%s: %T at %v says nothing to a screen reader", where, o, b.App.Driver().AbsolutePositionForObject(o))
			return
		}
		name, _, _ := strings.Cut(said.AccessibilityLabel(), ", ")
		if slices.Contains(states, name) || said.AccessibilityRole() == "" {
			b.t.Errorf("%s: %T at %v has no name: %q, with the icon %s", where, o, b.App.Driver().AbsolutePositionForObject(o), said.AccessibilityLabel(), iconOf(o))
		}
		if i18n.Code() == "de" {
			if text := names.ReplaceAllString(strings.ReplaceAll(name, "Example Sign", ""), ""); english.MatchString(text) {
				b.t.Errorf("%s: %q is English", where, text)
			}
		}
		if icon, is := o.(*widgets.Button); is && icon.Text == "" {
			if label := icon.AccessibilityLabel(); icons[label] {
				b.t.Errorf("%s: two icons are called %q", where, label)
			}
			icons[icon.AccessibilityLabel()] = true
		}
	})
	return n
}

func iconOf(o fyne.CanvasObject) string {
	if b, is := o.(*widgets.Button); is && b.Icon != nil {
		return b.Icon.Name()
	}
	return ""
}
