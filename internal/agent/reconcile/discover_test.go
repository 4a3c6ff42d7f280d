package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// shelf is a service that lists packages, the oldest first and one a page, or the newest first, of which one was made each hour, and a
// hundred a page. It is no http.Server, because virtual time does not pass while the network is waited for.
type shelf struct {
	packages int
	picky    bool // it takes neither how many to give at once nor an order
	own      bool // it gives nobody's but the caller's own
	refuses  bool
	fails    bool
	read     int // pages
	lost     int // it says that there are so many more than it shows

	hourly time.Time // when the newest was made; zero for the oldest first
	state  string    // of those made at an unknown time; empty for open
	unsent string    // the state of the one made 150 hours before it, empty while it is not shown
}

func (s *shelf) RoundTrip(req *http.Request) (*http.Response, error) {
	var q struct {
		Skip, Take int
		SortBy     string
		AllMembers bool
	}
	if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
		return nil, err
	}
	s.read++
	var items []string
	for i := range s.packages {
		switch {
		case s.hourly.IsZero():
			items = append(items, fmt.Sprintf(`{"packageId":"p%d","state":%q}`, i, cmp.Or(s.state, "open")))
		case i != 150 || s.unsent != "":
			state := map[bool]string{true: s.unsent, false: "open"}[i == 150]
			items = append(items, fmt.Sprintf(`{"packageId":"p%d","state":%q,"timeCreated":%q}`, i, state, s.hourly.Add(-time.Duration(i)*time.Hour).Format(time.RFC3339)))
		}
	}
	page := map[bool]int{true: 1, false: 100}[s.hourly.IsZero()]
	from, total := min(q.Skip, len(items)), len(items)
	items = items[from:min(from+page, total)]
	switch {
	case s.refuses, s.own && q.AllMembers:
		return answer(req, http.StatusForbidden, "")
	case s.picky && (q.Take > 0 || q.SortBy != ""):
		return answer(req, http.StatusBadRequest, "")
	case s.fails:
		return answer(req, http.StatusServiceUnavailable, "")
	}
	return answer(req, http.StatusOK, fmt.Sprintf(`{"items":[%s],"total":%d}`, strings.Join(items, ","), total+s.lost))
}

func (s *shelf) client(id string) *esign.Client {
	return clientOf(s, looptest.Token{}, id)
}

func clientOf(service http.RoundTripper, tokens esign.TokenSource, id string) *esign.Client {
	return esign.NewClient(esign.Config{
		AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: id, HTTP: &http.Client{Transport: service}, Now: time.Now,
	}, tokens)
}

func answer(req *http.Request, status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// lines is how many packages are known.
func (x *testService) lines() int {
	x.t.Helper()
	lines, err := x.Lines()
	noErr(x.t, err)
	return len(lines)
}

// What was executed before the first reading is not fetched; what is executed later is, also where the account may list only its own
// packages or the service counts more than it shows. Whoever may list everybody's one day has read none of the others' before.
func TestWhatIsExecutedAfterTheFirstReadingIsFetchedThoughTheListIsNeverWhole(t *testing.T) {
	for name, c := range map[string]struct {
		shelf shelf
		first int // the readings that count as the first
		all   int // fetched once everybody's may be listed
	}{
		"own":  {shelf{own: true}, 1, 2},
		"torn": {shelf{lost: 1}, 2, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			x, s, l := newService(t), &c.shelf, &discovery{}
			since := x.Now()
			x.deps.Since = func() time.Time { return since }
			client := s.client("office")
			s.state = string(office.PackageExecuted)
			read := func(packages, want int) {
				t.Helper()
				s.packages, l.rest = packages, loop.Cooldown{}
				x.lookAround(t.Context(), client, l)
				expect(t, x.lines(), want, "%s: fetched of %d", name, packages)
			}
			for range c.first {
				read(3, 0)
			}
			read(5, 2)
			if last, _, err := data.Doc[listed](x.Data, docListed); err != nil || !last.known(x.Now(), since, client.Issuer()).IsZero() {
				t.Errorf("%s: it is not read to the end again: %+v, %v", name, last, err)
			}
			s.own = false
			read(7, c.all)
		})
	}
}

