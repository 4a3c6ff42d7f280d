package widgets

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

func TestATabLineKeepsTheChosenTabAndOffersTheOthersInAMenu(t *testing.T) {
	tabs := NewTabLine([]string{"Waiting 12", "Due", "Done 3", "Problems 1", "All 16", "Withdrawn"}, nil)
	w := test.NewTempWindow(t, tabs)
	tabs.Offer(1, false)
	width := func(width float32) (shown []string, more bool) {
		w.Resize(fyne.NewSize(width, 60))
		end := float32(0)
		for i, item := range tabs.items {
			if item.Visible() {
				shown = append(shown, strings.Fields(tabs.names[i].Text)[0])
				if item.Position().X < end || item.Position().X+item.Size().Width > tabs.Size().Width || item.Position().Y != tabs.items[0].Position().Y {
					t.Errorf("%v wide: %s is at %v", width, tabs.names[i].Text, item.Position())
				}
				end = item.Position().X + item.Size().Width
			}
		}
		return shown, tabs.more.Visible()
	}
	if shown, more := width(900); len(shown) != 5 || more {
		t.Errorf("with room for all it shows %q, more: %v", shown, more)
	}
	if shown, more := width(230); !slices.Equal(shown, []string{"Waiting", "Done"}) || !more {
		t.Errorf("with little room it shows %q, more: %v", shown, more)
	}
	tabs.Choose(5)
	if shown, _ := width(230); !slices.Equal(shown, []string{"Waiting", "Withdrawn"}) {
		t.Errorf("it shows %q, chosen is the last", shown)
	}
	tabs.Keep(3, true)
	if shown, _ := width(260); !slices.Equal(shown, []string{"Problems", "Withdrawn"}) {
		t.Errorf("it shows %q, one is to be kept", shown)
	}
	tabs.more.OnTapped()
	if w.Canvas().Overlays().Top() == nil || !slices.Equal(tabs.rest(), []int{0, 2, 4}) {
		t.Errorf("the menu has %v", tabs.rest())
	}
	CloseAll(w.Canvas())
	tabs.items[5].TypedKey(&fyne.KeyEvent{Name: fyne.KeyLeft})
	if tabs.Chosen() != 4 || !tabs.items[4].Visible() {
		t.Errorf("the arrow leads to %d", tabs.Chosen())
	}
}

// TestWhoClicksAChoiceGoesOnWithTheArrows clicks, and then uses keys. The ring is not there before.
func TestWhoClicksAChoiceGoesOnWithTheArrows(t *testing.T) {
	c := NewChoice([]Option{{Name: "Letter"}, {Name: "Mail"}, {Name: "Fax"}}, 0, func(int) {}, nil)
	window := test.NewTempWindow(t, c)
	test.Tap(c.Items[1])
	if focused := window.Canvas().Focused(); focused != fyne.Focusable(c.Items[1]) || c.Items[1].focused {
		t.Fatalf("%T has the focus, with a ring: %v", focused, c.Items[1].focused)
	}
	window.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	if c.Chosen != 2 || !c.Items[2].focused || c.Items[1].focused {
		t.Errorf("%d is chosen", c.Chosen)
	}
}
