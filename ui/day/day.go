// Package day reads the due dates people type, and writes them as their language does: "3/1", "1.3.", "Freitag",
// "dans 14 jours". It knows the calendar and the words of our four languages; it shows nothing and asks nobody.
package day

import (
	"regexp"
	"strconv"
	"time"

	"fyne.io/fyne/v2/lang"
)

// Style is how days are written in one language and country. The zero value is that of English in the United States.
type Style struct {
	language string       // one of the names, "en" when it is none of them
	order    string       // of a date: "mdy" or "dmy"
	first    time.Weekday // of a week
}

// abroad are countries whose English names the day before the month.
var abroad = regexp.MustCompile(`^(GB|IE|AU|NZ|IN|ZA|SG|HK|MT|CY|CH|DE|AT|FR|ES|NL|BE|LU|LI|IT)$`)

// sundays are countries whose weeks begin on Sunday (CLDR, weekData); those of the others, on Monday as in ISO 8601, or on
// a Saturday, which few of our languages' readers know.
var sundays = regexp.MustCompile(`^(AG|AS|AU|BD|BR|BS|BT|BW|BZ|CA|CO|DM|DO|ET|GT|GU|HK|HN|ID|IL|IN|JM|JP|KE|KH|KR|LA|MH|MM|MO|MT|MX|MZ|NI|NP|` +
	`PA|PE|PH|PK|PR|PT|PY|SA|SG|SV|TH|TT|TW|UM|US|VE|VI|WS|YE|ZA|ZW)$`)

// Of is the style of the language in use. country is that of the system, for example "GB", and may be empty: English
// needs it, and the week.
func Of(country string) Style {
	first := time.Monday
	if sundays.MatchString(country) {
		first = time.Sunday
	}
	switch code := lang.X("language.code", "en"); {
	case code == "de", code == "fr", code == "es":
		return Style{code, "dmy", first}
	case abroad.MatchString(country):
		return Style{"en", "dmy", first}
	default:
		return Style{"en", "mdy", first}
	}
}

// First is the day that weeks begin on.
func (s Style) First() time.Weekday { return s.first }

// Write is a day as the style has it: "31.12.2026", "31/12/2026". English names the month, as 12/06/2026 means two days to
// its readers. What it gives, Read takes.
func (s Style) Write(day time.Time) string {
	switch s.language {
	case "de":
		return day.Format("02.01.2006")
	case "fr", "es":
		return day.Format("02/01/2006")
	default:
		return day.Format("2 Jan 2006")
	}
}

// Read is the day that a text means, its first moment in the time zone of now. Days without a year are the next such
// days, and names of weekdays those after today. Not ok is a text that names no day, or one of which nobody can say which.
func (s Style) Read(text string, now time.Time) (day time.Time, ok bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	text = fold(text)
	if day, ok := s.number(text, today); ok {
		return day, true
	}
	return s.phrase(text, today)
}

// digits are two or three numbers: "2026-12-31", "31. 12. 2026", "1.3.", "3/1".
var digits = regexp.MustCompile(`^(\d{1,4})\s?([./ -])\s?(\d{1,2})(?:\s?[./ -]\s?(\d{4}|\d{2}))?\.?$`)

func (s Style) number(text string, today time.Time) (time.Time, bool) {
	found := digits.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, false
	}
	first, second, third := value(found[1]), value(found[3]), value(found[4])
	if len(found[1]) > 2 {
		return date(first, second, third, today) // the year comes first, as in ISO 8601
	}
	d, m := first, second
	if s.order != "dmy" && found[2] != "." { // points are written by those who name the day first
		d, m = m, d
	}
	if m > 12 {
		d, m = m, d // there is only one way to read 31/12
	}
	if found[4] == "" {
		return next(m, d, today)
	}
	if third < 100 {
		third += today.Year() / 100 * 100
	}
	return date(third, m, d, today)
}

func value(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // no digits, or more than any date has
	}
	return n
}

// date is a day that the calendar has, of a year that people could mean.
func date(year, month, d int, today time.Time) (time.Time, bool) {
	day := time.Date(year, time.Month(month), d, 0, 0, 0, 0, today.Location())
	return day, year >= 2000 && day.Year() == year && int(day.Month()) == month && day.Day() == d
}

// next is the next day of that name, today included; 29 February may be some years away.
func next(month, d int, today time.Time) (time.Time, bool) {
	for year := today.Year(); year <= today.Year()+8; year++ {
		if day, ok := date(year, month, d, today); ok && !day.Before(today) {
			return day, true
		}
	}
	return time.Time{}, false
}
