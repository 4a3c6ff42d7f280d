package packages

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestTabsAndSearchLeaveWhatBelongsThere(t *testing.T) {
	x := newIndex(time.Time{}, 0, newestFirst, nil, officetest.Must(officetest.Busy().LinesSince(0)).Lines)
	for _, c := range []struct {
		name   string
		tab    int
		search string
		want   string
	}{
		{"waiting", tabWaiting, "", "p2 p1"},
		{"done", tabDone, "", "p3 p4"},
		{"problems", tabProblems, "", ""},
		{"all, also the withdrawn", tabAll, "", "p2 p3 p1 p4 p5"},
		{"a person", tabAll, "åkesson", "p1"},
		{"any case", tabAll, "ÅKESSON", "p1"},
		{"without accents", tabAll, "akesson bjorn", "p1"},
		{"with accents taken apart", tabAll, "A\u030akesson", "p1"},
		{"an address", tabAll, "ana.ruiz@", "p1"},
		{"a document", tabAll, "house rules", "p1"},
		{"words in any order", tabAll, "weber lease", "p1"},
		{"nothing", tabAll, "xyz", ""},
	} {
		shown, _ := x.sort(x.search(c.search, nil, nil), c.tab)
		ids := []string{}
		for _, i := range slices.Backward(shown) {
			ids = append(ids, x.line(i).ID)
		}
		screentest.Equal(t, c.name, strings.Join(ids, " "), c.want)
	}
	if _, counts := x.sort(x.search("", nil, nil), tabWaiting); counts != [tabCount]int{tabWaiting: 2, tabDone: 2, tabAll: 5, tabWithdrawn: 1} || counts != x.counts {
		t.Errorf("counts %v", counts)
	}
}

func packed(lines []office.PackageLine) (list []office.PackedLine) {
	for _, l := range lines {
		list = append(list, l.Pack())
	}
	return list
}

// lines are those of a large office: n packages, a third of them with letters outside ASCII.
func lines(n int) []office.PackageLine {
	lines := make([]office.PackageLine, n)
	states := []office.PackageState{"open", "executed", "expired", "rescinded"}
	for i := range lines {
		lines[i] = office.PackageLine{ID: fmt.Sprint("p", i), Name: fmt.Sprintf("Lease Sonnenweg %d, second floor", i),
			State: states[i%4], People: "Jan Weber <jan.weber@example.com>\nAna Ruiz <ana.ruiz@example.com>", Next: "Ana Ruiz",
			Words: fmt.Sprintf("Lease\nLease Sonnenweg %d.pdf\nHouse rules\nHouse rules.pdf\n2026-%d", i, i), SignersTotal: 2,
			Created: time.Unix(int64(1_790_000_000-i), 0)}
		if i%3 == 0 {
			lines[i].People = "Björn Åkesson <bjorn@example.com>, Ελένη Παπαδοπούλου <eleni@example.com>"
		}
	}
	return lines
}

// A search in one tab that finds nothing there says where there is something, rather than that there is nothing.
func TestWhatIsFoundElsewhereIsShownWithOnePress(t *testing.T) {
	b := newBench(t, spread())
	for _, c := range []struct {
		name, says string
		seek       func()
		tab        int
	}{
		{"search", "Nothing found for “zoo” in “Problems”.", func() { b.screen.search.SetText("zoo") }, tabAll},
		{"filter", "Nothing in “Problems” matches the filter.", func() { b.screen.narrow(narrowing{person: "ana"}) }, tabAll},
	} {
		b.screen.search.SetText("")
		b.screen.widen()
		b.screen.tabs.Choose(tabProblems)
		c.seek()
		b.Settle()
		said, press := b.empty()
		if said != c.says || press == nil || press.Text != "Show what was found" {
			t.Fatalf("%s: %q, %v", c.name, said, press)
		}
		b.Tap(press)
		if b.screen.tabs.Chosen() != c.tab || len(b.screen.Listed()) == 0 {
			t.Errorf("%s leads to tab %d with %q", c.name, b.screen.tabs.Chosen(), b.screen.Listed())
		}
	}
	b.screen.search.SetText("nowhere at all")
	b.Settle()
	if said, press := b.empty(); said != "Nothing found for “nowhere at all”." || press.Text != "Clear search" {
		t.Errorf("%q, %q", said, press.Text)
	}
}

// empty is what the list says when there is nothing in it, and what it offers.
func TestTabsStayWhereTheyAreWhileAPersonTypes(t *testing.T) {
	b := newBench(t, officetest.Busy())
	where := func() (at []fyne.Position) {
		b.Settle()
		for _, tab := range screentest.All[*widgets.Tappable](b.screen.tabs) {
			at = append(at, tab.Position())
		}
		return at
	}
	before := where()
	for _, text := range []string{"k", "nowhere at all", ""} {
		b.screen.search.SetText(text)
		screentest.Equal(t, fmt.Sprintf("tabs while %q is sought", text), where(), before)
	}
}

func (b *bench) empty() (said string, press *widgets.Button) {
	for _, prose := range screentest.All[*widgets.Prose](b.screen.side) {
		said = prose.Text
	}
	for _, button := range screentest.All[*widgets.Button](b.screen.side) {
		press = button
	}
	return said, press
}

// spread is an office whose packages were made by several people at several times, in both places.
func spread() *officetest.Office {
	o := officetest.Busy()
	o.Rows = nil
	row := func(id, name, who string, origin office.Origin, created time.Time, due int) {
		p := office.Package{ID: id, Name: name, Source: office.Source{Reference: map[string]string{"a": "2026-10", "d": "2026-9"}[id]},
			State: office.PackageOpen, Origin: origin, Created: created, Signing: office.Signing{SignersTotal: 1},
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
		byName: {"d", "b", "a", "c", "e"}, byDue: {"c", "e", "a", "b", "d"}, byReference: {"d", "a", "b", "c", "e"}} {
		b.screen.sortBy(o)
		b.Settle()
		if got := b.screen.Listed(); !slices.Equal(got, want) || (o != newestFirst) != shows(b, o.name()) {
			t.Errorf("%s: %q", o.name(), got)
		}
	}
	b.screen.sortBy(byName)
	b.Settle()
	next := New(b.Env, b.Office) // as the next start does
	b.Open(next, fyne.NewSize(900, 600))
	screentest.Equal(t, "the next time", next.Listed(), []string{"d", "b", "a", "c", "e"})
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
		{"a reference", narrowing{reference: "2026-9"}, []string{"d"}},
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
	screentest.Equal(t, "with a search", b.screen.Listed(), []string{"e"})
	b.show("a")
	if b.screen.isNarrowed() || b.screen.list.At() != 0 {
		t.Error("a package that is asked for is shown")
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
	screentest.Equal(t, "while it is typed", b.screen.Listed(), []string{"b", "d", "e"})
	typed.OnSubmitted("ana")
	if screentest.Top(b.Window) != nil {
		t.Error("Enter does not close the panel")
	}
	b.screen.narrow(narrowing{person: "ana", period: thisYear, origin: office.MadeHere})
	var said []string
	words := func() []fyne.CanvasObject { return b.screen.words.Objects }
	for _, o := range words() {
		said = append(said, o.(*widgets.Tappable).Lines[0].Text)
	}
	screentest.Equal(t, "it says", said, []string{"ana", "This year", "Created here"})
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
