package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/internal/agent/download"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Configure checks and keeps the settings, as Normal writes them, and whichever secrets are given, in one commit, and
// puts them to use at once. A new folder for documents is made and tried; files that wait for the office's folder move
// there with it. A *ConfigError names what is wrong, field by field.
func (a *Agent) Configure(ctx context.Context, s office.Settings, secrets office.Secrets) error {
	s, secrets = s.Normal(), secrets.Normal()
	if bad := append(s.Check(), secrets.Check()...); len(bad) > 0 {
		return &ConfigError{Fields: bad}
	}
	if s.SaveTo != a.Settings().SaveTo {
		if code := download.TryFolder(s.SaveTo); code != "" {
			return &ConfigError{Fields: []office.FieldError{office.Finding(office.FieldSaveTo, code)}}
		}
	}
	values := map[string][]byte{sealedFirstRun: nil}
	if secrets.ClientSecret != "" {
		values[issuer.ClientSecret.Of(issuer.Of(s))] = []byte(secrets.ClientSecret)
	}
	if secrets.NgrokAuthtoken != "" {
		values[issuer.NgrokToken.Of(issuer.Ngrok(s))] = []byte(secrets.NgrokAuthtoken)
	}
	if a.keys.Locked() && !a.unlock(ctx) {
		return fmt.Errorf("keep the settings: %w", a.keys.reason())
	}
	var before, after current
	var retire func()
	err := a.current.Change(func(o current) (_ current, err error) {
		before, after = o, o
		if after.service, retire, err = a.newService(o, s, values[issuer.ClientSecret.Of(issuer.Of(s))]); err != nil {
			return o, err
		}
		after.settings = s
		if issuer.Of(s) != issuer.Of(o.settings) {
			return a.moveOn(ctx, o, after, values)
		}
		ended := o.service != nil && after.service != nil && after.service.session != o.service.session
		if ended {
			after.account = o.account.resumed() // without offline_access that session had the only token
		}
		return after, a.keys.Put(values, func(tx *store.Tx) error {
			if ended {
				if err := tx.PutDoc(docAccount, after.account); err != nil {
					return err
				}
			}
			return a.putSettings(tx, o.settings, s)
		})
	})
	if err != nil {
		return fmt.Errorf("keep the settings: %w", err)
	}
	retire()
	a.tellReplaced()
	a.checkSetUp()
	a.tellSignedOut()
	if after.service != before.service {
		a.rest.Close()
		if after.service == nil || before.service == nil || !sameClient(after.service.config, before.service.config) {
			a.replaceLogin(nil, errMovedOn)
		}
	}
	if issuer.Of(s) != issuer.Of(before.settings) {
		a.Health.End(health.WithService)
		a.saves.Resume()
		a.reconcileSoon("the service was changed")
	}
	a.saves.FolderChanged()
	if secrets.NgrokAuthtoken != "" {
		a.webhook.Reopen()
	}
	a.wakeAll()
	a.Signal(office.SettingsChanged)
	a.Signal(office.StatusChanged)
	return nil
}

func (a *Agent) putSettings(tx *store.Tx, old, next office.Settings) error {
	if err := download.MoveJobs(tx, old.SaveTo, next.SaveTo, a.Now); err != nil {
		return err
	}
	return errors.Join(tx.UseService(issuer.Home(next)), tx.PutDoc(docSettings, next))
}

// leaveLimit bounds how long a call under way may hold up a change of the service.
const leaveLimit = 5 * time.Second

// moveOn goes over to another service, or to another client of the same one, in one commit: the sign-in before is ended,
// and its service is told so when it can be. Packages and drafts of another service stay, and wait for it to come back;
// so does what is known of the account there.
func (a *Agent) moveOn(ctx context.Context, o, next current, values map[string][]byte) (current, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	left, found := o.account.ended(), account{}
	_, err := a.leave(ctx, o, values, func(tx *store.Tx) error {
		found = account{}
		if _, err := tx.GetDoc(docAccountOf(next), &found); err != nil {
			return err
		}
		if issuer.Home(o.settings) == issuer.Home(next.settings) && found.Since.IsZero() {
			found = left // the same packages, asked for by another client
		}
		return errors.Join(
			tx.PutDoc(docAccountOf(o), left), tx.PutDoc(docAccount, found),
			a.webhook.Forget(tx), tx.PutDoc(docListed, nil),
			a.putSettings(tx, o.settings, next.settings), moveDrafts(tx))
	})
	if err != nil {
		return o, err
	}
	next.account = found
	a.webhook.Move(issuer.Of(next.settings))
	loop.Wake(a.rings.farewells)
	return next, nil
}

// otherService is what a draft waits for that was made for a service that is not in use.
var otherService = message.ForAnotherService()

// moveDrafts says of the drafts that are not sent yet what they wait for.
func moveDrafts(tx *store.Tx) error {
	drafts, err := tx.Drafts(office.DraftQueued)
	for _, d := range drafts {
		switch {
		case d.Away:
			d.Problem = otherService
		case d.Problem == otherService:
			d.Problem = message.Message{}
		}
		err = errors.Join(err, tx.PutDraft(d))
	}
	return err
}

// docAccountOf names the document with the account of an issuer that is not in use.
func docAccountOf(o current) string { return docAccount + "@" + string(issuer.Of(o.settings)) }

func serviceChanged(a, b office.Settings) bool {
	return a.AuthURL != b.AuthURL || a.BaseURL != b.BaseURL || a.ClientID != b.ClientID ||
		a.SignatureHeader != b.SignatureHeader || !slices.Equal(a.Scopes, b.Scopes)
}
