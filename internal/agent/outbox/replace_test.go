package outbox

import (
	"sync"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// A held draft that is changed in a form can be sent from the outbox, too. Of all orders in which somebody can press both, none
// makes two packages.
func TestPressingSendInTheFormAndInTheOutboxMakesOnePackage(t *testing.T) {
	type desk struct {
		*testService
		t      *testing.T
		old    string // what is held
		change office.NewPackage
	}
	hold := func(d *desk) string { // as the form does, some seconds before it sends
		id, err := d.Hold(d.change)
		if err != nil {
			d.t.Log(err)
			return ""
		}
		return id
	}
	send := func(d *desk, held string) {
		change := d.change
		if held != "" {
			change.Replaces = append(change.Replaces, held)
		}
		state, err := d.Send(d.t.Context(), change, nil)
		d.t.Log(state, err)
	}
	press := func(d *desk, id string) {
		if err := d.Resolve(id, true, 0); err != nil {
			d.t.Error(err)
		}
	}
	for name, both := range map[string]func(d *desk){
		"the form first":   func(d *desk) { send(d, hold(d)); press(d, d.old) },
		"the outbox first": func(d *desk) { press(d, d.old); send(d, hold(d)) },
		"the outbox while the form waits": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			send(d, id)
		},
		"the outbox, and the form once it is sent": func(d *desk) {
			press(d, d.old)
			<-d.wakes
			send(d, hold(d))
		},
		"the outbox, sent while the form waits": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			<-d.wakes
			send(d, id)
		},
		"both in the outbox, after a kill": func(d *desk) {
			id := hold(d)
			press(d, id)
			press(d, d.old)
			d.settled(d.t)
		},
		"both in the outbox, the old one first": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			press(d, id)
			d.settled(d.t)
		},
		"both in the outbox, the old one sent first": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			<-d.wakes
			press(d, id)
			d.settled(d.t)
		},
		"the outbox after a kill, and the form that was kept": func(d *desk) {
			press(d, hold(d))
			<-d.wakes
			send(d, hold(d))
		},
		"everything at once": func(d *desk) {
			var all sync.WaitGroup
			id := hold(d)
			all.Go(func() { press(d, d.old) })
			all.Go(func() { press(d, id) })
			all.Go(func() { send(d, id) })
			all.Wait()
			d.settled(d.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newService(t, accept)
			given := r.newPackage(t)
			old := must(r.Hold(given))
			d := &desk{r, t, old, given}
			d.change.Name, d.change.Replaces = "Lease, changed", []string{old}
			both(d)
			d.settled(t)
			expect(t, r.service.added(), 1, "%d packages")
		})
	}
}

func TestAVersionThatCameTooLateSaysSoAndCanBeSentAllTheSame(t *testing.T) {
	r := newService(t, accept)
	given := r.newPackage(t)
	old := must(r.Hold(given))
	given.Replaces = []string{old}
	held := must(r.Hold(given))
	for _, id := range []string{old, held} {
		noErr(t, r.Resolve(id, true, 0))
		r.settled(t)
	}
	if d, _, err := r.Data.Draft(held); err != nil || d.State != office.DraftHeld || d.Problem != message.EarlierVersionSent("Lease") {
		t.Errorf("%+v, %v", d, err)
	}
	noErr(t, r.Resolve(held, true, 0))
	if r.settled(t); r.service.added() != 2 {
		t.Errorf("%d packages though a person wants both", r.service.added())
	}
	if people, err := r.People(); err != nil || len(people) != 1 || people[0].Email != "ana@example.com" {
		t.Errorf("remembered: %+v, %v", people, err)
	}
}

// A draft that goes on although another was to replace it is not halted: its upload would be tried again and again without a pause.
func TestADraftIsHaltedOnlyByOneThatIsSentInItsPlace(t *testing.T) {
	r := newService(t, accept)
	r.end()
	for name, send := range map[string]bool{"the other is discarded": false, "another it replaces was sent": true} {
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			tx.PutDraft(office.Draft{ID: "sent", State: office.DraftSent})
			tx.PutDraft(office.Draft{ID: "waits", State: office.DraftQueued})
			return tx.PutDraft(office.Draft{ID: "new", State: office.DraftHeld, Delivery: office.Delivery{Decision: office.Decision{Send: send, At: r.Now()}, Replaces: []string{"waits", "sent"}}})
		}))
		live := r.live.begin("waits", nil)
		if _, err := r.carryOut(); err != nil || r.live.cancelled("waits") {
			t.Errorf("%s: halted %v, %v", name, r.live.cancelled("waits"), err)
		}
		r.live.end("waits", live)
	}
}

