package packages

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

func TestTabsAndSearchLeaveWhatBelongsThere(t *testing.T) {
	x := newIndex(officetest.Must(officetest.Busy().LinesSince(0)).Lines)
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
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
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
			State: states[i%4], People: "Jan Weber <jan.weber@example.com>, Ana Ruiz <ana.ruiz@example.com>", Next: "Ana Ruiz",
			Words: fmt.Sprintf("Lease\nLease Sonnenweg %d.pdf\nHouse rules\nHouse rules.pdf\n2026-%d", i, i), SignersTotal: 2,
			Created: time.Unix(int64(1_790_000_000-i), 0)}
		if i%3 == 0 {
			lines[i].People = "Björn Åkesson <bjorn@example.com>, Ελένη Παπαδοπούλου <eleni@example.com>"
		}
	}
	return lines
}

// BenchmarkIndexOf50000 makes the index that the list is shown from, and prepares it for the search.
func BenchmarkIndexOf50000(b *testing.B) {
	all := packed(lines(50_000))
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			newIndex(all)
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			x := newIndex(all)
			b.StartTimer()
			x.texts.prepare(x)
		}
	})
}

// BenchmarkFirstKeyOf50000 searches everything, as the first key of a search does; later ones search what it left.
func BenchmarkFirstKeyOf50000(b *testing.B) {
	x := newIndex(packed(lines(50_000)))
	x.texts.prepare(x)
	for b.Loop() {
		x.sort(x.search("w", nil, nil), tabWaiting)
	}
}

// BenchmarkFirstKeyByName is that of a list sorted by name.
func BenchmarkFirstKeyByName(b *testing.B) {
	x := newIndexAt(officetest.Now, office.DueDays, byName, packed(lines(50_000)))
	for b.Loop() {
		x.sort(x.search("w", nil, nil), tabAll)
	}
}

// BenchmarkSortingOf50000 is what another order costs beside the window.
func BenchmarkSortingOf50000(b *testing.B) {
	all := packed(lines(50_000))
	for _, o := range orders {
		b.Run(string(o), func(b *testing.B) {
			for b.Loop() {
				newIndexAt(officetest.Now, office.DueDays, o, all)
			}
		})
	}
}

// BenchmarkRareWordIn50000 is the worst case: every text is read to its end.
func BenchmarkRareWordIn50000(b *testing.B) {
	x := newIndex(packed(lines(50_000)))
	x.texts.prepare(x)
	for b.Loop() {
		x.sort(x.search("sonnenallee åkessen", nil, nil), tabAll)
	}
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
		press.OnTapped()
		b.Settle()
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
func (b *bench) empty() (said string, press *widgets.Button) {
	for _, o := range test.LaidOutObjects(b.screen.left) {
		switch o := o.(type) {
		case *widgets.Prose:
			said = o.Text
		case *widgets.Button:
			press = o
		}
	}
	return said, press
}
