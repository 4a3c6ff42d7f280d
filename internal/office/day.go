package office

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// inFigures matches two or three numbers: "2026-12-31", "31. 12. 2026", "1.3.", "3/1".
	inFigures = regexp.MustCompile(`^(\d{1,4})\s?([./ -])\s?(\d{1,2})(?:\s?[./ -]\s?(\d{4}|\d{2}))?\.?$`)

	// inWords matches a day as English writes it: "31 Dec 2026", "December 31".
	inWords = regexp.MustCompile(`^(?:(\d{1,2}) )?(\pL{3,9})(?: (\d{1,2}))?(?:,? (\d{4}))?$`)

	// fromToday matches a number of days from today.
	fromToday = regexp.MustCompile(`^([+-]\d{1,4})$`)
)

// ReadDay returns the first moment, in the time zone of now, of the day that a text means. A day without a year is the next
// one after today if years is 1, the last one before today if it is -1; "+14" is so many days from today. order says how to
// read dates in figures, "mdy" or "dmy"; if it is empty, an ambiguous date is no day.
func ReadDay(text string, now time.Time, order string, years int) (day time.Time, ok bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	text = strings.Join(strings.Fields(text), " ")
	if found := fromToday.FindStringSubmatch(text); found != nil {
		return today.AddDate(0, 0, value(found[1])), true
	}
	if found := inWords.FindStringSubmatch(text); found != nil {
		return date(value(found[4]), month(found[2]), value(found[1]+found[3]), today, years) // naming two days is invalid
	}
	found := inFigures.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, false
	}
	first, second, third := value(found[1]), value(found[3]), value(found[4])
	if len(found[1]) > 2 {
		return date(first, second, third, today, years) // year first, as in ISO 8601
	}
	d, m := first, second
	switch {
	case order == "dmy", found[2] == ".": // people who write points put the day first
	case order == "" && d <= 12 && m <= 12 && d != m:
		return time.Time{}, false
	default:
		d, m = m, d
	}
	if m > 12 {
		d, m = m, d // 31/12 can only be read one way
	}
	if 0 < third && third < 100 {
		third += today.Year() / 100 * 100
	}
	return date(third, m, d, today, years)
}

// month is the number of the month whose English name begins with word; 0 if there is none.
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

// date returns a valid day of a plausible year. If year is 0, it returns the nearest such day from today in the direction of
// years; for 29 February that may be years away.
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
