package widgets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/ui/theme"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
)

func TestALineNeverGrowsOutOfItsRoom(t *testing.T) {
	test.NewTempApp(t)
	l := NewCaption("a.very.long.address.that.never.ends@example.com")
	shown := func() string { return test.WidgetRenderer(l).Objects()[0].(*canvas.Text).Text }
	for _, width := range []float32{0, 5, 40, 120, 1000} {
		l.Resize(fyne.NewSize(width, 20))
		if width >= 40 && l.measure(shown()) > width {
			t.Errorf("at %v the text %q is too wide", width, shown())
		}
		if width < 300 && !strings.Contains(shown(), "…") {
			t.Errorf("at %v the text %q does not say that there is more", width, shown())
		}
		if width >= 40 && (!strings.HasPrefix(shown(), "a") || !strings.HasSuffix(shown(), "m")) {
			t.Errorf("at %v the text %q has lost an end", width, shown())
		}
	}
	if shown() != l.Text {
		t.Errorf("with enough room all is shown, got %q", shown())
	}
	l.Begins = true
	if l.Resize(fyne.NewSize(120, 20)); !strings.HasSuffix(shown(), "…") {
		t.Errorf("of a sentence the end is left out, got %q", shown())
	}
}

func TestTheListKnowsItsKeys(t *testing.T) {
	test.NewTempApp(t)
	chosen := -1
	l := NewList(func() int { return 100 }, func() fyne.CanvasObject { return NewLine("row") },
		func(id int, o fyne.CanvasObject) { o.(*Line).Set(fmt.Sprint(id)) })
	l.OnSelected = func(id int) { chosen = id }
	entered := 0
	l.OnEnter = func() { entered++ }
	l.Resize(fyne.NewSize(200, 230))
	page := int(230/l.rowHeight()) - 1
	for _, c := range []struct {
		key  fyne.KeyName
		want int
	}{
		{fyne.KeyDown, 0}, {fyne.KeyDown, 1}, {fyne.KeyUp, 0}, {fyne.KeyUp, 0}, {fyne.KeyPageDown, page}, {fyne.KeyPageUp, 0},
		{fyne.KeyEnd, 99}, {fyne.KeyDown, 99}, {fyne.KeyPageDown, 99}, {fyne.KeyHome, 0},
	} {
		l.TypedKey(&fyne.KeyEvent{Name: c.key})
		if chosen != c.want {
			t.Errorf("%s chose %d, want %d", c.key, chosen, c.want)
		}
	}
	l.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if entered != 1 {
		t.Error("Enter opens")
	}
}

func TestAFieldShowsItsHintUntilSomethingIsWrong(t *testing.T) {
	test.NewTempApp(t)
	f := NewField("Name", NewEntry(""), "as on the passport")
	f.Wrong("Enter a name.")
	if f.below.Text != "Enter a name." || f.below.Colour != theme.Attention || !f.sign.Visible() {
		t.Error("an error has a mark, a colour and words")
	}
	f.Hint("another hint")
	if f.below.Text != "Enter a name." {
		t.Error("a hint does not hide an error")
	}
	f.Wrong("")
	if f.below.Text != "another hint" || f.sign.Visible() {
		t.Errorf("got %q", f.below.Text)
	}
}

// In a narrow window a problem is read to its end, in the room that is kept for it.
func TestAShortBannerSaysItAllBesideItsButton(t *testing.T) {
	test.NewTempApp(t)
	b := NewBanner(theme.Wash, theme.MarkProblem.Resource())
	window := test.NewTempWindow(t, container.NewVBox(b))
	window.Resize(fyne.NewSize(400, 300))
	b.Short(true)
	b.Say("Full.", "since 13:36", "Choose a folder", nil)
	least := b.MinSize().Height
	b.Say("The disk with “Signed” is full.", "since 13:36", "Choose a folder", nil)
	if b.text.cut || b.MinSize().Height != least {
		t.Errorf("cut: %v; its height was %v, and is %v", b.text.cut, least, b.MinSize().Height)
	}
}

// What stands below a field does not move while something is wrong that is shorter than its hint, nor while it is not saved; then one
// still reads the hint.
func TestNothingMovesBelowAFieldThatSaysSomethingElse(t *testing.T) {
	test.NewTempApp(t)
	f := NewField("Name", NewEntry(""), strings.Repeat("as on the passport, ", 6)+"all of it")
	window := test.NewTempWindow(t, container.NewVBox(f))
	window.Resize(fyne.NewSize(260, 300))
	before := f.MinSize()
	f.Wrong("Enter a name.")
	if now := f.MinSize(); now.Height != before.Height {
		t.Errorf("its height changes from %v to %v", before.Height, now.Height)
	}
	f.Wrong("")
	if f.Note(theme.Waiting, "not saved"); f.MinSize().Height != before.Height || f.Said() != "not saved · "+f.hint {
		t.Errorf("of a change it says %q", f.Said())
	}
	f.Note("", "")
	if f.Said() != f.hint {
		t.Errorf("afterwards it says %q", f.Said())
	}
}

