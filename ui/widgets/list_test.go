package widgets

import (
	"slices"
	"strings"
	"testing"

	"countersign/ui/theme"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"
)

// The driver gives a press to the topmost object that answers to either button: what answers to one must answer to both.
func TestARowOfAListAnswersToBothMouseButtons(t *testing.T) {
	test.NewTempApp(t)
	type row struct{ ListRow }
	var rows []*row
	l := NewList(func() int { return 3 }, func() fyne.CanvasObject {
		r := &row{ListRow{Content: widget.NewLabel("row")}}
		r.ExtendBaseWidget(r)
		rows = append(rows, r)
		return r
	}, func(int, fyne.CanvasObject) {})
	chosen, told, menu := -1, 0, -1
	l.OnSelected = func(id int) { chosen, told = id, told+1 }
	l.OnMenu = func(row int, _ fyne.Position) { menu = row }
	w := test.NewTempWindow(t, l)
	w.Resize(fyne.NewSize(200, 400))
	for _, r := range rows {
		if r.list == nil || r.at != 2 { // one that was made to be measured, or another row
			continue
		}
		var o fyne.CanvasObject = r
		r.Mark(true, true)
		o.(fyne.SecondaryTappable).TappedSecondary(&fyne.PointEvent{})
		if menu != 2 || chosen != -1 {
			t.Errorf("the other button asks for the menu of row %d and chooses %d, which ends the marking", menu, chosen)
		}
		r.Mark(false, false)
		if o.(fyne.SecondaryTappable).TappedSecondary(&fyne.PointEvent{}); chosen != 2 || w.Canvas().Focused() != l {
			t.Errorf("the other button chooses %d, %T has the focus", chosen, w.Canvas().Focused())
		}
		o.(fyne.Tappable).Tapped(&fyne.PointEvent{})
		if chosen != 2 || l.At() != 2 || w.Canvas().Focused() != l {
			t.Errorf("a press chooses row %d, at is %d, %T has the focus", chosen, l.At(), w.Canvas().Focused())
		}
		o.(fyne.Tappable).Tapped(&fyne.PointEvent{})
		if told != 3 {
			t.Errorf("of three presses on a row the list tells %d times", told)
		}
		return
	}
	t.Fatal("the third row is not shown")
}

// barRow is a row as lists have them.
type barRow struct{ ListRow }

func TestTheChosenRowHasAMarkBesideItsShade(t *testing.T) {
	test.NewTempApp(t).Settings().SetTheme(theme.New())
	var rows []*barRow
	l := NewList(func() int { return 3 }, func() fyne.CanvasObject {
		r := &barRow{ListRow{Content: NewLine("row")}}
		r.ExtendBaseWidget(r)
		rows = append(rows, r)
		return r
	}, func(int, fyne.CanvasObject) {})
	w := test.NewTempWindow(t, l)
	w.Resize(fyne.NewSize(200, 300))
	marked := func() (at []int) {
		for _, r := range rows {
			bar := test.WidgetRenderer(r).Objects()[1].(*canvas.Rectangle)
			if _, _, _, alpha := bar.FillColor.RGBA(); r.Visible() && r.list != nil && alpha > 0 {
				at = append(at, r.at)
			}
		}
		return at
	}
	l.Select(1)
	if at := marked(); !slices.Equal(at, []int{1}) {
		t.Errorf("marked are %v", at)
	}
	l.Select(2)
	if at := marked(); !slices.Equal(at, []int{2}) {
		t.Errorf("marked are %v", at)
	}
	l.Renew(0, 0, 0)
	if at := marked(); !slices.Equal(at, []int{0}) {
		t.Errorf("after a change marked are %v", at)
	}
	if l.UnselectAll(); len(marked()) > 0 {
		t.Errorf("marked are %v", marked())
	}
}

func TestTheRingComesWithKeysAndAHeadIsNoPartOfIt(t *testing.T) {
	test.NewTempApp(t).Settings().SetTheme(theme.New())
	l := NewList(func() int { return 100 }, func() fyne.CanvasObject {
		r := &barRow{ListRow{Content: NewLine("row")}}
		r.ExtendBaseWidget(r)
		return r
	}, func(int, fyne.CanvasObject) {})
	test.NewTempWindow(t, l).Resize(fyne.NewSize(200, 300))
	l.Renew(41, 40, 3, Head{0, "Today"}, Head{41, "This week"})
	if top, hidden := l.Top(); top != 40 || hidden != 3 {
		t.Errorf("the list is at row %d and %v", top, hidden)
	}
	l.spoken = l.CreateItem()
	l.UpdateItem(41, l.spoken)
	row := l.spoken.(*barRow)
	row.Resize(fyne.NewSize(200, 80))
	ring := test.WidgetRenderer(row).(*ringed)
	byKey = false
	Focus(fyne.CurrentApp().Driver().CanvasForObject(l), l)
	if ring.Refresh(); ring.outer.StrokeWidth != 0 {
		t.Error("a press shows the ring")
	}
	l.TypedKey(&fyne.KeyEvent{Name: fyne.KeyF10})
	if ring.Refresh(); ring.outer.StrokeWidth == 0 || ring.outer.Position().Y != headHeight() {
		t.Errorf("after a key the ring is %v wide, at %v", ring.outer.StrokeWidth, ring.outer.Position())
	}
}

// text is an entry of several lines.
func text() *Entry {
	e := NewEntry("")
	e.MultiLine, e.Wrapping = true, fyne.TextWrapWord
	e.SetMinRowsVisible(3)
	return e
}

