package packages

import (
	"cmp"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/widgets"
)

// order is in what order the list shows packages. Its words are kept over a restart: they stay.
type order string

const (
	newestFirst order = "newest"
	oldestFirst order = "oldest"
	byName      order = "name"
	byDue       order = "due"
)

var orders = []order{newestFirst, oldestFirst, byName, byDue}

// name is what people call it.
func (o order) name() string {
	switch o {
	case oldestFirst:
		return lang.L("Oldest first")
	case byName:
		return lang.L("By name")
	case byDue:
		return lang.L("By due date")
	}
	return lang.L("Newest first")
}

// sorts says whether it is another order than that in which packages came, or its reverse.
func (o order) sorts() bool { return o == byName || o == byDue }

// arrange puts all places in order. It costs what sorting costs, and is done beside the window's goroutine.
func (x *index) arrange() {
	switch x.order {
	case byName:
		x.texts.prepare(x)
	case byDue:
		x.dues = make([]office.DueKey, len(x.rows))
		for i := range x.rows {
			x.dues[i] = x.line(int32(i)).DueKey()
		}
	default:
		return
	}
	x.arranged = make([]int32, len(x.rows))
	for i := range x.arranged {
		x.arranged[i] = int32(i)
	}
	slices.SortFunc(x.arranged, x.compare)
}

// arrangeOne puts one place in order that is not in it, with the line it has now.
func (x *index) arrangeOne(place int32, l office.PackageLine) {
	if !x.order.sorts() {
		return
	}
	if x.order == byDue {
		x.dues = append(x.dues, make([]office.DueKey, len(x.rows)-len(x.dues))...)
		x.dues[place] = l.DueKey()
	}
	x.arranged = x.with(x.arranged, place)
}

// compare tells which of two places is further up in the list: the greater one. What is equal is the newest first.
func (x *index) compare(a, b int32) int {
	switch x.order {
	case oldestFirst:
		return cmp.Compare(b, a)
	case byName:
		return cmp.Or(office.CompareNames(x.foldedName(b), x.foldedName(a)), cmp.Compare(a, b))
	case byDue:
		return cmp.Or(x.dues[b].Compare(x.dues[a]), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// foldedName is the name of a package as it is compared: what its text for the search begins with.
func (x *index) foldedName(place int32) string {
	name, _, _ := strings.Cut(x.text(place), "\n")
	return name
}

// inOrder sorts places, which ascend, without comparing what they hold.
func (x *index) inOrder(places []int32) {
	switch {
	case x.order == oldestFirst:
		slices.Reverse(places)
	case x.order.sorts():
		listed := make([]bool, len(x.rows))
		for _, i := range places {
			listed[i] = true
		}
		places = places[:0]
		for _, i := range x.arranged {
			if listed[i] {
				places = append(places, i)
			}
		}
	}
}

// find is where a place is among places in order, or would be.
func (x *index) find(places []int32, place int32) (at int, there bool) {
	return slices.BinarySearchFunc(places, place, x.compare)
}

// with is places in order with one more.
func (x *index) with(places []int32, place int32) []int32 {
	if at, there := x.find(places, place); !there {
		return slices.Insert(places, at, place)
	}
	return places
}

// without is places in order without one of them.
func (x *index) without(places []int32, place int32) []int32 {
	if at, there := x.find(places, place); there {
		return slices.Delete(places, at, at+1)
	}
	return places
}

// keptOrder is where the order is kept.
const keptOrder = "packages.order"

// lastOrder is the order that was chosen last, also by an earlier run.
func lastOrder() order {
	kept := order(fyne.CurrentApp().Preferences().String(keptOrder))
	if slices.Contains(orders, kept) {
		return kept
	}
	return newestFirst
}

// sortBy shows the list in another order. All lines are read for that, beside the window's goroutine, as on the first day.
func (s *Screen) sortBy(o order) {
	s.order.Store(&o)
	s.sorting.SetText(o.name())
	fyne.CurrentApp().Preferences().SetString(keptOrder, string(o))
	s.Reload()
}

// askOrder offers the orders.
func (s *Screen) askOrder() {
	var items []*fyne.MenuItem
	for _, o := range orders {
		item := fyne.NewMenuItem(o.name(), func() { s.sortBy(o) })
		item.Checked = o == *s.order.Load()
		items = append(items, item)
	}
	widgets.OpenMenu(s.env.Window.Canvas(), fyne.NewMenu("", items...), s.sorting)
}
