// Package day parses dates that people type in figures, and writes them in the style of their language: "3/1", "1.3.", "+14". It has
// no I/O.
package day

import (
	"cmp"
	"regexp"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
)

// Style is how one language and country write dates. The zero value is that of English in the United States.
type Style struct {
	language string       // a supported language, otherwise "en"
	order    string       // order of a date: "mdy" or "dmy"
	first    time.Weekday // first day of the week
}

// abroad lists the countries whose English puts the day before the month.
var abroad = regexp.MustCompile(`^(GB|IE|AU|NZ|IN|ZA|SG|HK|MT|CY|CH|DE|AT|FR|ES|NL|BE|LU|LI|IT)$`)

// sundays lists the countries whose weeks begin on Sunday (CLDR, weekData). Elsewhere weeks begin on Monday, as in ISO 8601, or on
// Saturday, which few of our languages' readers know.
var sundays = regexp.MustCompile(`^(AG|AS|AU|BD|BR|BS|BT|BW|BZ|CA|CO|DM|DO|ET|GT|GU|HK|HN|ID|IL|IN|JM|JP|KE|KH|KR|LA|MH|MM|MO|MT|MX|MZ|NI|NP|` +
	`PA|PE|PH|PK|PR|PT|PY|SA|SG|SV|TH|TT|TW|UM|US|VE|VI|WS|YE|ZA|ZW)$`)

// Of returns the style of the current language. country is the system's, for example "GB", and may be empty; English and the first
// weekday depend on it.
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

// Order returns the order of a date in figures: "mdy" or "dmy".
func (s Style) Order() string { return cmp.Or(s.order, "mdy") }

// Write writes a day: "31.12.2026", "31/12/2026". English names the month, because 12/06/2026 means different days to its readers.
// Read accepts the result.
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

// Read parses a day and returns its start in the time zone of now. A day without a year is the next one, today included, and "+14"
// is that many days from today. ok is false if the text is not a day.
func (s Style) Read(text string, now time.Time) (day time.Time, ok bool) {
	return office.ReadDay(text, now, s.Order(), 1)
}

// ReadBack is Read for days in the past: a day without a year is the last one, today included.
func (s Style) ReadBack(text string, now time.Time) (day time.Time, ok bool) {
	return office.ReadDay(text, now, s.Order(), -1)
}
