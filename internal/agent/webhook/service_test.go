package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/inbox"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"
	"countersign/internal/trytest"
	"countersign/internal/tunnel"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// values is a Vault that can be locked.
type values struct {
	*looptest.Vault
	locked, lost atomic.Bool // lost: the key is gone
}

func (v *values) Locked() bool { return v.locked.Load() }

func (v *values) Get(name string) ([]byte, error) {
	switch {
	case v.Locked():
		return nil, secret.ErrUnavailable
	case v.lost.Load():
		return nil, nil
	}
	return v.Vault.Get(name)
}

func (v *values) Put(next map[string][]byte, also ...func(*store.Tx) error) error {
	if v.Locked() {
		return secret.ErrUnavailable
	}
	return v.Vault.Put(next, also...)
}

// testService is a Service whose signing service registers whatever it is asked to, with a new secret each time.
type testService struct {
	*Service
	vault *values

	mu       sync.Mutex
	now      time.Time
	settings office.Settings
	account  string   // who is signed in
	asked    []string // the addresses that were registered
	says     string   // the address that the service says it registered; empty for none
	fail     []int    // how the next registrations are refused; 0 for an answer that is lost
	swept    []string
	listed   int // how often the list was to be read
	arrived  int
}

var errNoCertificate = errors.New("no certificate")

// service answers without a network.
type service func(*http.Request) (*http.Response, error)

func (s service) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

func newService(t *testing.T) *testService {
	t.Helper()
	x := &testService{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	client := &http.Client{Transport: service(func(req *http.Request) (*http.Response, error) {
		var body bytes.Buffer
		body.ReadFrom(req.Body)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.asked = append(x.asked, body.String())
		w := httptest.NewRecorder()
		if len(x.fail) > 0 {
			status := x.fail[0]
			if x.fail = x.fail[1:]; status == 0 {
				httptrace.ContextClientTrace(req.Context()).WroteHeaders()
				return nil, io.ErrUnexpectedEOF
			}
			w.WriteHeader(status)
		}
		fmt.Fprintf(w, `{"endpoint": {"eventEndpointId": "e%d", "secret": "s%d", "url": %q}}`, len(x.asked), len(x.asked), x.says)
		answer := w.Result()
		answer.Request = req
		return answer, nil
	})}
	x.settings = office.DefaultSettings()
	x.settings.AuthURL, x.settings.BaseURL, x.settings.ClientID = "https://sign.test", "https://sign.test", "office"
	x.settings.Tunnel = office.TunnelExternal
	x.settings.PublicURL = "https://office.test"
	clock := func() time.Time {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.now
	}
	tools := looptest.Base(t, func() {})
	tools.Now, tools.Health = clock, health.New(clock, func() {})
	x.vault = &values{Vault: looptest.NewVault(tools.Data)}
	cfg := issuer.Config(x.settings)
	cfg.HTTP, cfg.Log, cfg.Now = client, tools.Log, clock
	api := esign.NewClient(cfg, looptest.Token{})
	tools.Session = looptest.Session{Client: api}
	x.Service = New(tools, Deps{
		Vault: x.vault,
		Current: func() Current {
			x.mu.Lock()
			defer x.mu.Unlock()
			return Current{Settings: x.settings, Client: api, Account: x.account, MayRegister: true}
		},
		Certificate: func() (tls.Certificate, error) { return tls.Certificate{}, errNoCertificate },
		Callback:    http.NotFound,
		Office:      noDesks{},
		Arrived: func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.arrived++
		},
		ReadList: func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.listed++
		},
		Sweep: func(why string) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.swept = append(x.swept, why)
		},
		Returned: func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.swept = append(x.swept, "returned")
		},
	})
	noErr(t, x.Load())
	x.Open(issuer.Of(x.settings))
	x.up("https://office.test")
	return x
}

// noDesks is an office of one desk.
type noDesks struct{}

func (noDesks) Stored(string)                     {}
func (noDesks) ListeningSince() (time.Time, bool) { return time.Time{}, false }

func (x *testService) up(url string) {
	x.setState(tunnel.State{Phase: tunnel.Up, URL: url}, string(tunnel.Up))
}