func TestALongListIsReadInRoundsAndWhatOneDidNotReadIsOwedToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{packages: listRound + 3, picky: true}, &discovery{}
		client := s.client("office")
		x.lookAround(t.Context(), client, l)
		if l.reading == nil || !l.rest.Over(x.Now()) || x.lines() != listRound {
			t.Fatalf("after one round: %d packages, resting %+v, reading %+v", x.lines(), l.rest, l.reading)
		}
		x.lookAround(t.Context(), client, l)
		if l.reading != nil || l.rest.Over(x.Now()) || x.lines() != listRound+3 {
			t.Errorf("after two rounds: %d packages, resting %+v", x.lines(), l.rest)
		}
		if through, known, err := data.Doc[listed](x.Data, docListed); err != nil || !known || through.Whole.IsZero() {
			t.Errorf("%+v, %v", through, err)
		}
	})
}

func TestTheListOfOneClientSaysNothingAboutThatOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{packages: listRound + 3}, &discovery{}
		client, other := s.client("office"), s.client("another")
		x.lookAround(t.Context(), client, l)
		x.lookAround(t.Context(), other, l)
		if l.reading == nil || l.reading.client != other || l.reading.pages != listRound {
			t.Errorf("the reading of one client went on with another: %+v", l.reading)
		}
		now := x.Now()
		read := listed{Through: now, Whole: now, Since: now, Issuer: client.Issuer()}
		if read.known(now, now, client.Issuer()).IsZero() || read.first(now, client.Issuer(), false) ||
			!read.known(now, now, other.Issuer()).IsZero() || !read.first(now, other.Issuer(), false) {
			t.Error("what one client has read is taken for known by another")
		}
		read.Through = now.Add(300 * time.Hour)
		expect(t, read.known(now, now, client.Issuer()), time.Time{}, "the list counts as read through %v")
	})
}

func TestAPackageThatCannotBeReadHoldsUpNoOtherOfTheList(t *testing.T) {
	x, s := newService(t), &shelf{packages: 1}
	client := s.client("office")
	x.lookAround(t.Context(), client, &discovery{})
	looptest.Spoil(t, &x.Base, "p0", "packages", "package_lines")
	s.packages = 3
	l := &discovery{}
	x.lookAround(t.Context(), client, l)
	for _, id := range []string{"p1", "p2"} {
		expect(t, x.pack(id).ID, id, "known is %q")
	}
	expect(t, l.reading == nil, true, "the list was read to its end: %v")
}

func TestAPackageThatCannotBeReadMakesNoLoopSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, client := newService(t), (&shelf{}).client("office")
		x.Session = looptest.Session{Client: client}
		x.update(func(tx *store.Tx) error { return tx.UseService(client.Home()) })
		x.keeps(office.Package{ID: "p", State: office.PackageOpen, Inquiry: office.Inquiry{NextCheck: x.Now()}})
		looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
		looptest.AtRest(t, x.work, x.reconcile)
	})
}

func TestAPartThatStartsAgainAsksForNothingAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newService(t), &shelf{}
		x.Session = looptest.Session{Client: s.client("office")}
		for range 5 {
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
			var g errgroup.Group
			g.Go(func() error { return x.RunStatus(ctx) })
			g.Go(func() error { return x.RunList(ctx) })
			noErr(t, g.Wait())
			stop()
		}
		expect(t, s.read, 1, "the list was read %d times")
	})
}

func TestAStateThatWasRestoredUnderAWrongClockTellsOfWhatIsNew(t *testing.T) {
	x := newService(t)
	now := x.Now()
	mark := func(tx *store.Tx) error { data.MarkRestored(tx, now.Add(365*24*time.Hour)); return nil }
	noErr(t, x.Data.Update(mark))
	x.Served.Note(now)
	odd := esign.Status{PackageID: "../odd", State: "open", TimeCreated: now} // which holds up no other
	later := esign.Status{PackageID: "later", State: "open", TimeCreated: now.Add(time.Hour)}
	before := esign.Status{PackageID: "before", State: "open", TimeCreated: now.Add(-time.Hour)}
	noErr(t, x.meetPackages("home", []esign.Status{odd, later, before}, time.Time{}, false))
	for id, told := range map[string]bool{"later": true, "before": false} {
		if p := x.pack(id); p.ID != id || p.Restored.IsZero() != told || p.Met || p.Created.Before(now) == told {
			t.Errorf("%s: %+v", id, p)
		}
	}
	said, err := x.Activity(9)
	if noErr(t, err); x.lines() != 2 || len(said) != 1 || said[0].Text != message.ListNamesUnusable() {
		t.Errorf("%d packages are known, and said is %+v", x.lines(), said)
	}
}

