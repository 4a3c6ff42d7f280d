package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// hearer notes the events in the order in which they are handled, each as "package/event". Safe for concurrent use.
type hearer struct {
	*testService
	mu    sync.Mutex
	heard []string
}

// hears is a Service that notes its events, and whose service hangs.
func hears(t *testing.T) *hearer {
	t.Helper()
	h := &hearer{testService: newService(t)}
	h.deps.Webhook, h.deps.News, h.deps.Files = h, h, h
	client := clientOf(hanging{}, token{}, "c")
	h.Session = looptest.Session{Client: client}
	return h
}

type hanging struct{}

// RoundTrip is http.RoundTripper's.
func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func (h *hearer) Announce(...office.Fact) {}

func (h *hearer) Folder(office.Settings, office.Package) (string, error) { return "/documents", nil }

func (h *hearer) Heard(e esign.Event, _ time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = append(h.heard, e.PackageID+"/"+e.EventID)
}

// handled is what was heard.
func (h *hearer) handled() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.heard)
}

// arrives stores an event as the inbox does.
func (h *hearer) arrives(id, action, packageID string) {
	h.t.Helper()
	body := fmt.Appendf(nil, `{"eventId":%q,"action":%q,"packageId":%q,"documentId":"d","signerId":"s"}`, id, action, packageID)
	ev := office.Event{ID: id, Action: action, PackageID: packageID, Received: h.Now(), Body: body}
	noErr(h.t, h.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return err }))
	h.WakeEvents()
}

// runs has events handled until stop.
func (h *hearer) runs() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.RunEvents(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	}
}

// Real events are far smaller than the inbox takes.
func TestLargeEventsThatWaitTakeLittleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hears(t)
		const many = 24
		large := strings.Repeat("x", 1<<20-200)
		for n := range many {
			time.Sleep(time.Nanosecond)
			body := fmt.Appendf(nil, `{"eventId":"%d","action":%q,"packageId":"%d","documentId":"d","signerId":"s","externalId":%q}`, n, esign.DocumentSigned, n, large)
			ev := office.Event{ID: fmt.Sprint(n), Action: esign.DocumentSigned, PackageID: fmt.Sprint(n), Received: h.Now(), Body: body}
			noErr(t, h.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return err }))
		}
		held := func() int {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc >> 20)
		}
		before := held()
		defer h.runs()()
		synctest.Wait()
		if took := held() - before; took > 30 {
			t.Errorf("%d MiB", took)
		}
		time.Sleep(time.Hour)
		expect(t, len(h.handled()), many, "%d were handled")
	})
}

// Events arrive while others are handled, the program starts anew, and the clock jumps.
func TestEachEventIsHandledOnceAndInItsPackagesOrder(t *testing.T) {
	for name, jumps := range map[string]bool{"by a steady clock": false, "by one that is set": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			h := hears(t)
			chance := rand.New(rand.NewPCG(1, 1))
			var mu sync.Mutex
			var wrong time.Duration
			h.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return time.Now().Add(wrong)
			}
			stop := h.runs()
			var want []string
			for n := range 300 {
				switch chance.IntN(30) {
				case 0:
					time.Sleep(time.Duration(chance.IntN(30)) * time.Second)
				case 1:
					synctest.Wait()
				case 2:
					stop()
					stop = h.runs()
				case 3:
					if jumps {
						mu.Lock()
						wrong += time.Duration(chance.IntN(7200)-3600) * time.Second
						mu.Unlock()
					}
				}
				time.Sleep(time.Nanosecond)
				id, of := fmt.Sprintf("e%03d", n), fmt.Sprintf("p%02d", chance.IntN(1+chance.IntN(80)))
				h.arrives(id, []string{esign.DocumentSigned, esign.PackageSent, esign.PackageExecuted}[chance.IntN(3)], of)
				want = append(want, of+"/"+id)
			}
			time.Sleep(time.Hour)
			got := h.handled()
			stop()
			sorted := strings.Compare // all of them
			if !jumps {
				sorted = func(a, b string) int { return strings.Compare(a[:3], b[:3]) }
			}
			slices.SortStableFunc(got, sorted)
			slices.SortStableFunc(want, sorted)
			if !slices.Equal(got, want) {
				t.Errorf("%d were handled, %d came:\n%v\n%v", len(got), len(want), got, want)
			}
		})
	}
}