func TestALongSentenceIsReadToItsEnd(t *testing.T) {
	letters := func(s string) float32 { return float32(len([]rune(s))) }
	for _, c := range []struct {
		text  string
		width float32
		want  string
	}{
		{"one two three", 0, "one two three"}, // no room yet: the height of one line
		{"one two three", 100, "one two three"},
		{"one two three", 7, "one two|three"},
		{"one extraordinarily two", 7, "one|extraor|dinaril|y two"}, // nothing runs over the edge
		{"office@weber-partner.example", 20, "office@weber-partner|.example"}, {"/home/office/Signed", 14, "/home/office|/Signed"},
		{"ä/ööööööööööööö", 7, "ä/ööööö|ööööööö|ö"}, // a sign right at the beginning would leave a line empty
		{"Il va dans «\u00a0Signed\u00a0». Fin", 20, "Il va dans|«\u00a0Signed\u00a0». Fin"}, {"12\u202f000 F", 5, "12\u202f00|0 F"},
		{"", 7, ""}, {"one.example\ntwo.example", 20, "one.example|two.example"}, {"48:13:49:4D:13", 10, "48:13:49:|4D:13"}, {"Lease_for_the_third amendment", 14, "Lease_for_the_|third|amendment"},
	} {
		if got := strings.Join(wrap(c.text, c.width, letters), "|"); got != c.want {
			t.Errorf("%q at %v: %q, want %q", c.text, c.width, got, c.want)
		}
	}
	test.NewTempApp(t)
	p := NewProse("The public address does not answer from here. Check that it leads to this computer.")
	p.Resize(fyne.NewSize(1000, 20))
	one := p.MinSize().Height
	p.Resize(fyne.NewSize(120, 20))
	if many := p.MinSize().Height; many < 3*one {
		t.Errorf("a narrow text is %v high, a wide one %v", many, one)
	}
}

func TestRowsMayChangeWithoutAJump(t *testing.T) {
	test.NewTempApp(t)
	rows, told := 100, 0
	l := NewList(func() int { return rows }, func() fyne.CanvasObject { return NewLine("row") },
		func(id int, o fyne.CanvasObject) { o.(*Line).Set(fmt.Sprint(id)) })
	l.OnSelected = func(int) { told++ }
	l.Resize(fyne.NewSize(200, 230))
	l.Select(50)
	l.ScrollTo(20)
	top, hidden := l.Top()
	rows += 7
	l.Renew(57, top+7, hidden)
	if now, _ := l.Top(); now != top+7 || l.At() != 57 || told != 1 {
		t.Errorf("at row %d, chosen %d, told %d times", now, l.At(), told)
	}
	rows = 2
	l.Renew(-1, 0, 0)
	if now, _ := l.Top(); now != 0 || l.At() != -1 {
		t.Errorf("a list that has become short is seen from its top, not from %d", now)
	}
}

func TestAToastEndsWhenItHasBeenRead(t *testing.T) {
	test.NewTempApp(t).Settings().SetTheme(theme.New())
	type end struct {
		after time.Duration
		over  func()
	}
	var ends []end
	toasts := NewToasts(func(d time.Duration, over func()) { ends = append(ends, end{d, over}) })
	long := strings.Repeat("a long sentence ", 40)
	for _, text := range []string{"One.", "Two.", "One.", long} {
		toasts.Say(text)
	}
	if len(toasts.shown) != 3 || toasts.shown[2].text != long {
		t.Fatalf("%d toasts: %q", len(toasts.shown), toasts.AccessibilityLabel())
	}
	if ends[0].after < 4*time.Second || ends[3].after > 14*time.Second || ends[3].after <= ends[0].after {
		t.Errorf("they end after %v and %v", ends[0].after, ends[3].after)
	}
	ends[0].over() // the first "One." was replaced: its end must not end the second
	if len(toasts.shown) != 3 {
		t.Error("a toast that was said again ends with its first time")
	}
	for _, e := range ends {
		e.over()
	}
	if len(toasts.shown) != 0 {
		t.Errorf("%q stays", toasts.AccessibilityLabel())
	}
}

func TestTheEndOfALongNameStaysVisible(t *testing.T) {
	letters := func(s string) float32 { return float32(len([]rune(s))) }
	for want, width := range map[string]float32{"Lease of the flat, 3rd floor": 40, "Lease of…3rd floor": 18, "Leas…loor": 9} {
		if got := middleOut("Lease of the flat, 3rd floor", width, letters); got != want {
			t.Errorf("at %v: %q, want %q", width, got, want)
		}
	}
	test.NewTempApp(t)
	p := NewFullHeading("Lease of the flat on the third floor of the house Sonnenweg 4 with its cellar and two parking spaces, second draft")
	p.Resize(fyne.NewSize(300, 60))
	lines := p.rows(300)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "Lease of") || !strings.HasSuffix(lines[1], "second draft") {
		t.Errorf("the heading is %q", lines)
	}
}