func (x *testService) sweeps() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.swept)
}

func (x *testService) registrations() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.asked)
}

func (x *testService) later(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.now = x.now.Add(d)
}

// register has it register, as it must be able to.
func (x *testService) register(t *testing.T) {
	t.Helper()
	noErr(t, x.Register(t.Context(), true))
}

// deliver sends an event signed with a secret and returns how it was answered.
func (x *testService) deliver(id, url, secret string) int {
	body := []byte(`{"action": "document_executed", "packageId": "p", "documentId": "d", "eventId": "` + id + `"}`)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(append([]byte(url), body...))
	req := httptest.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	req.Header.Set("X-Service-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	x.serve(w, req)
	return w.Code
}

const hook = "https://office.test/webhook"

func TestAnEventThatCannotBeReadWaitsLikeAnyOther(t *testing.T) {
	x := newService(t)
	noErr(t, x.Register(t.Context(), false))
	for range 2 {
		if got := x.deliver(`"`, hook, "s1"); got != http.StatusOK { // which ends the text that is to hold it
			t.Errorf("answered %d", got)
		}
	}
	noErr(t, x.Data.Store.View(func(tx *store.Tx) error {
		list, _, err := tx.PendingEvents("", 9)
		if len(list) != 1 || !strings.HasPrefix(list[0].ID, "sha256:") || x.arrived != 1 {
			t.Errorf("waiting: %+v; told of %d", list, x.arrived)
		}
		return err
	}))
}

func TestAnEventIsTakenInOnceTheAddressIsRegistered(t *testing.T) {
	x := newService(t)
	expect(t, x.deliver("1", hook, "s1"), http.StatusUnauthorized, "before: %d")
	noErr(t, x.Register(t.Context(), false))
	for _, what := range []string{"first", "again"} {
		expect(t, x.deliver("1", hook, "s1"), http.StatusOK, what+": %d")
	}
	expect(t, x.deliver("2", hook, "another"), http.StatusUnauthorized, "forged: %d")
	if x.arrived != 1 || x.Rejected() != 2 || len(x.Refused()) != 2 {
		t.Errorf("%d arrived, %d rejected, %d samples", x.arrived, x.Rejected(), len(x.Refused()))
	}
	if err := x.Register(t.Context(), false); err != nil || x.registrations() != 1 {
		t.Errorf("registered %d times, %v", x.registrations(), err)
	}
	x.Data.Freeze(message.RestoreWaits())
	expect(t, x.deliver("3", hook, "s1"), http.StatusServiceUnavailable, "that cannot be stored: %d")
	expect(t, x.Rejected(), 2, "with an authentic one that the service sends again, %d count as rejected")
}

// The service is changed on disk first: what was verified with a key of the one before may be stored after that.
func TestAnEventBelongsToTheServiceWhoseKeyItWasVerifiedWith(t *testing.T) {
	x := newService(t)
	x.register(t)
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.UseService("https://another.test") }))
	if got := x.deliver("1", hook, "s1"); got != http.StatusOK {
		t.Fatalf("answered %d", got)
	}
	noErr(t, x.Data.Store.View(func(tx *store.Tx) error {
		e, ok, err := tx.Event("1")
		if want := issuer.Home(x.settings); !ok || e.Service != want {
			t.Errorf("the event is kept for %q, want %q", e.Service, want)
		}
		return err
	}))
}

// A service that repeats an eventId, in other events, loses none of them; a copy of any is still a copy.
func TestAnEventWithTheIDOfAnotherIsStored(t *testing.T) {
	x := newService(t)
	for range 2 {
		for _, body := range []string{`{"eventId": "e", "packageId": "p"}`, `{"eventId": "e", "packageId": "q"}`, `{"eventId": "e", "packageId": "r"}`} {
			noErr(t, x.Take(t.Context(), hook, "s", "", []byte(body)))
		}
	}
	counts := must(data.Read(x.Data, "the counts", (*store.Tx).EventCounts))
	expect(t, counts, store.EventCounts{Received: 3, Duplicates: 3, Pending: 3}, "counted %+v")
	list := must(data.Read(x.Data, "the events", func(tx *store.Tx) ([]office.Event, error) { list, _, err := tx.Events("", 9); return list, err }))
	for i, want := range []string{"r", "q", "p"} {
		id := inbox.BodyID(list[i].Body)
		if want == "p" {
			id = "e"
		}
		expect(t, list[i].PackageID+" "+list[i].ID, want+" "+id, "stored %s, want %s")
	}
}

