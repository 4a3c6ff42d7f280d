package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/webhook"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// putPackageAged stores a package of that age, which nobody asks about for a day.
func putPackageAged(t *testing.T, a *Agent, id string, age time.Duration) {
	t.Helper()
	p := office.Package{ID: id, Origin: office.MadeHere, Created: a.Now().Add(-age), NextCheck: a.Now().Add(24 * time.Hour)}
	noErr(t, a.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
}

func TestAConnectionThatReturnsSoonAfterASweepIsOwedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute) // the sweep of the start is over
		putPackageAged(t, a, "old", 8*24*time.Hour)
		a.packages.Sweep(reconcile.SweepReturn)
		time.Sleep(time.Second)
		if a.packageOrZero("old").Checked.IsZero() {
			t.Error("the package was not asked about")
		}

		// So is a service that answers again.
		c.dead.Store(true)
		a.packages.Sweep("test")
		time.Sleep(10 * time.Second)
		if !a.Health.Has(health.ServiceFails) {
			t.Fatal("nobody noticed that the service is silent")
		}
		putPackageAged(t, a, "older", 9*24*time.Hour)
		c.dead.Store(false)
		time.Sleep(10 * time.Minute)
		if a.packageOrZero("older").Checked.IsZero() {
			t.Error("the package was not asked about when the service answered again")
		}
	})
}

// waits stores one of everything that waits, each for d: a package, a file and a draft.
func waits(t *testing.T, a *Agent, d time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	noErr(t, os.WriteFile(path, []byte("%PDF-1.7"), 0o600))
	stored, stop := context.WithCancel(t.Context())
	stop() // it is kept; the test does not wait until it is sent
	if _, err := a.Send(stored, office.NewPackage{Files: []string{path}, Signers: []office.Signer{{Email: "ana@example.com"}}}, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	next := a.Now().Add(d)
	noErr(t, a.Data.Update(func(tx *store.Tx) error {
		drafts, err := tx.Drafts(office.DraftQueued)
		for _, draft := range drafts {
			draft.NextTry = next
			err = errors.Join(err, tx.PutDraft(draft))
		}
		_, planErr := tx.PlanJob(office.Job{PackageID: "executed", DocumentID: "d", Kind: "executed", Folder: a.Settings().SaveTo,
			Target: "Lease.pdf", NextTry: next})
		return errors.Join(err, planErr, tx.PutPackage(office.Package{ID: "open", Created: a.Now(), NextCheck: next}))
	}))
}

// tried fails unless everything that waits stores was tried.
func (c *canned) tried(t *testing.T, when string) {
	t.Helper()
	for _, end := range []string{"/packages/open/status", "/packages/executed/documents/d/pdf/executed/download", "/files/upload"} {
		if c.count(end) == 0 {
			t.Errorf("%s: %s was not asked for", when, end)
		}
	}
}

func TestAClockThatIsPutRightWhileTheProgramRunsHoldsNothingUp(t *testing.T) {
	for _, fast := range []time.Duration{3 * time.Hour, 400 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			clock := &wallClock{}
			clock.jump(fast)
			a, c, stop := quietOffice(t, 0, func(p *Params) { p.Now = clock.now })
			defer stop()
			time.Sleep(5 * time.Minute)
			a.Breaker.Open(a.Now(), time.Hour) // while it rests, nothing that waits is tried
			waits(t, a, 5*time.Minute)
			before := c.count("/packages/list")
			clock.jump(-fast)
			time.Sleep(2 * time.Minute)
			c.tried(t, "two minutes later")
			if c.count("/packages/list") == before {
				t.Error("the list was not read")
			}
		})
	}
}

