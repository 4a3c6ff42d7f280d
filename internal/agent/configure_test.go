package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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

// The example says what is wrong with a pattern in the words of the one judgement of settings.
func TestAWrongPatternIsExplainedWhereItIsTyped(t *testing.T) {
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory()})
	noErr(t, err)
	defer a.Close()
	for pattern, says := range map[string]string{"{packge}": "packge", "../{package}": "", "{package": "", "": "-"} {
		s := theOffice().Settings
		s.SaveTo, s.NgrokCA, s.NameTemplate = t.TempDir(), "", pattern
		_, err := a.PreviewName(s)
		if pattern == "" { // the default
			if err != nil {
				t.Errorf("%q: %v", pattern, err)
			}
			continue
		}
		if err == nil || strings.Contains(err.Error(), "went wrong") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		var config *ConfigError
		if kept := a.Configure(t.Context(), s, office.Secrets{}); !errors.As(kept, &config) || config.Fields[0].Field != office.FieldTemplate || config.Fields[0].Text != Message(err) {
			t.Errorf("%q: the example says %q, the settings %v", pattern, err, kept)
		}
		if a.Settings().NameTemplate == pattern {
			t.Errorf("%q is kept", pattern)
		}
	}
}

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

func TestWhatWasEnteredOutlivesTheProgramSealedAndGoesWithTheFirstSettings(t *testing.T) {
	dir, keeper := t.TempDir(), secret.Memory()
	open := func() *Agent {
		t.Helper()
		a, err := Open(t.Context(), Params{DataDir: dir, Keeper: keeper})
		noErr(t, err)
		return a
	}
	a := open()
	if _, kept, _ := a.FirstRun(); kept {
		t.Error("nothing was entered yet")
	}
	entered := FirstRun{Step: "address", Settings: theOffice().Settings, Secrets: office.Secrets{ClientSecret: "cl13nt-s3cret", NgrokAuthtoken: "t0ken-s3cret"}}
	noErr(t, a.KeepFirstRun(entered))
	a.Close()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("s3cret")) {
			t.Errorf("%s holds a secret as it is", path)
		}
		return err
	})
	noErr(t, err)
	a = open()
	defer a.Close()
	got, kept, _ := a.FirstRun()
	if !kept || got.Step != "address" || got.Secrets != entered.Secrets || got.Settings.AuthURL != entered.Settings.AuthURL {
		t.Errorf("kept %v: %+v", kept, got)
	}
	s := entered.Settings
	s.SaveTo, s.NgrokCA = t.TempDir(), ""
	noErr(t, a.Configure(t.Context(), s, entered.Secrets))
	if _, kept, _ := a.FirstRun(); kept {
		t.Error("what was entered is kept beside the settings")
	}
}

func TestWithoutTheKeyNothingIsKept(t *testing.T) {
	ring := &ringOf{keeper: secret.Memory(), locked: true}
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: ring})
	noErr(t, err)
	defer a.Close()
	if err := a.KeepFirstRun(FirstRun{Step: "address"}); err == nil {
		t.Error("kept, with what key?")
	}
	if _, kept, _ := a.FirstRun(); kept {
		t.Error("read without a key")
	}
}
