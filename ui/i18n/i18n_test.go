package i18n

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/theme"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
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

func TestStageIsWhatAPersonWouldSay(t *testing.T) {
	row := func(state office.PackageState, done, total int, problem message.Message) office.PackageRow {
		return office.PackageRow{Package: office.Package{State: state, Saving: office.Saving{Problem: problem}}, FilesDone: done, FilesTotal: total}
	}
	for name, c := range map[string]struct {
		row  office.PackageRow
		want Stage
	}{
		"open":               {row("open", 0, 0, message.Message{}), Open},
		"a state of 2031":    {row("levitating", 0, 0, message.Message{}), Open},
		"no state yet":       {row("", 0, 0, message.Message{}), Open},
		"signed, unplanned":  {row("executed", 0, 0, message.Message{}), Saving},
		"signed, half saved": {row("executed", 1, 2, message.Message{}), Saving},
		"saved":              {row("executed", 2, 2, message.Message{}), Saved},
		"disk full":          {row("executed", 1, 2, message.DiskFull("Signed")), Wrong},
		"withdrawn":          {row("rescinded", 0, 0, message.Message{}), Ended},
		"expired":            {row("expired", 0, 0, message.Message{}), Wrong},
		"gone":               {office.PackageRow{Package: office.Package{State: "open", Inquiry: office.Inquiry{Gone: true}}}, Wrong},
	} {
		if got := StageOf(c.row); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if (c.want == Wrong) != (Trouble(c.row) != "") {
			t.Errorf("%s: a problem always has a sentence, and only a problem", name)
		}
	}
}