// What was made while the computer slept is at the beginning of the list, which is not where the reading goes on.
func TestAfterASweepTheBeginningOfTheListIsReadAgainThoughAReadingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{packages: listRound + 3}, &discovery{}
		client := s.client("office")
		x.Session = looptest.Session{Client: client}
		x.lookAround(t.Context(), client, l)
		x.Sweep("the computer woke up")
		must(x.reconcile(t.Context()))
		if x.readList(t.Context(), l); l.reading != nil {
			t.Fatalf("%+v", l.reading)
		}
		time.Sleep(listOften)
		before := s.read
		if x.lookAround(t.Context(), client, l); s.read == before {
			t.Errorf("it is read again in %v", l.rest.Left(x.Now()))
		}
		for l.reading != nil {
			x.lookAround(t.Context(), client, l)
		}
		if left := l.rest.Left(x.Now()); left < listSeldom-time.Minute {
			t.Errorf("and again in %v", left)
		}
	})
}

// What cannot be read was not checked, whatever else was asked about.
func TestASweepCountsOnceTheListCouldBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{fails: true}, &discovery{}
		client := s.client("office")
		x.Session = looptest.Session{Client: client}
		x.Sweep("a person asked")
		for range 3 {
			must(x.reconcile(t.Context()))
			x.readList(t.Context(), l)
			if last, under := x.Swept(); !last.IsZero() || under {
				t.Errorf("checked at %v, under way: %v", last, under)
			}
			if tried, next := x.Unanswered(); !tried.Equal(x.Now()) || !next.After(tried) {
				t.Errorf("at %v it was last tried at %v, next at %v", x.Now(), tried, next)
			}
			time.Sleep(time.Minute)
		}
		s.fails = false
		must(x.reconcile(t.Context()))
		x.readList(t.Context(), l)
		last, _ := x.Swept()
		expect(t, x.Now().Sub(last), time.Duration(0), "checked %v ago")
		tried, _ := x.Unanswered()
		expect(t, tried, time.Time{}, "unanswered at %v")
	})
}

// Nothing else may be asked for hours, and a pause that anything else was asked for holds up all.
func TestWhenTheServiceIsAskedAgainIsTrueWhateverElseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{fails: true}, &discovery{}
		client := s.client("office")
		x.Session = looptest.Session{Client: client}
		x.lookAround(t.Context(), client, l)
		x.Breaker.Open(x.Now(), time.Hour) // an upload was answered so
		if _, next := x.Unanswered(); next.Before(x.Now().Add(time.Hour)) {
			t.Errorf("it is asked again in %v", next.Sub(x.Now()))
		}
		for s.fails = false; l.tries > 0; time.Sleep(time.Hour) {
			x.lookAround(t.Context(), client, l)
		}
		if tried, next := x.Unanswered(); !tried.IsZero() || !next.IsZero() {
			t.Errorf("of one that answers it says that it was tried at %v, next at %v", tried, next)
		}
	})
}

// A list that fails beside packages that are answered for is trouble of its own. Where nothing else is asked, it is all that is known.
func TestAListThatFailsWhileNothingElseIsAskedIsTheServicesTrouble(t *testing.T) {
	for name, open := range map[string]bool{"no package is under way": false, "one is": true} {
		synctest.Test(t, func(t *testing.T) {
			x, s, l := newService(t), &shelf{fails: true}, &discovery{}
			var failed []error
			x.Session = looptest.Session{Noted: func(err error) { failed = append(failed, err) }}
			if open {
				x.known(office.PackageOpen)
			}
			client := s.client("office")
			for range 60 {
				x.lookAround(t.Context(), client, l)
				time.Sleep(time.Second)
			}
			expect(t, len(failed) > 0, !open, name+": after a minute failures count for the service's: %v")
		})
	}
}

