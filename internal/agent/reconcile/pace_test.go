package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// desk is a service that tells of packages in its own time, which is virtual. A pause below zero never ends. Safe for concurrent use.
type desk struct {
	deaf                 bool                          // no events arrive
	status, record, list time.Duration                 // how long each answer takes
	say                  func(packageID string) string // of the status, beside the id; nil for an open package whose signers say nothing
	sayRecord            func(packageID string) string // likewise of the record; nil for nothing
	recordPause          func(id string) time.Duration // instead of record
	mu                   sync.Mutex
	asked                map[string]int // packageId, or "list" -> questions
	total, records       int            // questions
	noRecords            string         // what it says where it has none
	lapsed               atomic.Bool    // the sign-in cannot be renewed
	drafts               atomic.Bool    // were looked at
	forbids              atomic.Bool    // it tells no status, of what is asked from now on
	shows                string         // packageId whose status it tells all the same
}

func (d *desk) Access(context.Context) (string, error) {
	if d.lapsed.Load() {
		return "", &loop.RenewalError{Err: &esign.Error{Kind: esign.Network}}
	}
	return "a", nil
}

func (d *desk) Invalidate(string) {}

// count is how often one was asked about.
func (d *desk) count(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[id]
}

func (d *desk) RoundTrip(req *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/api/v1"), "/")
	id, pause, body, code := parts[2], d.record, "", http.StatusOK
	switch {
	case len(parts) == 4:
		pause, body = d.status, `"state":"open"`
		if d.forbids.Load() && id != d.shows {
			code = http.StatusForbidden
		}
		if d.say != nil {
			body = d.say(id)
		}
	case id == "list":
		pause, body = d.list, `"items":[],"total":0`
	case d.recordPause != nil:
		pause = d.recordPause(id)
	}
	if body == "" && d.sayRecord != nil {
		body = d.sayRecord(id)
	}
	record := len(parts) == 3 && id != "list"
	d.mu.Lock()
	d.asked[id]++
	d.total++
	if record {
		d.records++
	}
	d.mu.Unlock()
	if record && d.noRecords != "" {
		return answer(req, http.StatusNotFound, d.noRecords)
	}
	if pause < 0 {
		pause = 1000 * time.Hour
	}
	if pause > 0 && !loop.Sleep(req.Context(), pause) { // the race detector has crashed with timers that are over at once, of many goroutines of a bubble
		return nil, req.Context().Err()
	}
	return answer(req, code, fmt.Sprintf(`{"packageId":%q,%s}`, id, cmp.Or(body, `"silent":true`)))
}

func (d *desk) questions() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total
}

// at is a Service at that desk with so many open packages p0, p1 and so on, which asks at the pace of a real one and runs until the test
// ends.
func (d *desk) at(t *testing.T, packages int) *testService {
	t.Helper()
	h := hears(t)
	h.deps.Budget = NewBudget(h.Pace)
	h.deps.Drafts = func() { d.drafts.Store(true) }
	d.asked = map[string]int{}
	client := clientOf(d, d, "c")
	h.Session, h.deaf = looptest.Session{Client: client}, d.deaf
	h.update(func(tx *store.Tx) error { return tx.UseService(client.Home()) })
	h.keepMany(packages, office.Package{Created: h.Now().Add(-48 * time.Hour), Inquiry: office.Inquiry{Checked: h.Now().Add(-time.Hour), NextCheck: h.Now()},
		Signers: []office.Signer{{ID: "s", FirstName: "Ana"}}, Documents: []office.Document{{ID: "d"}}})
	looptest.Run(t, h.RunEvents, h.RunStatus, h.RunRecords, h.RunList, h.RunWatch)
	return h
}

// keepMany begins the records of open packages like p, called p0, p1 and so on.
func (x *testService) keepMany(n int, p office.Package) {
	x.t.Helper()
	x.update(func(tx *store.Tx) (err error) {
		for i := range n {
			p.ID, p.Name, p.State = fmt.Sprint("p", i), "Lease", office.PackageOpen
			err = errors.Join(err, tx.PutPackage(p))
		}
		return err
	})
}

// until waits until what is so, and checks that this takes no longer than most.
func until(t *testing.T, most time.Duration, what func() bool, named string) {
	t.Helper()
	began := time.Now()
	for synctest.Wait(); !what() && time.Since(began) < time.Hour; synctest.Wait() {
		time.Sleep(100 * time.Millisecond)
	}
	if took := time.Since(began); took > most {
		t.Errorf("%s after %v", named, took)
	}
}