func TestNamesFallBackToWhatIsKnown(t *testing.T) {
	for want, in := range map[string]office.Signer{
		"Ana Ruiz":        {FirstName: "Ana", LastName: "Ruiz"},
		"jan@example.com": {Email: "jan@example.com"},
		"Someone":         {},
	} {
		if got := Name(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, in := range map[string][]string{"": nil, "Ana": {"Ana"}, "Ana and Jan": {"Ana", "Jan"}, "Ana and 2 others": {"Ana", "Jan", "Bo"}} {
		if got := Names(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestALineSaysWhoIsNextAndWhatIsDue(t *testing.T) {
	for want, l := range map[string]office.PackageLine{
		"waiting for Ana and Jan":         {State: "open", Next: "Ana\nJan"},
		"waiting":                         {State: "open"},
		"not sent yet":                    {State: "draft", Next: "Ana"},
		"completed, files not saved yet":  {State: "executed"},
		"saved":                           {State: "executed", Saved: true},
		"withdrawn":                       {State: "rescinded"},
		"Expired before everyone signed.": {State: "expired"},
		"The signing service does not show this package at the moment.": {State: "open", Gone: true},
		"Not all files could be saved yet.":                             {State: "executed", Problem: true},
	} {
		if got := Line(l); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		due    time.Time
		where  Stage
		text   string
		colour fyne.ThemeColorName
	}{
		{now.Add(-time.Hour), Open, "was due Sat 21 Nov", theme.Attention},
		{now.Add(48 * time.Hour), Open, "due Mon 23 Nov", theme.Waiting},
		{now.Add(240 * time.Hour), Open, "due Tue 1 Dec", theme.Secondary},
		{now.Add(240 * time.Hour), Saved, "", theme.Secondary},
		{time.Time{}, Open, "", theme.Secondary},
	} {
		if text, colour := Due(now, c.due, office.DueDays, c.where); text != c.text || colour != c.colour {
			t.Errorf("got %q in %s, want %q in %s", text, colour, c.text, c.colour)
		}
	}
}

func TestANameWithACommaIsOnePerson(t *testing.T) {
	bob := office.Signer{ID: "s", FirstName: "Bob", LastName: "Smith, Jr.", Email: "bob@example.com"}
	l := office.Package{State: "open", Signers: []office.Signer{bob}}.Line()
	bob.Declined = office.When{Time: now}
	declined := office.Package{State: "open", Signers: []office.Signer{bob}}.Line()
	if people, says, why := PeopleOf(l), Line(l), Line(declined); !slices.Equal(people, []string{"Bob Smith, Jr."}) || says != "waiting for Bob Smith, Jr." || why != "Bob Smith, Jr. declined to sign." {
		t.Errorf("the people are %q; it says %q, %q", people, says, why)
	}
}

func TestADeclinedSignatureIsAProblemAndNobodysTurn(t *testing.T) {
	ana := office.Signer{ID: "s1", FirstName: "Ana", LastName: "Ruiz", Declined: office.When{Time: now}}
	row := office.PackageRow{Package: office.Package{State: "open", Signers: []office.Signer{ana}}}
	if got := StageOf(row); got != Wrong || Trouble(row) != "Ana Ruiz declined to sign." {
		t.Errorf("stage %v, %q", got, Trouble(row))
	}
	if mark, got := StateOf(now, row, ana); mark != theme.MarkProblem || !strings.HasPrefix(got, "declined ") {
		t.Errorf("the signer: %+v", got)
	}
	for who, text := range map[string]string{"Ana": "Ana declined to sign.", "": "A signer declined to sign."} {
		line := office.Package{State: "open", Signers: []office.Signer{{ID: "s1", FirstName: who, Declined: office.When{Time: now}}}}.Line()
		if StageOfLine(line) != Wrong || Line(line) != text {
			t.Errorf("the line of %q: %v, %q", who, StageOfLine(line), Line(line))
		}
	}
}

func TestASignerHasSignedWhenEveryDocumentIs(t *testing.T) {
	ana, jan := office.Signer{ID: "a", FirstName: "Ana"}, office.Signer{ID: "j", FirstName: "Jan"}
	row := office.PackageRow{Package: office.Package{State: "open", Sequential: true, Signers: []office.Signer{ana, jan},
		Documents: []office.Document{{ID: "1", SignedBy: []string{"a"}}, {ID: "2"}}}}
	if _, got := StateOf(now, row, ana); got != "1 of 2 signed" {
		t.Errorf("one of two documents signed: %q", got)
	}
	if _, got := StateOf(now, row, jan); got != "not their turn yet" {
		t.Errorf("not his turn: %q", got)
	}
	row.Documents[1].SignedBy = []string{"a"}
	row.History = []office.HistoryEntry{{Time: office.When{Time: now.Add(-time.Hour)}, What: "signed", Who: "a"}}
	if _, got := StateOf(now, row, ana); got != "signed 13:02" {
		t.Errorf("both documents signed: %q", got)
	}
}

func TestATimeByWhichSomebodySignedIsSaidAsSuch(t *testing.T) {
	at := office.When{Time: now.Add(-time.Hour), By: true}
	ana := office.Signer{ID: "a", FirstName: "Ana"}
	row := office.PackageRow{Package: office.Package{State: "open", Signers: []office.Signer{ana}, Documents: []office.Document{{ID: "1", SignedBy: []string{"a"}}},
		History: []office.HistoryEntry{{Time: at, What: "signed", Who: "a"}}}}
	if _, got := StateOf(now, row, ana); got != "signed before 13:02" {
		t.Errorf("%q", got)
	}
	ana.Declined, row.Documents[0].SignedBy = at, nil
	if _, got := StateOf(now, row, ana); got != "declined before 13:02" {
		t.Errorf("%q", got)
	}
	if got := When(now, office.When{}); got != "" {
		t.Errorf("a time that is not known is %q", got)
	}
}

func TestEveryErrorOfTheAgentHasItsWords(t *testing.T) {
	for want, err := range map[message.Message]error{
		message.Stopped():       fmt.Errorf("wait: %w", context.Canceled),
		message.ServiceSilent(): fmt.Errorf("ask: %w", context.DeadlineExceeded),
		message.NotSignedIn():   fmt.Errorf("send: %w", message.Error(message.NotSignedIn(), nil)),
		message.Unexpected():    errors.New("a bug"),
	} {
		if got := Error(err); got != Message(want) {
			t.Errorf("%v: said %q, want %q", err, got, Message(want))
		}
	}
}

func TestASentenceIsReadFromTheLeftWhateverNameItBeginsWith(t *testing.T) {
	for name, want := range map[string]string{"Ana Ruiz": "Ana Ruiz signed Lease", "محمد": "\u200eمحمد signed Lease", "דוד": "\u200eדוד signed Lease", "1. محمد": "\u200e1. محمد signed Lease"} {
		if got := leftToRight(name + " signed Lease"); got != want {
			t.Errorf("got %+q, want %+q", got, want)
		}
	}
	if got := declined([]string{"محمد"}); !strings.HasPrefix(got, "\u200e") {
		t.Errorf("got %+q", got)
	}
}

func TestAChosenLanguageGoesBeforeThatOfTheSystem(t *testing.T) {
	must(t, Load())
	Use("en")
	t.Cleanup(func() { Use("") })
	french, err := parse("fr", []byte(`{"Settings": "Réglages", "since {{.When}}": "depuis {{.When}}", "month.Jan": "janv.",
		"{{.PluralCount}} documents": {"one": "{{.PluralCount}} document", "other": "{{.PluralCount}} documents signés"}}`))
	if err != nil {
		t.Fatal(err)
	}
	chosen.Store(french)
	for want, got := range map[string]string{
		"Réglages":                    lang.L("Settings"),
		"depuis 14:02":                lang.L("since {{.When}}", V{"When": "14:02"}),
		"0 document":                  Documents(0), // French counts none as one
		"2 documents signés":          Documents(2),
		"janv.":                       lang.X("month.Jan", "Jan"),
		"depuis {{.When}}":            lang.L("since {{.When}}", V{"When": "{{.When}}"}),
		"1\u00a0000 documents signés": Documents(1000),
		"Packages":                    lang.L("Packages"), // not translated: the text itself
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	Use("tlh")
	if got := lang.L("Settings"); got != "Settings" {
		t.Errorf("a language nobody speaks here is the system's, got %q", got)
	}
}

func TestEveryLanguageThatIsOfferedHasItsName(t *testing.T) {
	for _, code := range Languages() {
		if LanguageName(code) == "" {
			t.Errorf("%s has no name", code)
		}
	}
}

// TestMain has the system speak English, whatever the computer's does.
func TestMain(m *testing.M) {
	for _, name := range []string{"LC_ALL", "LANG", "LANGUAGE"} {
		if err := os.Setenv(name, "C"); err != nil {
			panic(err)
		}
	}
	if err := Load(); err != nil {
		panic(err)
	}
	m.Run()
}