func TestTheWheelScrollsOverFieldsToo(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	name, message := NewEntry("Name"), text()
	pressed := false
	button := NewButton("Add", func() { pressed = true })
	rows := Stack(4, button, name, message)
	for range 20 {
		rows.Add(NewEntry(""))
	}
	scroll := NewVScroll(rows)
	window.SetContent(scroll)
	window.Resize(fyne.NewSize(300, 200))
	for what, entry := range map[string]fyne.CanvasObject{"one line": name, "several lines": message} {
		scroll.ScrollToTop()
		at := app.Driver().AbsolutePositionForObject(entry).AddXY(20, entry.Size().Height/2)
		test.Scroll(window.Canvas(), at, 0, -40)
		if scroll.Offset.Y != 40 {
			t.Errorf("over %s the wheel moves the form by %v", what, scroll.Offset.Y)
		}
	}
	scroll.ScrollToTop()
	test.TapCanvas(window.Canvas(), fyne.NewPos(20, 15))
	if !pressed {
		t.Error("a press must go through to the button")
	}
}

func TestTheWheelScrollsALongTextToItsEndBeforeTheForm(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	message := text()
	message.SetText(strings.Repeat("line\n", 8))
	rows := Stack(4, message)
	for range 20 {
		rows.Add(NewEntry(""))
	}
	form := NewVScroll(rows)
	window.SetContent(form)
	window.Resize(fyne.NewSize(300, 200))
	at := app.Driver().AbsolutePositionForObject(message).AddXY(20, 20)
	test.MoveMouse(window.Canvas(), at)
	test.Scroll(window.Canvas(), at, 0, -40)
	if message.inner.Offset.Y != 40 || form.Offset.Y != 0 {
		t.Fatalf("the text is scrolled by %v, the form by %v", message.inner.Offset.Y, form.Offset.Y)
	}
	for range 20 {
		test.Scroll(window.Canvas(), at, 0, -40)
	}
	if form.Offset.Y == 0 {
		t.Error("at the end of the text the form goes on")
	}
	test.MoveMouse(window.Canvas(), fyne.NewPos(20, 195))
	if test.Scroll(window.Canvas(), fyne.NewPos(20, 195), 0, 4000); form.Offset.Y != 0 || message.inner.Offset.Y == 0 {
		t.Error("beside the text the wheel moves the form alone")
	}
}

func TestTheFocusIsNeverOutOfSight(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	rows := Stack(4)
	for range 10 {
		rows.Add(NewEntry(""))
		rows.Add(NewButton("Add", nil))
		rows.Add(NewSelectable("text"))
		rows.Add(NewCheck("on", nil))
	}
	message := NewEntry("") // Tab leaves it, too
	message.MultiLine = true
	rows.Add(message)
	rows.Add(NewButton("Last", nil))
	scroll := NewVScroll(rows)
	window.SetContent(Pad(8, scroll))
	window.Resize(fyne.NewSize(300, 200))
	for range len(rows.Objects) {
		if focused, is := window.Canvas().Focused().(fyne.Tabbable); is && focused.AcceptsTab() {
			t.Fatalf("Tab does not leave %T", focused)
		}
		window.Canvas().FocusNext()
		o := window.Canvas().Focused().(fyne.CanvasObject)
		top := app.Driver().AbsolutePositionForObject(o).Y
		if top < 8 || top+o.Size().Height > 192 {
			t.Errorf("%T is at %v to %v", o, top, top+o.Size().Height)
		}
	}
	if scroll.Offset.Y == 0 {
		t.Error("nothing had to be scrolled")
	}
}

func TestWhatHasTheFocusIsNotLookedForInPagesThatAreGone(t *testing.T) {
	wheels := func() (n int) {
		drawn.Range(func(any, any) bool { n++; return true })
		return n
	}
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	before := wheels()
	scroll := NewVScroll(NewButton("First", nil))
	window.SetContent(scroll)
	window.Resize(fyne.NewSize(300, 200))
	var rows *fyne.Container
	for range 20 {
		rows = Stack(4)
		for range 20 {
			rows.Add(NewButton("Add", nil))
		}
		Turn(scroll, rows, fyne.NewPos(0, 50))
	}
	if got := wheels() - before; got != 1 || scroll.Offset.Y != 50 {
		t.Errorf("after 20 pages %d are looked at, the last is scrolled by %v", got, scroll.Offset.Y)
	}
	window.Canvas().Focus(rows.Objects[19].(fyne.Focusable))
	if top := app.Driver().AbsolutePositionForObject(rows.Objects[19]).Y; top < 0 || top > 180 {
		t.Errorf("the last button is at %v", top)
	}
	if Turn(scroll, NewButton("Short", nil), fyne.NewPos(0, 50)); scroll.Offset.Y != 0 {
		t.Errorf("a short page is scrolled by %v", scroll.Offset.Y)
	}
}

// Content is made anew each minute, to show how long ago something was.
func TestTheFocusStaysWhereContentIsMadeAnew(t *testing.T) {
	test.NewTempApp(t)
	make := func() (*fyne.Container, []*Button) {
		buttons := []*Button{NewButton("Remind", nil), NewButton("Copy link", nil), NewButton("Copy link", nil)}
		return Stack(0, Row(0, buttons[0]), buttons[1], buttons[2]), buttons
	}
	content, buttons := make()
	scroll := NewVScroll(content)
	window := test.NewTempWindow(t, scroll)
	for i := range buttons {
		window.Canvas().Focus(buttons[i])
		content, buttons = make()
		if Turn(scroll, content, fyne.Position{}); window.Canvas().Focused() != fyne.Focusable(buttons[i]) {
			t.Errorf("the focus was on button %d, and is on %v", i, window.Canvas().Focused())
		}
	}
}
