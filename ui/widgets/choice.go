package widgets

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Option is what can be chosen, perhaps with a sentence that explains it.
type Option struct{ Name, Text string }

// Choice is a few options of which one is chosen. Tab leads from one to the next, Space and Enter choose, and the arrows, too.
// Fyne's radio group explains nothing and knows no arrows.
type Choice struct {
	widget.BaseWidget
	Chosen   int // -1 while none is
	Items    []*Tappable
	changed  func(int)
	options  []Option
	marks    []*widget.Icon
	list     *fyne.Container
	disabled bool
}

// NewChoice returns a choice. changed is called when an option is chosen, also the chosen one; again, which may be nil, when
// Enter is pressed on the chosen one.
func NewChoice(options []Option, chosen int, changed func(int), again func()) *Choice {
	c := &Choice{Chosen: chosen, changed: changed, options: options}
	var rows []fyne.CanvasObject
	gap := float32(0)
	for i, option := range options {
		mark, name := widget.NewIcon(fynetheme.RadioButtonIcon()), NewLine(option.Name)
		item := NewTappable(PadHV(4, 6, Across(mark, name, nil)), func() { c.Choose(i) })
		row := fyne.CanvasObject(container.NewHBox(item))
		if option.Text != "" {
			name.Bold, gap = true, 4
			item.Content = PadHV(10, 8, Across(mark, Stack(3, name, NewProse(option.Text)), nil))
			row = item
		}
		c.Items, c.marks, rows = append(c.Items, item), append(c.marks, mark), append(rows, row)
	}
	c.list = Stack(gap, rows...)
	Group(c.Items, func() int { return c.Chosen }, c.Choose, again)
	c.ExtendBaseWidget(c)
	c.show()
	return c
}

func (c *Choice) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(c.list) }

func (c *Choice) Choose(i int) {
	if !c.disabled {
		c.Chosen = i
		c.show()
		c.changed(i)
	}
}

func (c *Choice) ChooseSecond(yes bool) {
	if yes {
		c.Choose(1)
	} else {
		c.Choose(0)
	}
}

func (c *Choice) Offer(i int, offered bool) {
	c.Items[i].Hidden = !offered
	c.list.Refresh()
}

func (c *Choice) Enable() { c.disabled = false; c.show() }

func (c *Choice) Disable() { c.disabled = true; c.show() }

func (c *Choice) show() {
	for i, mark := range c.marks {
		icon := fynetheme.RadioButtonIcon()
		if i == c.Chosen {
			icon = fynetheme.RadioButtonCheckedIcon()
		}
		if c.disabled {
			icon = fynetheme.NewDisabledResource(icon)
		}
		mark.SetResource(icon)
		c.Items[i].picked, c.Items[i].off = i == c.Chosen, c.disabled
		c.Items[i].Choose(i == c.Chosen && c.options[i].Text != "") // a short one shows it by its mark alone
	}
}

// Tabs are words in a row of which one is chosen, each with a count that is shown when it is not zero.
type Tabs struct {
	widget.BaseWidget
	OnChosen func(index int)
	row      *fyne.Container
	names    []*Line
	items    []*Tappable
	away     []bool    // not offered
	kept     []bool    // stays in the line as long as it can
	held     []float32 // how wide each is at least; nil for as wide as its text
	more     *Button   // offers those that the line has no room for; nil where they go on below
	chosen   int
}

// NewTabs returns tabs with the first one chosen, which go on below where the width ends.
func NewTabs(texts []string, chosen func(index int)) *Tabs {
	return newTabs(texts, chosen, 10, Flow(4), nil)
}

// NewTabLine returns tabs with the first one chosen in a single line; a menu at its end has those it has no room for. The
// chosen one is always in the line.
func NewTabLine(texts []string, chosen func(index int)) *Tabs {
	l := &tabLine{}
	l.more = NewButtonWithIcon("", fynetheme.MoreHorizontalIcon(), nil)
	l.more.Importance, l.more.Tip = widget.LowImportance, lang.L("More")
	t := newTabs(texts, chosen, 8, container.New(l), l.more)
	l.tabs = t
	t.row.Add(l.more)
	l.more.OnTapped = t.offerRest
	return t
}

func newTabs(texts []string, chosen func(index int), room float32, row *fyne.Container, more *Button) *Tabs {
	t := &Tabs{OnChosen: chosen, row: row, more: more, away: make([]bool, len(texts)), kept: make([]bool, len(texts))}
	for i, text := range texts {
		line := NewLine(text)
		item := NewTappable(PadHV(room, 7, line), func() { t.Choose(i) })
		item.underline = true
		t.names, t.items = append(t.names, line), append(t.items, item)
		t.row.Add(item)
	}
	Group(t.items, t.Chosen, t.Choose, nil)
	for i, item := range t.items {
		item.step = func(by int) { t.step(i, by) }
	}
	t.ExtendBaseWidget(t)
	t.show()
	return t
}

