package day

import "testing"

func TestADayIsReadLookingBack(t *testing.T) {
	for _, c := range []struct {
		style Style
		text  string
		want  string
	}{
		{american, "3/1", "2026-03-01"}, {american, "11/21", "2026-11-21"}, {american, "11/22", "2025-11-22"}, {german, "1.12.", "2025-12-01"},
		{german, "20.11.", "2026-11-20"}, {german, "29.2.", "2024-02-29"}, {german, "31.12.2026", "2026-12-31"}, {german, "1.3.2024", "2024-03-01"},
		{american, "march 1", "2026-03-01"}, {german, "24. Dezember", "2025-12-24"}, {german, "24. Dezember 2026", "2026-12-24"},
		{american, "friday", "2026-11-20"}, {american, "last friday", "2026-11-20"}, {american, "saturday", "2026-11-14"}, {german, "letzten Mittwoch", "2026-11-18"},
		{french, "lundi dernier", "2026-11-16"}, {spanish, "el lunes pasado", "2026-11-16"},
		{american, "today", "2026-11-21"}, {american, "yesterday", "2026-11-20"}, {german, "Vorgestern", "2026-11-19"}, {french, "hier", "2026-11-20"}, {spanish, "ayer", "2026-11-20"},
		{american, "2 weeks ago", "2026-11-07"}, {american, "a week ago", "2026-11-14"}, {german, "vor 3 Tagen", "2026-11-18"}, {german, "vor einem Monat", "2026-10-21"},
		{french, "il y a 10 jours", "2026-11-11"}, {spanish, "hace dos meses", "2026-09-21"},
		{american, "tomorrow", "2026-11-22"}, {american, "some day", ""}, {american, "ago", ""},
	} {
		day, ok := c.style.ReadBack(c.text, now)
		got := ""
		if ok {
			got = day.Format("2006-01-02")
		}
		if got != c.want {
			t.Errorf("%q (%s): %q, want %q", c.text, c.style.language, got, c.want)
		}
	}
}
