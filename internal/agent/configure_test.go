package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
)

// ruledBy is an agent whose administrator decides what the pointer holds.
func ruledBy(t *testing.T, decided *atomic.Pointer[policy.Policy]) *Agent {
	t.Helper()
	return openWith(t, Params{Policy: func() policy.Policy { return *decided.Load() }})
}

func fixing(saveTo string) *policy.Policy {
	return &policy.Policy{From: "here", Fixed: map[string]any{"auth_url": "https://sign.example.com", "base_url": "https://sign.example.com",
		"client_id": "office", "tunnel": "none", "redirect": "localhost", "save_to": saveTo}}
}

func TestAnAdministratorSetsAnOfficeUpAndNobodyChangesIt(t *testing.T) {
	folder, then := filepath.Join(t.TempDir(), "Signed"), filepath.Join(t.TempDir(), "B")
	var decided atomic.Pointer[policy.Policy]
	rules := fixing(folder)
	rules.Fixed["tomato"] = true
	decided.Store(rules)
	a := ruledBy(t, &decided)
	if s := a.Settings(); s.SaveTo != folder || !a.Fixed("save_to") || a.Fixed("theme") {
		t.Errorf("%+v", s)
	}
	s := a.Settings()
	s.Theme = "dark"
	if err := a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"}); err != nil {
		t.Fatalf("the rest is the office's own: %v", err)
	}
	s.SaveTo = t.TempDir()
	err := a.Configure(t.Context(), s, office.Secrets{})
	if c, ok := errors.AsType[*ConfigError](err); !ok || len(c.Fields) != 1 || c.Fields[0].Field != office.FieldSaveTo || Message(err) != message.FixedSetting("save_to") {
		t.Errorf("%v", err)
	}
	if !a.saysOfPolicy(message.Then(message.PolicyWrong("here"), message.PolicyUnusable("tomato"))) {
		t.Errorf("what cannot be used is not said: %+v", a.Health.List())
	}
	decided.Store(fixing(then))
	if err := a.Configure(t.Context(), a.Settings(), office.Secrets{}); Message(err) != message.FixedSetting("save_to") {
		t.Errorf("settings of before were taken: %v", err)
	}
	if s := a.Settings(); s.SaveTo != then {
		t.Errorf("saved in %s", s.SaveTo)
	}
}

// saysOfPolicy reports whether people are told that of the administrator's decisions.
func (a *Agent) saysOfPolicy(said message.Message) bool {
	return slices.ContainsFunc(must(a.Status()).Health, func(i Issue) bool { return i.ID == "policy" && i.Message == said })
}

func TestTheProgramAndItsCommandsWorkUnderWhatTheAdministratorHasDecidedByNow(t *testing.T) {
	for name, parts := range map[string][]Component{"the program": nil, "a command": {ComponentOutbox}} {
		t.Run(name, func(t *testing.T) {
			var decided atomic.Pointer[policy.Policy]
			now := filepath.Join(t.TempDir(), "B")
			decided.Store(fixing(filepath.Join(t.TempDir(), "A")))
			a := ruledBy(t, &decided)
			noErr(t, a.obey(t.Context()))
			decided.Store(fixing(now))
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); a.Run(ctx, parts...) }()
			waitFor(t, a, "it works with what was decided last", func() bool { return a.account.Settings().SaveTo == now })
			stop()
			<-done
		})
	}
}

func TestDecisionsThatCannotBePutToUseAreToldUntilTheyAre(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	inTheWay := filepath.Join(t.TempDir(), "share")
	noErr(t, os.WriteFile(inTheWay, nil, 0o600))
	decided.Store(fixing(filepath.Join(inTheWay, "Signed")))
	a := ruledBy(t, &decided)
	told := func() bool {
		return slices.ContainsFunc(a.Health.List(), func(i Issue) bool { return i.ID == "policy" && strings.Contains(i.Text(), "not in use yet") })
	}
	if err := a.obey(t.Context()); err == nil || !told() {
		t.Errorf("%v; health says %+v", err, a.Health.List())
	}
	noErr(t, os.Remove(inTheWay))
	noErr(t, a.obey(t.Context()))
	if told() {
		t.Error("it is still said once they are in use")
	}
}

func TestWhatIsFixedStaysSoWhileItsPlaceCannotBeRead(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	folder := filepath.Join(t.TempDir(), "A")
	decided.Store(fixing(folder))
	a := ruledBy(t, &decided)
	noErr(t, a.obey(t.Context()))
	unread := fixing(folder) // which package policy goes by meanwhile
	unread.Wrong, unread.Fixed["tomato"] = message.PolicyNoJSON("here"), true
	decided.Store(unread)
	s := a.Settings()
	s.SaveTo = t.TempDir()
	if err := a.Configure(t.Context(), s, office.Secrets{}); Message(err) != message.FixedSetting("save_to") || !a.Fixed("save_to") {
		t.Errorf("what was fixed could be changed: %v", err)
	}
	if !a.saysOfPolicy(message.Then(message.PolicyWrong("here"), unread.Wrong, message.PolicyUnusable("tomato"))) {
		t.Errorf("health says %+v", a.Health.List())
	}
	decided.Store(&policy.Policy{})
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	if a.Fixed("save_to") || a.Health.Has(health.PolicyWrong) {
		t.Error("it is gone, and counts")
	}
}
