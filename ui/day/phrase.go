package day

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// names are what the months, from January, and the weekdays, from Sunday, are called, folded as by fold.
var names = map[string]struct{ months, weekdays string }{
	"en": {"january february march april may june july august september october november december",
		"sunday monday tuesday wednesday thursday friday saturday"},
	"de": {"januar februar marz april mai juni juli august september oktober november dezember",
		"sonntag montag dienstag mittwoch donnerstag freitag samstag"},
	"fr": {"janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
		"dimanche lundi mardi mercredi jeudi vendredi samedi"},
	"es": {"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"domingo lunes martes miercoles jueves viernes sabado"},
}

// Whole texts that mean a day, and how many days they are away.
var near = map[string]int{
	"today": 0, "heute": 0, "aujourd'hui": 0, "aujourd’hui": 0, "hoy": 0,
	"tomorrow": 1, "morgen": 1, "demain": 1, "manana": 1,
	"day after tomorrow": 2, "ubermorgen": 2, "apres-demain": 2, "pasado manana": 2,
}

// units of time.
const (
	days   = "d"
	weeks  = "w"
	months = "m"
)

var units = map[string]string{
	"day": days, "days": days, "tag": days, "tage": days, "tagen": days, "jour": days, "jours": days, "dia": days, "dias": days,
	"week": weeks, "weeks": weeks, "woche": weeks, "wochen": weeks, "semaine": weeks, "semaines": weeks, "semana": weeks, "semanas": weeks,
	"month": months, "months": months, "monat": months, "monate": months, "monaten": months, "mois": months, "mes": months, "meses": months,
}

var counts = map[string]int{
	"a": 1, "one": 1, "ein": 1, "eine": 1, "einem": 1, "einen": 1, "einer": 1, "un": 1, "une": 1, "una": 1,
	"two": 2, "zwei": 2, "deux": 2, "dos": 2, "three": 3, "drei": 3, "trois": 3, "tres": 3, "four": 4, "vier": 4, "quatre": 4, "cuatro": 4,
}

// fillers say nothing about which day it is.
var fillers = strings.Fields("in on by the next this of until am bis zum im nachste nachsten nachster nachstem kommende kommenden diesen dem den der " +
	"dans le la les ce prochain prochaine jusqu'au en el dentro de del proximo proxima que viene este hasta d'ici")

// fold is a text in lower case, without accents and with single spaces.
func fold(text string) string {
	bare := transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC)
	if plain, _, err := transform.String(bare, text); err == nil {
		text = plain
	}
	return strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(text, ",", " "))), " ")
}

// phrase reads words: "friday", "in 14 tagen", "1 de marzo", "march 1 2027".
func (s Style) phrase(text string, today time.Time) (time.Time, bool) {
	if away, ok := near[text]; ok {
		return today.AddDate(0, 0, away), true
	}
	var said []string
	for _, word := range strings.Fields(text) {
		if !slices.Contains(fillers, word) {
			said = append(said, strings.TrimSuffix(word, "."))
		}
	}
	switch len(said) {
	case 1:
		return s.weekday(said[0], today)
	case 2, 3:
		if day, ok := away(said, today); ok {
			return day, true
		}
		return s.named(said, today)
	}
	return time.Time{}, false
}

func (s Style) weekday(word string, today time.Time) (time.Time, bool) {
	at, ok := s.find(word, 2, func(language string) string { return names[language].weekdays })
	if !ok {
		return time.Time{}, false
	}
	days := (at - int(today.Weekday()) + 7) % 7
	if days == 0 {
		days = 7 // whoever means today says so
	}
	return today.AddDate(0, 0, days), true
}

// away is a number of days, weeks or months from today.
func away(said []string, today time.Time) (time.Time, bool) {
	n, unit := counts[said[0]], units[said[1]]
	if n == 0 {
		n = value(strings.TrimPrefix(said[0], "+"))
	}
	if len(said) != 2 || unit == "" || n < 1 || n > 3660 {
		return time.Time{}, false
	}
	switch unit {
	case days:
		return today.AddDate(0, 0, n), true
	case weeks:
		return today.AddDate(0, 0, 7*n), true
	}
	day := today.AddDate(0, n, 0)
	if day.Day() != today.Day() { // 31 January and a month: the last day of February
		day = day.AddDate(0, 0, -day.Day())
	}
	return day, true
}

// named is a date with the name of its month, with or without a year.
func (s Style) named(said []string, today time.Time) (time.Time, bool) {
	months := func(language string) string { return names[language].months }
	at, ok := s.find(said[0], 3, months)
	day := said[1]
	if !ok {
		at, ok = s.find(said[1], 3, months)
		day = said[0]
	}
	for _, ending := range []string{"er", "st", "nd", "rd", "th"} {
		day = strings.TrimSuffix(day, ending)
	}
	d := value(day)
	switch {
	case !ok || d == 0:
		return time.Time{}, false
	case len(said) == 2:
		return next(at+1, d, today)
	default:
		return date(value(said[2]), at+1, d, today)
	}
}

// find is the place of the one name that begins with word, of at least as many letters: in the style's own language, or
// else in the others if they agree.
func (s Style) find(word string, letters int, list func(language string) string) (at int, ok bool) {
	if len(word) < letters {
		return 0, false
	}
	match := func(language string) (at []int) {
		for i, name := range strings.Fields(list(language)) {
			if strings.HasPrefix(name, word) {
				at = append(at, i)
			}
		}
		return at
	}
	if own := match(s.language); len(own) > 0 {
		return own[0], len(own) == 1
	}
	var all []int
	for language := range names {
		all = append(all, match(language)...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0], true
	}
	return 0, false
}
