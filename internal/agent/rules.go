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
}

func (r *ruling) get() office.Rules {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rules
}

// take keeps what was read, and reports whether it is something else than before.
func (r *ruling) take(now policy.Policy) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reflect.DeepEqual(now, r.read) {
		return false
	}
	r.read, r.rules = now, office.NewRules(now.Fixed, now.Defaults)
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

// followRules puts to use what the administrator has decided, also later, until ctx ends. Settings that are not complete yet
// wait for the rest.
func (a *Agent) followRules(ctx context.Context) error {
	for {
		a.readRules()
		kept := a.account.Settings()
		if want := a.ruling.get().Into(kept); !reflect.DeepEqual(want, kept) && len(want.Check()) == 0 {
			if err := a.Configure(ctx, want, office.Secrets{}); err != nil && ctx.Err() == nil {
				a.Log.Warn("put to use what the administrator has decided", "err", err)
			}
		}
		if !loop.Sleep(ctx, lookAtRules) {
			return nil
		}
	}
}

// Fixed reports whether the administrator of this computer has fixed the setting with that JSON name.
func (a *Agent) Fixed(setting string) bool { return a.ruling.get().Fixed(setting) }
