package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
)

// shelf is a service that lists packages, the oldest first and one a page. It is no http.Server, because virtual time does
// not pass while the network is waited for.
type shelf struct {
	packages int
	picky    bool // it takes neither how many to give at once nor an order
	own      bool // it gives nobody's but the caller's own
	refuses  bool
	fails    bool
	read     int // pages
}

// RoundTrip is http.RoundTripper's.
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
	status, items := http.StatusOK, ""
	switch {
	case s.refuses, s.own && q.AllMembers:
		status = http.StatusForbidden
	case s.picky && (q.Take > 0 || q.SortBy != ""):
		status = http.StatusBadRequest
	case s.fails:
		status = http.StatusServiceUnavailable
	case q.Skip < s.packages:
		items = fmt.Sprintf(`{"packageId":"p%d","state":"open"}`, q.Skip)
	}
	return answer(req, status, fmt.Sprintf(`{"items":[%s],"total":%d}`, items, s.packages))
}

// client is a client of the shelf.
func (s *shelf) client(id string) *esign.Client {
	return clientOf(s, token{}, id)
}

// clientOf is a client of the service that answers so.
func clientOf(service http.RoundTripper, tokens esign.TokenSource, id string) *esign.Client {
	return esign.NewClient(esign.Config{
		AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: id, HTTP: &http.Client{Transport: service}, Now: time.Now,
	}, tokens)
}

// answer is one to a request.
func answer(req *http.Request, status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

type token struct{}

func (token) Access(context.Context) (string, error) { return "a", nil }
func (token) Invalidate(string)                      {}

// lines is how many packages are known.
func (x *testService) lines() int {
	x.t.Helper()
	lines, err := x.Lines()
	noErr(x.t, err)
	return len(lines)
}

// Whoever may list everybody's packages one day is shown those of the others then.
func TestAListOfOnesOwnPackagesAloneIsReadAndIsNotTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s := newService(t), &shelf{packages: 3, own: true}
		x.lookAround(t.Context(), s.client("office"), &discovery{})
		if _, kept, err := data.Doc[listed](x.Data, docListed); kept || err != nil || x.lines() != 3 {
			t.Errorf("%d packages, and it is kept: %v, %v", x.lines(), kept, err)
		}
	})
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
		if read.known(now, now, client.Issuer()).IsZero() || read.first(now, client.Issuer()) ||
			!read.known(now, now, other.Issuer()).IsZero() || !read.first(now, other.Issuer()) {
			t.Error("what one client has read is taken for known by another")
		}
		read.Through = now.Add(300 * time.Hour)
		if known := read.known(now, now, client.Issuer()); !known.IsZero() {
			t.Errorf("the list counts as read through %v, and it is %v", known, now)
		}
	})
}

func TestTheListIsReadNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{packages: 1}, &discovery{}
		x.deaf = true
		var wrong time.Duration // by how much the clock is
		x.Now = func() time.Time { return time.Now().Add(wrong) }
		client := s.client("office")
		look := func(after time.Duration, want bool) {
			t.Helper()
			if after < 0 {
				wrong += after
			} else {
				time.Sleep(after)
			}
			before := s.read
			x.lookAround(t.Context(), client, l)
			if got := s.read > before; got != want {
				t.Errorf("after %v: read: %v", after, got)
			}
		}
		look(0, true)
		look(10*time.Minute, false)
		look(20*time.Minute, true)
		look(-9*24*time.Hour, true) // a clock that was wrong
		s.refuses = true
		look(20*time.Minute+time.Second, true)
		look(40*time.Minute, false)
		s.refuses = false
		look(24*time.Hour, true)
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
		if p, _, err := x.Data.Package(id); p.ID != id || err != nil {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	if l.reading != nil {
		t.Error("the list was not read to its end")
	}
}

