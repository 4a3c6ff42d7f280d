package widgets

import (
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

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
