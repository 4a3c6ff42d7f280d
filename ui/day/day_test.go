package day

import (
	"testing"
	"time"
)

// now is a Saturday.
var now = time.Date(2026, 11, 21, 14, 2, 0, 0, time.FixedZone("office", 3600))

var (
	american = Style{"en", "mdy", time.Sunday}
	british  = Style{"en", "dmy", time.Monday}
	german   = Style{"de", "dmy", time.Monday}
	french   = Style{"fr", "dmy", time.Monday}
	spanish  = Style{"es", "dmy", time.Monday}
)

func TestADayIsReadAsPeopleTypeIt(t *testing.T) {
	for _, c := range []struct {
		style Style
		text  string
		want  string
	}{
		{american, "12/31/2026", "2026-12-31"}, {american, "12/31/26", "2026-12-31"}, {american, "31/12/2026", "2026-12-31"},
		{american, "3/1", "2027-03-01"}, {american, "1.3.", "2027-03-01"}, {american, "11-30-2026", "2026-11-30"}, {american, "11/21", "2026-11-21"},
		{british, "3/1", "2027-01-03"}, {british, "31/12/2026", "2026-12-31"}, {british, "12/31/2026", "2026-12-31"},
		{german, "31.12.2026", "2026-12-31"}, {german, " 31. 12. 2026 ", "2026-12-31"}, {german, "1.3.", "2027-03-01"}, {german, "1.3", "2027-03-01"},
		{german, "31.12.26", "2026-12-31"}, {german, "3/1", "2027-01-03"}, {french, "3/1", "2027-01-03"}, {french, "31/12/2026", "2026-12-31"},
		{spanish, "31-12-2026", "2026-12-31"}, {german, "29.2.", "2028-02-29"},
		{german, "2026-12-31", "2026-12-31"}, {american, "2026-12-31", "2026-12-31"}, {american, "2026/12/31", "2026-12-31"},

		{american, "friday", "2026-11-27"}, {american, "Next Friday", "2026-11-27"}, {american, "fri", "2026-11-27"}, {american, "saturday", "2026-11-28"},
		{german, "Freitag", "2026-11-27"}, {german, "am Freitag", "2026-11-27"}, {german, "Di", "2026-11-24"}, {german, "nächsten Mittwoch", "2026-11-25"},
		{french, "vendredi", "2026-11-27"}, {french, "vendredi prochain", "2026-11-27"}, {french, "di", "2026-11-22"}, {spanish, "viernes", "2026-11-27"},
		{spanish, "el próximo miércoles", "2026-11-25"}, {american, "Freitag", "2026-11-27"}, {spanish, "freitag", "2026-11-27"},

		{american, "today", "2026-11-21"}, {american, "tomorrow", "2026-11-22"}, {american, "day after tomorrow", "2026-11-23"}, {german, "morgen", "2026-11-22"},
		{german, "Übermorgen", "2026-11-23"}, {french, "demain", "2026-11-22"}, {french, "après-demain", "2026-11-23"}, {french, "aujourd’hui", "2026-11-21"},
		{spanish, "mañana", "2026-11-22"}, {spanish, "pasado mañana", "2026-11-23"}, {spanish, "hoy", "2026-11-21"},

		{american, "in 14 days", "2026-12-05"}, {american, "14 days", "2026-12-05"}, {american, "in a week", "2026-11-28"}, {american, "in 3 months", "2027-02-21"},
		{german, "in 14 Tagen", "2026-12-05"}, {german, "in zwei Wochen", "2026-12-05"}, {german, "in einem Monat", "2026-12-21"},
		{french, "dans 14 jours", "2026-12-05"}, {french, "dans une semaine", "2026-11-28"}, {french, "dans 2 mois", "2027-01-21"},
		{spanish, "en 14 días", "2026-12-05"}, {spanish, "dentro de dos semanas", "2026-12-05"},

		{american, "March 1", "2027-03-01"}, {american, "Dec 31st, 2026", "2026-12-31"}, {british, "31 December 2026", "2026-12-31"}, {german, "1. März", "2027-03-01"},
		{german, "31. Dez. 2026", "2026-12-31"}, {french, "1er mars", "2027-03-01"}, {french, "le 14 juin 2027", "2027-06-14"}, {spanish, "1 de marzo de 2027", "2027-03-01"},
		{german, "1 mars", "2027-03-01"},
	} {
		if got, ok := c.style.Read(c.text, now); !ok || got.Format(time.DateOnly) != c.want || got.Hour() != 0 || got.Location() != now.Location() {
			t.Errorf("%s: %q is read as %v (%v), want %s", c.style.language, c.text, got, ok, c.want)
		}
	}
}

func TestWhatIsNoDayIsNotGuessedAt(t *testing.T) {
	for _, style := range []Style{american, german, french, spanish} {
		for _, text := range []string{"", " ", "12", "2026", "next week", "soon", "2026-02-30", "31.2.", "32/13/2026", "0/0", "1/2/3/4", "in days",
			"in 0 days", "in 99999 days", "jui 3", "m", "no due date", "31.12.1926", "99999999999999999999/1", "3 marbles"} {
			if got, ok := style.Read(text, now); ok {
				t.Errorf("%s: %q is read as %v", style.language, text, got)
			}
		}
	}
}

func TestAMonthAfterTheThirtyFirstIsTheEndOfTheNext(t *testing.T) {
	end := time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC)
	if got, _ := american.Read("in 1 month", end); got.Format(time.DateOnly) != "2027-02-28" {
		t.Errorf("got %v", got)
	}
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	for style, want := range map[Style]string{american: "3 Dec 2026", british: "3 Dec 2026", german: "03.12.2026", french: "03/12/2026", {}: "3 Dec 2026"} {
		day := time.Date(2026, 12, 3, 0, 0, 0, 0, now.Location())
		if text := style.Write(day); text != want {
			t.Errorf("it writes %q, want %q", text, want)
		}
		for range 12 {
			text := style.Write(day)
			if got, ok := style.Read(text, now); !ok || !got.Equal(day) {
				t.Errorf("%q is read as %v", text, got)
			}
			day = day.AddDate(0, 1, 0)
		}
	}
}