func TestAClockThatWasPutRightWhileTheProgramWasOffHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		clock.jump(5 * time.Hour)
		a, _, stop := quietOffice(t, 0, func(p *Params) { p.Now = clock.now })
		a.Breaker.Open(a.Now(), time.Hour)
		waits(t, a, 5*time.Minute)
		stop()
		clock.jump(-5 * time.Hour)
		c, p := &canned{}, a.p
		p.HTTP = &http.Client{Transport: c}
		_, end := startAgain(t, p)
		time.Sleep(time.Minute)
		c.tried(t, "a minute after the start")
		end()
	})
}

func TestTryAgainTriesEverythingThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute)
		a.Breaker.Open(a.Now(), time.Hour)
		waits(t, a, 9*time.Minute)
		time.Sleep(time.Minute)
		noErr(t, a.Act(t.Context(), Issue{ID: "service", Action: ActRetry}))
		time.Sleep(time.Second)
		c.tried(t, "at once")
	})
}

func TestACooldownIsBelievedFromTheMomentItWasDecidedOn(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for at, want := range map[time.Duration]time.Duration{
		0: time.Hour, 20 * time.Minute: 40 * time.Minute, time.Hour: 0, 30 * time.Hour: 0,
		-loop.ClockSlack: time.Hour + loop.ClockSlack, -loop.ClockSlack - 1: 0, -30 * time.Hour: 0,
	} {
		if got := loop.CoolFor(now, time.Hour).Left(now.Add(at)); got != want {
			t.Errorf("%v on: %v left, want %v", at, got, want)
		}
	}
	if !(loop.Cooldown{}).Over(now) {
		t.Error("the zero cooldown is not over")
	}
}

func TestASnoozeEndsThoughTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		a, _, stop := quietOffice(t, 0, func(p *Params) { p.Now = clock.now })
		defer stop()
		a.Snooze(a.Now().Add(time.Hour))
		if a.Snoozed().IsZero() {
			t.Fatal("it ended at once")
		}
		clock.jump(-5 * time.Hour)
		if until := a.Snoozed(); !until.IsZero() {
			t.Errorf("nobody is told anything until %v, and it is %v", until, a.Now())
		}
	})
}

func TestWhatWasFinishedWhileTheClockWasFastIsFetched(t *testing.T) {
	for name, back := range map[string]time.Duration{"while it runs": -48 * time.Hour, "while it was off": 0} {
		synctest.Test(t, func(t *testing.T) {
			clock := &wallClock{}
			signedIn := time.Now()
			finished := signedIn.Add(time.Hour)
			a, _, stop := quietOffice(t, 0, func(p *Params) {
				p.Now = clock.now
				p.HTTP.Transport.(*canned).say = func(path string) string {
					if !strings.HasSuffix(path, "/packages/list") || time.Since(signedIn) < 2*time.Hour {
						return ""
					}
					when := finished.Format(time.RFC3339)
					return `{"items":[{"packageId":"p","state":"executed","timeCreated":"` + when + `","timeExecuted":"` + when + `"}]}`
				}
			})
			defer stop()
			fast := a.account.Current()
			fast.Account.Since = signedIn.Add(48 * time.Hour) // as the fast clock said
			noErr(t, a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(account.Doc, fast.Account) }))
			noErr(t, a.account.Load())
			time.Sleep(2 * time.Hour)
			a.account.MendSince(back)
			since := a.account.Current().Account.Since
			if back != 0 && !since.Equal(signedIn) {
				t.Errorf("%s: signed in at %v, want %v", name, since, signedIn)
			}
			noErr(t, a.Configure(t.Context(), a.Settings(), office.Secrets{})) // has the service asked again
			time.Sleep(time.Hour)
			if _, known, err := a.Package("p"); err != nil || !known {
				t.Errorf("%s: the package is not known, %v", name, err)
			}
		})
	}
}

func TestAListMarkThatLiesAheadIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute)
		since := a.account.Current().Account.Since
		type mark struct{ Through, Since time.Time }
		err := a.Data.Update(func(tx *store.Tx) error {
			return tx.PutDoc("listed", mark{a.Now().Add(300 * time.Hour), since})
		})
		noErr(t, err)
		time.Sleep(21 * time.Minute)
		if m, known, err := data.Doc[mark](a.Data, "listed"); err != nil || !known || m.Through.After(a.Now()) {
			t.Errorf("the list counts as read through %v, and it is %v", m.Through, a.Now())
		}
	})
}

// wallClock is a wall clock that can jump, as after a sleep; timers do not notice.
type wallClock struct {
	mu  sync.Mutex
	off time.Duration
}

func (c *wallClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

func (c *wallClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}

// sleepy is an office whose computer can sleep.
func sleepy(t *testing.T, service sandbox.Options, settings ...func(*office.Settings)) (*testOffice, *wallClock) {
	t.Helper()
	c := &wallClock{}
	service.Now = c.now
	return newOfficeWith(t, func(p *Params) { quick(p); p.Now = c.now }, service, settings...), c
}

// wake lets d go by unnoticed, and then what a loop does that looks at the clock.
func (o *testOffice) wake(c *wallClock, d time.Duration) {
	c.jump(d)
	o.packages.Wake()
}

// pass lets d go by on a computer that is awake: somebody looks at the clock all the time.
func (o *testOffice) pass(c *wallClock, d time.Duration) {
	o.t.Helper()
	const step = loop.ClockSlack / 3
	for ; d > 0; d -= step {
		c.jump(step)
		before := o.Status().Checked
		o.packages.Sweep("test")
		o.eventually("everything was asked about", func() bool { return o.Status().Checked.After(before) })
	}
}

func TestAfterASleepEverythingContinues(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{})
	id := o.send()
	o.eventually("the package was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
	o.service.Hold() // nothing reaches a computer that sleeps
	signAll(o, id)
	o.wake(c, 9*time.Hour) // the access token has expired, too
	o.eventually("saved", func() bool { return saved(o, id) })
	if n := calls(o.service, "POST /connect/token"); n < 2 {
		t.Errorf("%d token calls", n)
	}
	// What happened while the computer slept is no sign of another one.
	o.pass(c, 2*webhook.MissedGrace)
	noErr(t, o.service.Release("reverse"))
	o.eventually("the late events are handled", func() bool { e := o.Status().Events; return e.Received >= 4 && e.Pending == 0 })
	if o.issue("endpoint-lost") != nil {
		t.Errorf("health: %+v", o.Status().Health)
	}
	o.eventually("told once", func() bool { return o.count("Everyone has signed “") == 1 })
}

func TestManyMissedCompletionsAreCaughtUpWithinTheBudget(t *testing.T) {
	many := 200
	if os.Getenv("COUNTERSIGN_E2E_TORTURE") != "" {
		many = 1000
	}
	asking := newCounter(t)
	o := newOfficeWith(t, func(p *Params) { quick(p); p.HTTP = asking.client() }, sandbox.Options{DeliverWorkers: 4})
	ours, theirs := 8*many/10, 2*many/10
	ids := o.prepare(ours, theirs)
	asking.reset()
	total := calls(o.service, "GET /packages/{packageId}/status")
	o.open()
	began := time.Now()
	o.run()
	o.within(4*time.Minute, "caught up", func() bool { return o.Status().Packages.Saved == many })
	t.Logf("caught up %d packages in %v", many, time.Since(began).Round(time.Millisecond))
	noErr(t, o.service.Release("random"))
	o.within(2*time.Minute, "the late events are handled", func() bool {
		e := o.Status().Events
		return e.Received >= many && e.Pending == 0
	})
	for _, id := range ids {
		if n := asking.count("/packages/" + id + "/status"); n < 1 || n > 2 {
			t.Errorf("package %s was asked about %d times", id, n)
		}
		if n := asking.count("/packages/" + id + "/documents/"); n != 1 {
			t.Errorf("the file of package %s was asked for %d times", id, n)
		}
	}
	t.Logf("%d status calls", calls(o.service, "GET /packages/{packageId}/status")-total)
	if got := o.files(); len(got) != many {
		t.Errorf("%d files", len(got))
	}
	o.eventually("people are told", func() bool { return o.count(fmt.Sprintf("%d packages changed", many)) == 1 })
	var finished int
	for _, n := range o.notifications() {
		if strings.Contains(n, "changed while you were away") || strings.Contains(n, "Everyone has signed “") {
			finished++
		}
	}
	if finished != 1 {
		t.Errorf("%d notifications: %q", finished, o.notifications()[:min(10, len(o.notifications()))])
	}
}

// prepare makes packages here and elsewhere, with nobody listening, and has them all signed. The office is closed then.
func (o *testOffice) prepare(ours, theirs int) (ids []string) {
	o.t.Helper()
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Hold()
	d := o.draft()
	d.Signers = d.Signers[:1]
	for i := range ours {
		d.Name = fmt.Sprintf("Ours %d", i+1)
		state, err := o.Send(o.t.Context(), d, nil)
		if err != nil || state.PackageID == "" {
			o.t.Fatalf("send: %+v, %v", state, err)
		}
		ids = append(ids, state.PackageID)
	}
	o.eventually("all of them were asked about", func() bool {
		for _, id := range ids {
			if o.packageOrZero(id).Checked.IsZero() {
				return false
			}
		}
		return true
	})
	client, _ := o.account.Online()
	path := o.sample()
	for i := range theirs {
		ids = append(ids, o.foreignBy(client, path, fmt.Sprintf("Elsewhere %d", i+1)))
	}
	if n := o.Status().Packages.Total; n != ours {
		o.t.Fatalf("%d packages are known", n)
	}
	o.stop()
	for _, id := range ids {
		signAll(o, id)
	}
	return ids
}

// counter is an HTTP client that counts what is asked for.
type counter struct {
	transport *http.Transport
	mu        sync.Mutex
	paths     []string
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	c := &counter{transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	t.Cleanup(c.transport.CloseIdleConnections)
	return c
}

func (c *counter) client() *http.Client { return &http.Client{Transport: c} }

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.paths = append(c.paths, r.URL.Path)
	c.mu.Unlock()
	return c.transport.RoundTrip(r)
}

func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = nil
}