func TestAnEventWaitsForTheRegistrationUnderWay(t *testing.T) {
	x := newService(t)
	x.begin() // as while an answer is read: the service signs with a secret that comes to be known a moment later
	answered := make(chan int, 1)
	go func() { answered <- x.deliver("1", hook, "new") }()
	select {
	case status := <-answered:
		t.Fatalf("answered %d before the secret was known", status)
	case <-time.After(50 * time.Millisecond):
	}
	noErr(t, x.adopt(issuer.Of(x.settings), endpoint{ID: "e", URL: hook, Secret: "new"}))
	expect(t, <-answered, http.StatusOK, "answered %d")
}

func TestARegistrationThatIsNotOnDiskDoesNotCount(t *testing.T) {
	x := newService(t)
	x.register(t)
	noErr(t, x.Data.Store.Close())
	if err := x.adopt(issuer.Of(x.settings), endpoint{ID: "another", URL: hook, Secret: "another"}); err == nil {
		t.Error("it went well without a commit")
	}
	if id, _, _ := x.Endpoint(); id != "e1" {
		t.Errorf("the endpoint is %q", id)
	}
	if got := x.deliver("1", hook, "another"); got != http.StatusServiceUnavailable { // the service signs with it
		t.Errorf("answered %d", got)
	}
}

// The service has registered the address, and signs with a secret that did not arrive.
func TestARegistrationWhoseAnswerWasLostIsMadeAgain(t *testing.T) {
	for name, fail := range map[string][]int{
		"after the next start": {0}, "after conflicts": {0, 409, 409}, "missing": {0, 404, 404}, "refused": {0, 400, 400}, "forbidden": {0, 403, 403},
	} {
		t.Run(name, func(t *testing.T) {
			x := newService(t)
			x.Base.Pace.Retry = time.Millisecond
			x.register(t)
			x.fail = fail
			if err := x.Register(t.Context(), true); err == nil {
				t.Fatal("the answer was not lost")
			}
			expect(t, x.deliver("1", hook, "s2"), http.StatusServiceUnavailable, "signed with the unknown secret: answered %d")
			if name == "after the next start" {
				x.Service = New(x.Base, x.Deps)
				noErr(t, x.Load())
				x.Open(issuer.Of(x.settings))
				x.up("https://office.test")
			}
			looptest.Run(t, x.RunEndpoint)
			for x.registrations() < len(fail)+2 {
				time.Sleep(time.Millisecond)
			}
			expect(t, x.deliver("2", hook, fmt.Sprint("s", len(fail)+2)), http.StatusOK, "signed with the new secret: answered %d")
			expect(t, x.deliver("3", hook, "wrong"), http.StatusUnauthorized, "forged: answered %d")
		})
	}
}

