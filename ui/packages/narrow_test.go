package packages

import (
	"slices"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

// spread is an office whose packages were made by several people at several times, in both places.
func spread() *officetest.Office {
	o := officetest.Busy()
	o.Rows = nil
	row := func(id, name, who string, origin office.Origin, created time.Time, due int) {
		p := office.Package{ID: id, Name: name, State: office.PackageOpen, Origin: origin, Created: created, SignersTotal: 1,
			Signers: []office.Signer{{ID: "s", FirstName: who, Email: who + "@example.com"}}}
		if due > 0 {
			p.Due = officetest.Now.AddDate(0, 0, due)
		}
		o.Rows = append(o.Rows, office.PackageRow{Package: p})
	}
	row("a", "Lease 10", "Björn", office.MadeHere, officetest.Now.Add(-time.Hour), 9)          // today, a Saturday
	row("b", "lease 2", "Ana", office.MadeElsewhere, officetest.Now.AddDate(0, 0, -3), 0)      // this week
	row("c", "Mandate", "Bjorn", office.MadeElsewhere, officetest.Now.AddDate(0, 0, -10), 4)   // this month
	row("d", "Accounts", "Ana", office.MadeHere, officetest.Now.AddDate(0, -4, 0), 0)          // this year
	row("e", "Zoo", "Ana", office.MadeHere, time.Date(2025, 12, 31, 12, 0, 0, 0, time.UTC), 6) // before
	return o
}

func TestTheListIsSortedAsThePersonWantsAndStaysSo(t *testing.T) {
	b := newBench(t, spread())
	for o, want := range map[order][]string{newestFirst: {"a", "b", "c", "d", "e"}, oldestFirst: {"e", "d", "c", "b", "a"},
		byName: {"d", "b", "a", "c", "e"}, byDue: {"c", "e", "a", "b", "d"}} {
		b.screen.sortBy(o)
		b.Settle()
		if got := b.screen.Listed(); !slices.Equal(got, want) || b.screen.sorting.Text() != o.name() {
			t.Errorf("%s: %q", b.screen.sorting.Text(), got)
		}
	}
	b.screen.sortBy(byName)
	b.Settle()
	next := New(b.Env) // as the next start does
	b.Open(next, fyne.NewSize(900, 600))
	if got := next.Listed(); !slices.Equal(got, []string{"d", "b", "a", "c", "e"}) {
		t.Errorf("the next time: %q", got)
	}
}

func TestAnotherOrderKeepsTheChoiceAndItsPlace(t *testing.T) {
	b := newBench(t, many(200))
	s := b.screen
	s.list.Select(100)
	b.Settle()
	s.list.ScrollTo(97)
	top, hidden := s.list.Top()
	s.sortBy(oldestFirst)
	b.Settle()
	if newTop, newHidden := s.list.Top(); s.chosen != "n100" || s.list.At() != 99 || newTop != top-1 || newHidden-hidden > 1 || hidden-newHidden > 1 {
		t.Errorf("%s in row %d is chosen; the view went from %d to %d", s.chosen, s.list.At(), top, newTop)
	}
	s.list.ScrollToTop() // the chosen one is out of sight
	s.sortBy(newestFirst)
	b.Settle()
	if newTop, _ := s.list.Top(); newTop != 0 || s.chosen != "n100" {
		t.Errorf("the view went to row %d, %s is chosen", newTop, s.chosen)
	}
}

func TestAFilterLeavesWhatItSays(t *testing.T) {
	b := newBench(t, spread())
	for _, c := range []struct {
		name string
		n    narrowing
		want []string
	}{
		{"nothing", narrowing{}, []string{"a", "b", "c", "d", "e"}},
		{"a person, accents or not", narrowing{person: "bjorn"}, []string{"a", "c"}},
		{"a person, by a document's word", narrowing{person: "mandate"}, nil},
		{"today", narrowing{period: today}, []string{"a"}},
		{"this week", narrowing{period: thisWeek}, []string{"a", "b"}},
		{"this month", narrowing{period: thisMonth}, []string{"a", "b", "c"}},
		{"this year", narrowing{period: thisYear}, []string{"a", "b", "c", "d"}},
		{"days", narrowing{period: fromUntil, from: "7/1", until: "nov 11"}, []string{"c", "d"}},
		{"up to a day", narrowing{period: fromUntil, until: "12/31/2025"}, []string{"e"}},
		{"no day", narrowing{period: fromUntil, from: "some day"}, []string{"a", "b", "c", "d", "e"}},
		{"here", narrowing{origin: office.MadeHere}, []string{"a", "d", "e"}},
		{"all at once", narrowing{origin: office.MadeElsewhere, person: "ana", period: thisYear}, []string{"b"}},
	} {
		b.screen.narrow(c.n)
		b.Settle()
		if got := b.screen.Listed(); !slices.Equal(got, c.want) || b.screen.counts[tabWaiting] != len(c.want) {
			t.Errorf("%s: %q, counted %d", c.name, got, b.screen.counts[tabWaiting])
		}
	}
	b.screen.narrow(narrowing{person: "ana"})
	b.screen.search.SetText("zoo")
	b.Settle()
	if got := b.screen.Listed(); !slices.Equal(got, []string{"e"}) {
		t.Errorf("with a search: %q", got)
	}
	b.screen.Show("a")
	b.Settle()
	if b.screen.isNarrowed() || b.screen.list.At() != 0 {
		t.Error("a package that is asked for is shown")
	}
}

// Wednesday is in the week of this Saturday everywhere, the Sunday before it only where weeks begin on one.
func TestAWeekBeginsAsInTheCountry(t *testing.T) {
	o := spread()
	for i, ago := range []int{6, 7} {
		o.Rows[i].Package.Created = officetest.Now.AddDate(0, 0, -ago)
	}
	b := newBench(t, o)
	for country, want := range map[string][]string{"": nil, "GB": nil, "US": {"a"}} {
		b.Env.Country = country
		b.screen.narrow(narrowing{})
		b.screen.narrow(narrowing{period: thisWeek})
		b.Settle()
		if got := b.screen.Listed(); !slices.Equal(got, want) {
			t.Errorf("%q: %q", country, got)
		}
	}
}

func TestAFilterOfTodayIsAnotherTomorrow(t *testing.T) {
	b := newBench(t, spread())
	now := officetest.Now
	b.Env.Now = func() time.Time { return now }
	b.screen.narrow(narrowing{period: today})
	now = now.AddDate(0, 0, 1)
	b.Pass()
	if got := b.screen.Listed(); len(got) != 0 {
		t.Errorf("today is %q", got)
	}
}

func TestWhatTheListIsNarrowedToIsSaidAndRemoved(t *testing.T) {
	b := newBench(t, spread())
	b.screen.askFilter()
	typed := b.Window.Canvas().Focused().(*widgets.Entry)
	typed.SetText("ana")
	b.Settle()
	if got := b.screen.Listed(); !slices.Equal(got, []string{"b", "d", "e"}) {
		t.Errorf("while it is typed: %q", got)
	}
	typed.OnSubmitted("ana")
	if b.Window.Canvas().Overlays().Top() != nil {
		t.Error("Enter does not close the panel")
	}
	b.screen.narrow(narrowing{person: "ana", period: thisYear, origin: office.MadeHere})
	var said []string
	words := func() []fyne.CanvasObject { return b.screen.words.Objects }
	for _, o := range words() {
		said = append(said, o.(*widgets.Tappable).Lines[0].Text)
	}
	if !slices.Equal(said, []string{"ana", "This year", "Created here"}) {
		t.Errorf("it says %q", said)
	}
	for n := len(said); n > 0; n-- {
		words()[0].(*widgets.Tappable).OnPress()
		b.Settle()
		if len(words()) != n-1 {
			t.Fatalf("%d words are left of %d", len(words()), n)
		}
	}
	if len(b.screen.Listed()) != 5 || b.screen.chips.Visible() {
		t.Errorf("listed %q", b.screen.Listed())
	}
}

func TestARangeOfDaysIsSaidInShort(t *testing.T) {
	b := newBench(t, spread())
	for want, n := range map[string]narrowing{"from 1 Jul": {from: "7/1"}, "until 31 Dec 2025": {until: "12/31/2025"}, "1 Jul – 11 Nov": {from: "7/1", until: "11/11"}, "": {from: "x"}} {
		n.period = fromUntil
		b.screen.narrow(n)
		if got := b.screen.periodText(n.query(b.Now(), day.Of(""))); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNarrowingLooksAsItWasApproved(t *testing.T) {
	for _, c := range []struct {
		name     string
		act      func(*bench)
		size     fyne.Size
		theme    string
		scale    float32
		language string
	}{
		{"narrowed", func(*bench) {}, large, "light", 1, "en"},
		{"narrowed-small-de", func(*bench) {}, little, "dark", 1, "de"},
		{"narrowed-small-fr-200", func(*bench) {}, little, "light", 2, "fr"},
		{"narrowed-to-nothing-es", func(b *bench) { b.screen.narrow(narrowing{person: "nadie"}) }, little, "dark", 1, "es"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i18n.Use(c.language)
			t.Cleanup(func() { i18n.Use("en") })
			b := newBench(t, spread())
			b.Window.Resize(c.size)
			b.screen.sortBy(byDue)
			b.screen.narrow(narrowing{person: "Ana Bernadette von Hohenstein-Liechtenberg", period: fromUntil, from: "2025-01-01", until: "2026-10-31", origin: office.MadeHere})
			c.act(b)
			b.Settle()
			b.Looks(c.name, c.theme, c.size, c.scale)
		})
	}
}