// A page of the list may have been on its way while the package was withdrawn.
func TestAPageOfTheListOpensNoPackageAgainThatTheStatusSaysIsOver(t *testing.T) {
	for name, refused := range map[string]bool{"the status tells about it": false, "it did not, the last time": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.known(office.PackageOpen)
			x.check(esign.Status{PackageID: "p", State: office.PackageRescinded})
			if refused {
				noErr(t, x.missPackage(x.now(), &esign.Error{Kind: esign.NotFound, Status: 404}, 0))
			}
			page := []esign.Status{{PackageID: "p", State: office.PackageOpen}}
			noErr(t, x.meetPackages("", page, time.Time{}, false))
			p := x.now()
			if p.State != office.PackageRescinded || p.Final() || p.NextCheck.After(x.Now()) {
				t.Fatalf("after the page it is %s, final: %v, asked about at %v", p.State, p.Final(), p.NextCheck)
			}
			x.settled(esign.Status{PackageID: "p", State: office.PackageRescinded})
			if p := x.now(); p.State != office.PackageRescinded || !p.Final() {
				t.Errorf("after the status it is %s, final: %v", p.State, p.Final())
			}
			noErr(t, x.meetPackages("", page, time.Time{}, false))
			x.settled(esign.Status{PackageID: "p", State: office.PackageOpen})
			if p := x.now(); p.State != office.PackageOpen || p.Final() {
				t.Errorf("extended, it is %s, final: %v", p.State, p.Final())
			}
		})
	}
}

// settled records an answer together with the record of the package, which the service does not have.
func (x *testService) settled(s esign.Status) {
	x.t.Helper()
	x.check(s)
	x.noRecords.Failed(x.now().Service, x.Now(), loop.NotOfferedFor)
	noErr(x.t, x.noteRecord(recordQuestion{id: "p"}, nil))
}

func TestAPackageOfAServiceNotInUseIsOfTheBackupToo(t *testing.T) {
	tools := looptest.Base(t, func() {})
	noErr(t, tools.Data.Update(func(tx *store.Tx) error {
		tx.PlanJob(office.Job{PackageID: "signed", DocumentID: "d", Kind: office.FileSigned, Folder: "/f", Target: "Lease.pdf"})
		tx.UseService("one")
		tx.PutPackage(office.Package{ID: "p", State: office.PackageOpen})
		tx.UseService("other")
		tx.PutPackage(office.Package{ID: "signed", State: office.PackageExecuted, Saving: office.Saving{Planned: true}})
		MarkRestored(tx, tools.Now())
		for _, id := range []string{"p", "signed"} { // its file may have been saved since
			if p, _, err := tx.Package(id); err != nil || p.Restored.IsZero() {
				t.Errorf("what happened to it since is told again: %+v, %v", p, err)
			}
		}
		return nil
	}))
}

// No event tells that it is sent, and the list is read no further than to what was known before.
func TestAPackageThatIsSentDaysAfterItWasMadeIsFoundWithoutAnEvent(t *testing.T) {
	for _, unsent := range []string{"draft", "add", "select"} {
		synctest.Test(t, func(t *testing.T) {
			x, l := newService(t), &discovery{}
			x.deaf = true
			s := &shelf{packages: 300, hourly: x.Now(), unsent: unsent}
			client := s.client("office")
			look := func() (pages int) {
				t.Helper()
				before := s.read
				x.lookAround(t.Context(), client, l)
				time.Sleep(listOften + time.Minute)
				return s.read - before
			}
			look()
			expect(t, x.lines(), 299, "%d packages are known")
			look()
			s.unsent = "open"
			look()
			expect(t, x.lines(), 300, "%d packages are known once one that was %q is sent", unsent)
			expect(t, look(), 1, "with nothing unsent, %d pages are read")
		})
	}
}

