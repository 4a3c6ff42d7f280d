package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// shelf is a service's list of packages, which may change between two pages.
type shelf struct {
	rng   *rand.Rand
	items []esign.Status // as the service has them
	made  int
	clock time.Time
	most  int  // a page has at most so many
	total bool // the service says how many there are
	calls int
}

// add makes a package now and puts it to the front, as newest first has it, or to the end.
func (s *shelf) add(front bool) string {
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

func (s *shelf) page(r *reading) esign.Page {
	s.calls++
	from := min(r.skip, len(s.items))
	page := esign.Page{Items: slices.Clone(s.items[from:min(len(s.items), from+min(listPage, s.most))])}
	if s.total {
		page.Total = len(s.items)
	}
	return page
}

// readAll reads until there is no more, and lets change happen before each further page.
func (s *shelf) readAll(t *testing.T, r *reading, change func()) outcome {
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
		s := &shelf{rng: rng, clock: time.Unix(1_790_000_000, 0), most: 8 + rng.IntN(120), total: rng.IntN(2) == 0}
		for range rng.IntN(600) {
			s.add(newest)
		}
		there := map[string]bool{} // from beginning to end
		for _, p := range s.items {
			there[p.PackageID] = true
		}
		r := newReading(nil, s.clock, time.Time{})
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
		"newest first":       {func([]esign.Status) {}, 1},
		"oldest first":       {slices.Reverse[[]esign.Status], 0},
		"by name":            {func(items []esign.Status) { shuffle(items, 1) }, 0},
		"no time of making":  {func(items []esign.Status) { clearTimes(items) }, 0},
		"almost: one is off": {func(items []esign.Status) { items[10], items[400] = items[400], items[10] }, 0},
	} {
		for _, most := range []int{1, 3, 40, 100} {
			s := &shelf{clock: time.Unix(1_790_000_000, 0), most: most, total: true}
			for range 500 {
				s.add(true)
			}
			known := s.clock.Add(time.Second)
			fresh := s.add(true) // the one that is not known
			c.arrange(s.items)
			r := newReading(nil, s.clock, known)
			if end := s.readAll(t, r, func() {}); end != listWhole || !r.seen[fresh] {
				t.Errorf("%s, %d a page: %v, the new one was read: %v", name, most, end, r.seen[fresh])
			}
			if all := len(r.seen) == 501; c.calls == 0 && !all || c.calls > 0 && len(r.seen) > 2*listPage {
				t.Errorf("%s, %d a page: %d packages were read", name, most, len(r.seen))
			}
		}
	}
}

func shuffle(items []esign.Status, seed uint64) {
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
}

func clearTimes(items []esign.Status) {
	for i := range items {
		items[i].TimeCreated = time.Time{}
	}
}

// TestPackagesAreFoundWhateverTheListIsLike: a package made elsewhere whose event never came is found, and so is the one of
// a draft whose answer was lost, however the service orders, cuts and moves its list.
func TestPackagesAreFoundWhateverTheListIsLike(t *testing.T) {
	for name, habits := range map[string]sandbox.ListHabits{
		"oldest first, short pages": {Order: "oldest", MostTake: 3},
		"by name, short pages":      {Order: "name", MostTake: 4},
		"items come in":             {MostTake: 5, Shift: 2},
		"items go away":             {Order: "oldest", MostTake: 8, Shift: -4},
		"one a page":                {Order: "oldest", MostTake: 1},
		"another order each time":   {Order: "random", MostTake: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.Tunnel = office.TunnelNone })
			client, _ := o.online()
			path := o.sample()
			for i := range 14 {
				o.foreignBy(client, path, fmt.Sprintf("Old %02d", i))
			}
			o.reconcileSoon("test")
			o.eventually("all are known", func() bool { return o.Status().Packages.Total == 14 })
			o.service.SetListHabits(habits)
			id := o.foreignBy(client, path, "Old 07 and a half")
			signAll(o, id)
			o.service.Inject(sandbox.Fault{Method: "POST", Path: "/packages/add", Times: 1, LoseAnswer: true})
			state, err := o.Send(t.Context(), o.draft(), nil)
			if err != nil || state.State != office.DraftUnknown && state.State != office.DraftSent {
				t.Fatalf("send: %+v, %v", state, err)
			}
			o.eventually("both are found", func() bool {
				o.reconcileSoon("test")
				o.outbox.Wake()
				return saved(o, id) && o.draftIs(office.DraftSent)
			})
			if n := len(o.service.Packages()); n != 16 {
				t.Errorf("%d packages", n)
			}
		})
	}
}