func TestAPanicBetweenEventsIsAnErrorOfTheirLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hears(t)
		h.arrives("e", esign.PackageSent, "p")
		h.deps.Claim = func(tx *store.Tx, _ *office.Package, _ json.RawMessage) { tx.PutDoc("no JSON", make(chan int)) }
		if err := h.RunEvents(t.Context()); !errors.As(err, new(*json.UnsupportedTypeError)) {
			t.Errorf("what is not recorded is taken for handled: %v", err)
		}
		h.Now = func() time.Time { panic("a bug") }
		if err := h.RunEvents(t.Context()); err == nil {
			t.Error("nobody would start it again")
		}
	})
}

// When it was made is told by the event that says so, and by no other.
func TestAPackageThatAnEventMakesKnownIsAsOldAsThatSays(t *testing.T) {
	for action, told := range map[string]bool{esign.PackageAdd: true, esign.PackageSent: false} {
		for _, made := range []string{"2026-11-20T10:00:00Z", ""} {
			x := newService(t)
			ev := office.Event{ID: "e", PackageID: "p", Received: x.Now(), Body: fmt.Appendf(nil, `{"eventId":"e","action":%q,"packageId":"p","eventTime":%q}`, action, made)}
			noErr(t, x.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return err }))
			noErr(t, x.handleEvent(ev))
			p, want := x.now(), ev.Received
			if told = told && made != ""; told {
				want = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
			}
			if !p.Created.Equal(want) || p.Met == told {
				t.Errorf("%s at %q: made %v, met then: %v", action, made, p.Created, p.Met)
			}
		}
	}
}

// One signature is enough to see that events go elsewhere.
func TestASignatureThatNoEventToldOfIsOneThatWasMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.known(office.PackageOpen)
		status := esign.Status{PackageID: "p", Name: "Lease", State: "open", Signers: []esign.Signer{{ID: "a"}, {ID: "j"}}, Documents: []esign.Document{{ID: "d"}}}
		x.listening = x.Now()
		time.Sleep(time.Hour)
		x.check(status)
		time.Sleep(time.Hour)
		x.check(status)
		expect(t, x.missed, 0, "%d events are missed though nothing has happened")
		status.Documents[0].Revisions = []esign.Revision{{SignerID: "a", IsSigned: true}}
		x.check(status)
		expect(t, x.missed, 1, "%d events are missed")
	})
}

func TestWhatIsOwedAnEvent(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	since := now.Add(-8 * time.Hour)
	done := office.Package{State: office.PackageExecuted}
	for name, c := range map[string]struct {
		before    office.Package
		moved     bool
		listening time.Time
		want      bool
	}{
		"asked about since":                    {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour)}}, true, since, true},
		"asked about since, nothing new":       {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour)}}, false, since, false},
		"asked about before":                   {office.Package{Inquiry: office.Inquiry{Checked: since.Add(-time.Hour)}}, true, since, false},
		"asked about by a clock that was fast": {office.Package{Inquiry: office.Inquiry{Checked: now.Add(time.Hour)}}, true, since, false},
		"while nobody listened":                {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour)}}, true, time.Time{}, false},
		"met in the list, finished since":      {office.Package{Executed: office.When{Time: now.Add(-time.Hour)}}, true, since, true},
		"met in the list, finished just now":   {office.Package{Executed: office.When{Time: now.Add(-time.Minute)}}, true, since, false},
		"met in the list, finished before":     {office.Package{Executed: office.When{Time: since.Add(time.Minute)}}, true, since, false},
		"met in the list, nobody says when":    {office.Package{}, true, since, false},
		"met by its event":                     {office.Package{State: office.PackageExecuted, Executed: office.When{Time: now.Add(-time.Hour)}}, true, since, false},
	} {
		if got := missedEvent(c.before, done, c.moved, c.listening, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
