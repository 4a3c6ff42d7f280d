package announce

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// found is a fact that somebody has found, in its commit.
func (x *testService) found(t *testing.T, p office.Package, signatures ...office.Signature) []office.Fact {
	t.Helper()
	var facts []office.Fact
	noErr(t, x.Data.Update(func(tx *store.Tx) error { facts = x.Signed(tx, p, signatures); return nil }))
	return facts
}

// again is the Service of the next start, on the same data.
func (x *testService) again(t *testing.T) *testService {
	t.Helper()
	y := &testService{}
	service, err := New(x.Base, Deps{
		Words: message.English, Settings: func() office.Settings { return y.settings }, MoreToCome: y.more.Load, CatchingUp: y.catchingUp.Load,
		HealthChanges: make(chan struct{}),
		Notify: func(n office.Notice) error {
			y.mu.Lock()
			defer y.mu.Unlock()
			y.raised = append(y.raised, n.Title+" | "+n.Body)
			return nil
		},
	})
	noErr(t, err)
	y.Service = service
	y.Resume()
	var running sync.WaitGroup
	running.Go(func() { y.Run(t.Context()) })
	t.Cleanup(running.Wait)
	return y
}

func TestWhatWaitedWhenTheProgramWasKilledIsToldOnceByTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := office.Package{ID: "p", Name: "Lease", Signers: []office.Signer{{ID: "jan", FirstName: "Jan", LastName: "Weber"}},
			Documents: []office.Document{{ID: "a", SignedBy: []string{"jan"}}, {ID: "b"}}}
		r := newService(t, nil)
		r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"}) // and killed before it was announced
		synctest.Wait()
		began := time.Now() // soon after it cannot be noted for a while
		r.Data.Store.Fault = func() error {
			if since := time.Since(began); since > 0 && since < 20*time.Second {
				return looptest.ErrFault
			}
			return nil
		}
		next := r.again(t)
		time.Sleep(time.Minute)
		expect(t, next.count("Jan Weber signed “Lease”."), 1, "told %d times")
		third := r.again(t)
		time.Sleep(time.Minute)
		if n := third.count(""); n != 0 {
			t.Errorf("told again: %q", third.raised)
		}
	})
}

// A move that fails lets the same program work on.
func TestWhatWaitsInAProgramThatWorksOnIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := office.Package{ID: "p", Documents: []office.Document{{ID: "a"}, {ID: "b"}}, Signers: []office.Signer{{ID: "jan"}, {ID: "eva"}}}
		q := office.Package{ID: "q", Name: "Offer", Inquiry: office.Inquiry{Checked: time.Now()}, Documents: p.Documents, Signers: []office.Signer{{ID: "jan", FirstName: "Jan"}, {ID: "eva"}}}
		r := newService(t, nil)
		synctest.Wait()
		var full atomic.Bool
		r.Data.Store.Fault = func() error {
			if full.Load() {
				return looptest.ErrFault
			}
			return nil
		}
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
		r.Announce(r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"})...) // waits for its names
		r.Announce(r.found(t, q, office.Signature{DocumentID: "c", SignerID: "jan"})...) // is told, which cannot be noted
		full.Store(true)
		time.Sleep(time.Minute)
		r.stop()
		r.running.Wait()
		full.Store(false)
		r.Resume()
		ctx, stop := context.WithCancel(t.Context())
		r.running.Go(func() { r.Run(ctx) })
		time.Sleep(10 * time.Minute)
		stop()
		r.running.Wait()
		if r.count("Jan signed “Offer”.") != 1 || r.count("Someone signed “Untitled package”.") != 1 {
			t.Errorf("told %q", r.raised)
		}
	})
}

func TestWhatIsOwedOfAnotherServiceIsToldOnceThatIsInUseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := office.Package{ID: "p", Name: "Lease", Signers: []office.Signer{{ID: "jan", FirstName: "Jan", LastName: "Weber"}},
			Documents: []office.Document{{ID: "a", SignedBy: []string{"jan"}}, {ID: "b"}}}
		r := newService(t, nil)
		use := func(service string) {
			noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.UseService(service) }))
		}
		use("one")
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
		r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"}) // and killed before it was announced
		for _, at := range []struct {
			service string
			told    int
		}{{"other", 0}, {"one", 1}, {"one", 0}} {
			use(at.service)
			next := r.again(t)
			time.Sleep(time.Minute)
			if n := next.count(""); n != at.told {
				t.Errorf("at %s: told %q", at.service, next.raised)
			}
		}
	})
}

func TestWhatPeopleDidNotWantToHearIsNotToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, func(x *testService) { x.settings.Notify = office.NotifyNone })
		p := office.Package{ID: "p", Name: "Lease", Signers: []office.Signer{{ID: "jan"}}, Documents: []office.Document{{ID: "a", SignedBy: []string{"jan"}}}}
		r.Announce(r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"})...)
		time.Sleep(time.Minute)
		next := r.again(t)
		time.Sleep(time.Minute)
		if n := next.count(""); n != 0 {
			t.Errorf("told %q", next.raised)
		}
	})
}

func TestAPersonWhoTakesTimeForEachDocumentIsToldOfOnce(t *testing.T) {
	var m digest
	now := noon
	sign := func(document string, last bool) {
		f := signedBy("Jan", "Lease", document, false)
		f.Partial = !last
		m.add(now, f)
	}
	sign("a", false)
	for _, document := range []string{"b", "c", "d"} {
		now = now.Add(8 * time.Second)
		if got := m.take(now, false); len(got) != 0 {
			t.Fatalf("told before document %s: %q", document, texts(got))
		}
		sign(document, document == "d")
	}
	if got := texts(m.take(now, false)); len(got) != 1 || got[0] != "Jan signed 4 documents in “Lease”." {
		t.Errorf("told %q", got)
	}
	// One who never ends is told of after a minute, and once more for the rest.
	told := 0
	for i := range 30 {
		sign(string(rune('e'+i)), false)
		now = now.Add(5 * time.Second)
		told += len(m.take(now, false))
	}
	expect(t, told, 2, "told %d times in two and a half minutes")
}

func TestASnoozeOutlivesARestartAndEndsThoughTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Int64 // by how much the clock is
		r := newService(t, func(x *testService) { x.now = func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) } })
		until := time.Now().Add(time.Hour).Round(0)
		r.Snooze(until)
		next := r.again(t)
		if got := next.Snoozed(); !got.Equal(until) {
			t.Errorf("after a restart snoozed until %v", got)
		}
		wrong.Store(int64(-5 * time.Hour))
		if got := next.Snoozed(); !got.IsZero() {
			t.Errorf("nobody is told anything until %v, and it is %v", got, next.Now())
		}
		next.Snooze(time.Time{})
		if got := r.again(t).Snoozed(); !got.IsZero() {
			t.Errorf("after it was ended, snoozed until %v", got)
		}
	})
}
