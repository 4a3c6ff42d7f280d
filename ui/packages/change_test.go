package packages

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

// changing is an office whose packages change, and which tells what has changed, as the agent does.
type changing struct {
	env.Office
	lines   []office.PackageLine // the newest first
	changed []string             // ids, one for each version after the first
	whole   int                  // how often all were asked for
}

func (c *changing) LinesSince(since uint64) (office.Lines, error) {
	version := uint64(len(c.changed)) + 1
	if since == 0 {
		c.whole++
		return office.Lines{Version: version, All: true, Lines: packed(c.lines)}, nil
	}
	changes := office.Lines{Version: version}
	for _, l := range c.lines {
		if slices.Contains(c.changed[since-1:], l.ID) {
			changes.Lines = append(changes.Lines, l.Pack())
		}
	}
	return changes, nil
}

func (c *changing) Package(id string) (office.PackageRow, bool, error) {
	return office.PackageRow{}, false, nil
}

// change makes a package anew, or another one of what is there.
func (c *changing) change(l office.PackageLine) {
	if i := slices.IndexFunc(c.lines, func(x office.PackageLine) bool { return x.ID == l.ID }); i >= 0 {
		c.lines[i] = l
	} else {
		c.lines = slices.Insert(c.lines, 0, l)
	}
	c.changed = append(c.changed, l.ID)
}

func newChanging(t testing.TB, n int) (*bench, *changing) {
	c := &changing{lines: lines(n)}
	b := &bench{Bench: screentest.New(t, officetest.Busy())}
	c.Office = b.Env.Office
	b.Env.Office = c
	b.screen = New(b.Env)
	b.Open(b.screen, b.Window.Canvas().Size())
	return b, c
}

func TestChangesAreShownAsIfAllWereReadAnew(t *testing.T) {
	for _, o := range orders {
		t.Run(string(o), func(t *testing.T) { changesAreShown(t, o) })
	}
}

func changesAreShown(t *testing.T, o order) {
	b, c := newChanging(t, 60)
	s := b.screen
	s.sortBy(o)
	b.Settle()
	read := c.whole
	random := rand.New(rand.NewPCG(1, 2))
	states := []office.PackageState{"open", "executed", "expired", "rescinded"}
	for i := range 200 {
		switch random.IntN(7) {
		case 0:
			s.tabs.Choose(random.IntN(tabCount))
			s.refilter()
		case 1:
			s.search.SetText([]string{"", "akes", "ana", "sonnenweg 1", "new"}[random.IntN(5)])
		case 2:
			c.change(office.PackageLine{ID: fmt.Sprint("new", i), Name: fmt.Sprint("New ", i), State: "open", Created: time.Unix(int64(1_790_000_000+i), 0)})
		case 3:
			s.narrow(narrowing{person: []string{"", "björn", "ruiz"}[random.IntN(3)], origin: []office.Origin{"", office.MadeHere}[random.IntN(2)]})
		default:
			l := c.lines[random.IntN(len(c.lines))]
			l.State, l.Archived = states[random.IntN(4)], random.IntN(5) == 0
			l.People = []string{"Ana Ruiz", "Björn Åkesson"}[random.IntN(2)]
			l.Name = fmt.Sprint("Lease Sonnenweg ", random.IntN(20))
			l.Origin = []office.Origin{office.MadeElsewhere, office.MadeHere}[random.IntN(2)]
			l.Due = []time.Time{{}, time.Unix(1_790_000_000, 0).AddDate(0, 0, random.IntN(9))}[random.IntN(2)]
			c.change(l)
		}
		b.Reload()
		chosen, wanted := s.tabs.Chosen(), strings.Fields(office.Fold(s.search.Text))
		q := office.Query{Archived: true, Person: s.narrowed.person, Origin: s.narrowed.origin, Sort: map[order]office.Order{byName: office.ByName, byDue: office.ByDue}[o]}
		var match counts
		var want []string
		list := q.Choose(c.lines)
		if o == oldestFirst {
			slices.Reverse(list)
		}
		for _, l := range list {
			r := newIndex(packed([]office.PackageLine{l})).rows[0].sorted
			r.due = i18n.IsLate(officetest.Now, l.Due, office.DueDays)
			if !office.HasWords(office.Fold(l.SearchText()), wanted) {
				continue
			}
			match.add(r, 1)
			if r.in(chosen) {
				want = append(want, l.ID)
			}
		}
		if got := s.Listed()[len(s.heads):]; !slices.Equal(got, want) || s.match != match {
			t.Fatalf("change %d: %v %v, read anew %v %v", i, got, s.match, want, match)
		}
		for row, id := range s.Listed() {
			if s.rowOf(id) != row {
				t.Fatalf("change %d: %s is found in row %d, not in %d", i, id, s.rowOf(id), row)
			}
		}
	}
	if c.whole != read {
		t.Errorf("all were read %d times more", c.whole-read)
	}
}

