package office

import (
	"testing"
	"time"
)

func TestPapersMayGoWithTheEndOfTheYearTheirRuleSays(t *testing.T) {
	signed := time.Date(2020, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule  string
		names []string
		want  int // year at whose beginning it may go; 0 for never
	}{
		{"", nil, 0}, {"10", nil, 2031}, {" 10 ; ", []string{"Lease"}, 2031}, {"10; Lease: 30", []string{"", "LEASE"}, 2051}, {"Lease: 30", []string{"Offer"}, 0},
		{"10; Lease: 2", []string{"Lease"}, 2023}, {"Scans: 6; Lease: 30", []string{"Scans", "Lease"}, 2051}, {"Case 1:2: 5", []string{"case 1:2"}, 2026},
	} {
		r, ok := ParseRetention(c.rule)
		year := 0
		if until := r.Until(signed, c.names...); !until.IsZero() {
			year = until.Year()
		}
		if !ok || year != c.want {
			t.Errorf("%q of %q: %d, %v, want %d", c.rule, c.names, year, ok, c.want)
		}
	}
	for _, wrong := range []string{"ten", "0", "-1", "101", "10; 11", "Lease", "Lease:", ": 10", "Lease: 1; lease: 2", "10 years"} {
		if r, ok := ParseRetention(wrong); ok {
			t.Errorf("%q is taken for %+v", wrong, r)
		}
	}
	if until := (Retention{Years: 10}).Until(time.Time{}); !until.IsZero() {
		t.Errorf("what was never signed may go in %v", until)
	}
}