func (t *Tabs) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(t.row) }

// Choose chooses a tab and calls back when that is a change.
func (t *Tabs) Choose(index int) {
	if index == t.chosen {
		return
	}
	t.chosen = index
	t.show()
	if t.OnChosen != nil {
		t.OnChosen(index)
	}
}

func (t *Tabs) Chosen() int { return t.chosen }

// step goes on to the next tab that is offered, in the line or not.
func (t *Tabs) step(from, by int) {
	for next := from + by; next >= 0 && next < len(t.items); next += by {
		if !t.away[next] {
			t.Choose(next)
			t.focus(next)
			return
		}
	}
}

func (t *Tabs) focus(index int) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(t); c != nil {
		c.Focus(t.items[index])
	}
}

// Hold leaves every tab as wide as it is now, and in the line, until it is called with false: nothing moves while a person types.
func (t *Tabs) Hold(hold bool) {
	if hold == (t.held != nil) {
		return
	}
	t.held = nil
	for i := 0; hold && i < len(t.items); i++ {
		t.held = append(t.held, t.items[i].MinSize().Width)
	}
}

func (t *Tabs) Offer(index int, offered bool) {
	if t.away[index] == offered && (offered || t.held == nil) {
		t.away[index], t.items[index].Hidden = !offered, !offered
		t.row.Refresh()
		t.Refresh()
	}
}

// Keep leaves a tab in the line while others have to go to its menu, or no longer.
func (t *Tabs) Keep(index int, kept bool) {
	if t.kept[index] != kept {
		t.kept[index] = kept
		t.row.Refresh()
	}
}

// Label changes the texts of the tabs, for example to carry a count.
func (t *Tabs) Label(texts []string) {
	for i, text := range texts {
		t.names[i].Set(text)
	}
	t.row.Refresh()
}

// rest are the tabs that the line has no room for.
func (t *Tabs) rest() (list []int) {
	for i, item := range t.items {
		if !t.away[i] && item.Hidden {
			list = append(list, i)
		}
	}
	return list
}

func (t *Tabs) offerRest() {
	var items []*fyne.MenuItem
	for _, i := range t.rest() {
		items = append(items, fyne.NewMenuItem(t.names[i].Text, func() { t.Choose(i); t.focus(i) }))
	}
	if c := fyne.CurrentApp().Driver().CanvasForObject(t); c != nil {
		OpenMenu(c, fyne.NewMenu("", items...), t.more)
	}
}

func (t *Tabs) show() {
	for i, item := range t.items {
		t.names[i].Bold = i == t.chosen
		t.names[i].Colour = theme.Secondary
		if i == t.chosen {
			t.names[i].Colour = theme.Text
		}
		t.names[i].Refresh()
		item.Choose(i == t.chosen)
	}
	t.row.Refresh() // the chosen one is bold, and wider
}

// tabLine lays out the tabs of NewTabLine with 4 units between them.
type tabLine struct {
	tabs *Tabs
	more *Button
}

const tabGap = 4

func (l *tabLine) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	room := size.Width
	if l.width(l.offered()) > room {
		room -= l.more.MinSize().Width
	}
	shown := l.fitting(room)
	x := float32(0)
	for _, i := range l.offered() {
		item := l.tabs.items[i]
		l.show(item, slices.Contains(shown, i))
		if item.Visible() {
			least := l.least(i)
			item.Resize(fyne.NewSize(min(least.Width, max(0, room-x)), least.Height))
			item.Move(fyne.NewPos(x, (size.Height-least.Height)/2))
			x += least.Width + tabGap
		}
	}
	l.show(l.more, len(shown) < len(l.offered()))
	least := l.more.MinSize()
	l.more.Resize(least)
	l.more.Move(fyne.NewPos(size.Width-least.Width, (size.Height-least.Height)/2))
}

// show shows an object, or hides it, where that is a change: to draw it anew costs.
func (l *tabLine) show(o fyne.CanvasObject, shown bool) {
	if o.Visible() != shown {
		Show(o, shown)
	}
}

// fitting are the tabs that a width has room for: the last ones are left out first, those to be kept after all others, and
// never the chosen one.
func (l *tabLine) fitting(room float32) (shown []int) {
	shown = l.offered()
	for _, spare := range []func(i int) bool{
		func(i int) bool { return i != l.tabs.chosen && !l.tabs.kept[i] },
		func(i int) bool { return i != l.tabs.chosen },
	} {
		for n := len(shown) - 1; n >= 0 && l.width(shown) > room; n-- {
			if spare(shown[n]) {
				shown = slices.Delete(shown, n, n+1)
			}
		}
	}
	return shown
}

func (l *tabLine) offered() (list []int) {
	if l.tabs == nil { // they are not made yet
		return nil
	}
	for i, away := range l.tabs.away {
		if !away {
			list = append(list, i)
		}
	}
	return list
}

