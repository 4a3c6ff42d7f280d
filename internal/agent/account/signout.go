package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// SignOut ends the sign-in here, in one commit, and then deletes the endpoint and revokes the tokens at the service.
// What cannot be done there, because it is out of reach, does not keep it from happening here; the error then says what
// is left, and it is tried again.
func (r *Service) SignOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var left []message.Message
	var owed string
	err := r.current.Change(func(o Current) (next Current, err error) {
		if o.SignedIn() {
			if left, err = r.lostSecrets(o); err != nil {
				return o, err
			}
		}
		was := o
		o.Account = o.Account.ended()
		owed, err = r.leave(ctx, was, true, map[string][]byte{},
			func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
		return o, err
	})
	if err != nil {
		return fmt.Errorf("forget the sign-in: %w", err)
	}
	r.tellSignedOut()
	r.Health.End(health.WithSignIn)
	r.Record(office.Activity{Kind: "signed_out", Text: message.SignedOut()})
	r.Signal(office.StatusChanged)
	if owed != "" {
		unsaid, _ := r.revokePending(ctx, owed, false)
		left = append(left, unsaid...)
		loop.Wake(r.wakeRevocations)
	}
	if len(left) > 0 {
		return &SignInError{message.Then(append([]message.Message{message.SignedOutHere()}, left...)...)}
	}
	return nil
}

// HandOver ends the sign-in here in one commit with also, for another computer to sign in anew and to register in place of this one.
// revoke tells the service at once, as far as it can be reached; else RunRevocations does.
func (r *Service) HandOver(ctx context.Context, also func(*store.Tx) error) (revoke func(context.Context), err error) {
	var owed string
	err = r.current.Change(func(o Current) (Current, error) {
		was := o
		o.Account = o.Account.ended()
		owed, err = r.leave(ctx, was, false, map[string][]byte{}, func(tx *store.Tx) error { return errors.Join(tx.PutDoc(Doc, o.Account), also(tx)) })
		return o, err
	})
	return func(ctx context.Context) {
		if owed != "" {
			_, _ = r.revokePending(ctx, owed, false) // what is left is said again
		}
	}, err
}

// leave ends the sign-in of o in one commit with values and also. What the service is to be told is owed from then on,
// under the id that is returned; it is "" when there is nothing to tell. The registration of the public address is deleted there with
// endpoint, and left to whoever registers next without. Events that are still on their way count for a little longer.
func (r *Service) leave(ctx context.Context, o Current, endpoint bool, values map[string][]byte, also ...func(*store.Tx) error) (owed string, err error) {
	i := issuer.Of(o.Settings)
	values[issuer.Refresh.Of(i)] = nil
	if o.service == nil {
		return "", r.keys.Put(values, also...)
	}
	done, err := r.Endpoint.TakeOver(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if !o.SignedIn() {
		return "", r.keys.Put(values, also...)
	}
	ending, forget, ended, err := r.Endpoint.End(i)
	if err != nil {
		return "", err
	}
	maps.Copy(values, ending)
	also = append(also, forget)
	err = o.service.session.Leave(ctx, func(t esign.Tokens) error {
		f := r.newRevocation(o.service, t)
		if endpoint {
			var err error
			if f.Endpoint, f.EndpointID, err = r.Endpoint.AtService(); err != nil {
				return err
			}
		}
		err := r.keepPending(f, t, values, also...)
		if err == nil && (t.Refresh != "" || t.Access != "") {
			owed = f.ID
		}
		return err
	})
	if err == nil {
		ended()
	}
	return owed, err
}

// lostSecrets names what cannot be undone at the service because the key that sealed it is gone.
func (r *Service) lostSecrets(o Current) (left []message.Message, err error) {
	i := issuer.Of(o.Settings)
	if token, err := r.keys.Get(issuer.Refresh.Of(i)); !o.Account.Fleeting && (err != nil || token == nil) {
		left = append(left, message.NotRevokedForKey())
	}
	gone, err := r.Endpoint.OutOfReach(i)
	if gone {
		left = append(left, message.EndpointNotDeletedForKey())
	}
	return left, err
}
