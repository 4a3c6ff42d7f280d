package compose

import (
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// days is how days are written here.
func (s *Screen) days() day.Style { return day.Of(s.env.Country) }

// parseDue is the end of the day that a text means, as a due day is over when the day is. A text that is no day gives
// the zero time.
func parseDue(days day.Style, text string, now time.Time) time.Time {
	read, ok := days.Read(text, now)
	if !ok {
		return time.Time{}
	}
	return read.AddDate(0, 0, 1).Add(-time.Second)
}

// example is a day as people may type it: the last of the year.
func example(days day.Style, now time.Time) string {
	return days.Write(time.Date(now.Year(), time.December, 31, 0, 0, 0, 0, now.Location()))
}

// hintDue says under the field which day was understood or, where the field waits for one, how to write it.
func (s *Screen) hintDue(due time.Time) {
	switch now := s.env.Now(); {
	case !due.IsZero():
		s.dueField.Hint(i18n.Day(now, due))
	case s.due.Text == "" && s.inDue:
		s.dueField.Hint(lang.L("For example {{.Date}}, or +14 for 14 days from today", i18n.V{"Date": example(s.days(), now)}))
	default:
		s.dueField.Hint("")
	}
}

// dueFocus writes what was understood into the field when it is left.
func (s *Screen) dueFocus(here bool) {
	s.inDue = here
	now := s.env.Now()
	if read, ok := s.days().Read(s.due.Text, now); ok && !here && s.due.Text != s.days().Write(read) {
		s.due.SetText(s.days().Write(read))
	}
	s.hintDue(parseDue(s.days(), s.due.Text, now))
}

// pickDay shows a calendar at the due date.
func (s *Screen) pickDay() {
	now := s.env.Now()
	start := now
	if due := parseDue(s.days(), s.due.Text, now); !due.IsZero() {
		start = due
	}
	var pop *widgets.PopUp
	calendar := widgets.NewCalendar(now, start, s.days().First(), func(chosen time.Time) {
		s.due.SetText(s.days().Write(chosen))
		pop.Close()
		s.env.Window.Canvas().Focus(s.due)
	})
	pop = widgets.OpenAt(s.env.Window.Canvas(), calendar, s.due, calendar.First(start), nil)
}
