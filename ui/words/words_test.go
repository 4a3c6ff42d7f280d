package words

import (
	"testing"
	"time"

	"countersign/internal/agent"
	"countersign/internal/store"
)

var now = time.Date(2026, 11, 21, 14, 2, 0, 0, time.FixedZone("office", 3600))

func TestTimesAreShortAndClear(t *testing.T) {
	for _, c := range []struct {
		back       time.Duration
		age, clock string
	}{
		{20 * time.Second, "now", "14:01"},
		{5 * time.Minute, "5 min", "13:57"},
		{3 * time.Hour, "3 h", "11:02"},
		{4 * 24 * time.Hour, "4 d", "Tue 14:02"},
		{19 * 24 * time.Hour, "2 Nov", "2 Nov 14:02"},
		{400 * 24 * time.Hour, "17 Oct 2025", "17 Oct 2025"},
	} {
		at := now.Add(-c.back).UTC() // the zone of now decides, not that of the moment
		if got := Age(now, at); got != c.age {
			t.Errorf("age of %v: %q, want %q", c.back, got, c.age)
		}
		if got := Clock(now, at); got != c.clock {
			t.Errorf("clock of %v: %q, want %q", c.back, got, c.clock)
		}
	}
	if Age(now, time.Time{}) != "" || Clock(now, time.Time{}) != "" {
		t.Error("an unknown time is not shown")
	}
}

func TestStandingIsWhatAPersonWouldSay(t *testing.T) {
	row := func(state string, done, total int, problem string) agent.PackageRow {
		return agent.PackageRow{Package: store.Package{State: state}, FilesDone: done, FilesTotal: total, Problem: problem}
	}
	for name, c := range map[string]struct {
		row  agent.PackageRow
		want Standing
	}{
		"open":               {row("open", 0, 0, ""), Open},
		"a state of 2031":    {row("levitating", 0, 0, ""), Open},
		"no state yet":       {row("", 0, 0, ""), Open},
		"signed, unplanned":  {row("executed", 0, 0, ""), Saving},
		"signed, half saved": {row("executed", 1, 2, ""), Saving},
		"saved":              {row("executed", 2, 2, ""), Saved},
		"disk full":          {row("executed", 1, 2, "The disk is full."), Wrong},
		"withdrawn":          {row("rescinded", 0, 0, ""), Ended},
		"expired":            {row("expired", 0, 0, ""), Wrong},
		"gone":               {agent.PackageRow{Package: store.Package{State: "open", Gone: true}}, Wrong},
	} {
		if got := StandingOf(c.row); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if (c.want == Wrong) != (Trouble(c.row) != "") {
			t.Errorf("%s: a problem always has a sentence, and only a problem", name)
		}
	}
}

func TestNamesFallBackToWhatIsKnown(t *testing.T) {
	ana, mail := store.Signer{FirstName: "Ana", LastName: "Ruiz"}, store.Signer{Email: "jan@example.com"}
	for want, in := range map[string][]store.Signer{
		"":                             nil,
		"Ana Ruiz":                     {ana},
		"Ana Ruiz and jan@example.com": {ana, mail},
		"Ana Ruiz and 2 others":        {ana, mail, {}},
		"someone":                      {{}},
	} {
		if got := Names(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestASignerHasSignedWhenEveryDocumentIs(t *testing.T) {
	ana, jan := store.Signer{ID: "a", FirstName: "Ana"}, store.Signer{ID: "j", FirstName: "Jan"}
	row := agent.PackageRow{Package: store.Package{State: "open", Sequential: true, Signers: []store.Signer{ana, jan},
		Documents: []store.Document{{ID: "1", SignedBy: []string{"a"}}, {ID: "2"}}}, Next: []store.Signer{ana}}
	if got := StateOf(now, row, ana).Text; got != "to sign" {
		t.Errorf("one of two documents signed: %q", got)
	}
	if got := StateOf(now, row, jan).Text; got != "later" {
		t.Errorf("not his turn: %q", got)
	}
	row.Documents[1].SignedBy = []string{"a"}
	row.Timeline = []store.Moment{{Time: now.Add(-time.Hour), What: "signed", Who: "a"}}
	if got := StateOf(now, row, ana).Text; got != "signed 13:02" {
		t.Errorf("both documents signed: %q", got)
	}
}
