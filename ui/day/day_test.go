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

		{american, "+14", "2026-12-05"}, {french, " +0 ", "2026-11-21"}, {american, "-1", "2026-11-20"},
		{american, "3 Dec 2026", "2026-12-03"}, {british, "31 december", "2026-12-31"}, {american, "Mar 1", "2027-03-01"}, {american, "Dec 31, 2026", "2026-12-31"}, {german, "3 Dec 2026", "2026-12-03"},
	} {
		if got, ok := c.style.Read(c.text, now); !ok || got.Format(time.DateOnly) != c.want || got.Hour() != 0 || got.Location() != now.Location() {
			t.Errorf("%s: %q is read as %v (%v), want %s", c.style.language, c.text, got, ok, c.want)
		}
	}
}

func TestWhatIsNoDayIsNotGuessedAt(t *testing.T) {
	for _, style := range []Style{american, german, french, spanish} {
		for _, text := range []string{"", " ", "12", "2026", "next week", "soon", "2026-02-30", "31.2.", "32/13/2026", "0/0", "1/2/3/4", "in days",
			"in 14 days", "+", "+99999", "3 ju", "1 Dec 31", "December", "Dec 2026", "friday", "tomorrow", "m", "no due date", "31.12.1926", "99999999999999999999/1", "3 marbles"} {
			if got, ok := style.Read(text, now); ok {
				t.Errorf("%s: %q is read as %v", style.language, text, got)
			}
		}
	}
}

func TestADayIsReadLookingBack(t *testing.T) {
	for _, c := range []struct {
		style Style
		text  string
		want  string
	}{
		{american, "3/1", "2026-03-01"}, {american, "11/21", "2026-11-21"}, {american, "11/22", "2025-11-22"}, {german, "1.12.", "2025-12-01"},
		{german, "20.11.", "2026-11-20"}, {german, "29.2.", "2024-02-29"}, {german, "31.12.2026", "2026-12-31"}, {german, "1.3.2024", "2024-03-01"},
		{american, "24 Dec", "2025-12-24"}, {american, "24 Dec 2026", "2026-12-24"}, {american, "-7", "2026-11-14"}, {american, "some day", ""},
	} {
		day, ok := c.style.ReadBack(c.text, now)
		got := ""
		if ok {
			got = day.Format(time.DateOnly)
		}
		if got != c.want {
			t.Errorf("%q (%s): %q, want %q", c.text, c.style.language, got, c.want)
		}
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
