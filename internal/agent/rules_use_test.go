package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/secret"
)

// ruledBy is an agent whose administrator decides what the pointer holds.
func ruledBy(t *testing.T, decided *atomic.Pointer[policy.Policy]) *Agent {
	t.Helper()
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test", Policy: func() policy.Policy { return *decided.Load() }})
	must(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

func fixing(saveTo string) *policy.Policy {
	return &policy.Policy{From: "here", Fixed: map[string]any{"auth_url": "https://sign.example.com", "base_url": "https://sign.example.com",
		"client_id": "office", "tunnel": "none", "redirect": "localhost", "save_to": saveTo}}
}

func TestACommandWorksUnderWhatTheAdministratorHasDecidedByNow(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	before, now := filepath.Join(t.TempDir(), "A"), filepath.Join(t.TempDir(), "B")
	decided.Store(fixing(before))
	a := ruledBy(t, &decided)
	must(t, a.obey(t.Context()))
	decided.Store(fixing(now))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = a.Run(ctx, ComponentOutbox) }()
	for until := time.Now().Add(patience); a.account.Settings().SaveTo != now && time.Now().Before(until); {
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	<-done
	if got := a.account.Settings().SaveTo; got != now {
		t.Errorf("it works with %s", got)
	}
}

func TestDecisionsThatCannotBePutToUseAreToldUntilTheyAre(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	inTheWay := filepath.Join(t.TempDir(), "share")
	must(t, os.WriteFile(inTheWay, nil, 0o600))
	decided.Store(fixing(filepath.Join(inTheWay, "Signed")))
	a := ruledBy(t, &decided)
	told := func() bool {
		return slices.ContainsFunc(a.Health.List(), func(i Issue) bool { return i.ID == "policy" && strings.Contains(i.Text(), "not in use yet") })
	}
	if err := a.obey(t.Context()); err == nil || !told() {
		t.Errorf("%v; health says %+v", err, a.Health.List())
	}
	must(t, os.Remove(inTheWay))
	must(t, a.obey(t.Context()))
	if told() {
		t.Error("it is still said once they are in use")
	}
}

func TestWhatIsFixedStaysSoWhileItsPlaceCannotBeRead(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	folder := filepath.Join(t.TempDir(), "A")
	decided.Store(fixing(folder))
	a := ruledBy(t, &decided)
	must(t, a.obey(t.Context()))
	unread := fixing(folder) // which package policy goes by meanwhile
	unread.Wrong = message.PolicyNoJSON("here")
	decided.Store(unread)
	s := a.Settings()
	s.SaveTo = t.TempDir()
	if err := a.Configure(t.Context(), s, office.Secrets{}); Message(err) != message.FixedSetting("save_to") || !a.Fixed("save_to") {
		t.Errorf("what was fixed could be changed: %v", err)
	}
	if !a.Health.Has(health.PolicyWrong) {
		t.Error("nobody is told")
	}
	decided.Store(&policy.Policy{})
	must(t, a.Configure(t.Context(), s, office.Secrets{}))
	if a.Fixed("save_to") || a.Health.Has(health.PolicyWrong) {
		t.Error("it is gone, and counts")
	}
}

func TestWhatCannotBeReadHidesNoSettingThatCannotBeUsed(t *testing.T) {
	var decided atomic.Pointer[policy.Policy]
	unread := message.PolicyValueNotRead("theme", "here")
	decided.Store(&policy.Policy{From: "here", Wrong: unread, Fixed: map[string]any{"tomato": true}})
	a := ruledBy(t, &decided)
	status, err := a.Status()
	must(t, err)
	want := message.Then(message.PolicyWrong("here"), unread, message.PolicyUnusable("tomato"))
	if !slices.ContainsFunc(status.Health, func(i Issue) bool { return i.ID == "policy" && i.Message == want }) {
		t.Errorf("health says %+v", status.Health)
	}
}