func TestWhileTheKeysAreLockedTheServiceIsAskedToComeAgain(t *testing.T) {
	x := newService(t)
	x.register(t)
	x.vault.locked.Store(true)
	w := httptest.NewRecorder()
	x.serve(w, httptest.NewRequest(http.MethodPost, "/webhook", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "60" {
		t.Errorf("answered %d, %v", w.Code, w.Header())
	}
	if len(x.Refused()) != 0 {
		t.Error("it counts as refused")
	}
}

func TestFormerSecretsCountForTenMinutesEachAndSurviveARestart(t *testing.T) {
	x := newService(t)
	for range 4 {
		x.register(t)
	}
	again := New(x.Base, x.Deps)
	again.Open(issuer.Of(x.settings))
	for _, r := range []*Service{x.Service, again} {
		expect(t, len(r.valid(x.Now())), 4, "%d secrets count")
		expect(t, len(r.valid(x.Now().Add(previousLife))), 1, "%d secrets count ten minutes later")
		expect(t, len(r.valid(x.Now().Add(-5*time.Hour))), 1, "%d secrets count once the clock is set back")
	}
}

func TestAnEndpointThatIsKnownToBeAnothersIsNotReplacedUnasked(t *testing.T) {
	x := newService(t)
	x.register(t)
	x.Missed("p", x.Now())
	x.later(MissedGrace)
	x.Tell()
	if !x.Deaf() || !x.Health.Has(health.EndpointLost) {
		t.Fatal("nobody noticed that events do not come")
	}
	x.up("https://another.test") // the public address has changed
	if err := x.Register(t.Context(), false); err != nil || x.registrations() != 1 {
		t.Errorf("%v, registered %d times", err, x.registrations())
	}
	if address, id, err := x.AtService(); address != "" || id != "" || err != nil {
		t.Errorf("a sign-out would delete %q %q", address, id)
	}
	again := New(x.Base, x.Deps)
	if err := again.Load(); err != nil || !again.Deaf() {
		t.Errorf("a restart forgets it: %v", err)
	}
	x.register(t)
	if x.registrations() != 2 || x.Deaf() || x.Health.Has(health.EndpointLost) {
		t.Errorf("taken back: registered %d times, health %+v", x.registrations(), x.Health.List())
	}
}

func TestAnEventThatCouldNotBeStoredIsNotTakenForOneThatWentElsewhere(t *testing.T) {
	x := newService(t)
	x.register(t)
	x.later(time.Hour)
	x.Missed("p", x.Now())
	x.later(time.Minute)
	noErr(t, x.Data.Store.Close()) // as on a full disk
	if got := x.deliver("1", hook, "s1"); got != http.StatusServiceUnavailable {
		t.Fatalf("answered %d", got)
	}
	if since := x.ListeningSince(); !since.Equal(x.Now()) {
		t.Errorf("events could have come without a break since %v, and one could not be stored at %v", since, x.Now())
	}
	if len(x.missed) > 0 {
		t.Error("what did come here is taken for lost")
	}
}

// Somebody has renewed the key at the service. Or a stranger says so, who must cause no more than that.
func TestRequestsWithAnotherKeyHaveTheListReadNowAndThen(t *testing.T) {
	x := newService(t)
	x.register(t)
	strange := func(n, want int, when string) {
		t.Helper()
		for range n {
			for range 10 { // anybody can reach a public address, and takes the samples of what is refused
				x.serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, hook, nil))
			}
			expect(t, x.deliver("2", hook, "renewed"), http.StatusUnauthorized, "with another key: %d")
			x.later(time.Minute)
			x.Tell()
		}
		expect(t, x.listed, want, when+" the list is read %d times")
	}
	strange(manyStrange-1, 0, "after a few")
	expect(t, x.deliver("1", hook, "s1"), http.StatusOK, "with ours: %d")
	x.Heard(esign.Event{PackageID: "p"}, x.Now())
	strange(manyStrange-1, 0, "after a few more, with an event in between,")
	noErr(t, x.Data.Store.Close()) // nothing below writes
	strange(1, 1, "after several in a row")
	strange(19, 1, "soon afterwards")
	strange(1, 2, "of those that have come meanwhile")
	strange(100, 7, "much later")
	for range 2 {
		x.later(24 * time.Hour)
		x.Tell()
	}
	strange(0, 7, "without any more of them")
	expect(t, x.registrations(), 1, "registered %d times")
}

func TestWithoutAPublicAddressNothingIsMissed(t *testing.T) {
	x := newService(t)
	x.register(t)
	choose := func(kind office.TunnelKind) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.settings.Tunnel = kind
	}
	x.Missed("p", x.Now())
	choose(office.TunnelNone)
	x.later(MissedGrace)
	if x.Tell(); x.Health.Has(health.EndpointLost) {
		t.Error("an office without a public address is told that events go elsewhere")
	}
	choose(office.TunnelExternal)
	if x.Tell(); x.Health.Has(health.EndpointLost) {
		t.Error("what could not come is taken for lost")
	}
	x.Missed("p", x.Now())
	x.later(MissedGrace)
	x.Tell()
	choose(office.TunnelNone)
	if x.Tell(); x.Health.Has(health.EndpointLost) {
		t.Error("an office that has closed its public address is told that events go elsewhere")
	}
	choose(office.TunnelExternal)
	again := New(x.Base, x.Deps)
	noErr(t, again.Load())
	if again.Tell(); !x.Health.Has(health.EndpointLost) {
		t.Error("what was lost before is not said again")
	}
}

