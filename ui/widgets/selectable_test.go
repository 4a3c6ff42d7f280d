package widgets

import (
	"runtime"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
)

func TestTextToCopyCanBeMarkedAndCopiedByKeysAndNotChanged(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	text := NewSelectable("event 4711")
	passed := []fyne.KeyName{}
	window.Canvas().SetOnTypedKey(func(e *fyne.KeyEvent) { passed = append(passed, e.Name) })
	window.SetContent(Stack(0, text, NewButton("Next", nil)))
	window.Resize(fyne.NewSize(300, 200))
	window.Canvas().Focus(text)
	copied := func() string {
		text.TypedShortcut(&fyne.ShortcutCopy{Clipboard: app.Clipboard()})
		return app.Clipboard().Content()
	}
	if got := copied(); got != "event 4711" {
		t.Errorf("with nothing marked it copies %q", got)
	}
	text.KeyDown(&fyne.KeyEvent{Name: desktop.KeyShiftLeft})
	for range 5 {
		text.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	}
	text.KeyUp(&fyne.KeyEvent{Name: desktop.KeyShiftLeft})
	if got := copied(); got != "event" {
		t.Errorf("with the first word marked it copies %q", got)
	}
	text.TypedRune('x')
	app.Clipboard().SetContent("other")
	for _, s := range []fyne.Shortcut{&fyne.ShortcutPaste{Clipboard: app.Clipboard()}, &fyne.ShortcutCut{Clipboard: app.Clipboard()}, &fyne.ShortcutUndo{},
		&desktop.CustomShortcut{KeyName: fyne.KeyDelete, Modifier: fyne.KeyModifierControl}} {
		text.TypedShortcut(s)
	}
	for _, k := range []fyne.KeyName{fyne.KeyBackspace, fyne.KeyDelete, fyne.KeyReturn, fyne.KeyEscape, fyne.KeyF5} {
		text.TypedKey(&fyne.KeyEvent{Name: k})
	}
	if text.Text != "event 4711" || len(passed) != 5 {
		t.Errorf("it is %q now, and the window got %v", text.Text, passed)
	}
}

func TestTheCursorGoesFromWordToWord(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	entry := NewEntry("")
	entry.SetText("Lease Sonnenweg 4")
	window.SetContent(entry)
	window.Canvas().Focus(entry)
	entry.CursorColumn = len(entry.Text)
	modifier := fyne.KeyModifierShortcutDefault
	if runtime.GOOS == "darwin" {
		modifier = fyne.KeyModifierAlt
	}
	entry.TypedShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyLeft, Modifier: modifier})
	if at := entry.CursorColumn; at == 0 || at == len(entry.Text) {
		t.Errorf("the cursor is at %d of %q", at, entry.Text)
	}
}

func TestATextToCopyTakesTheRoomItNeeds(t *testing.T) {
	test.NewTempApp(t)
	high := func(text string) float32 {
		s := NewSelectable(text)
		test.WidgetRenderer(s)
		s.Resize(fyne.NewSize(200, 20))
		return s.MinSize().Height
	}
	one, two := high("e-5"), high("{\n}")
	if row := two - one; row <= 0 || row > one || high(strings.Repeat("letters and more ", 40)) < one+10*row {
		t.Errorf("one line is %v high, two %v", one, two)
	}
}
