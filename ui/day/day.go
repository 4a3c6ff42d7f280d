// Package day reads the days people type in figures, and writes them as their language does: "3/1", "1.3.", "+14". It shows nothing
// and asks nobody.
package day

import (
	"cmp"
	"regexp"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
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

// Order is that of a date in figures: "mdy" or "dmy".
func (s Style) Order() string { return cmp.Or(s.order, "mdy") }

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
func (s Style) Read(text string, now time.Time) (day time.Time, ok bool) {
	return office.ReadDay(text, now, s.Order(), 1)
}

// ReadBack is Read for a day that people look back at: a day without a year is the last such day, today included.
func (s Style) ReadBack(text string, now time.Time) (day time.Time, ok bool) {
	return office.ReadDay(text, now, s.Order(), -1)
}