// count is how many requests had part in their path.
func (c *counter) count(part string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.paths {
		if strings.Contains(p, part) {
			n++
		}
	}
	return n
}

func TestAListThatHangsHoldsNothingBack(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.eventually("the list was read", func() bool { return calls(o.service, "POST /packages/list") > 0 })
	hang := o.service.Inject(sandbox.Fault{Path: "/packages/list", DelayMS: 60_000})
	t.Cleanup(func() { o.service.Heal(hang) })
	o.packages.Sweep("test")
	o.eventually("the list hangs", func() bool { return o.service.Faults()[0].Applied > 0 })
	id := o.send()
	signAll(o, id)
	o.takes(10*time.Second, "saving and telling", func() {
		o.eventually("saved and told", func() bool { return saved(o, id) && o.count("Everyone has signed “") == 1 })
	})
}

const otherComputer = "https://localhost:1/other"

// listening is an office with an open package that was asked about while the service reported to it.
func listening(t *testing.T) (o *testOffice, c *wallClock, packageID string) {
	t.Helper()
	o, c = sleepy(t, sandbox.Options{})
	packageID = o.send()
	o.eventually("what is under way has arrived", func() bool {
		all, err := o.service.Deliveries()
		return err == nil && !slices.ContainsFunc(all, func(d sandbox.Delivery) bool { return d.Delivered == nil && !d.GivenUp }) && o.Status().Events.Pending == 0
	})
	o.eventually("the package was asked about", func() bool {
		o.pass(c, time.Second) // with a look at the clock: many jumps without one are a sleep
		since := o.webhook.ListeningSince()
		return !since.IsZero() && o.packageOrZero(packageID).Checked.After(since)
	})
	return o, c, packageID
}

