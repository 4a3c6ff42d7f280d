package agent

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/agent/webhook"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

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

func TestAnEndpointThatAnotherComputerTookIsToldAndTakenBack(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{})
	id := o.send()
	noErr(t, o.service.ReplaceEndpoint("", "https://localhost:1/other"))
	o.wake(c, 9*time.Hour)
	woke, checked := o.Now(), o.packageOrZero(id).Checked
	o.eventually("the package was asked about since", func() bool { return o.packageOrZero(id).Checked.After(checked) })
	o.eventually("the sleep was noticed", func() bool { return !o.webhook.ListeningSince().Before(woke) })
	c.jump(loop.ClockSlack / 2) // no sleep: nothing has to be done over
	again := o.packageOrZero(id).Checked
	o.packages.Sweep("test")
	o.eventually("and once more", func() bool { return o.packageOrZero(id).Checked.After(again) })
	signAll(o, id)
	o.packages.Sweep("test")
	o.eventually("saved without an event", func() bool { return saved(o, id) })
	o.pass(c, 2*webhook.MissedGrace)
	o.eventually("people are told", func() bool { return o.issue("endpoint-lost") != nil })
	noErr(t, o.Act(t.Context(), *o.issue("endpoint-lost")))
	if o.issue("endpoint-lost") != nil {
		t.Errorf("health: %+v", o.Status().Health)
	}
	next := o.send()
	signAll(o, next)
	o.eventually("events arrive again", func() bool { return o.Status().Events.Received >= 4 })
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
