package packages

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/ui/officetest"
)

func TestTabsAndSearchLeaveWhatBelongsThere(t *testing.T) {
	x := newIndex(officetest.Must(officetest.Busy().Lines()), nil)
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
		shown, _ := x.sort(x.search(c.search, nil), c.tab)
		ids := []string{}
		for _, i := range shown {
			ids = append(ids, x.rows[i].line.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, counts := x.sort(x.search("", nil), tabWaiting); counts != [tabCount]int{2, 2, 0, 5, 1} {
		t.Errorf("counts %v", counts)
	}
}

func TestWhatDidNotChangeIsNotPreparedAgain(t *testing.T) {
	all := lines(1000)
	before := newIndex(all, nil)
	before.prepare()
	next := slices.Clone(all)
	next[7].Name = "Übergabe"
	next = append([]office.PackageLine{{ID: "new", Name: "Offer"}}, next...)
	x := newIndex(next, before)
	missing := 0
	for _, text := range x.texts {
		if text == "" {
			missing++
		}
	}
	if missing != 2 {
		t.Errorf("%d packages are prepared for a new one and a changed one", missing)
	}
	for text, want := range map[string]string{"ubergabe": "p7", "offer": "new", "sonnenweg 999": "p999"} {
		if found := x.search(text, nil); len(found) != 1 || x.rows[found[0]].line.ID != want {
			t.Errorf("%q finds %v", text, found)
		}
	}
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

func BenchmarkIndexOf50000(b *testing.B) {
	all := lines(50_000)
	for b.Loop() {
		newIndex(all, nil).prepare()
	}
}

// BenchmarkIndexOf50000WhenOneChanged is what a change costs while the window shows them.
func BenchmarkIndexOf50000WhenOneChanged(b *testing.B) {
	all := lines(50_000)
	x := newIndex(all, nil)
	for i := 0; b.Loop(); i++ {
		all[i%len(all)].SignersDone++
		x = newIndex(all, x)
		x.prepare()
	}
}

// BenchmarkFirstKeyOf50000 searches everything, as the first key of a search does; later ones search what it left.
func BenchmarkFirstKeyOf50000(b *testing.B) {
	x := newIndex(lines(50_000), nil)
	x.prepare()
	for b.Loop() {
		x.sort(x.search("w", nil), tabWaiting)
	}
}

// BenchmarkRareWordIn50000 is the worst case: every text is read to its end.
func BenchmarkRareWordIn50000(b *testing.B) {
	x := newIndex(lines(50_000), nil)
	x.prepare()
	for b.Loop() {
		x.sort(x.search("sonnenallee åkessen", nil), tabAll)
	}
}