// lose has the office find out that the service does not report to it, by what signing does.
func (o *testOffice) lose(c *wallClock, packageID string, sign func(packageID string) error) {
	o.t.Helper()
	noErr(o.t, sign(packageID))
	o.eventually("it was found out", func() bool {
		o.packages.Sweep("test")
		p := o.packageOrZero(packageID)
		return p.SignersDone > 0 || p.State == office.PackageExecuted
	})
	o.pass(c, 2*webhook.MissedGrace)
	o.eventually("people are told", func() bool { return o.issue("endpoint-lost") != nil })
}

// signOne lets the person sign whose turn it is.
func (o *testOffice) signOne(packageID string) error {
	for _, p := range o.service.Packages() {
		for _, s := range p.Signers {
			if p.PackageID == packageID && s.Turn {
				return o.service.Sign(packageID, s.SignerID)
			}
		}
	}
	return nil
}

func TestAnEndpointThatIsGoneIsToldAndTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		url  string
		sign func(o *testOffice) func(string) error
	}{
		"taken over, found by a signature":  {otherComputer, func(o *testOffice) func(string) error { return o.signOne }},
		"deleted, found by a signature":     {"", func(o *testOffice) func(string) error { return o.signOne }},
		"deleted, found when all is signed": {"", func(o *testOffice) func(string) error { return o.service.SignAll }},
	} {
		t.Run(name, func(t *testing.T) {
			o, clock, id := listening(t)
			noErr(t, o.service.ReplaceEndpoint(c.url))
			o.lose(clock, id, c.sign(o))
			o.restart()
			issue := o.issue("endpoint-lost")
			if issue == nil || issue.Action != ActTakeEndpoint {
				t.Fatalf("after a restart health is %+v", o.Status().Health)
			}
			o.eventually("the public address is open", func() bool { return o.Status().Tunnel.State == "up" })
			noErr(t, o.Act(t.Context(), *issue))
			if urls := o.service.EndpointURLs(); len(urls) != 1 || urls[0] != o.Status().Endpoint.URL || o.issue("endpoint-lost") != nil {
				t.Errorf("registered is %v, health is %+v", urls, o.Status().Health)
			}
			o.restart()
			if o.issue("endpoint-lost") != nil {
				t.Error("it was taken back and is told all the same")
			}
		})
	}
}

func TestSigningOutLeavesTheEndpointThatIsKnownToBeAnothers(t *testing.T) {
	o, clock, id := listening(t)
	noErr(t, o.service.ReplaceEndpoint(otherComputer))
	o.lose(clock, id, o.signOne)
	o.restart() // what is known outlives the program
	noErr(t, o.SignOut(t.Context()))
	if urls := o.service.EndpointURLs(); !slices.Equal(urls, []string{otherComputer}) {
		t.Errorf("registered is %v", urls)
	}
	if o.issue("endpoint-lost") != nil || o.Status().Endpoint.ID != "" {
		t.Errorf("signed out: %+v", o.Status())
	}
	// Whoever signs in here again wants the reports here.
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("it is registered", func() bool { return !slices.Contains(o.service.EndpointURLs(), otherComputer) })
}

func TestSigningOutSaysThatAnothersEndpointWasDeleted(t *testing.T) {
	o, _, _ := listening(t)
	noErr(t, o.service.ReplaceEndpoint(otherComputer))
	err := o.SignOut(t.Context())
	if err == nil || !strings.Contains(Message(err).String(), "events for another computer") {
		t.Errorf("said: %v", err)
	}
	if o.Status().SignedIn {
		t.Error("still signed in")
	}
}

