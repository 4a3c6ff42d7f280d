package outbox

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	due := office.Delivery{Decision: office.Decision{Send: true, At: time.Unix(1, 0)}, Replaces: []string{"other"}}
	in := func(do func(x *testService, tx *store.Tx) error) func(*testService) error {
		return func(x *testService) error {
			return x.Data.Update(func(tx *store.Tx) error { return do(x, tx) })
		}
	}
	not := func(done bool, err error) error { // what failed is not said to be done
		if done && err != nil {
			return errors.New("it is said to be done")
		}
		return err
	}
	orTold := func(x *testService, err error) error { // in health alone, for it is looked at again
		if err == nil && x.Health.Has(health.DataNotRead) {
			return looptest.ErrFault
		}
		return err
	}
	send := func(x *testService) error {
		_, err := x.sendDue(t.Context())
		return orTold(x, err)
	}
	refused := func(x *testService) error {
		err := send(x)
		d, _, err1 := x.Data.Draft("d")
		lines, err2 := x.Activity(9)
		if err == nil && d.State == office.DraftFailed && len(lines) == 0 { // only the diary does not have it
			return looptest.ErrFault
		}
		return errors.Join(err, err1, err2)
	}
	ail := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	claim := in(func(x *testService, tx *store.Tx) error {
		x.Claim(tx, &office.Package{ID: "p"}, withCorrelation(nil, x.sourceOf(office.Draft{ID: "d"}).String()))
		return nil
	})
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		before office.Draft
		do     func(x *testService) error
	}{
		"stored in the place of another": {nil, office.Draft{State: office.DraftHeld}, func(x *testService) error {
			n := x.newPackage(t)
			n.Replaces = []string{"d"}
			_, err := x.Send(ended(t), n, nil)
			return err
		}},
		"stored for a while": {nil, office.Draft{State: office.DraftHeld}, func(x *testService) error {
			n := x.newPackage(t)
			n.Replaces, n.Undo = []string{"d"}, time.Minute
			_, err := x.Send(ended(t), n, nil)
			return err
		}},
		"cancelled": {nil, office.Draft{State: office.DraftQueued}, func(x *testService) error { return not(x.Cancel("d")) }},
		"decided":   {nil, office.Draft{State: office.DraftHeld}, func(x *testService) error { return x.Resolve("d", true, time.Hour) }},
		"undone":    {nil, office.Draft{State: office.DraftHeld, Delivery: due}, func(x *testService) error { return not(x.Undo("d")) }},
		"stopped":   {nil, office.Draft{State: office.DraftQueued}, func(x *testService) error { return not(x.Stop("d")) }},
		"once more": {nil, office.Draft{State: office.DraftFailed}, func(x *testService) error { _, _, err := x.Again(t.Context(), "d", nil); return err }},
		"answered": {nil, office.Draft{State: office.DraftQueued}, func(x *testService) error {
			return orTold(x, x.accepted(office.Draft{ID: "d", State: office.DraftQueued}, esign.Added{PackageID: "q"}))
		}},
		"carried out": {nil, office.Draft{State: office.DraftHeld, Delivery: due}, func(x *testService) error {
			_, err := x.carryOut()
			return orTold(x, err)
		}},
		"begun anew":    {nil, office.Draft{State: office.DraftAdding}, func(x *testService) error { return orTold(x, x.recoverAdding()) }},
		"in doubt":      {nil, office.Draft{State: office.DraftQueued}, in(func(_ *testService, tx *store.Tx) error { Doubt(tx, time.Now()); return nil })},
		"sent":          {accept, office.Draft{State: office.DraftQueued}, send},
		"put off":       {ail, office.Draft{State: office.DraftQueued}, send},
		"a correction":  {accept, office.Draft{State: office.DraftQueued, Corrects: "p"}, refused},
		"not known":     {loseAnswer, office.Draft{State: office.DraftQueued}, send},
		"found":         {nil, office.Draft{State: office.DraftUnknown}, claim},
		"another's":     {nil, office.Draft{}, claim},
		"looked for":    {nil, office.Draft{State: office.DraftUnknown}, func(x *testService) error { _, err := x.Drafts(); return err }},
		"its package's": {nil, office.Draft{State: office.DraftSent}, func(x *testService) error { _, _, err := x.DraftOf("p"); return err }},
		"forgotten":     {nil, office.Draft{State: office.DraftSent}, func(x *testService) error { return x.ForgetCopies() }},
		"all people": {nil, office.Draft{}, in(func(_ *testService, tx *store.Tx) error {
			PutPeople(tx, []office.Signer{{Email: "ana@example.com"}})
			return nil
		})},
		"people":    {nil, office.Draft{}, func(x *testService) error { _, err := x.People(); return err }},
		"templates": {nil, office.Draft{}, func(x *testService) error { _, err := x.UsedTemplates(9); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*testService, *data.Data) {
				x := newService(t, c.answer)
				x.end()
				x.deps.FindPackages = func() {}
				d, other := c.before, office.Draft{ID: "other", State: office.DraftFailed}
				d.ID, d.Name, d.Signers = "d", "Lease", []office.Signer{{Email: "ana@example.com"}}
				noErr(t, x.Data.Update(func(tx *store.Tx) error {
					return errors.Join(tx.PutDraft(other), tx.PutDraft(d), tx.PutPackage(office.Package{ID: "p", Source: office.Source{DraftID: "other"}}))
				}))
				return x, x.Data
			}, func(x *testService) error {
				if err := c.do(x); !errors.Is(err, context.Canceled) {
					return err
				}
				return nil
			})
		})
	}
}

// ended is a context that has.
func ended(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}