// Of a draft that may have become a package, nothing else is sent in its place, also once nobody looks for that one any more.
func TestWhatMayHaveBeenSentIsNotReplacedThoughItWasGivenUp(t *testing.T) {
	r := newService(t, accept)
	r.end()
	for was, refused := range map[office.DraftState]bool{office.DraftUnknown: true, office.DraftFailed: false} {
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "d", Name: "Lease", State: was}) }))
		noErr(t, r.Resolve("d", false, 0))
		d := r.newPackage(t)
		d.Replaces = []string{"d"}
		if _, err := r.Send(ended(t), d, nil); (message.For(err) == message.EarlierVersionSent("Lease")) != refused {
			t.Errorf("what was %s, and was given up: %v", was, err)
		}
	}
	// Sent again, and taken back before that, it may be there from the first time still.
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "d", Name: "Lease", State: office.DraftUnknown})
	}))
	noErr(t, r.Resolve("d", true, 0))
	if back, err := r.Cancel("d"); err != nil || !back {
		t.Fatal(back, err)
	}
	d := r.newPackage(t)
	d.Replaces = []string{"d"}
	if _, err := r.Send(ended(t), d, nil); message.For(err) != message.EarlierVersionSent("Lease") {
		t.Errorf("what was sent again, and taken back: %v", err)
	}
}

// Two of one contract, both signed, must not come about.
func TestACorrectionGoesOutOnceTheFirstOneIsOutOfTheWayAndNotBefore(t *testing.T) {
	withdrawn := &office.Withdrawal{State: office.WithdrawWanted}
	for name, c := range map[string]struct {
		first office.Package
		want  office.DraftState
		says  message.Message
	}{
		"withdrawn":          {office.Package{ID: "p", State: office.PackageRescinded, Withdrawal: withdrawn}, office.DraftSent, message.Message{}},
		"not known any more": {office.Package{ID: "other"}, office.DraftSent, message.Message{}},
		"to be withdrawn":    {office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Withdrawal: withdrawn}, office.DraftQueued, message.CorrectedWaits("Lease")},
		"still open":         {office.Package{ID: "p", Name: "Lease", State: office.PackageOpen}, office.DraftFailed, message.CorrectedNotWithdrawn("Lease")},
		"signed by all":      {office.Package{ID: "p", Name: "Lease", State: office.PackageExecuted, Withdrawal: withdrawn}, office.DraftFailed, message.CorrectedTooLate("Lease")},
	} {
		r := newService(t, accept)
		r.end() // the test does what it runs
		r.deps.PackageAdded = func() {}
		c.first.Folder = "scans"
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(c.first) }))
		d := r.newPackage(t)
		d.Corrects = "p"
		state, _ := r.Send(ended(t), d, nil)
		work := func() office.Draft {
			t.Helper()
			must(r.sendDue(t.Context()))
			d, _, err := r.Data.Draft(state.DraftID)
			noErr(t, err)
			return d
		}
		if d := work(); d.State != c.want || d.Problem != c.says || (d.Folder == "scans") != (c.first.ID == "p") {
			t.Errorf("%s: it is %s, for %v, of folder %q", name, d.State, d.Problem, d.Folder)
		}
		if c.want == office.DraftSent {
			continue
		}
		c.first.State = office.PackageRescinded
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(c.first) }))
		if d := work(); (d.State == office.DraftSent) != (c.want == office.DraftQueued) {
			t.Errorf("%s, and withdrawn in the end: it is %s", name, d.State)
		}
	}
}

// settled waits until nothing is on its way.
func (x *testService) settled(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is on its way", func() bool {
		var waiting []office.Draft
		err := x.Data.Store.View(func(tx *store.Tx) (err error) {
			waiting, err = tx.Drafts(office.DraftQueued, office.DraftAdding, office.DraftUnknown)
			return err
		})
		return err == nil && len(waiting) == 0
	})
}