func TestTheRegistrationEndsWithTheSignIn(t *testing.T) {
	x := newService(t)
	x.register(t)
	i := issuer.Of(x.settings)
	done := must(x.TakeOver(t.Context()))
	if address, id, err := x.AtService(); address != hook || id != "e1" || err != nil {
		t.Errorf("to be deleted: %q %q", address, id)
	}
	values, also, ended, err := x.End(i)
	noErr(t, err)
	if id, _, _ := x.Endpoint(); id == "" {
		t.Error("it ended before the commit")
	}
	noErr(t, x.vault.Put(values, also))
	ended()
	done()
	if x.MayBeRegistered() {
		t.Error("it did not end")
	}
	expect(t, x.deliver("late", hook, "s1"), http.StatusOK, "an event that was on its way: %d")
	x.later(previousLife)
	expect(t, x.deliver("later", hook, "s1"), http.StatusUnauthorized, "ten minutes later: %d")
}

func TestEachReturnOfTheAddressIsTold(t *testing.T) {
	x := newService(t)
	before := x.sweeps()
	x.up("https://office.test")
	if x.sweeps() != before {
		t.Error("it has not been away")
	}
	x.setState(tunnel.State{Phase: tunnel.Down}, string(tunnel.Down))
	moved := x.moved
	ctx, cancel := context.WithCancel(t.Context())
	found := make(chan string, 1)
	go func() {
		url, _ := x.WaitOpen(ctx)
		found <- url
	}()
	x.up("https://office.test")
	select {
	case <-moved:
	default:
		t.Error("whoever waits for the address is not woken")
	}
	if url := <-found; url != "https://office.test" || x.sweeps() != before+1 {
		t.Errorf("waited for %q, %d sweeps", url, x.sweeps()-before)
	}
	x.setState(tunnel.State{Phase: tunnel.Down}, string(tunnel.Down))
	cancel()
	if url, open := x.WaitOpen(ctx); open {
		t.Errorf("open at %q", url)
	}
}

