package packages

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// late is an office in which one package is overdue, one due tomorrow and one has time.
func late() *officetest.Office {
	o := officetest.Busy()
	row := func(id, name string, due time.Duration) office.PackageRow {
		ana := office.Signer{ID: "s", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
		return office.PackageRow{Package: office.Package{ID: id, Name: name, State: office.PackageOpen, Created: officetest.Now.Add(-time.Hour),
			Due: officetest.Now.Add(due), Documents: []office.Document{{ID: "d", Name: "Lease"}}, SignersTotal: 1, NextSigners: []string{"s"},
			Signers: []office.Signer{ana}}}
	}
	o.Rows = []office.PackageRow{row("past", "Offer", -time.Hour), row("soon", "Lease", 24*time.Hour), row("time", "Mandate", 10*24*time.Hour)}
	return o
}

func TestWhatIsDueHasATabAndSaysSoInWords(t *testing.T) {
	b := newBench(t, late())
	b.screen.tabs.Choose(tabDue)
	if got := b.screen.Listed(); !slices.Equal(got, []string{"past", "soon"}) {
		t.Errorf("listed %q", got)
	}
	for i, want := range []string{"overdue · waiting for Ana Ruiz", "due soon · waiting for Ana Ruiz"} {
		if got := textOf(officetest.Now, office.DueDays, b.screen.at(i)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b.screen.tabs.Choose(tabWaiting)
	if got := textOf(officetest.Now, office.DueDays, b.screen.at(2)); got != "waiting for Ana Ruiz" || len(b.screen.Listed()) != 3 {
		t.Errorf("%q of %q", got, b.screen.Listed())
	}
	b.screen.Show("soon")
	if b.screen.tabs.Chosen() != tabWaiting {
		t.Error("it is where it was")
	}
}

func TestWhatIsDueSoonIsWhatPeopleAreToldBefore(t *testing.T) {
	o := late() // with a package that is due in ten days
	b := newBench(t, o)
	for _, c := range []struct {
		days int
		due  []string
	}{{10, []string{"past", "soon", "time"}}, {9, []string{"past", "soon"}}, {office.NoDueDays, []string{"past"}}} {
		o.Kept.DueDays = c.days
		b.Reload()
		b.screen.tabs.Choose(tabDue)
		b.screen.refilter()
		if got := b.screen.Listed(); !slices.Equal(got, c.due) {
			t.Errorf("told %d days before: listed %q, want %q", c.days, got, c.due)
		}
	}
}

// way presses one of the ways to the page of the chosen package's first signer.
func (b *bench) way(t *testing.T, name string) {
	t.Helper()
	for _, o := range b.screen.waysOf(b.screen.record.row, b.screen.record.row.Signers[0]).(*fyne.Container).Objects {
		if way := o.(*widgets.Tappable); way.Lines[0].Text == name {
			way.OnPress()
			b.Settle()
			return
		}
	}
	t.Fatalf("there is no way %q", name)
}

func TestALinkToSignIsAskedForWhenItIsUsed(t *testing.T) {
	const page = "https://sign.example.com/link/secret"
	o := late()
	b := newBench(t, o)
	b.screen.Show("soon")
	b.Settle()
	o.Pages = map[string]string{"s": page} // only now
	b.way(t, "Copy link")
	if !slices.Equal(b.Copied, []string{page}) {
		t.Errorf("copied %q", b.Copied)
	}
	b.way(t, "Sign here…")
	o.Rows[1].Signers[0].Locale = "de-DE"
	b.screen.Reload()
	b.Settle()
	b.way(t, "Write an e-mail")
	if len(b.System.Opened) != 2 || b.System.Opened[0] != "address "+page {
		t.Fatalf("opened %q", b.System.Opened)
	}
	u, err := url.Parse(strings.TrimPrefix(b.System.Opened[1], "address "))
	if err != nil || u.Scheme != "mailto" || u.Opaque != "ana@example.com" {
		t.Fatalf("%v, %v", u, err)
	}
	q := u.Query()
	if !strings.HasPrefix(q.Get("subject"), "Ihre Unterschrift wird gebraucht: „Lease“") || !strings.Contains(q.Get("body"), "Guten Tag Ana Ruiz,\r\n") || !strings.Contains(q.Get("body"), "\r\n"+page+"\r\n") ||
		!strings.Contains(q.Get("body"), "Die Frist endet morgen.") {
		t.Errorf("the letter: %q", q)
	}
	for _, n := range b.Notices {
		if strings.Contains(n, page) {
			t.Errorf("a notice shows the link: %q", n)
		}
	}
}

func TestALetterDoesNotSayThatAPackageWaitsForWhoseTurnHasNotCome(t *testing.T) {
	o := late()
	o.Pages = map[string]string{"s": "https://sign.example.com/link/secret"}
	o.Rows[1].Sequential, o.Rows[1].Signers = true, append(o.Rows[1].Signers, office.Signer{ID: "before"})
	o.Rows[1].NextSigners = []string{"before"}
	b := newBench(t, o)
	b.screen.Show("soon")
	b.Settle()
	b.way(t, "Write an e-mail")
	if len(b.System.Opened) != 1 {
		t.Fatalf("opened %q", b.System.Opened)
	}
	letter, err := url.QueryUnescape(b.System.Opened[0])
	if err != nil || strings.Contains(letter, "waiting for your signature") || !strings.Contains(letter, "once those before you have signed") {
		t.Errorf("the letter: %q, %v", letter, err)
	}
}

func TestAServiceWithoutLinksIsSaidInPlaceOfTheWays(t *testing.T) {
	b := newBench(t, late())
	b.screen.Show("soon")
	b.Settle()
	b.way(t, "Copy link")
	if len(b.Notices) != 1 || b.Notices[0] != message.NoLinks().String() || !b.screen.noLinks {
		t.Errorf("said %q", b.Notices)
	}
	if len(b.Copied) != 0 {
		t.Errorf("copied %q", b.Copied)
	}
}

func TestDeclinedAndExpiredPackagesAreToldToTheTray(t *testing.T) {
	o := late()
	o.Rows[0].State = office.PackageExpired
	o.Rows[1].Signers = []office.Signer{{ID: "s", FirstName: "Ana", LastName: "Ruiz", Declined: office.When{Time: officetest.Now}, DeclineReason: "The rent is wrong."}}
	b := newBench(t, o)
	if got := b.screen.Stuck(); got.Count != 2 || got.First.ID != "past" {
		t.Errorf("%+v", got)
	}
	if got := textOf(officetest.Now, office.DueDays, b.screen.all.listed(1)); got != "Ana Ruiz declined to sign. Reason: The rent is wrong." {
		t.Errorf("%q", got)
	}
	b.screen.ShowStuck()
	if got := b.screen.Listed(); !slices.Equal(got, []string{"past", "soon"}) {
		t.Errorf("listed %q", got)
	}
}

func TestWhatIsDueIsJudgedAnewAtMidnight(t *testing.T) {
	for how, midnight := range map[string]func(*bench){
		"awake":              func(b *bench) { b.Pass() },
		"slept, told later":  func(b *bench) { b.screen.ShowChecked(time.Time{}, true); b.Settle() },
		"slept, then a news": func(b *bench) { b.Reload() },
	} {
		b := newBench(t, late())
		b.Office.Rows[2].Due = officetest.Now.AddDate(0, 0, office.DueDays+1)
		b.Reload()
		now := officetest.Now
		b.Env.Now = func() time.Time { return now }
		midnight(b)
		if got := b.screen.counts[tabDue]; got != 2 {
			t.Errorf("%s: on the same day %d are due", how, got)
		}
		now = time.Date(2026, 11, 22, 0, 0, 1, 0, now.Location())
		midnight(b)
		if got := b.screen.counts[tabDue]; got != 3 {
			t.Errorf("%s: a second after midnight %d are due", how, got)
		}
	}
}

func TestNobodyWaitsForTheDocumentsOfWhatIsOver(t *testing.T) {
	for state, want := range map[office.PackageState]theme.Mark{office.PackageOpen: theme.MarkNext, office.PackageRescinded: theme.MarkEnded,
		office.PackageExpired: theme.MarkEnded, "declined": theme.MarkEnded} {
		p := record{known: true, row: office.PackageRow{Package: office.Package{State: state, Documents: []office.Document{{ID: "d", Name: "Lease"}, {ID: "e", Executed: true}}}}}
		if files := p.files(); files[0].mark != want || files[1].mark != theme.MarkSigned {
			t.Errorf("%s: %v and %v", state, files[0].mark, files[1].mark)
		}
	}
}
