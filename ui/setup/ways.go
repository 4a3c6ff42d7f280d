package setup

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/widgets"
)

// way is a choice with its explanation in one sentence.
type way struct{ name, text string }

// ways are choices of which one is chosen. Each can be reached with Tab and chosen with Space or Enter; the arrows choose,
// too. Enter on the chosen one goes on.
type ways struct {
	content *fyne.Container
	items   []*widgets.Press
	marks   []*widget.Icon
	chosen  int
	changed func(int)
}

func newWays(list []way, changed func(int), next func()) *ways {
	w := &ways{content: widgets.Stack(4), changed: changed, chosen: -1}
	for i, entry := range list {
		name := widgets.NewLine(entry.name)
		name.Bold = true
		mark := widget.NewIcon(theme.RadioButtonIcon())
		body := widgets.Stack(3, name, widgets.NewProse(entry.text))
		item := widgets.NewPress(widgets.PadHV(10, 8, widgets.Across(mark, body, nil)), func() { w.choose(i) })
		w.items, w.marks = append(w.items, item), append(w.marks, mark)
		w.content.Add(item)
	}
	widgets.Group(w.items, func() int { return w.chosen }, w.choose, next)
	return w
}

// choose chooses a way and tells, also when it was the chosen one already.
func (w *ways) choose(i int) {
	w.chosen = i
	for k, mark := range w.marks {
		mark.SetResource(theme.RadioButtonIcon())
		if k == i {
			mark.SetResource(theme.RadioButtonCheckedIcon())
		}
		w.items[k].Choose(k == i)
	}
	w.changed(i)
}

// offer shows a way, or takes it away.
func (w *ways) offer(i int, offered bool) {
	w.items[i].Hidden = !offered
	w.content.Refresh()
}
