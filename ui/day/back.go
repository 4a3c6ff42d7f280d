package day

import (
	"slices"
	"strings"
	"time"
)

// Whole texts that mean a day that is over, and how many days ago that was.
var past = map[string]int{
	"yesterday": 1, "gestern": 1, "hier": 1, "ayer": 1,
	"day before yesterday": 2, "vorgestern": 2, "avant-hier": 2, "anteayer": 2, "antes de ayer": 2,
}

// agos are the words with which people count back, and lasts those for the one that is over.
var (
	agos  = strings.Fields("ago vor il y a hace")
	lasts = strings.Fields("last letzten letzter letzte letztes vergangenen dernier derniere pasado pasada ultimo ultima")
)

// ReadBack is Read for a day that people look back at: days without a year are the last such days, today included, and
// names of weekdays those before today.
func (s Style) ReadBack(text string, now time.Time) (day time.Time, ok bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	text = fold(text)
	if days, ok := past[text]; ok {
		return today.AddDate(0, 0, -days), true
	}
	if day, ok := ago(text, today); ok {
		return day, true
	}
	text = without(text, lasts)
	day, ok = s.Read(text, today)
	if !ok || !day.After(today) {
		return day, ok
	}
	week := today.AddDate(0, 0, -8)
	other, _ := s.Read(text, week)
	if other.Equal(day) && s.hasYear(text, today) || daysBetween(today, day) == daysBetween(week, other) { // it is said for itself, or from today on
		return day, true
	}
	if !other.After(today) {
		return other, true
	}
	for years := 1; years <= 8; years++ { // 29 February
		if day, _ := s.Read(text, today.AddDate(-years, 0, 1)); !day.After(today) {
			return day, true
		}
	}
	return day, true
}

// hasYear says whether a text means the same day in any year.
func (s Style) hasYear(text string, today time.Time) bool {
	then, _ := s.Read(text, today.AddDate(-9, 0, 0))
	now, _ := s.Read(text, today)
	return then.Equal(now)
}

// ago is a number of days, weeks or months before today.
func ago(text string, today time.Time) (time.Time, bool) {
	said := strings.Fields(text)
	if len(said) < 3 || !slices.Contains(agos, said[0]) && !slices.Contains(agos, said[len(said)-1]) {
		return time.Time{}, false
	}
	rest := strings.Fields(without(text, agos))
	if len(rest) == 1 {
		rest = []string{"one", rest[0]} // "a week ago"
	}
	if len(rest) != 2 {
		return time.Time{}, false
	}
	then, ok := away(rest, today)
	if !ok {
		return time.Time{}, false
	}
	if unit := units[rest[1]]; unit == months {
		n := 12*(then.Year()-today.Year()) + int(then.Month()) - int(today.Month())
		then = today.AddDate(0, -n, 0)
		if then.Day() != today.Day() {
			then = then.AddDate(0, 0, -then.Day())
		}
		return then, true
	}
	return today.AddDate(0, 0, -daysBetween(today, then)), true
}

func daysBetween(from, to time.Time) int {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(day(to).Sub(day(from)) / (24 * time.Hour))
}

// without is a text without some of its words.
func without(text string, words []string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(word string) bool { return slices.Contains(words, word) }), " ")
}
