package widgets

import (
	"image/color"
	"runtime"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
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

func TestTheArrowsChangeTheTabAndLeadIntoIt(t *testing.T) {
	tabs, below := NewTabs([]string{"Waiting 12", "Due", "Done 3"}, nil), NewButton("Below", nil)
	w := test.NewTempWindow(t, Stack(0, tabs, below))
	tabs.Offer(1, false)
	w.Canvas().Focus(tabs.items[0])
	for _, c := range []struct {
		key fyne.KeyName
		tab int
		on  fyne.Focusable
	}{{fyne.KeyRight, 2, tabs.items[2]}, {fyne.KeyLeft, 0, tabs.items[0]}, {fyne.KeyUp, 0, tabs.items[0]}, {fyne.KeyDown, 0, below}} {
		w.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: c.key})
		if tabs.Chosen() != c.tab || w.Canvas().Focused() != c.on {
			t.Errorf("%s: tab %d, the focus is on %T", c.key, tabs.Chosen(), w.Canvas().Focused())
		}
	}
}

// The ring is not there before a key is used.
func TestAChoiceIsOneStopInWhichTheArrowsMove(t *testing.T) {
	c, next := NewChoice([]Option{{Name: "Letter"}, {Name: "Mail"}, {Name: "Fax"}}, 0, func(int) {}, nil), NewButton("Next", nil)
	window := test.NewTempWindow(t, Stack(0, c, next)).Canvas()
	at := func(what string, on fyne.Focusable, ringed *Tappable) {
		t.Helper()
		if window.Focused() != on {
			t.Errorf("%s: the focus is on %T", what, window.Focused())
		}
		for i, item := range c.Items {
			if item.focused != (item == ringed) {
				t.Errorf("%s: a ring around %d: %v", what, i, item.focused)
			}
		}
	}
	test.Tap(c.Items[1])
	at("after a click", c.Items[1], nil)
	window.Focused().FocusLost() // to another window, and back
	window.Focused().FocusGained()
	at("in the window again", c.Items[1], nil)
	window.Focused().TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	at("after an arrow", c.Items[2], c.Items[2])
	window.FocusNext()
	at("after Tab", next, nil)
	window.FocusNext()
	at("after one more", c.Items[2], c.Items[2])
}

func TestNumbersStandLeftOfTheHebrewAndArabicWordsBeforeThem(t *testing.T) {
	for said, want := range map[string]string{
		"Lease 4":              "Lease 4",
		"דוד כהן":              "דוד כהן",
		"חוזה 7":               "7חוזה ",
		"חוזה 7 שכירות":        " שכירות7חוזה ",
		"Sent “חוזה 7” to Ana": "Sent “7חוזה ” to Ana",
		"7 חוזה":               "7 חוזה",
		"עסקה 2026-118":        "2026-118עסקה ",
		"waiting for דוד, Ana": "waiting for דוד, Ana",
		"עקד Ana 7":            "עקד Ana 7",
	} {
		got := strings.NewReplacer(fromLeft, "", fromRight, "").Replace(inPlace(said))
		if got != want {
			t.Errorf("%q is placed as %q, want %q", said, got, want)
		}
	}
}

func TestANameKeepsBothEndsAndUsesItsRoom(t *testing.T) {
	letters := func(text string) float32 { return float32(len([]rune(text))) }
	const name = "Mietvertrag Sonnenweg 4 zwischen Keller AG und Familie Weber-Ruiz, Nachtrag 3"
	for width, want := range map[float32]string{100: name, 40: "Mietvertrag…Weber-Ruiz, Nachtrag 3", 3: "M…3", 1: "…"} {
		if got := middleOut(name, width, letters); got != want {
			t.Errorf("in %v it is %q, want %q", width, got, want)
		}
	}
}

// The hint of one needs two lines, in whose room its error stands.
func TestErrorsOfFieldsSideBySideAreLevel(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	a, b := NewField("A", NewEntry(""), "short"), NewField("B", NewEntry(""), strings.Repeat("a long hint ", 9))
	window.SetContent(Halves(a, b))
	window.Resize(fyne.NewSize(620, 200))
	a.Wrong("It is missing.")
	b.Wrong("It is missing.")
	height := func(f *Field) float32 { return app.Driver().AbsolutePositionForObject(f.below).Y }
	if height(a) != height(b) || height(a) == 0 {
		t.Errorf("they stand at %v and %v", height(a), height(b))
	}
}

func TestALongWordGoesOnWhereItsLineWasBroken(t *testing.T) {
	test.NewTempApp(t)
	name := NewFullName("olivia.office@notariat-keller-und-partner-rechtsanwaelte.example.com")
	if rows := name.rows(150); len(rows) != 2 || strings.Contains(rows[1], "olivia") || !strings.HasSuffix(rows[1], ".com") {
		t.Errorf("it is shown as %q", rows)
	}
}

func TestALineIsDrawnInItsPlace(t *testing.T) {
	test.NewTempApp(t)
	line := NewLine("חוזה 7")
	line.Resize(line.MinSize())
	drawn := test.WidgetRenderer(line).Objects()[0].(*canvas.Text)
	if drawn.Text != inPlace(line.Text) || drawn.Text == line.Text {
		t.Errorf("%q is drawn", drawn.Text)
	}
	if said, placed := line.measure(line.Text), fyne.MeasureText(drawn.Text, drawn.TextSize, drawn.TextStyle).Width; placed > said+1 {
		t.Errorf("it is %v wide in its place, %v before", placed, said)
	}
}

func TestAnOutlineHasNoFringe(t *testing.T) {
	ink := color.NRGBA{R: 0x22, G: 0x50, B: 0x7b, A: 0xff}
	r := canvas.NewRectangle(color.Black)
	stroke(r, ink, 2)
	fill := color.NRGBAModel.Convert(r.FillColor).(color.NRGBA)
	if fill.A != 1 || fill.R != ink.R || fill.G != ink.G || fill.B != ink.B {
		t.Errorf("the line %v is blended with %v", ink, fill)
	}
	if stroke(r, color.Transparent, 0); r.FillColor != (color.NRGBA{}) {
		t.Errorf("without a line there is a fill: %v", r.FillColor)
	}
}

func TestAnEdgeThatCannotBeSeenIsNotDrawn(t *testing.T) {
	r := canvas.NewRectangle(color.White)
	if edge(r, color.NRGBA{R: 0xff}); r.StrokeWidth != 0 {
		t.Errorf("it is %v wide", r.StrokeWidth)
	}
	if edge(r, color.Black); r.StrokeWidth != 1 || r.StrokeColor != color.Black {
		t.Errorf("an edge is %v wide, of %v", r.StrokeWidth, r.StrokeColor)
	}
}