// The list is asked for no more than the day that was not read yet, but for one reading a day, whatever people prepare meanwhile.
func TestAPackageThatTheListShowsDaysLateIsFoundWithinADay(t *testing.T) {
	for name, preparing := range map[string]bool{"nothing is prepared": false, "something always is": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x, s, l := newService(t), &shelf{packages: 300, hourly: time.Now()}, &discovery{}
			client := s.client("office")
			look := func() {
				x.lookAround(t.Context(), client, l)
				if preparing { // what is not there any more an hour later
					last, _, err := data.Doc[listed](x.Data, docListed)
					noErr(t, err)
					last.Unsent = x.Now()
					noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docListed, last) }))
				}
				time.Sleep(time.Hour)
			}
			look()
			expect(t, x.lines(), 299, "%d packages are known")
			s.unsent = "open"
			for range 25 {
				look()
			}
			expect(t, x.lines(), 300, "%d packages are known a day after the list showed one 150 hours late")
			before := s.read
			for range 24 {
				look()
			}
			if read := s.read - before; read > 7 {
				t.Errorf("%d pages of the list are read in a day", read)
			}
		})
	}
}

// What became of a draft the list may tell of a package that nobody else would have begun to follow, or that was known without a draft.
func TestAPackageOfADraftIsClaimedWhateverTheListSaysOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		state         office.PackageState
		known, status bool // status: its status tells, and the list nothing
	}{"it is over": {"rescinded", false, false}, "it is known": {"open", true, false}, "it was signed before the first sign-in": {office.PackageExecuted, false, false},
		"its status tells": {"open", true, true}} {
		x := newService(t)
		x.deps.Claim = func(_ *store.Tx, p *office.Package, data json.RawMessage) {
			if string(data) == `"d"` {
				p.DraftID = "d"
			}
		}
		if c.known {
			x.keeps(office.Package{ID: "p", Home: office.Home{Service: "home"}, State: office.PackageOpen})
		}
		item := esign.Status{PackageID: "p", State: c.state, ExternalData: json.RawMessage(`"d"`)}
		other := esign.Status{PackageID: "q", State: "rescinded", ExternalData: json.RawMessage(`"e"`)}
		for range 2 {
			if c.status {
				x.check(item)
				x.deps.Claim = nil // it has one
			} else {
				noErr(t, x.meetPackages("home", []esign.Status{item, other}, x.Now(), true))
			}
		}
		if p := x.now(); p.DraftID != "d" || p.Service != "home" || x.woken == 0 && !c.status || x.lines() != 1 {
			t.Errorf("%s: %+v, of %d packages; drafts were looked at %d times", name, p, x.lines(), x.woken)
		}
	}
}

func TestTheListIsReadNowAndThenAndWhenWhatItShowsIsWantedButNotWhileItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{packages: 1}, &discovery{}
		x.Session, x.sweep.wanted, x.deaf = looptest.Session{Client: s.client("one")}, false, true
		var wrong time.Duration // by how much the clock is
		x.Now = func() time.Time { return time.Now().Add(wrong) }
		for _, c := range []struct {
			after           time.Duration
			fails, refuses  bool
			wanted, doubted bool // doubted: something else has failed that a person asked for
			read            bool
		}{
			{after: 0, read: true},
			{after: listOften / 2},
			{after: listOften / 2, read: true},
			{after: 0, wanted: true, read: true},
			{after: 0, doubted: true, read: true},
			{after: time.Minute, doubted: true},
			{after: listOften, doubted: true, read: true},
			{after: -9 * 24 * time.Hour, read: true}, // a clock that was wrong
			{after: listOften, refuses: true, read: true},
			{after: 2 * listOften},
			{after: listRefused, read: true},
			{after: 0, fails: true, wanted: true, read: true},
			{after: 0, fails: true, wanted: true},
		} {
			if wrong += min(c.after, 0); c.after > 0 {
				time.Sleep(c.after)
			}
			if x.Health.Clear(health.ServiceFails); c.doubted {
				x.Health.Set(health.ServiceFails, message.ServiceAiling())
			}
			if s.fails, s.refuses = c.fails, c.refuses; c.wanted {
				x.ReadList()
			}
			before := s.read
			x.readList(t.Context(), l)
			expect(t, s.read > before, c.read, "read %v: %+v", c)
		}
	})
}

