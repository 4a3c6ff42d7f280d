package widgets

import (
	"image/color"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Option is one choice, with an optional sentence that explains it.
type Option struct{ Name, Text string }

// Choice offers a few options, one of which is chosen. Tab moves between them; Space, Enter and the arrow keys choose. Fyne's radio
// group has neither explanations nor arrow keys.
type Choice struct {
	widget.BaseWidget
	Chosen   int // -1 for none
	Items    []*Tappable
	changed  func(int)
	options  []Option
	marks    []*widget.Icon
	list     *fyne.Container
	disabled bool
}

// NewChoice returns a choice. changed is called on every choice, even of the option already chosen; again, which may be nil, when
// Enter is pressed on the chosen option.
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
		c.Items[i].Choose(i == c.Chosen && c.options[i].Text != "") // without a text, the mark alone shows it
	}
}

// Tabs are words in a row, one of which is chosen, each with a count that is shown unless zero.
type Tabs struct {
	widget.BaseWidget
	OnChosen func(index int)
	OnDown   func() // moves to the chosen tab's content; nil for the next widget
	row      *fyne.Container
	names    []*Line
	rooms    []*canvas.Rectangle // the minimum width of each while held
	items    []*Tappable
	held     bool
	chosen   int
}

// NewTabs returns tabs with the first one chosen. They wrap when the row is full.
func NewTabs(texts []string, chosen func(index int)) *Tabs {
	t := &Tabs{OnChosen: chosen, row: Flow(4)}
	for i, text := range texts {
		line, room := NewLine(text), canvas.NewRectangle(color.Transparent)
		item := NewTappable(PadHV(5, 7, container.NewStack(room, line)), func() { t.Choose(i) })
		item.underline = true
		t.names, t.items, t.rooms = append(t.names, line), append(t.items, item), append(t.rooms, room)
		t.row.Add(item)
	}
	Group(t.items, t.Chosen, t.Choose, nil)
	for _, item := range t.items {
		item.below = t.down
	}
	t.ExtendBaseWidget(t)
	t.show()
	return t
}

func (t *Tabs) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(t.row) }

// Choose selects a tab and calls back if that is a change.
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

func (t *Tabs) down() {
	if c := fyne.CurrentApp().Driver().CanvasForObject(t); t.OnDown != nil {
		t.OnDown()
	} else if c != nil {
		c.FocusNext()
	}
}

// Hold lets no tab get narrower, or leave the line, until it is called with false: nothing moves while a person types.
func (t *Tabs) Hold(hold bool) {
	t.held = hold
	for i, room := range t.rooms {
		least := fyne.Size{}
		if hold {
			least = t.names[i].MinSize().Max(room.MinSize())
		}
		room.SetMinSize(least)
	}
}

func (t *Tabs) Offer(index int, offered bool) {
	if t.items[index].Visible() != offered && (offered || !t.held) {
		Show(t.items[index], offered)
		t.row.Refresh()
		t.Refresh()
	}
}

// Label changes the tabs' texts, for example to show a count.
func (t *Tabs) Label(texts []string) {
	for i, text := range texts {
		t.names[i].Set(text)
	}
	t.Hold(t.held)
	t.row.Refresh()
}

func (t *Tabs) show() {
	for i, item := range t.items {
		t.names[i].Colour = theme.Secondary
		if i == t.chosen {
			t.names[i].Colour = theme.Text
		}
		t.names[i].Refresh()
		item.Choose(i == t.chosen)
	}
	t.row.Refresh()
}

// Calendar shows a month from which to choose a day. Today is marked; earlier days are disabled. Arrow keys move by a day or a week,
// PageUp and PageDown by a month; Enter chooses. Fyne's calendar has no arrow keys and offers past days.
type Calendar struct {
	widget.BaseWidget
	today, month time.Time // when today and the displayed month begin
	first        time.Weekday
	chosen       func(time.Time)
	name         *Line
	grid         *fyne.Container
	days         []*Button
	content      fyne.CanvasObject
}

// NewCalendar returns a calendar showing start's month, with weeks beginning on first, in now's time zone.
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

// First shows day's month and returns where the cursor begins: day, or today if day is past.
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

// key moves the cursor from a day and reports whether the key was one that moves it.
func (c *Calendar) key(from time.Time, e *fyne.KeyEvent) bool {
	by, moves := map[fyne.KeyName]struct{ months, days int }{fyne.KeyLeft: {0, -1}, fyne.KeyRight: {0, 1}, fyne.KeyUp: {0, -7},
		fyne.KeyDown: {0, 7}, fyne.KeyPageUp: {-1, 0}, fyne.KeyPageDown: {1, 0}}[e.Name]
	if window := fyne.CurrentApp().Driver().CanvasForObject(c); moves && window != nil {
		window.Focus(c.First(from.AddDate(0, by.months, by.days)))
	}
	return moves
}

func (c *Calendar) Month() string { return strings.TrimSpace(c.name.Text) }
