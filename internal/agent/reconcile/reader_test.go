package reconcile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"countersign/internal/esign"
)

// movingList is a service's list of packages, which may change between two pages.
type movingList struct {
	rng   *rand.Rand
	items []esign.Status // as the service has them
	made  int
	clock time.Time
	most  int  // a page has at most so many
	total bool // the service says how many there are
	calls int
}

// add makes a package now and puts it to the front, as newest first has it, or to the end.
func (s *movingList) add(front bool) string {
	s.made++
	s.clock = s.clock.Add(time.Minute)
	p := esign.Status{PackageID: fmt.Sprint("p", s.made), TimeCreated: s.clock, State: "open"}
	if front {
		s.items = slices.Insert(s.items, 0, p)
	} else {
		s.items = append(s.items, p)
	}
	return p.PackageID
}

func (s *movingList) page(r *listReader) esign.Page {
	s.calls++
	from := min(r.skip, len(s.items))
	page := esign.Page{Items: slices.Clone(s.items[from:min(len(s.items), from+min(listPage, s.most))])}
	if s.total {
		page.Total = len(s.items)
	}
	return page
}

// readAll reads until there is no more, and lets change happen before each further page.
func (s *movingList) readAll(t *testing.T, r *listReader, change func()) listEnd {
	t.Helper()
	for range 2000 {
		if end := r.take(s.page(r)); end != listMore {
			return end
		}
		change()
	}
	t.Fatalf("%d pages, and no end", s.calls)
	return listTorn
}

func TestAReadingOfAListThatMovesMissesNothingWithoutSayingSo(t *testing.T) {
	var whole int
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		newest := rng.IntN(2) == 0
		s := &movingList{rng: rng, clock: time.Unix(1_790_000_000, 0), most: 8 + rng.IntN(120), total: rng.IntN(2) == 0}
		for range rng.IntN(600) {
			s.add(newest)
		}
		there := map[string]bool{} // from beginning to end
		for _, p := range s.items {
			there[p.PackageID] = true
		}
		r := newReader(nil, nil, s.clock, time.Time{})
		changes := rng.IntN(40)
		end := s.readAll(t, r, func() {
			for range min(rng.IntN(30), changes) {
				changes--
				if rng.IntN(2) == 0 || len(s.items) == 0 {
					s.add(newest)
					continue
				}
				i := rng.IntN(len(s.items))
				delete(there, s.items[i].PackageID)
				s.items = slices.Delete(s.items, i, i+1)
			}
		})
		if end == listTorn {
			continue
		}
		whole++
		for id := range there {
			if !r.seen[id] {
				t.Errorf("seed %d: %s was missed, and nothing said", seed, id)
			}
		}
	}
	if whole < 200 {
		t.Errorf("only %d of 400 readings came to an end", whole)
	}
}

func TestAReadingEndsAtWhatIsKnownOnlyWhereTheListIsNewestFirst(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(items []esign.Status)
		calls   int // at most; 0 for all there are
	}{
		"newest first": {func([]esign.Status) {}, 1},
		"oldest first": {slices.Reverse[[]esign.Status], 0},
		"by name": {func(items []esign.Status) {
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		}, 0},
		"no time of making": {func(items []esign.Status) {
			for i := range items {
				items[i].TimeCreated = time.Time{}
			}
		}, 0},
		"almost: one is off": {func(items []esign.Status) { items[10], items[400] = items[400], items[10] }, 0},
	} {
		for _, most := range []int{1, 3, 40, 100} {
			s := &movingList{clock: time.Unix(1_790_000_000, 0), most: most, total: true}
			for range 500 {
				s.add(true)
			}
			known := s.clock.Add(time.Second)
			fresh := s.add(true) // the one that is not known
			c.arrange(s.items)
			r := newReader(nil, nil, s.clock, known)
			if end := s.readAll(t, r, func() {}); end != listWhole || !r.seen[fresh] {
				t.Errorf("%s, %d a page: %v, the new one was read: %v", name, most, end, r.seen[fresh])
			}
			if all := len(r.seen) == 501; c.calls == 0 && !all || c.calls > 0 && len(r.seen) > 2*listPage {
				t.Errorf("%s, %d a page: %d packages were read", name, most, len(r.seen))
			}
		}
	}
}

func TestAReadingReadsNoPageMoreThanItHasTo(t *testing.T) {
	for fresh, calls := range map[int]int{0: 1, 30: 1, listPage - listProof: 1, listPage - listProof + 1: 2, 150: 2} {
		s := &movingList{clock: time.Unix(1_790_000_000, 0), most: listPage, total: true}
		for range 500 {
			s.add(true)
		}
		known := s.clock.Add(time.Second)
		for range fresh {
			s.add(true)
		}
		if end := s.readAll(t, newReader(nil, nil, s.clock, known), func() {}); end != listWhole || s.calls != calls {
			t.Errorf("with %d new packages %d pages were read, and not %d", fresh, s.calls, calls)
		}
	}
}
