package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Configure keeps the settings s, which are checked, and whichever secrets are given, in one commit together with what keep
// records, and has the service be asked as they say. keep gets the settings before, and whether s moves on to another
// service, or to another client of the same one.
func (r *Service) Configure(ctx context.Context, s office.Settings, secrets office.Secrets, keep func(tx *store.Tx, before office.Settings, moved bool) error) (moved bool, err error) {
	values := map[string][]byte{sealedFirstRun: nil}
	if secrets.ClientSecret != "" {
		values[issuer.ClientSecret.Of(issuer.Of(s))] = []byte(secrets.ClientSecret)
	}
	if secrets.NgrokAuthtoken != "" {
		values[issuer.NgrokToken.Of(issuer.Ngrok(s))] = []byte(secrets.NgrokAuthtoken)
	}
	if r.keys.Locked() && !r.Unlock(ctx) {
		return false, fmt.Errorf("keep the settings: %w", r.keys.reason())
	}
	var before, after Current
	var retire func()
	err = r.current.Change(func(o Current) (_ Current, err error) {
		before, after = o, o
		if after.service, retire, err = r.newService(o, s, values[issuer.ClientSecret.Of(issuer.Of(s))]); err != nil {
			return o, err
		}
		after.Settings = s
		if issuer.Of(s) != issuer.Of(o.Settings) {
			return r.moveOn(ctx, o, after, values, func(tx *store.Tx) error { return keep(tx, o.Settings, true) })
		}
		ended := o.service != nil && after.service != nil && after.service.session != o.service.session
		if ended {
			after.Account = o.Account.resumed() // without offline_access that session had the only token
		}
		return after, r.keys.Put(values, func(tx *store.Tx) error {
			if ended {
				if err := tx.PutDoc(Doc, after.Account); err != nil {
					return err
				}
			}
			return errors.Join(keep(tx, o.Settings, false), tx.PutDoc(DocSettings, s))
		})
	})
	if err != nil {
		return false, fmt.Errorf("keep the settings: %w", err)
	}
	retire()
	r.tellReplaced()
	r.checkSetUp()
	r.tellSignedOut()
	if after.service != before.service {
		r.Breaker.Close()
		if after.service == nil || before.service == nil || !sameClient(after.service.config, before.service.config) {
			r.replaceLogin(nil, errMovedOn)
		}
	}
	if moved = issuer.Of(s) != issuer.Of(before.Settings); moved {
		r.Health.End(health.WithService)
	}
	return moved, nil
}

// leaveLimit bounds how long a call under way may hold up a change of the service.
const leaveLimit = 5 * time.Second

// moveOn goes over to another service, or to another client of the same one, in one commit: the sign-in before is ended,
// and its service is told so when it can be. What is known of the account there waits for it to come back.
func (r *Service) moveOn(ctx context.Context, o, next Current, values map[string][]byte, keep func(*store.Tx) error) (Current, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	left, found := o.Account.ended(), Record{}
	_, err := r.leave(ctx, o, true, values, func(tx *store.Tx) error {
		found = Record{}
		if _, err := tx.GetDoc(DocOf(issuer.Of(next.Settings)), &found); err != nil {
			return err
		}
		if issuer.Home(o.Settings) == issuer.Home(next.Settings) && found.Since.IsZero() {
			found = left // the same packages, asked for by another client
		}
		return errors.Join(
			tx.PutDoc(DocOf(issuer.Of(o.Settings)), left), tx.PutDoc(Doc, found),
			r.Endpoint.Forget(tx), keep(tx), tx.PutDoc(DocSettings, next.Settings))
	})
	if err != nil {
		return o, err
	}
	next.Account = found
	r.Endpoint.Move(issuer.Of(next.Settings))
	loop.Wake(r.wakeRevocations)
	return next, nil
}

// serviceChanged reports whether the service is asked in another way.
func serviceChanged(a, b office.Settings) bool {
	return a.AuthURL != b.AuthURL || a.BaseURL != b.BaseURL || a.ClientID != b.ClientID ||
		a.SignatureHeader != b.SignatureHeader || !slices.Equal(a.Scopes, b.Scopes)
}
