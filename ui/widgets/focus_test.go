package widgets

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
)

func TestKeysPressAndChoose(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	pressed, passed, chosen := 0, 0, ""
	button := NewButton("Go", func() { pressed++ })
	choice := NewChoice([]Option{{Name: "a"}, {Name: "b"}, {Name: "c"}}, 0, func(i int) { chosen = "abc"[i : i+1] }, nil)
	check := NewCheck("on", func(bool) {})
	tabs := NewTabs([]string{"x", "y"}, nil)
	link := NewTappable(NewLine("x"), func() { pressed++ })
	window.SetContent(container.NewVBox(button, choice, check, tabs, link))
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
	press(link, fyne.KeyReturn, fyne.KeySpace, fyne.KeyEnter, fyne.KeyA)
	if pressed != 6 {
		t.Errorf("the link is pressed %d times", pressed-3)
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

func TestAnEntryThatCannotBeUsedHasNoFocus(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	used, other := NewEntry(""), NewEntry("")
	window.SetContent(container.NewVBox(used, other))
	window.Canvas().Focus(used)
	other.Disable()
	if window.Canvas().Focused() != fyne.Focusable(used) {
		t.Error("another entry takes the focus away")
	}
	used.Disable()
	if focused := window.Canvas().Focused(); focused != nil {
		t.Errorf("the focus is at %T, which takes no shortcut", focused)
	}
	used.MouseDown(&desktop.MouseEvent{Button: desktop.MouseButtonPrimary})
	if focused := window.Canvas().Focused(); focused != nil {
		t.Errorf("after a click the focus is at %T", focused)
	}
}