func (l *tabLine) width(tabs []int) (width float32) {
	for n, i := range tabs {
		if n > 0 {
			width += tabGap
		}
		width += l.least(i).Width
	}
	return width
}

func (l *tabLine) least(tab int) fyne.Size {
	least := l.tabs.items[tab].MinSize()
	if l.tabs.held != nil {
		least.Width = max(least.Width, l.tabs.held[tab])
	}
	return least
}

func (l *tabLine) MinSize([]fyne.CanvasObject) (size fyne.Size) {
	for _, i := range l.offered() {
		size = size.Max(l.tabs.items[i].MinSize())
	}
	return size.AddWidthHeight(l.more.MinSize().Width, 0)
}

// Calendar shows a month to choose a day from. Today is marked, days before it cannot be chosen. The arrows move by a day
// or a week, PageUp and PageDown by a month; Enter chooses. Fyne's calendar knows no arrow keys, and offers days that are over.
type Calendar struct {
	widget.BaseWidget
	today, month time.Time // the first moments of today and of the month that is shown
	first        time.Weekday
	chosen       func(time.Time)
	name         *Line
	grid         *fyne.Container
	days         []*Button
	content      fyne.CanvasObject
}

// NewCalendar returns a calendar at the month of start, whose weeks begin on first. Days are those of now's time zone.
func NewCalendar(now, start time.Time, first time.Weekday, chosen func(day time.Time)) *Calendar {
	c := &Calendar{today: dayOf(now, now.Day()), month: dayOf(start.In(now.Location()), 1), first: first, chosen: chosen, name: NewTitle(""), grid: container.NewGridWithColumns(7)}
	c.name.Shorten = false
	turn := func(icon fyne.Resource, name string, by int) *Button {
		b := NewButtonWithIcon("", icon, func() { c.turn(c.month.AddDate(0, by, 0)) })
		b.Importance, b.Tip = widget.LowImportance, name
		return b
	}
	head := container.NewBorder(nil, nil, turn(fynetheme.NavigateBackIcon(), lang.L("Previous month"), -1), turn(fynetheme.NavigateNextIcon(), lang.L("Next month"), 1), container.NewCenter(c.name))
	c.content = Pad(8, Stack(4, head, c.grid))
	c.ExtendBaseWidget(c)
	c.turn(c.month)
	return c
}

func dayOf(t time.Time, day int) time.Time {
	return time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, t.Location())
}

func (c *Calendar) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(c.content) }

// First is where the cursor begins: a day of the month that may be chosen.
func (c *Calendar) First(day time.Time) fyne.Focusable {
	day = dayOf(day.In(c.today.Location()), day.In(c.today.Location()).Day())
	if day.Before(c.today) {
		day = c.today
	}
	c.turn(dayOf(day, 1))
	return c.days[day.Day()-1]
}

func (c *Calendar) turn(month time.Time) {
	c.month = month
	short := month.Format("Jan")
	c.name.Set(lang.X("month."+short, short) + " " + strconv.Itoa(month.Year()))
	c.grid.Objects, c.days = nil, nil
	for day := range time.Weekday(7) {
		name := ((c.first + day) % 7).String()[:3]
		line := NewCaption(lang.X("weekday."+name, name)).Whole()
		c.grid.Add(container.NewCenter(line))
	}
	for range (month.Weekday() - c.first + 7) % 7 {
		c.grid.Add(layout.NewSpacer())
	}
	for day := month; day.Month() == month.Month(); day = day.AddDate(0, 0, 1) {
		b := NewButton(strconv.Itoa(day.Day()), func() { c.chosen(day) }).Quiet()
		b.OnKey = func(e *fyne.KeyEvent) bool { return c.key(day, e) }
		b.Says = func() string { return b.Text + " " + c.Month() }
		switch {
		case day.Equal(c.today):
			b.Importance = widget.MediumImportance
		case day.Before(c.today):
			b.Disable()
		}
		c.days = append(c.days, b)
		c.grid.Add(b)
	}
	c.grid.Refresh()
}

// key moves the cursor from a day, and says whether the key was one of those.
func (c *Calendar) key(from time.Time, e *fyne.KeyEvent) bool {
	by, moves := map[fyne.KeyName]struct{ months, days int }{fyne.KeyLeft: {0, -1}, fyne.KeyRight: {0, 1}, fyne.KeyUp: {0, -7},
		fyne.KeyDown: {0, 7}, fyne.KeyPageUp: {-1, 0}, fyne.KeyPageDown: {1, 0}}[e.Name]
	if window := fyne.CurrentApp().Driver().CanvasForObject(c); moves && window != nil {
		window.Focus(c.First(from.AddDate(0, by.months, by.days)))
	}
	return moves
}

func (c *Calendar) Month() string { return strings.TrimSpace(c.name.Text) }
