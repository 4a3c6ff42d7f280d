package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/store"
)

// ConfigError is a configuration that was not accepted. Nothing was changed.
type ConfigError struct{ Fields []FieldError }

func (e *ConfigError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Text
	}
	return strings.Join(texts, " ")
}

// Configure checks and keeps the settings and whichever secrets are given, in one commit, and puts them to use at
// once. Files that wait for the office's folder move to the new one with it. A *ConfigError names what is wrong, field
// by field.
func (a *Agent) Configure(ctx context.Context, s Settings, secrets Secrets) error {
	s = s.complete()
	if bad := s.Check(); len(bad) > 0 {
		return &ConfigError{bad}
	}
	values := map[string][]byte{}
	if secrets.ClientSecret != "" {
		values[sealedClientSecret] = []byte(secrets.ClientSecret)
	}
	if secrets.NgrokAuthtoken != "" {
		values[sealedNgrokToken] = []byte(secrets.NgrokAuthtoken)
	}
	if a.keys.locked() && !a.unlock(ctx) {
		return fmt.Errorf("keep the settings: %w", a.keys.reason())
	}
	var before, after office
	var retire func()
	err := a.office.change(func(o office) (_ office, err error) {
		before, after = o, o
		if after.service, retire, err = a.newService(o, s, values[sealedClientSecret]); err != nil {
			return o, err
		}
		after.settings = s
		ended := o.service != nil && after.service != nil && after.service.session != o.service.session
		if ended {
			after.account = o.account.resumed() // without offline_access that session had the only token
		}
		return after, a.keys.put(values, func(tx *store.Tx) error {
			if err := moveJobs(tx, o.settings.SaveTo, s.SaveTo, a.now); err != nil {
				return err
			}
			if ended {
				if err := tx.PutDoc(docAccount, after.account); err != nil {
					return err
				}
			}
			return tx.PutDoc(docSettings, s)
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
		a.rest.stop()
		if after.service == nil || before.service == nil || !sameClient(after.service.config, before.service.config) {
			a.replaceLogin(nil, errMovedOn)
		}
	}
	a.saves.forget()
	a.health.clear("folder")
	if secrets.NgrokAuthtoken != "" {
		a.restartTunnel.Store(true)
	}
	a.wakeAll()
	a.watchers.signal(SettingsChanged)
	a.watchers.signal(StatusChanged)
	return nil
}

func serviceChanged(a, b Settings) bool {
	return a.AuthURL != b.AuthURL || a.BaseURL != b.BaseURL || a.ClientID != b.ClientID ||
		a.SignatureHeader != b.SignatureHeader || !slices.Equal(a.Scopes, b.Scopes)
}

// moveJobs sends the files that still wait for folder old to folder next. The old one is remembered for its leftovers.
func moveJobs(tx *store.Tx, old, next string, now clock) error {
	if old == next || old == "" || next == "" {
		return nil
	}
	waiting, err := tx.PendingJobs()
	if err != nil {
		return err
	}
	for _, j := range waiting {
		if j.Folder != old {
			continue
		}
		j.Folder = next
		if j.Target, err = freeTarget(tx, next, wantedName(j)); err != nil {
			return err
		}
		j.Size, j.SHA256 = 0, ""
		j.NextTry = now()
		if err := tx.PutJob(j); err != nil {
			return err
		}
	}
	return leaveFolder(tx, old)
}
