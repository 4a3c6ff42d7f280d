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
			old, err := r.Hold(given)
			noErr(t, err)
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
	old, err := r.Hold(given)
	noErr(t, err)
	given.Replaces = []string{old}
	held, err := r.Hold(given)
	noErr(t, err)
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
