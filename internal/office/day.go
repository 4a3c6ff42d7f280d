package office

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// inFigures are two or three numbers: "2026-12-31", "31. 12. 2026", "1.3.", "3/1".
	inFigures = regexp.MustCompile(`^(\d{1,4})\s?([./ -])\s?(\d{1,2})(?:\s?[./ -]\s?(\d{4}|\d{2}))?\.?$`)

	// inWords is a day as English writes it: "31 Dec 2026", "December 31".
	inWords = regexp.MustCompile(`^(?:(\d{1,2}) )?(\pL{3,9})(?: (\d{1,2}))?(?:,? (\d{4}))?$`)

	// fromToday is a number of days from today.
	fromToday = regexp.MustCompile(`^([+-]\d{1,4})$`)
)

// ReadDay is the day that people mean by a text, its first moment in the time zone of now. A day without a year lies after today where
// years is 1, before it where it is -1, and "+14" is that many days from today. order is that of a date in figures, "mdy" or "dmy";
// where it is empty, what can be read in two ways names no day.
func ReadDay(text string, now time.Time, order string, years int) (day time.Time, ok bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	text = strings.Join(strings.Fields(text), " ")
	if found := fromToday.FindStringSubmatch(text); found != nil {
		return today.AddDate(0, 0, value(found[1])), true
	}
	if found := inWords.FindStringSubmatch(text); found != nil {
		return date(value(found[4]), month(found[2]), value(found[1]+found[3]), today, years) // whoever names two days names none
	}
	found := inFigures.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, false
	}
	first, second, third := value(found[1]), value(found[3]), value(found[4])
	if len(found[1]) > 2 {
		return date(first, second, third, today, years) // the year comes first, as in ISO 8601
	}
	d, m := first, second
	switch {
	case order == "dmy", found[2] == ".": // points are written by those who name the day first
	case order == "" && d <= 12 && m <= 12 && d != m:
		return time.Time{}, false
	default:
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
