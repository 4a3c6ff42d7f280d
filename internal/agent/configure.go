package agent

import (
	"context"
	"reflect"
	"strings"
	"time"

	"countersign/internal/agent/download"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/reconcile"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// ConfigError is a configuration that was not accepted.
type ConfigError = office.ConfigError

// Configure validates and stores the settings, as Normal writes them, and any given secrets, in one commit, and applies them at
// once. A new folder for documents is created and tested; files waiting for the old folder move to it. A *ConfigError says what is
// wrong, field by field.
func (a *Agent) Configure(ctx context.Context, s office.Settings, secrets office.Secrets) error {
	_, err := a.ChangeSettings(ctx, func(office.Settings) office.Settings { return s }, secrets)
	return err
}

// ChangeSettings is Configure with the result of change, which no other change can interleave. It returns that result, even if it was
// not stored.
func (a *Agent) ChangeSettings(ctx context.Context, change func(office.Settings) office.Settings, secrets office.Secrets) (office.Settings, error) {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	a.readRules()
	before := a.Settings()
	s := change(before).Normal()
	err := a.configure(ctx, s, secrets.Normal())
	if err == nil && s.SaveTo != before.SaveTo {
		err = a.saves.AcceptMount(s.SaveTo)
	}
	return s, err
}

// configure is Configure for normalized settings, under the rules as last read, in one commit with also. The caller holds
// configuring.
func (a *Agent) configure(ctx context.Context, s office.Settings, secrets office.Secrets, also ...func(*store.Tx) error) error {
	if fixed := a.decided.Load().rules.Broken(s); len(fixed) > 0 {
		return &ConfigError{Fields: fixed[:1]} // one sentence covers all of them
	}
	if bad := append(s.Check(), secrets.Check()...); len(bad) > 0 {
		return &ConfigError{Fields: bad}
	}
	secrets = a.account.Unkept(s, secrets)
	before := a.account.Settings()
	former := before.SaveTo
	if s.SaveTo != former {
		if code := a.tryFolder(s.SaveTo); code != "" {
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
		download.MoveJobs(tx, before.SaveTo, s.SaveTo, named, a.Now())
		if before.SavedElsewhere && !s.SavedElsewhere {
			download.SaveHere(tx, a.Now())
		}
		tx.UseService(issuer.Home(s))
		if moved { // packages and drafts of the other service stay until it is used again
			reconcile.ForgetList(tx)
			moveDrafts(tx)
		}
		for _, f := range also {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if moved {
		former = "" // what waited for that folder is not retried there
		a.saves.Resume()
		a.packages.Sweep("the service was changed")
	}
	a.saves.FolderChosen(former, s.SaveTo)
	a.outbox.TellUnknown()
	if secrets.NgrokAuthtoken != "" {
		a.webhook.Reopen()
	}
	if secrets.DeskKey != "" || s.Office != before.Office || s.OfficePin != before.OfficePin {
		a.desks.Reopen()
	}
	a.wakeAll()
	a.Signal(office.SettingsChanged)
	a.Signal(office.StatusChanged)
	return nil
}

// otherService says that a draft waits until its service is in use again.
var otherService = message.ForAnotherService()

// moveDrafts updates what unsent drafts wait for.
func moveDrafts(tx *store.Tx) {
	drafts, _ := tx.Drafts(office.DraftQueued)
	for _, d := range drafts {
		switch {
		case d.Away:
			d.Problem = otherService
		case d.Problem == otherService:
			d.Problem = message.Message{}
		}
		tx.PutDraft(d)
	}
}

// tryFolder returns what is wrong with a folder chosen for documents, "" for nothing. It creates the folder if necessary.
func (a *Agent) tryFolder(path string) office.Code {
	if disk.Inside(path, a.p.DataDir) || amongOwnData(path) { // what lies there unknown may be removed
		return office.CodeConflict
	}
	return a.saves.TryFolder(path)
}

// amongOwnData reports whether a folder lies in the default data folder, which is deleted when a person has all data removed.
func amongOwnData(path string) bool {
	own, err := locations.Default()
	return err == nil && disk.Inside(path, own)
}

// lookAtRules is how often the administrator's decisions are read.
const lookAtRules = 5 * time.Minute

// readRules reads the administrator's decisions and reports which cannot be used. The caller holds configuring.
func (a *Agent) readRules() {
	now := a.p.Policy()
	if reflect.DeepEqual(now, a.decided.Load().read) {
		return
	}
	a.decided.Store(&decided{now, office.NewRules(now.Fixed, now.Defaults)})
	a.tellRules()
	a.Signal(office.SettingsChanged)
}

// tellRules reports to health which of the administrator's decisions are not applied.
func (a *Agent) tellRules() {
	d, left := a.decided.Load(), a.left
	now, useless := d.read, strings.Join(d.rules.Wrong, ", ")
	wrong := now.Wrong
	if useless != "" {
		wrong = message.Then(wrong, message.PolicyUnusable(useless))
	}
	switch {
	case !wrong.IsZero():
		a.Health.Set(health.PolicyWrong, message.Then(message.PolicyWrong(now.From), wrong))
	case !left.IsZero():
		a.Health.Set(health.PolicyWrong, message.Then(message.PolicyNotInUse(now.From), left))
	default:
		a.Health.Clear(health.PolicyWrong)
		return
	}
	a.Log.Warn("what the administrator has decided is not all in use", "from", now.From, "why", now.Wrong, "unusable", useless, "left", left)
}

// noteRules records why the administrator's decisions could not be applied; nil if they were.
func (a *Agent) noteRules(err error) {
	if why := Message(err); a.left != why {
		a.left = why
		a.tellRules()
	}
}

// followRules applies the administrator's future decisions until ctx ends.
func (a *Agent) followRules(ctx context.Context) error {
	for loop.Sleep(ctx, lookAtRules) {
		_ = a.obey(ctx) // health reports it
	}
	return nil
}

// obey applies the administrator's present decisions. Incomplete settings wait for the rest.
func (a *Agent) obey(ctx context.Context) error {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	a.readRules()
	kept := a.account.Settings()
	want := a.decided.Load().rules.Into(kept)
	var err error
	if !reflect.DeepEqual(want, kept) && len(want.Check()) == 0 {
		err = a.configure(ctx, want, office.Secrets{})
	}
	if ctx.Err() == nil {
		a.noteRules(err)
	}
	return err
}

// Fixed reports whether the administrator of this computer has fixed the setting with that JSON name.
func (a *Agent) Fixed(setting string) bool { return a.decided.Load().rules.Fixed(setting) }

// Settings returns the current settings, subject to the rules last applied.
func (a *Agent) Settings() office.Settings {
	for {
		now := a.decided.Load()
		s := a.account.Settings()
		if a.decided.Load() == now {
			return now.rules.Into(s)
		}
	}
}