func TestAListThatRestsFollowsTheOfficeAndIsSearchedAgain(t *testing.T) {
	b, c := newChanging(t, 60)
	s := b.screen
	s.tabs.Choose(tabAll)
	s.Rest()
	if s.all.texts.of() != nil {
		t.Error("it holds the texts for the search")
	}
	for i := range 3 {
		c.change(office.PackageLine{ID: fmt.Sprint("new", i), Name: fmt.Sprint("Harbour ", i), State: "open", Created: time.Unix(int64(1_790_000_100+i), 0)})
		l := c.lines[10+2*i]
		l.Name = "Harbour"
		c.change(l)
		b.Reload()
	}
	if ids := s.Listed(); len(ids) != 63 || ids[0] != "new2" || c.whole != 1 || s.all.texts.of() != nil {
		t.Errorf("%d packages are listed, %s first, after %d readings of all", len(ids), ids[0], c.whole)
	}
	s.Return()
	b.Settle()
	if s.all.texts.of() == nil {
		t.Error("the texts for the search are not there before somebody types")
	}
	if s.search.SetText("harbour"); len(s.Listed()) != 6 {
		t.Errorf("found are %q", s.Listed())
	}
	c.change(office.PackageLine{ID: "last", Name: "Harbour", State: "open", Created: time.Unix(1_790_000_200, 0)})
	b.Reload()
	if len(s.Listed()) != 7 || c.whole != 1 {
		t.Errorf("found are %q after %d readings of all", s.Listed(), c.whole)
	}
}

func TestAListThatRestsIsSearchedAllTheSame(t *testing.T) {
	b, c := newChanging(t, 60)
	b.screen.tabs.Choose(tabAll)
	b.screen.search.SetText("akesson")
	found := len(b.screen.Listed())
	b.screen.Rest()
	l := c.lines[1]
	l.People = "Björn Åkesson"
	c.change(l)
	b.Reload()
	b.Settle()
	if got := len(b.screen.Listed()); got != found+1 || found == 0 {
		t.Errorf("%d were found, and then %d", found, got)
	}
}

func TestAnOldPackageThatBecomesKnownIsInItsPlace(t *testing.T) {
	b, c := newChanging(t, 10)
	b.screen.tabs.Choose(tabAll)
	old := c.lines[5]
	old.ID, old.Name = "found", "Found"
	c.lines = slices.Insert(c.lines, 6, old)
	c.changed = append(c.changed, old.ID)
	old.Created = old.Created.Add(-time.Millisecond)
	c.change(old)
	b.Reload()
	b.Settle()
	if ids := b.screen.Listed(); slices.Index(ids, "found") != 6 || c.whole != 2 {
		t.Errorf("%v after %d readings of all", ids, c.whole)
	}
}

// BenchmarkChangeIn50000 is what a change costs in a window that shows 50,000 packages, of which it is one.
func BenchmarkChangeIn50000(b *testing.B) {
	for _, n := range []int{500, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bench, c := newChanging(b, n)
			lines := c.lines
			for i := 0; b.Loop(); i++ {
				l := lines[i%len(lines)]
				l.SignersDone = i
				c.lines, c.changed = []office.PackageLine{l}, append(c.changed, l.ID)
				bench.Reload()
			}
			if c.whole != 1 {
				b.Errorf("all were read %d times", c.whole)
			}
		})
	}
}