// What was finished before the office first signed in is not fetched. Where the list does not say when that was, what it shows the
// first time was before, and nothing else.
func TestOnlyWhatWasFinishedBeforeTheFirstSignInIsLeftOut(t *testing.T) {
	x := newService(t)
	since := x.Now()
	then := func(d time.Duration) time.Time { return since.Add(d) }
	was := func(s esign.Status, first, want bool) {
		t.Helper()
		x.update(func(tx *store.Tx) error {
			expect(t, x.wasBefore(tx, "home", s, since, first), want, "left out %v: %+v, at the first reading %v", s, first)
			return nil
		})
	}
	was(esign.Status{PackageID: "open", State: "open", TimeCreated: then(-time.Hour)}, true, false)
	was(esign.Status{PackageID: "late", State: office.PackageExecuted, TimeCreated: then(time.Hour)}, true, false)
	was(esign.Status{PackageID: "before", State: office.PackageExecuted, TimeCreated: then(-2), TimeExecuted: then(-1)}, false, true)
	was(esign.Status{PackageID: "after", State: office.PackageExecuted, TimeCreated: then(-2), TimeExecuted: then(1)}, true, false)
	for _, made := range []time.Time{{}, then(-time.Hour)} {
		id := made.String()
		was(esign.Status{PackageID: "old" + id, State: office.PackageExecuted, TimeCreated: made}, true, true)
		was(esign.Status{PackageID: "old" + id, State: office.PackageExecuted, TimeCreated: made}, false, true)
		was(esign.Status{PackageID: "new" + id, State: office.PackageExecuted, TimeCreated: made}, false, false)
	}
}

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

// listOf is a list of so many packages, the newest first, with at most so many a page. known is when all of them had been made.
func listOf(packages, most int) (s *movingList, known time.Time) {
	s = &movingList{clock: time.Unix(1_790_000_000, 0), most: most, total: true}
	for range packages {
		s.add(true)
	}
	return s, s.clock.Add(time.Second)
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
			s, known := listOf(500, most)
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
		s, known := listOf(500, listPage)
		for range fresh {
			s.add(true)
		}
		if end := s.readAll(t, newReader(nil, nil, s.clock, known), func() {}); end != listWhole || s.calls != calls {
			t.Errorf("with %d new packages %d pages were read, and not %d", fresh, s.calls, calls)
		}
	}
}

// Asked for in another way, a page is another part of the list.
func TestAReadingGoesOnInTheWayItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*shelf){"picky": func(s *shelf) { s.picky = true }, "own": func(s *shelf) { s.own = true }} {
			s := &shelf{packages: 5}
			r := newReader(s.client("office"), rate.NewLimiter(rate.Inf, 1), time.Now(), time.Time{})
			if _, _, err := r.next(t.Context()); err != nil {
				t.Fatal(err)
			}
			change(s)
			if _, _, err := r.next(t.Context()); err == nil || s.read != 2 || r.refused != 0 || r.own {
				t.Errorf("%s: %v after %d pages, refused: %d, own: %v", name, err, s.read, r.refused, r.own)
			}
		}
	})
}

// An unreadable list must not keep for ever what waits for it.
func TestTheListCountsAsReadOnceItIsOrCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		shelf *shelf
		tries int // until it counts
	}{"read": {&shelf{}, 1}, "refused": {&shelf{refuses: true}, 1}, "failing": {&shelf{fails: true}, listGivenUp}} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.Session = looptest.Session{Client: c.shelf.client("c")}
			_, err := x.takeSweep()
			noErr(t, err)
			woken := 0
			x.deps.Drafts = func() { woken++ }
			for tries := 1; tries <= c.tries; tries++ {
				x.list.rest = loop.Cooldown{}
				if x.readList(t.Context(), &x.list); x.Listed() != (tries == c.tries) {
					t.Errorf("after %d tries: %v", tries, x.Listed())
				}
			}
			expect(t, woken, 1, "woken %d times")
		})
	}
}
