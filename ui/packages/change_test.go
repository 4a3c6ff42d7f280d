package packages

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/ui/env"
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
	b, c := newChanging(t, 60)
	s := b.screen
	random := rand.New(rand.NewPCG(1, 2))
	states := []office.PackageState{"open", "executed", "expired", "rescinded"}
	for i := range 200 {
		switch random.IntN(6) {
		case 0:
			s.tabs.Choose(random.IntN(tabCount))
			s.refilter()
		case 1:
			s.search.SetText([]string{"", "akes", "ana", "sonnenweg 1", "new"}[random.IntN(5)])
		case 2:
			c.change(office.PackageLine{ID: fmt.Sprint("new", i), Name: fmt.Sprint("New ", i), State: "open", Created: time.Unix(int64(1_790_000_000+i), 0)})
		default:
			l := c.lines[random.IntN(len(c.lines))]
			l.State, l.Archived = states[random.IntN(4)], random.IntN(5) == 0
			l.People = []string{"Ana Ruiz", "Björn Åkesson"}[random.IntN(2)]
			c.change(l)
		}
		b.Reload()
		x := newIndex(packed(c.lines))
		shown, match := x.sort(x.search(s.search.Text, nil), s.tabs.Chosen())
		var want []string
		for _, place := range slices.Backward(shown) {
			want = append(want, x.line(place).ID)
		}
		if got := s.Listed()[len(s.heads):]; !slices.Equal(got, want) || s.match != match || s.all.counts != x.counts {
			t.Fatalf("change %d: %v %v, read anew %v %v", i, got, s.match, want, match)
		}
	}
	if c.whole != 1 {
		t.Errorf("all were read %d times", c.whole)
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