func (x *testService) isPlanned(id string) bool { return x.pack(id).Planned }

const executedBare = `"state":"executed","documents":[{"documentId":"d"}]`

// What was asked before somebody wanted everything tried again is answered as it was before, and put off for hours by that.
func TestWhatIsAskedAboutWhileAPersonWantsEverythingTriedIsAskedAboutOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{status: 5 * time.Second, record: time.Second}
		d.forbids.Store(true)
		h := d.at(t, 1)
		time.Sleep(5 * 24 * time.Hour)
		again := func() {
			noErr(t, h.MakeAllDue())
			h.Wake()
			time.Sleep(2 * time.Second)
		}
		again()
		before := d.count("p0") // it is asked about
		d.forbids.Store(false)
		again()
		until(t, 10*time.Second, func() bool { return d.count("p0") > before }, "it is asked about again")
	})
}

// The answer may be older than what the sweep is for: an event that did not come because the public address was closed.
func TestWhatIsAskedAboutWhileASweepBeginsIsAskedAboutOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{status: 5 * time.Second}
		h := d.at(t, 1)
		time.Sleep(2 * time.Second) // it is asked about
		h.SweepOpened()
		again := func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.asked["p0"]-d.records > 1
		}
		until(t, 10*time.Second, again, "it is asked about again")
	})
}

// What is necessary, the status, waits for nothing that is not: neither for a full record, nor for the list, nor for two hundred others.
func TestAnExecutedPackageIsPlannedWithinSecondsWhateverElseIsSlow(t *testing.T) {
	for name, c := range map[string]struct {
		desk *desk
		most time.Duration
	}{
		"full records hang":                {&desk{record: -1}, 2 * time.Second},
		"the list hangs":                   {&desk{list: -1}, 2 * time.Second},
		"each status takes twenty seconds": {&desk{status: 20 * time.Second, record: 20 * time.Second, list: 20 * time.Second}, 25 * time.Second},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			executed := false
			c.desk.say = func(id string) string {
				if id == "p150" && executed {
					return executedBare
				}
				return `"state":"open"`
			}
			h := c.desk.at(t, 200)
			time.Sleep(10 * time.Second)
			executed = true
			h.arrives("done", esign.PackageExecuted, "p150")
			until(t, c.most, func() bool { return h.isPlanned("p150") }, "its files are planned")
		})
	}
}

// The files of a package are called by its name, which only the record may tell: they wait for it, but not for long.
func TestFilesWaitForANameThatTheRecordMayTellButNotForLong(t *testing.T) {
	for name, c := range map[string]struct {
		record, status time.Duration
		says, called   string
		most           time.Duration
	}{
		"it tells":                         {says: `"name":"Contract"`, called: "Contract", most: 5 * time.Second},
		"it hangs":                         {record: -1, most: 2*recordLimit + 2*time.Second},
		"it hangs, and the status is slow": {record: -1, status: 20 * time.Second, most: 90 * time.Second},
		"it says nothing":                  {most: 5 * time.Second},
		"it tells no name":                 {says: `"signers":[{"signerId":"s","state":"open"}]`, most: 5 * time.Second},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			d := desk{record: c.record, status: c.status, say: func(id string) string {
				if id == "new" {
					return executedBare
				}
				return `"state":"open"`
			}, sayRecord: func(string) string { return c.says }}
			h := d.at(t, 200)
			time.Sleep(5 * time.Second)
			h.arrives("done", esign.PackageExecuted, "new")
			until(t, c.most, func() bool { return h.isPlanned("new") }, "its files are planned")
			expect(t, h.pack("new").Name, c.called, "its files are planned as %q")
		})
	}
}

// Files wait for a record that was not asked for because the sign-in could not be renewed just then.
func TestARecordThatFilesWaitForIsAskedForOnceTheSignInIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{sayRecord: func(string) string { return `"name":"Contract"` }}
		var once sync.Once
		d.say = func(id string) string {
			if id != "new" {
				return `"state":"open"`
			}
			once.Do(func() { d.lapsed.Store(true) })
			return `"timeExecuted":"1999-01-01T00:00:00Z",` + executedBare
		}
		h := d.at(t, 1)
		time.Sleep(5 * time.Second)
		h.arrives("done", esign.PackageExecuted, "new")
		time.Sleep(5 * time.Second)
		if !d.lapsed.Load() || h.isPlanned("new") {
			t.Fatal("the sign-in has not lapsed in between")
		}
		d.lapsed.Store(false)
		until(t, 2*time.Minute, func() bool { return h.isPlanned("new") }, "its files are planned")
		expect(t, h.pack("new").Name, "Contract", "its files are planned as %q")
	})
}