func TestWhatDoesNotFitBesideGoesBelow(t *testing.T) {
	box := func(w float32) fyne.CanvasObject { return Wide(w, NewProse("x")) }
	for width, below := range map[float32]bool{400: false, 250: true} {
		f := Flow(10, box(150), box(150))
		f.Resize(fyne.NewSize(width, 100))
		if got := f.Objects[1].Position().Y > 0; got != below || f.MinSize().Width > 150 {
			t.Errorf("at %v the second is below: %v; at least %v wide", width, got, f.MinSize().Width)
		}
		a := Aside(150, box(20), box(200))
		a.Resize(fyne.NewSize(width, 100))
		if got := a.Objects[1].Position().Y > 0 && a.Objects[1].Position().X == 0; got != below {
			t.Errorf("at %v what can be done is below: %v", width, got)
		}
	}
}

func TestASentenceOfAnEmptyScreenBreaksBetweenWordsAlone(t *testing.T) {
	test.NewTempApp(t)
	for n := range 40 {
		sentence := "Aucun résultat pour " + strings.Repeat("o", n) + " «\u00a0Sonnenweg\u00a0»."
		empty := Empty(theme.MarkLater.Resource(), sentence, "", nil)
		empty.Resize(empty.MinSize())
		for _, o := range test.LaidOutObjects(empty) {
			if text, is := o.(*canvas.Text); is && strings.HasPrefix(text.Text, "»") {
				t.Errorf("a line of %q begins with %q", sentence, text.Text)
			}
		}
	}
}

func TestAListOpensAtItsChosenLine(t *testing.T) {
	test.NewTempApp(t)
	s := NewSelect([]string{"first", "second", "third"}, nil)
	s.SetSelected("second")
	w := test.NewTempWindow(t, s)
	w.Resize(fyne.NewSize(400, 300))
	test.Tap(s)
	menu := w.Canvas().Focused()
	menu.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	menu.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if s.Selected != "third" {
		t.Errorf("below the chosen line is %q", s.Selected)
	}
}

func TestAFoldInAPopUpStaysUnderTheMouse(t *testing.T) {
	test.NewTempApp(t)
	w := test.NewTempWindow(t, NewProse(""))
	w.Resize(fyne.NewSize(400, 600))
	fold := NewFold("More", false, AtLeast(fyne.NewSize(10, 200), NewProse("what it holds")))
	Open(w.Canvas(), Pad(20, fold.Object), fyne.NewSize(200, 150), nil, nil)
	place := fyne.CurrentApp().Driver().AbsolutePositionForObject
	before := place(fold.title)
	fold.title.OnPress()
	if now := place(fold.title); now != before || before.Y < 200 {
		t.Errorf("it was at %v and is at %v", before, now)
	}
}

func TestAFoldAndWhatItHoldsBeginAtTheSameEdge(t *testing.T) {
	test.NewTempApp(t)
	content := NewProse("what it holds")
	fold := NewFold("More", true, content).Object
	test.NewTempWindow(t, Pad(40, fold)).Resize(fyne.NewSize(400, 200))
	place := fyne.CurrentApp().Driver().AbsolutePositionForObject
	for _, o := range test.LaidOutObjects(fold) {
		if line, is := o.(*Line); is && line.Text == "More" && place(line).X != place(content).X {
			t.Errorf("the title begins at %v, what it holds at %v", place(line).X, place(content).X)
		}
	}
}

func TestTheOfferToUndoSaysAllOfItInTheSidebar(t *testing.T) {
	test.NewTempApp(t)
	bar := NewUndoBar(time.Now, func(time.Duration, func()) {})
	const says = "12 Pakete aus der Liste „Mandanten Herbst 2026.csv“ werden gesendet."
	bar.Begin(says, 0, "Undo", func() {})
	test.NewTempWindow(t, bar).Resize(fyne.NewSize(174, 200))
	var said []string
	for _, o := range test.LaidOutObjects(bar) {
		if text, is := o.(*canvas.Text); is {
			said = append(said, text.Text)
		}
	}
	if all := strings.Join(said, " "); !strings.Contains(all, says) {
		t.Errorf("it says: %s", all)
	}
}

func TestTheOfferToUndoCountsFromThePressAndEndsWithWhatIsDone(t *testing.T) {
	test.NewTempApp(t)
	now := time.Now()
	var tick func()
	bar := NewUndoBar(func() time.Time { return now }, func(_ time.Duration, over func()) { tick = over })
	over := bar.Begin("Sending", 3*time.Second, "Undo", func() {})
	if said := bar.AccessibilityLabel(); said != "Sending, 7 s" {
		t.Errorf("it says %q", said)
	}
	over()
	over()
	if bar.Busy() {
		t.Error("it is still offered")
	}
	tick()
	bar.Begin("Sending", 0, "Undo", func() {})
	now = now.Add(4 * time.Second) // the computer was busy
	tick()
	if said := bar.AccessibilityLabel(); said != "Sending, 6 s" {
		t.Errorf("after four seconds it says %q", said)
	}
	now = now.Add(time.Hour)
	tick()
	if bar.Busy() {
		t.Error("it is offered although the office has gone on")
	}
}
