package office

import (
	"testing"
	"time"
)

func TestAPackageIsDueSoonFromTheMorningSoManyDaysBefore(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	due := time.Date(2026, 5, 20, 23, 59, 59, 0, zone)
	at := func(day, hour int) time.Time { return time.Date(2026, 5, day, hour, 0, 0, 0, zone) }
	line := PackageLine{State: PackageOpen, Due: due.UTC(), Created: at(1, 9)}
	for name, c := range map[string]struct {
		change func(*PackageLine)
		now    time.Time
		want   bool
	}{
		"too early":            {nil, at(17, 7), false},
		"in the morning":       {nil, at(17, 8), true},
		"on the day":           {nil, at(20, 12), true},
		"over":                 {nil, at(21, 0), false},
		"without a date":       {func(l *PackageLine) { l.Due = time.Time{} }, at(18, 9), false},
		"signed":               {func(l *PackageLine) { l.State = PackageExecuted }, at(18, 9), false},
		"withdrawn":            {func(l *PackageLine) { l.State = PackageRescinded }, at(18, 9), false},
		"a draft":              {func(l *PackageLine) { l.State = PackageDraft }, at(18, 9), false},
		"archived":             {func(l *PackageLine) { l.Archived = true }, at(18, 9), false},
		"declined":             {func(l *PackageLine) { l.Declined = true }, at(18, 9), false},
		"sent just now":        {func(l *PackageLine) { l.Created = at(19, 9) }, at(19, 10), false},
		"half of its time ago": {func(l *PackageLine) { l.Created = at(19, 9) }, at(20, 9), true},
	} {
		l := line
		if c.change != nil {
			c.change(&l)
		}
		if got := l.DueSoon(c.now, 3); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if n := DaysLeft(at(17, 23), due); n != 3 {
		t.Errorf("%d days left", n)
	}
}
