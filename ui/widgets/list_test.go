package widgets

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
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
		r.Mark(true)
		o.(fyne.SecondaryTappable).TappedSecondary(&fyne.PointEvent{})
		if menu != 2 || chosen != -1 {
			t.Errorf("the other button asks for the menu of row %d and chooses %d, which ends the marking", menu, chosen)
		}
		r.Mark(false)
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