func TestAPartThatStartsAgainAsksForNothingAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		s := &shelf{}
		client := s.client("office")
		x.Session = looptest.Session{Client: client}
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
	odd := esign.Status{PackageID: "../odd", State: "open", TimeCreated: now} // which holds up no other
	later := esign.Status{PackageID: "later", State: "open", TimeCreated: now.Add(time.Hour)}
	before := esign.Status{PackageID: "before", State: "open", TimeCreated: now.Add(-time.Hour)}
	noErr(t, x.meetPackages("home", []esign.Status{odd, later, before}, time.Time{}, false))
	for id, told := range map[string]bool{"later": true, "before": false} {
		err := x.Data.Store.View(func(tx *store.Tx) error {
			p, known, err := tx.Package(id)
			if !known || p.Restored.IsZero() != told || p.Met || p.Created.Before(now) == told {
				t.Errorf("%s: %+v", id, p)
			}
			return err
		})
		if err != nil {
			t.Error(err)
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
		if _, err := x.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
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
			if _, err := x.reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			x.readList(t.Context(), l)
			if last, under := x.Swept(); !last.IsZero() || under {
				t.Errorf("checked at %v, under way: %v", last, under)
			}
			time.Sleep(time.Minute)
		}
		s.fails = false
		if _, err := x.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.readList(t.Context(), l)
		if last, _ := x.Swept(); !last.Equal(x.Now()) {
			t.Errorf("checked at %v, now is %v", last, x.Now())
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
			if told := len(failed) > 0; told == open {
				t.Errorf("%s: after a minute %d failures count for the service's", name, len(failed))
			}
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

// hourly is a service that lists 300 packages, the newest first, of which one was made each hour. One may be unsent, or not shown.
type hourly struct {
	now    time.Time
	unsent string // its state, empty while it is not shown; it was made 150 hours ago
	pages  int
}

// RoundTrip is http.RoundTripper's.
func (s *hourly) RoundTrip(req *http.Request) (*http.Response, error) {
	var q struct{ Skip int }
	if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
		return nil, err
	}
	s.pages++
	var items []string
	total := 300
	if s.unsent == "" {
		total--
	}
	for at := q.Skip; at < min(q.Skip+100, total); at++ {
		i, state := at, "open"
		if s.unsent == "" && i >= 150 {
			i++
		}
		if i == 150 {
			state = s.unsent
		}
		items = append(items, fmt.Sprintf(`{"packageId":"p%d","state":%q,"timeCreated":%q}`, i, state, s.now.Add(-time.Duration(i)*time.Hour).Format(time.RFC3339)))
	}
	return answer(req, http.StatusOK, fmt.Sprintf(`{"items":[%s],"total":%d}`, strings.Join(items, ","), total))
}

// No event tells that it is sent, and the list is read no further than to what was known before.
func TestAPackageThatIsSentDaysAfterItWasMadeIsFoundWithoutAnEvent(t *testing.T) {
	for _, unsent := range []string{"draft", "add", "select"} {
		synctest.Test(t, func(t *testing.T) {
			x, l := newService(t), &discovery{}
			x.deaf = true
			s := &hourly{now: x.Now(), unsent: unsent}
			client := clientOf(s, token{}, "office")
			look := func() (pages int) {
				t.Helper()
				before := s.pages
				x.lookAround(t.Context(), client, l)
				time.Sleep(listOften + time.Minute)
				return s.pages - before
			}
			look()
			if x.lines() != 299 {
				t.Fatalf("%d packages are known", x.lines())
			}
			look()
			s.unsent = "open"
			if look(); x.lines() != 300 {
				t.Errorf("a package that was %q is not known once it is sent", unsent)
			}
			if pages := look(); pages > 1 {
				t.Errorf("with nothing unsent, %d pages are read", pages)
			}
		})
	}
}

// The list is asked for no more than the day that was not read yet, but for one reading a day, whatever people prepare meanwhile.
func TestAPackageThatTheListShowsDaysLateIsFoundWithinADay(t *testing.T) {
	for name, preparing := range map[string]bool{"nothing is prepared": false, "something always is": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x, s, l := newService(t), &hourly{now: time.Now()}, &discovery{}
			client := clientOf(s, token{}, "office")
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
			if x.lines() != 299 {
				t.Fatalf("%d packages are known", x.lines())
			}
			s.unsent = "open"
			for range 25 {
				look()
			}
			if x.lines() != 300 {
				t.Error("a package that the list showed 150 hours late is not known a day after that")
			}
			before := s.pages
			for range 24 {
				look()
			}
			if read := s.pages - before; read > 7 {
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
		var asked int
		x.deps.Drafts = func() { asked++ }
		x.deps.Claim = func(_ *store.Tx, p *office.Package, data json.RawMessage) {
			if string(data) == `"d"` {
				p.DraftID = "d"
			}
		}
		if c.known {
			noErr(t, x.Data.Update(func(tx *store.Tx) error {
				return tx.PutPackage(office.Package{ID: "p", Home: office.Home{Service: "home"}, State: office.PackageOpen})
			}))
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
		p, known, err := x.Data.Package("p")
		if err != nil || !known || p.DraftID != "d" || p.Service != "home" || asked == 0 && !c.status || x.lines() != 1 {
			t.Errorf("%s: %+v, %v, of %d packages; drafts were looked at %d times", name, p, err, x.lines(), asked)
		}
	}
}

func TestTheListIsReadWhenWhatItShowsIsWantedButNotWhileItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, s, l := newService(t), &shelf{packages: 1}, &discovery{}
		x.Session, x.sweep.wanted = looptest.Session{Client: s.client("one")}, false
		for _, c := range []struct {
			after                  time.Duration
			fails, wanted, doubted bool // something else has failed that a person asked for
			reads                  int
		}{{0, false, false, false, 1}, {0, false, false, false, 0}, {0, false, true, false, 1}, {0, false, false, true, 1}, {time.Minute, false, false, true, 0},
			{listOften, false, false, true, 1}, {0, true, true, false, 1}, {0, true, true, false, 0}} {
			time.Sleep(c.after)
			if x.Health.Clear(health.ServiceFails); c.doubted {
				x.Health.Set(health.ServiceFails, message.ServiceAiling())
			}
			if s.fails = c.fails; c.wanted {
				x.ReadList()
			}
			before := s.read
			x.readList(t.Context(), l)
			if n := s.read - before; (n > 0) != (c.reads > 0) {
				t.Errorf("%+v: read %d pages", c, n)
			}
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
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			if old := x.wasBefore(tx, "home", s, since, first); old != want {
				t.Errorf("%+v, at the first reading %v: left out %v", s, first, old)
			}
			return nil
		}))
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
