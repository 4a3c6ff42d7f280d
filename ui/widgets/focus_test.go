package widgets

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/screentest/contrast"
	"countersign/ui/theme"
)

// TestTheFocusIsSeenOnEveryWidget compares pictures of everything that takes the focus, with and without it, in both
// themes: at least as many pixels as a line around it change, each to a colour that stands out against the one before
// (WCAG 2.2, 2.4.13).
func TestTheFocusIsSeenOnEveryWidget(t *testing.T) {
	button := func(importance widget.Importance) fyne.Focusable {
		b := NewButtonWithIcon("Send 2 documents", fynetheme.MailSendIcon(), func() {})
		b.Importance = importance
		return b
	}
	check := NewCheck("Also save the certificate", func(bool) {})
	marked := NewCheck("Also save the certificate", func(bool) {})
	marked.Checked = true
	chosen := NavItem(fynetheme.StorageIcon(), "Packages", func() {})
	chosen.Choose(true)
	list := NewList(func() int { return 3 }, func() fyne.CanvasObject { return NewLine("row") }, func(int, fyne.CanvasObject) {})
	for name, w := range map[string]fyne.Focusable{
		"button": button(widget.MediumImportance), "primary button": button(widget.HighImportance), "quiet button": button(widget.LowImportance),
		"dangerous button": button(widget.DangerImportance), "check": check, "marked check": marked, "selection": NewSelect([]string{"One", "Two"}, func(string) {}),
		"entry": NewEntry(""), "text": text(), "secret": NewSecret(), "entry of the sidebar": NavItem(fynetheme.StorageIcon(), "Packages", func() {}),
		"chosen entry of the sidebar": chosen, "tab": NewTabs([]string{"One", "Two"}, nil).items[0], "choice": NewChoice([]Option{{Name: "One"}, {Name: "Two"}}, 0, func(int) {}, nil).Items[0],
		"list": list, "text to copy": NewSelectable("An event of 14:02"),
	} {
		for _, kind := range []string{"light", "dark"} {
			app := test.NewTempApp(t)
			app.Settings().SetTheme(theme.Look{Variant: kind}.Theme())
			window := app.NewWindow("")
			o := w.(fyne.CanvasObject)
			window.SetContent(container.NewStack(NewBack(theme.Paper), container.NewPadded(o)))
			window.Resize(fyne.NewSize(260, 120))
			before := window.Canvas().Capture()
			window.Canvas().Focus(w)
			after := window.Canvas().Capture()
			window.Canvas().Unfocus()
			around := 2 * int(o.Size().Width+o.Size().Height)
			if n := contrast.StandsOut(before, after); n < around {
				t.Errorf("%s, %s: only %d pixels stand out, want %d", name, kind, n, around)
			}
			window.Close()
		}
	}
}

func TestKeysPressAndChoose(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	pressed, passed, chosen := 0, 0, ""
	button := NewButton("Go", func() { pressed++ })
	choice := NewChoice([]Option{{Name: "a"}, {Name: "b"}, {Name: "c"}}, 0, func(i int) { chosen = "abc"[i : i+1] }, nil)
	check := NewCheck("on", func(bool) {})
	tabs := NewTabs([]string{"x", "y"}, nil)
	window.SetContent(container.NewVBox(button, choice, check, tabs))
	window.Canvas().SetOnTypedKey(func(*fyne.KeyEvent) { passed++ })
	press := func(on fyne.Focusable, keys ...fyne.KeyName) {
		window.Canvas().Focus(on)
		for _, k := range keys {
			window.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: k})
		}
	}
	press(button, fyne.KeyReturn, fyne.KeySpace, fyne.KeyEnter)
	if pressed != 3 || window.Canvas().Focused() != fyne.Focusable(button) {
		t.Errorf("pressed %d times, and the focus is at %T", pressed, window.Canvas().Focused())
	}
	button.Disable()
	button.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if pressed != 3 {
		t.Error("what is disabled is not pressed")
	}
	press(choice.Items[0], fyne.KeyDown, fyne.KeyRight, fyne.KeyDown)
	if chosen != "c" || window.Canvas().Focused() != fyne.Focusable(choice.Items[2]) {
		t.Errorf("chose %q", chosen)
	}
	press(choice.Items[2], fyne.KeyUp)
	if chosen != "b" {
		t.Errorf("chose %q", chosen)
	}
	press(tabs.items[0], fyne.KeyRight)
	if tabs.Chosen() != 1 {
		t.Error("the arrows do not move between tabs")
	}
	press(check, fyne.KeyReturn)
	if !check.Checked {
		t.Error("Enter does not check")
	}
	passed = 0
	for _, o := range []fyne.Focusable{button, choice.Items[0], check, tabs.items[0], NewSelect(nil, nil), NewEntry("")} {
		o.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	}
	if passed != 6 {
		t.Errorf("%d of 6 leave Escape to the window", passed)
	}
}

// As the driver hands it on: the key, then its letter, each to what has the focus then.
func TestTheSpaceThatPressesAButtonIsNoText(t *testing.T) {
	window := test.NewTempApp(t).NewWindow("")
	message := NewEntry("")
	add := NewButton("Add", func() { window.Canvas().Focus(message) })
	window.SetContent(container.NewVBox(add, message))
	press := func() {
		window.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: fyne.KeySpace})
		window.Canvas().Focused().TypedRune(' ')
	}
	window.Canvas().Focus(add)
	press()
	if window.Canvas().Focused() != fyne.Focusable(message) || message.Text != "" {
		t.Fatalf("the entry says %q", message.Text)
	}
	press() // the first key that is meant for it
	if message.Text != " " {
		t.Fatalf("the entry says %q after a space", message.Text)
	}
	message.SetText("")
	message.TypedRune('a')
	message.TypedRune(' ') // as an input method writes it, without its key
	if message.Text != "a " {
		t.Fatalf("the entry says %q", message.Text)
	}
}
