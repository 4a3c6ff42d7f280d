package agent

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
)

// ruling is what the administrator of this computer has decided, as it was read last. Safe for concurrent use.
type ruling struct {
	mu    sync.Mutex
	read  policy.Policy
	rules office.Rules
	turn  int             // counts what was taken
	left  message.Message // why it was not put to use when that was tried last; empty when it was
}

func (r *ruling) get() office.Rules {
	rules, _ := r.now()
	return rules
}

// now is what was decided, and a number that is another one as soon as something else is.
func (r *ruling) now() (office.Rules, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rules, r.turn
}

// take keeps what was read, and reports whether it is something else than before.
func (r *ruling) take(now policy.Policy) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reflect.DeepEqual(now, r.read) {
		return false
	}
	r.read, r.rules = now, office.NewRules(now.Fixed, now.Defaults)
	r.turn++
	return true
}

// lookAtRules is how often the administrator's decisions are read again.
const lookAtRules = 5 * time.Minute

// readRules reads what the administrator has decided, and says what of it cannot be used.
func (a *Agent) readRules() {
	if !a.ruling.take(a.p.Policy()) {
		return
	}
	a.tellRules()
	a.Signal(office.SettingsChanged)
}

// tellRules says in health what of the administrator's decisions is not in use.
func (a *Agent) tellRules() {
	a.ruling.mu.Lock()
	now, unusable, left := a.ruling.read, strings.Join(a.ruling.rules.Wrong, ", "), a.ruling.left
	a.ruling.mu.Unlock()
	wrong := now.Wrong
	if unusable != "" {
		wrong = message.Then(wrong, message.PolicyUnusable(unusable))
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
	a.Log.Warn("what the administrator has decided is not all in use", "from", now.From, "why", now.Wrong, "unusable", unusable, "left", left)
}

// noteRules notes why what the administrator has decided was not put to use; nil when it was.
func (a *Agent) noteRules(err error) {
	why := Message(err)
	a.ruling.mu.Lock()
	news := a.ruling.left != why
	a.ruling.left = why
	a.ruling.mu.Unlock()
	if news {
		a.tellRules()
	}
}

// followRules puts to use what the administrator decides from now on, until ctx ends.
func (a *Agent) followRules(ctx context.Context) error {
	for loop.Sleep(ctx, lookAtRules) {
		_ = a.obey(ctx) // which health says
	}
	return nil
}

// obey puts to use what the administrator has decided by now. Settings that are not complete yet wait for the rest.
func (a *Agent) obey(ctx context.Context) error {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	a.readRules()
	kept := a.account.Settings()
	want := a.ruling.get().Into(kept)
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
func (a *Agent) Fixed(setting string) bool { return a.ruling.get().Fixed(setting) }