func TestAListThatCannotBePagedIsReadAsFarAsItGoes(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.Tunnel = office.TunnelNone })
	o.eventually("the list was read", func() bool { return calls(o.service, "POST /packages/list") > 0 })
	o.service.SetListHabits(sandbox.ListHabits{MostTake: 2, NoSkip: true})
	o.colleague(t, 3)
	began := calls(o.service, "POST /packages/list")
	o.reconcileSoon("test")
	o.eventually("the newest are found", func() bool { return o.Status().Packages.Saved >= 2 })
	if n := calls(o.service, "POST /packages/list") - began; n > 2*(listStale+1) {
		t.Errorf("the list was read %d times", n)
	}
	o.service.SetListHabits(sandbox.ListHabits{})
	o.reconcileSoon("test")
	o.eventually("and the rest once it can be", func() bool { return o.Status().Packages.Saved == 3 })
}

func TestALongListIsReadInRoundsAndWhatOneDidNotReadIsOwedToTheNext(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.Tunnel = office.TunnelNone })
	o.stop()
	o.open()
	defer o.stop()
	if _, online := o.online(); !online {
		t.Fatal("nobody is signed in")
	}
	client, _ := o.online()
	path := o.sample()
	for i := range listRound + 3 {
		o.foreignBy(client, path, fmt.Sprintf("Old %02d", i))
	}
	o.service.SetListHabits(sandbox.ListHabits{MostTake: 1, Order: "oldest"})
	l := &listing{}
	o.lookAround(t.Context(), client, l)
	if l.reading == nil || !l.rest.Over(o.Now()) {
		t.Fatalf("after one round: resting %+v, reading %+v", l.rest, l.reading)
	}
	if n := len(o.Lines()); n != listRound {
		t.Errorf("%d packages after one round", n)
	}
	var through listed
	read := func() listed {
		o.Data.View(func(tx *store.Tx) error { _, err := tx.GetDoc(docListed, &through); return err })
		return through
	}
	before := read().Through
	o.lookAround(t.Context(), client, l)
	if n := len(o.Lines()); n != listRound+3 || l.reading != nil {
		t.Errorf("%d packages after two rounds", n)
	}
	if l.rest.Over(o.Now()) || read().Whole.IsZero() || read().Through.Before(before) {
		t.Errorf("resting %+v, %+v", l.rest, through)
	}
}

func TestAListThatDoesNotSayWhenSomethingWasFinishedHidesNothingThatIsNew(t *testing.T) {
	for name, times := range map[string]string{"no times": "", "when it was made alone": `,"timeCreated":"1999-12-01T10:00:00Z"`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				items := ""
				add := func(id string) {
					mu.Lock()
					defer mu.Unlock()
					if items != "" {
						items += ","
					}
					items += `{"packageId":"` + id + `","state":"executed"` + times + `}`
				}
				add("old")
				a, c, stop := quietOffice(t, 0, func(p *Params) {
					service := p.HTTP.Transport.(*canned)
					service.say = func(path string) string {
						switch {
						case strings.HasSuffix(path, "/packages/list"):
							mu.Lock()
							defer mu.Unlock()
							return `{"items":[` + items + `]}`
						case strings.HasSuffix(path, "/status"):
							return `{"state":"executed","documents":[{"documentId":"d"}]}`
						case strings.HasSuffix(path, "/download"):
							return "%PDF-1.7\n" + path + "\n%%EOF\n"
						}
						return ""
					}
				})
				defer stop()
				time.Sleep(2 * time.Hour)
				add("new")
				time.Sleep(listWholly + 12*time.Hour)
				if c.count("/packages/new/status") == 0 || a.Status().Packages.Saved != 1 {
					t.Error("what was finished later, without an event, is not saved")
				}
				if c.count("/packages/old/status") != 0 {
					t.Error("what was finished before the sign-in was asked for")
				}
			})
		})
	}
}