// Whoever reads the events that wait reads on behind the last: one that is committed later must not lie before it.
func TestEventsLieInTheOrderOfTheirCommits(t *testing.T) {
	x := newService(t)
	for n, id := range []string{"first", "second"} {
		in := inbox.Received{ID: id, Body: []byte("{}"), At: x.now.Add(-time.Duration(n) * time.Second)}
		if added, err := x.storeEvent(t.Context(), in); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	waiting, err := data.Read(x.Data, "events", func(tx *store.Tx) (list []office.Event, err error) {
		list, _, err = tx.PendingEvents("", 10)
		return list, err
	})
	if err != nil || len(waiting) != 2 || waiting[0].ID != "first" {
		t.Errorf("%+v, %v", waiting, err)
	}
}

func TestAnEventEndsTheDoubtItExplains(t *testing.T) {
	found := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	x := newService(t)
	x.up("https://office.test")
	x.register(t)
	missing := func() {
		x.startOver()
		x.Missed("a", found)
		x.Missed("b", found)
	}
	overdue := func(now time.Time) bool {
		_, overdue := x.missedNow(now, false)
		return overdue
	}
	late := found.Add(MissedGrace)
	missing()
	if overdue(late.Add(-1)) || !overdue(late) || !overdue(found.Add(-time.Hour)) {
		t.Error("overdue at the wrong time")
	}
	if x.explained("c", found.Add(-time.Minute)); !overdue(late) {
		t.Error("an event that was stored before it was found explains nothing")
	}
	if x.explained("a", found.Add(-time.Minute)); !overdue(late) {
		t.Error("the event of one package explains the other")
	}
	if x.explained("b", found.Add(-time.Minute)); overdue(late) {
		t.Error("an event of its own does not explain a package")
	}
	missing()
	if x.explained("c", found.Add(time.Second)); overdue(late) {
		t.Error("an event that comes after it does not end the doubt")
	}
	if x.explained("c", found) {
		t.Error("nothing was lost")
	}
	x.gone = late
	if x.explained("c", late.Add(-time.Second)) || !x.explained("c", late.Add(time.Second)) {
		t.Error("what is known to be lost is found by the wrong event")
	}
}

// A clock that was a year fast when the reports were taken for lost does not have them lost for a year.
func TestReportsAreFoundAgainThoughTheClockWasFastWhenTheyWereLost(t *testing.T) {
	for name, then := range map[string]func(*testService){
		"in one run":      func(*testService) {},
		"noticed at once": func(x *testService) { x.WokeUp(-365 * 24 * time.Hour) },
		"after a restart": func(x *testService) {
			x.startOver()
			noErr(t, x.recallMissed())
		},
	} {
		x := newService(t)
		x.up("https://office.test")
		x.register(t)
		const year = 365 * 24 * time.Hour
		x.later(year)
		x.Missed("p", x.Now())
		x.later(MissedGrace)
		swept := x.sweeps()
		if x.Tell(); !x.Health.Has(health.EndpointLost) || x.sweeps() != swept+1 {
			t.Fatalf("%s: nothing is lost, or nobody looks for what was", name)
		}
		x.later(-year)
		then(x)
		x.Tell()
		x.later(time.Minute)
		if x.Heard(esign.Event{Action: esign.DocumentSigned, PackageID: "p"}, x.Now()); x.Health.Has(health.EndpointLost) || x.lost() {
			t.Errorf("%s: an event came, and people are still told that none does", name)
		}
	}
}

// A clock that was a year fast when the address was opened does not have events neither expected nor missed for a year.
func TestEventsAreExpectedThoughTheClockWasFastWhenTheAddressWasOpened(t *testing.T) {
	const year = 365 * 24 * time.Hour
	x := newService(t)
	x.later(year)
	x.up("https://another.test")
	x.register(t)
	x.later(-year)
	if x.WokeUp(-year); x.Deaf() || x.ListeningSince().IsZero() {
		t.Error("no events are expected")
	}
	x.later(time.Minute)
	x.Missed("p", x.Now())
	x.later(MissedGrace)
	if x.Tell(); !x.Health.Has(health.EndpointLost) {
		t.Error("an event did not come, and nobody is told")
	}
}

// An event that could not come in its time is not taken for one that went elsewhere.
func TestNothingIsTakenForLostThatCouldNotCome(t *testing.T) {
	for name, then := range map[string]func(*testService){
		"the address is closed": func(x *testService) { x.setState(tunnel.State{Phase: tunnel.Down}, string(tunnel.Down)) },
		"the address was closed": func(x *testService) {
			x.setState(tunnel.State{Phase: tunnel.Down}, string(tunnel.Down))
			x.later(time.Minute)
			x.up("https://office.test")
		},
		"the computer slept": func(x *testService) {
			x.later(8 * time.Hour)
			x.WokeUp(8 * time.Hour)
		},
	} {
		x := newService(t)
		x.up("https://office.test")
		x.register(t)
		x.later(time.Hour)
		x.Missed("p", x.Now())
		x.later(time.Minute)
		then(x)
		x.later(MissedGrace)
		if x.Tell(); x.Health.Has(health.EndpointLost) {
			t.Errorf("%s: people are told that another computer may get the reports", name)
		}
		x.up("https://office.test")
		x.later(time.Minute)
		x.Missed("q", x.Now())
		x.later(MissedGrace)
		if x.Tell(); !x.Health.Has(health.EndpointLost) {
			t.Errorf("%s: what is missed later is not told", name)
		}
	}
}

func TestACertificateFileThatCannotBeUsedIsSaidInPlainWords(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.pem")
	other := filepath.Join(t.TempDir(), "other.pem")
	noErr(t, os.WriteFile(other, []byte("no certificate"), 0o600))
	for _, file := range []string{gone, other} {
		_, err := readCAs(file)
		if m, ok := message.Of(err); !ok || m != message.CertificateFileUnusable() {
			t.Errorf("%s: people are told %q", filepath.Base(file), m)
		}
	}
}

func TestWhatBecomesOfARegistrationIsToldAndItIsMadeOnlyWhereItIsNeeded(t *testing.T) {
	x := newService(t)
	signals := map[office.Change]int{}
	x.Signal = func(c office.Change) { signals[c]++ }
	told := func(when string, registrations int, want ...health.State) {
		t.Helper()
		var ids, wanted []string
		for _, i := range x.Health.List() {
			ids = append(ids, i.ID+" "+string(i.Severity)+" "+string(i.Action))
		}
		for _, s := range want {
			wanted = append(wanted, s.ID+" "+string(s.Severity)+" "+string(s.Action))
		}
		if !slices.Equal(ids, wanted) || x.registrations() != registrations {
			t.Errorf("%s: health %q, want %q; registered %d times", when, ids, wanted, x.registrations())
		}
	}
	try := func(force bool, fail ...int) error {
		x.fail = fail
		return x.Register(t.Context(), force)
	}
	if try(false, 500) == nil {
		t.Error("a failure is taken for an answer")
	}
	told("the service ails", 1, health.EndpointFails)
	if try(false, 403) == nil {
		t.Error("a refusal is taken for an answer")
	}
	told("it is not permitted", 2, health.EndpointForbidden)
	x.Health.Clear(health.EndpointForbidden)
	if try(false, 400) == nil {
		t.Error("a refusal is taken for an answer")
	}
	told("it is refused", 3, health.EndpointFails)
	swept := x.sweeps()
	noErr(t, try(false))
	told("it is registered", 4)
	expect(t, x.sweeps(), swept+1, "asked %d times what was missed")
	noErr(t, try(false))
	told("it is registered already", 4)
	noErr(t, try(true))
	told("it is taken back", 5)
	x.says = "https://elsewhere.example.com/webhook"
	noErr(t, errors.Join(try(true), try(false)))
	told("something else is registered", 6, health.EndpointFails)
	x.says = strings.ToUpper(x.registered().Asked) + "/"
	noErr(t, try(true))
	told("it is only written differently", 7)
	x.says = ""
	x.Breaker.Open(x.Now(), time.Hour)
	x.settings.ClientID = "another"
	if err := try(false); err == nil || x.registrations() != 7 {
		t.Errorf("the service is to be left alone: %v", err)
	}
	noErr(t, try(true))
	told("a person presses all the same", 8)
	x.Breaker.Close()
	x.account = "another"
	noErr(t, errors.Join(try(false), try(false)))
	told("somebody else has signed in", 9)
	x.settings.Tunnel = office.TunnelNone
	noErr(t, try(false))
	told("there is no public address", 9, health.NoAddress)
	if signals[office.StatusChanged] < 3 {
		t.Errorf("told of %+v", signals)
	}

	signals = map[office.Change]int{}
	for n := range maxRefusals + 2 {
		x.noteRefusal(inbox.Refusal{Remote: fmt.Sprint(n)})
	}
	if list := x.Refused(); len(list) != maxRefusals || list[0].Remote != fmt.Sprint(maxRefusals+1) || list[maxRefusals-1].Remote != "2" ||
		signals[office.ActivityChanged] != len(list)+2 || signals[office.StatusChanged] != len(list)+2 {
		t.Errorf("refused: %+v, told of %v", list, signals)
	}
}

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	for name, do := range map[string]func(x *testService) error{
		"read":          func(x *testService) error { return x.Load() },
		"recalled":      func(x *testService) error { return x.recallMissed() },
		"to be deleted": func(x *testService) error { _, _, err := x.AtService(); return err },
		"stored": func(x *testService) error {
			_, err := x.storeEvent(t.Context(), inbox.Received{ID: "e", Body: []byte("{}")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*testService, *data.Data) { x := newService(t); return x, x.Data }, do)
		})
	}
}
