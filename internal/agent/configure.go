package agent

import (
	"context"
	"errors"

	"countersign/internal/agent/download"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/reconcile"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Configure checks and keeps the settings, as Normal writes them, and whichever secrets are given, in one commit, and
// puts them to use at once. A new folder for documents is made and tried; files that wait for the office's folder move
// there with it. A *ConfigError names what is wrong, field by field.
func (a *Agent) Configure(ctx context.Context, s office.Settings, secrets office.Secrets) error {
	_, err := a.Change(ctx, func(office.Settings) office.Settings { return s }, secrets)
	return err
}

// Change is Configure with what change makes of the settings, between which nothing else changes them. It returns what that is,
// also when it was not kept.
func (a *Agent) Change(ctx context.Context, change func(office.Settings) office.Settings, secrets office.Secrets) (office.Settings, error) {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	a.readRules()
	s := change(a.Settings()).Normal()
	return s, a.configure(ctx, s, secrets.Normal())
}

// configure is Configure of settings in their normal form, under the rules as they were read last, in one commit with
// also. The caller holds configuring.
func (a *Agent) configure(ctx context.Context, s office.Settings, secrets office.Secrets, also ...func(*store.Tx) error) error {
	if fixed := a.ruling.get().Broken(s); len(fixed) > 0 {
		return &ConfigError{Fields: fixed[:1]} // one sentence says it of all
	}
	if bad := append(s.Check(), secrets.Check()...); len(bad) > 0 {
		return &ConfigError{Fields: bad}
	}
	former := a.account.Settings().SaveTo
	if s.SaveTo != former {
		if code := tryFolder(s.SaveTo); code != "" {
			return &ConfigError{Fields: []office.FieldError{office.Finding(office.FieldSaveTo, code)}}
		}
	}
	var named map[string]bool
	if s.SaveTo != former {
		var err error
		if named, err = a.saves.Named(former); err != nil {
			return err
		}
	}
	moved, err := a.account.Configure(ctx, s, secrets, func(tx *store.Tx, before office.Settings, moved bool) error {
		err := errors.Join(download.MoveJobs(tx, before.SaveTo, s.SaveTo, named, a.Now), tx.UseService(issuer.Home(s)))
		if moved { // packages and drafts of another service stay, and wait for it to come back
			err = errors.Join(err, reconcile.ForgetList(tx), moveDrafts(tx))
		}
		for _, f := range also {
			err = errors.Join(err, f(tx))
		}
		return err
	})
	if err != nil {
		return err
	}
	if moved {
		former = "" // what waited for it is not asked for any more
		a.saves.Resume()
		a.packages.Sweep("the service was changed")
	}
	a.saves.FolderChosen(former, s.SaveTo)
	a.outbox.TellUnknown()
	if secrets.NgrokAuthtoken != "" {
		a.webhook.Reopen()
	}
	a.wakeAll()
	a.Signal(office.SettingsChanged)
	a.Signal(office.StatusChanged)
	return nil
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

// tryFolder is what is wrong with a folder that was chosen for documents; "" for nothing. It is made if need be.
func tryFolder(path string) office.Code {
	if amongOwnData(path) {
		return office.CodeConflict
	}
	return download.TryFolder(path)
}

// amongOwnData reports whether a folder lies in the usual data folder. What is there goes when a person has all data removed; a data
// folder of somebody's choice is theirs to remove.
func amongOwnData(path string) bool {
	own, err := locations.Default()
	return err == nil && disk.Inside(path, own)
}