// What an event says is recorded before anybody is asked about anything, also where more of one package wait than are in hand.
func TestAnEventIsRecordedAtOnceThoughTheServiceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk{status: -1, record: -1, list: -1}
		h := d.at(t, 200)
		time.Sleep(10 * time.Second)
		const many = 2*eventsInHand + 100
		for n := range many {
			h.arrives(fmt.Sprint("e", n), []string{esign.DocumentSigned, esign.PackageExecuted}[n%2], fmt.Sprint("unknown", max(n-2*eventsInHand, 0)))
		}
		until(t, time.Second, func() bool { return len(h.handled()) == many }, "the events were recorded")
	})
}

// A service that was not heard of for half a minute, and that an office with a hundred open packages has just asked about each of them.
func TestWhatWasSignedInAnOutageOfHalfAMinuteIsNoticedWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		executed := ""
		d := desk{status: 200 * time.Millisecond, say: func(id string) string {
			if id == executed {
				return executedBare
			}
			return `"state":"open"`
		}}
		h := d.at(t, 100)
		for _, id := range []string{"p0", "p50", "p99"} { // three outages in a row
			time.Sleep(30 * time.Second)
			executed = id
			h.update(func(tx *store.Tx) error {
				return tx.PutDraft(office.Draft{ID: "d", State: office.DraftQueued, Delivery: office.Delivery{NextTry: h.Now().Add(time.Minute)}})
			})
			d.drafts.Store(false)
			h.SweepOpened()
			until(t, 10*time.Second, func() bool {
				draft, _, err := h.Data.Draft("d")
				return err == nil && h.isPlanned(id) && !draft.NextTry.After(h.Now()) && d.drafts.Load()
			}, id+": its files are planned, and what could not be sent is sent,")
		}
	})
}

func TestAConnectionThatFlapsCostsNoMoreQuestionsThanItMay(t *testing.T) {
	for _, packages := range []int{10, sweepBurst + 10} {
		synctest.Test(t, func(t *testing.T) {
			d := desk{say: func(string) string { return `"state":"open","signers":[{"signerId":"s","state":"open"}]` }}
			h := d.at(t, packages)
			time.Sleep(10 * time.Minute)
			before := d.questions()
			const minutes = 10
			for range minutes * 12 {
				h.SweepOpened()
				time.Sleep(5 * time.Second)
			}
			most := sweepBurst + minutes*60*sweepSecond
			if packages > sweepBurst {
				most = (minutes/5 + 1) * (packages + 10)
			}
			asked := d.questions() - before
			if most += minutes*packages/12 + packages; asked > most || asked < min(packages, 100)*3 {
				t.Errorf("%d questions about %d packages in ten minutes, more than %d", asked, packages, most)
			}
		})
	}
}

// Old packages that nobody signs are what people archive; a sweep asks about them, too.
func TestASweepPaysForArchivedPackages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.update(func(tx *store.Tx) error {
			for n := range sweepBurst - 1 {
				p := office.Package{ID: fmt.Sprint("p", n), State: office.PackageOpen, Created: x.Now()}
				p.Archive(true)
				tx.PutPackage(p)
			}
			return nil
		})
		for n := range 2 { // the public address opens again and again
			x.SweepOpened()
			must(x.takeSweep())
			expect(t, x.sweep.isWanted(), n > 0, "sweep %[2]d waits: %[1]v", n)
		}
	})
}

// A person who declined is for somebody to act on. The record, which tells of it, is asked for while others are asked about.
func TestADeclineIsToldBeforeAllOthersHaveBeenAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk{status: 5 * time.Second, sayRecord: func(id string) string {
			if id == "p3" {
				return `"signers":[{"signerId":"s","state":"declined"}]`
			}
			return `"signers":[{"signerId":"s","state":"open"}]`
		}}
		h := d.at(t, 200)
		until(t, 10*time.Second, func() bool { return !h.pack("p3").Signers[0].Declined.IsZero() }, "it was known")
	})
}

