// Package day reads the days people type in figures, and writes them as their language does: "3/1", "1.3.", "+14". It shows nothing
// and asks nobody.
package day

import (
	"regexp"
	"strconv"
	"strings"
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

// Read is the day that a text means, its first moment in the time zone of now. A day without a year is the next such day, today
// included, and "+14" is that many days from today. Not ok is a text that names no day.
func (s Style) Read(text string, now time.Time) (day time.Time, ok bool) { return s.read(text, now, 1) }

// ReadBack is Read for a day that people look back at: a day without a year is the last such day, today included.
func (s Style) ReadBack(text string, now time.Time) (day time.Time, ok bool) {
	return s.read(text, now, -1)
}

var (
	// digits are two or three numbers: "2026-12-31", "31. 12. 2026", "1.3.", "3/1".
	digits = regexp.MustCompile(`^(\d{1,4})\s?([./ -])\s?(\d{1,2})(?:\s?[./ -]\s?(\d{4}|\d{2}))?\.?$`)

	// named is a day as English writes it: "31 Dec 2026", "December 31".
	named = regexp.MustCompile(`^(?:(\d{1,2}) )?(\pL{3,9})(?: (\d{1,2}))?(?:,? (\d{4}))?$`)

	// away is a number of days from today.
	away = regexp.MustCompile(`^([+-]\d{1,4})$`)
)

// read reads a text; a day without a year lies after today where years is 1, before it where it is -1.
func (s Style) read(text string, now time.Time, years int) (time.Time, bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	text = strings.Join(strings.Fields(text), " ")
	if found := away.FindStringSubmatch(text); found != nil {
		return today.AddDate(0, 0, value(found[1])), true
	}
	if found := named.FindStringSubmatch(text); found != nil {
		return date(value(found[4]), month(found[2]), value(found[1]+found[3]), today, years) // whoever names two days names none
	}
	found := digits.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, false
	}
	first, second, third := value(found[1]), value(found[3]), value(found[4])
	if len(found[1]) > 2 {
		return date(first, second, third, today, years) // the year comes first, as in ISO 8601
	}
	d, m := first, second
	if s.order != "dmy" && found[2] != "." { // points are written by those who name the day first
		d, m = m, d
	}
	if m > 12 {
		d, m = m, d // there is only one way to read 31/12
	}
	if 0 < third && third < 100 {
		third += today.Year() / 100 * 100
	}
	return date(third, m, d, today, years)
}

// month is the number of the month whose English name begins with word; 0 where there is none.
func month(word string) int {
	for m := time.January; m <= time.December; m++ {
		if len(word) <= len(m.String()) && strings.EqualFold(word, m.String()[:len(word)]) {
			return int(m)
		}
	}
	return 0
}

func value(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // no digits, or more than any date has
	}
	return n
}

// date is a day that the calendar has, of a year that people could mean. Without a year, which is 0, it is the nearest such day
// from today on in the direction of years; 29 February may be some years away.
func date(year, month, d int, today time.Time, years int) (time.Time, bool) {
	if year != 0 {
		day := time.Date(year, time.Month(month), d, 0, 0, 0, 0, today.Location())
		return day, year >= 2000 && day.Year() == year && int(day.Month()) == month && day.Day() == d
	}
	for n := range 9 {
		if day, ok := date(today.Year()+n*years, month, d, today, years); ok && day.Compare(today)*years >= 0 {
			return day, true
		}
	}
	return time.Time{}, false
}
