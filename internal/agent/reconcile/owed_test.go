package reconcile

import (
	"testing"
	"time"

	"countersign/internal/office"
)

func TestWhatIsOwedAnEvent(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	since := now.Add(-8 * time.Hour)
	done := office.Package{State: office.PackageExecuted}
	for name, c := range map[string]struct {
		before    office.Package
		moved     bool
		listening time.Time
		want      bool
	}{
		"asked about since":                    {office.Package{Checked: now.Add(-time.Hour)}, true, since, true},
		"asked about since, nothing new":       {office.Package{Checked: now.Add(-time.Hour)}, false, since, false},
		"asked about before":                   {office.Package{Checked: since.Add(-time.Hour)}, true, since, false},
		"asked about by a clock that was fast": {office.Package{Checked: now.Add(time.Hour)}, true, since, false},
		"while nobody listened":                {office.Package{Checked: now.Add(-time.Hour)}, true, time.Time{}, false},
		"met in the list, finished since":      {office.Package{Executed: office.When{Time: now.Add(-time.Hour)}}, true, since, true},
		"met in the list, finished just now":   {office.Package{Executed: office.When{Time: now.Add(-time.Minute)}}, true, since, false},
		"met in the list, finished before":     {office.Package{Executed: office.When{Time: since.Add(time.Minute)}}, true, since, false},
		"met in the list, nobody says when":    {office.Package{}, true, since, false},
		"met by its event":                     {office.Package{State: office.PackageExecuted, Executed: office.When{Time: now.Add(-time.Hour)}}, true, since, false},
	} {
		if got := owesEvent(c.before, done, c.moved, c.listening, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
