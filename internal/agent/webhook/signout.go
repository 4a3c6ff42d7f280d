package webhook

import (
	"context"

	"countersign/internal/agent/data"
	"countersign/internal/agent/issuer"
	"countersign/internal/store"
)

// What the sign-in does with the registration: it ends with it, in the same commit, and another one is of use when the
// keys are open or the service is another one.

// Change waits until no other change of the registration is under way. done ends this one; a TakeOver ends its context.
func (r *Service) Change(ctx context.Context) (_ context.Context, done func(), err error) {
	return r.endpoints.change(ctx)
}

// TakeOver is Change that does not wait for a service that hangs.
func (r *Service) TakeOver(ctx context.Context) (done func(), err error) {
	return r.endpoints.takeOver(ctx)
}

// End is the end of the registration at i: values and also are to be committed with the end of the sign-in, and then ended
// is to be called, all while TakeOver is held. Events that are still on their way count for a little longer.
func (r *Service) End(i issuer.Name) (values map[string][]byte, also func(*store.Tx) error, ended func(), err error) {
	former := r.endpoints.formerAfter(r.Now())
	values, err = sealed(i, nil, former)
	return values, forget, func() {
		r.endpoints.follow(nil, former, false)
		r.startOver()
	}, err
}

// Forget records that nothing is unsure about the registration, and nothing missed.
func (r *Service) Forget(tx *store.Tx) error { return forget(tx) }

// Open has what is kept of i count, once the keys are open.
func (r *Service) Open(i issuer.Name) {
	r.load(i)
	r.recallPending()
}

// Move has what is kept of i count in place of what another issuer gave out, once that is committed together with Forget.
func (r *Service) Move(i issuer.Name) {
	r.load(i)
	r.endpoints.settle(false)
	r.startOver()
}

func (r *Service) load(i issuer.Name) {
	if err := r.endpoints.load(r.Vault, i, r.Now()); err != nil {
		r.Log.Error("read the endpoint", "err", err)
	}
}

// MayBeRegistered reports whether there is a registration, or one was sent whose answer is not kept.
func (r *Service) MayBeRegistered() bool { return r.endpoints.get() != nil || r.unsure() }

// OutOfReach reports whether there is a registration at i that cannot be read, because its key is gone.
func (r *Service) OutOfReach(i issuer.Name) (bool, error) {
	there, err := r.Vault.Has(issuer.Endpoint.Of(i))
	if err != nil || !there {
		return false, err
	}
	sealed, err := r.Vault.Get(issuer.Endpoint.Of(i)) // what is in memory may follow a moment after the commit
	return sealed == nil, err
}

// AtService is the registration to delete at the service; it may have taken one whose answer was cut short. One
// that is known to have gone to another computer is left there.
func (r *Service) AtService() (address, id string, err error) {
	if old := r.endpoints.get(); old != nil && !r.missed.lost() {
		address, id = old.URL, old.ID
	}
	asked, _, err := data.Doc[string](r.Data, docPending)
	if asked != "" {
		return asked, "", nil
	}
	return address, id, err
}
