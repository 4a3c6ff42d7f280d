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
	turn  int // counts what was taken
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
	now := a.p.Policy()
	if !a.ruling.take(now) {
		return
	}
	unusable := strings.Join(a.ruling.get().Wrong, ", ")
	switch {
	case now.Wrong != "": // which comes first: the names are said once it is mended
		a.Health.Set(health.PolicyWrong, message.PolicyWrong(now.From, now.Wrong))
	case unusable != "":
		a.Health.Set(health.PolicyWrong, message.PolicyUnusable(now.From, unusable))
	default:
		a.Health.Clear(health.PolicyWrong)
	}
	if now.Wrong+unusable != "" {
		a.Log.Warn("what the administrator has decided cannot all be used", "from", now.From, "why", now.Wrong, "unusable", unusable)
	}
	a.Signal(office.SettingsChanged)
}

// followRules puts to use what the administrator has decided, also later, until ctx ends.
func (a *Agent) followRules(ctx context.Context) error {
	for {
		if err := a.obey(ctx); err != nil && ctx.Err() == nil {
			a.Log.Warn("put to use what the administrator has decided", "err", err)
		}
		if !loop.Sleep(ctx, lookAtRules) {
			return nil
		}
	}
}

// obey puts to use what the administrator has decided by now. Settings that are not complete yet wait for the rest.
func (a *Agent) obey(ctx context.Context) error {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	a.readRules()
	kept := a.account.Settings()
	want := a.ruling.get().Into(kept)
	if reflect.DeepEqual(want, kept) || len(want.Check()) > 0 {
		return nil
	}
	return a.configure(ctx, want, office.Secrets{})
}

// Fixed reports whether the administrator of this computer has fixed the setting with that JSON name.
func (a *Agent) Fixed(setting string) bool { return a.ruling.get().Fixed(setting) }