// One record that hangs is asked for with a pause that grows, and others are told meanwhile.
func TestARecordThatHangsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk{recordPause: func(id string) time.Duration {
			if id == "p0" {
				return -1
			}
			return 0
		}, sayRecord: func(id string) string { return `"signers":[{"signerId":"s","firstName":"Jan","state":"declined"}]` }}
		h := d.at(t, 50)
		told := func() bool {
			for i := 1; i < 50; i++ {
				if h.pack(fmt.Sprint("p", i)).Signers[0].Declined.IsZero() {
					return false
				}
			}
			return true
		}
		until(t, 20*time.Second, told, "others were told")
		for range 40 {
			time.Sleep(time.Minute)
			h.Sweep("somebody asks and asks")
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if status, all := d.asked["p1"]/2, d.asked["p0"]; all > status+20 {
			t.Errorf("the record that hangs was asked for %d times", all-status)
		}
	})
}

func TestARoundEndsOnceEverythingIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk{asked: map[string]int{}, status: time.Second, say: func(string) string { return `"state":"open","signers":[{"signerId":"s","state":"open"}]` }}
		x := newService(t)
		client := clientOf(&d, &d, "c")
		x.Session = looptest.Session{Client: client}
		noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.UseService(client.Home()) }))
		x.known(office.PackageOpen)
		began := x.Now()
		if _, err := x.reconcile(t.Context()); err != nil || x.Now().Sub(began) > 2*time.Second {
			t.Errorf("after %v: %v", x.Now().Sub(began), err)
		}
		expect(t, d.count("p"), 1, "asked %d times")
		x.Data.Store.Fault = func() error { return looptest.ErrFault }
		for _, swept := range []bool{false, true} {
			if swept {
				x.Sweep("a person asked")
			}
			if _, err := x.reconcile(t.Context()); !errors.Is(err, looptest.ErrFault) {
				t.Errorf("swept %v: what cannot be read is taken for nothing: %v", swept, err)
			}
		}
	})
}

func TestAnAccountThatMaySeeNoPackageIsToldSoOnceAllWereAskedAbout(t *testing.T) {
	for name, one := range map[string]string{"none": "", "one": "p1"} {
		looptest.Bubble(t, name, func(t *testing.T) {
			d := &desk{shows: one}
			h := d.at(t, 2)
			sweeps := func(forbids, sweeps, want bool) {
				t.Helper()
				if d.forbids.Store(forbids); sweeps {
					h.Sweep("test")
				}
				time.Sleep(24 * time.Hour)
				expect(t, h.Health.Has(health.MayNotSee), want, "forbidden %v, all asked about at once %v: told %v", forbids, sweeps)
			}
			sweeps(false, true, false)
			sweeps(true, false, one == "")
			sweeps(true, true, one == "")
			sweeps(false, false, false)
			sweeps(true, true, one == "")
			sweeps(false, false, false)
		})
	}
}

// The call is not part of the interface.
func TestAServiceWithoutRecordsIsAskedForThemOnce(t *testing.T) {
	for _, no := range []string{"<h1>Not Found</h1>", `{"error":"not_found","message":"Not found"}`} {
		synctest.Test(t, func(t *testing.T) {
			d := desk{noRecords: no}
			h := d.at(t, 1)
			for range 9 {
				time.Sleep(10 * time.Minute)
				h.Sweep("somebody asks and asks")
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.records < 1 || d.records > 2 || d.total < 18 { // perhaps with and without /api/v1, see esign's http.go
				t.Errorf("asked %d times, of %d questions", d.records, d.total)
			}
		})
	}
}

// With more packages than can be asked about before the first of them is due again, questions never end.
func TestTheListIsReadAndASweepEndsThoughQuestionsNeverDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk{deaf: true}
		h := d.at(t, 0)
		h.keepMany(500, office.Package{Created: h.Now(), Inquiry: office.Inquiry{Checked: h.Now(), NextCheck: h.Now()}})
		h.Wake()
		time.Sleep(time.Minute)
		lists := d.count("list")
		began := h.Now()
		h.Sweep("a person asked")
		until(t, 6*time.Minute, func() bool { last, under := h.Swept(); return !under && !last.Before(began) }, "all had been asked about")
		synctest.Wait()
		expect(t, d.count("list") > lists, true, "the list was read: %v")
	})
}