func TestTakingTheReportsBackSaysWhyItCannotBe(t *testing.T) {
	o, _, _ := listening(t)
	o.stop()
	o.open()
	if err := o.Act(t.Context(), Issue{ID: "endpoint-lost", Action: ActTakeEndpoint}); err == nil || !strings.Contains(Message(err).String(), "public address is connected") {
		t.Errorf("said: %v", err)
	}
}

// canned is a service without a network, so that hours pass in a moment. It knows nothing, or answers nothing.
type canned struct {
	asked atomic.Int64
	dead  atomic.Bool
	say   func(path string) string // what is answered instead; "" for what always is. Nil for none
	paths sync.Map                 // path -> how often it was asked for
}

// count is how often a path that ends so was asked for.
func (c *canned) count(end string) (n int64) {
	c.paths.Range(func(path, times any) bool {
		if strings.HasSuffix(path.(string), end) {
			n += times.(*atomic.Int64).Load()
		}
		return true
	})
	return n
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	times, _ := c.paths.LoadOrStore(r.URL.Path, &atomic.Int64{})
	times.(*atomic.Int64).Add(1)
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if c.dead.Load() {
		return nil, errors.New("nobody answers")
	}
	status, body := http.StatusOK, `{"items":[],"total":0}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/connect/token"):
		body = `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1800}`
	case strings.HasSuffix(r.URL.Path, "/status"):
		id := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1"), "/")[2]
		body = fmt.Sprintf(`{"packageId":%q,"state":"open","documents":[]}`, id)
	case strings.HasPrefix(r.URL.Path, "/.well-known"):
		status, body = http.StatusNotFound, "{}"
	}
	if c.say != nil {
		if said := c.say(r.URL.Path); said != "" {
			status, body = http.StatusOK, said
		}
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// quietOffice starts a signed-in agent without a network, inside a bubble.
func quietOffice(t *testing.T, packages int, adjust ...func(*Params)) (*Agent, *canned, func()) {
	t.Helper()
	c := &canned{}
	p := Params{HTTP: &http.Client{Transport: c}, Jitter: func() float64 { return 0 }}
	for _, f := range adjust {
		f(&p)
	}
	a := openSignedIn(t, p, "https://sign.test", nil)
	noErr(t, a.Data.Update(func(tx *store.Tx) (err error) {
		for i := range packages {
			err = errors.Join(err, tx.PutPackage(office.Package{ID: fmt.Sprintf("p%d", i), Origin: office.MadeHere, Created: time.Now(), NextCheck: time.Now()}))
		}
		return err
	}))
	return a, c, runUntil(t, a)
}

func TestAnIdleOfficeWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(2 * time.Minute)
		files := []string{locations.State(a.p.DataDir), locations.Backup(a.p.DataDir)}
		before, asked := written(t, files), c.asked.Load()
		const hours = 3
		time.Sleep(hours * time.Hour)
		if after := written(t, files); after != before {
			t.Errorf("written in three idle hours:\n%s\n%s", before, after)
		}
		// Without events the list alone tells of packages made elsewhere; an access token lasts for half an hour.
		if n, most := c.asked.Load()-asked, int64(hours*(3+2)); n > most {
			t.Errorf("%d requests in three idle hours, more than %d", n, most)
		}
	})
}

// written is when each file was last written, and how large it is.
func written(t *testing.T, files []string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		noErr(t, err)
		fmt.Fprintln(&b, f, info.ModTime(), info.Size())
	}
	return b.String()
}

func TestADeadServiceIsAskedRarelyAndAtOnceWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 300)
		defer stop()
		time.Sleep(2 * time.Minute)
		if n := c.asked.Load(); n < 300 || n > 1500 {
			t.Errorf("%d requests at the beginning", n)
		}
		c.dead.Store(true)
		a.packages.Sweep("test")
		time.Sleep(5 * time.Minute)
		before := c.asked.Load()
		time.Sleep(time.Hour)
		if n := c.asked.Load() - before; n < 10 || n > 500 {
			t.Errorf("%d requests in an hour of silence", n)
		}
		if !a.Health.Has(health.ServiceFails) {
			t.Errorf("health: %+v", a.Health.List())
		}
		c.dead.Store(false)
		time.Sleep(3 * time.Minute)
		if a.Health.Has(health.ServiceFails) {
			t.Errorf("health: %+v", a.Health.List())
		}
		var late int
		err := a.Data.Store.View(func(tx *store.Tx) error {
			return tx.Packages(func(p office.Package) bool {
				if time.Since(p.Checked) > 3*time.Minute {
					late++
				}
				return true
			})
		})
		if err != nil || late > 0 {
			t.Errorf("%d packages were not asked about since, %v", late, err)
		}
	})
}

// listless is a service that gives this account no list.
type listless struct{ *canned }

func (l listless) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.canned.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/packages/list") {
		const body = `{"error":"package_not_authorized","message":"No."}`
		answer.StatusCode, answer.ContentLength, answer.Body = http.StatusForbidden, int64(len(body)), io.NopCloser(strings.NewReader(body))
	}
	return answer, err
}

// The list is the one thing that it is asked for. That it refuses it is an answer.
func TestAServiceThatFailedForAPersonOnceIsSoonAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		refuses bool
		within  time.Duration
	}{"it gives its list": {false, 2 * time.Minute}, "it refuses its list": {true, 25 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			a, service, stop := quietOffice(t, 0, func(p *Params) {
				if c.refuses {
					p.HTTP.Transport = listless{p.HTTP.Transport.(*canned)}
				}
			})
			defer stop()
			time.Sleep(2 * time.Minute)
			asked := service.count("/packages/list")
			for range 2 {
				service.dead.Store(true)
				if _, err := a.Templates(t.Context(), ""); err == nil || !a.Health.Has(health.ServiceFails) {
					t.Fatalf("%s: %v, health: %+v", name, err, a.Health.List())
				}
				service.dead.Store(false)
				time.Sleep(c.within)
				if a.Health.Has(health.ServiceFails) {
					t.Errorf("%s: health: %+v", name, a.Health.List())
				}
			}
			if n := service.count("/packages/list") - asked; n > 4 {
				t.Errorf("%s: it was asked for its list %d times", name, n)
			}
		})
	}
}

// Its list answers well, and says nothing of why packages cannot be asked about.
func TestAServiceThatSaysNothingOfPackagesIsNotAskedForItsListAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 20, func(p *Params) {
			p.HTTP.Transport.(*canned).say = func(path string) string {
				if strings.HasSuffix(path, "/status") {
					return "nonsense"
				}
				return ""
			}
		})
		defer stop()
		time.Sleep(10 * time.Minute)
		if !a.Health.Has(health.ServiceFails) {
			t.Fatalf("health: %+v", a.Health.List())
		}
		before := c.count("/packages/list")
		time.Sleep(time.Hour)
		if asked := c.count("/packages/list") - before; asked > 20 {
			t.Errorf("it was asked for its list %d times in an hour", asked)
		}
	})
}

func TestALoopThatFailsRestsLongerAndLongerAndIsReportedUntilItIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stop := quietOffice(t, 0)
		defer stop()
		fails, starts := true, 0
		supervise := func(span time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), span)
			defer cancel()
			a.Supervise(ctx, loop.Loop{Name: "test", Run: func(ctx context.Context) error {
				if starts++; fails && starts%2 == 0 {
					panic("a bug")
				} else if fails {
					return errors.New("a failure")
				}
				<-ctx.Done()
				return nil
			}})
		}
		supervise(time.Hour)
		if starts < 50 || starts > 80 || !a.Health.Has(health.Stopped("test")) {
			t.Errorf("%d starts in an hour; health: %+v", starts, a.Health.List())
		}
		fails = false
		if supervise(3 * time.Minute); a.Health.Has(health.Stopped("test")) {
			t.Error("still reported")
		}
	})
}
