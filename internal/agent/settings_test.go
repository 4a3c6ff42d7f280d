package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
	"countersign/internal/policy"
	"countersign/internal/secret"
)

func openAgent(t *testing.T) *agent.Agent {
	t.Helper()
	a, err := agent.Open(t.Context(), agent.Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// found is the finding for a field.
func found(all []office.FieldError, field string) (f office.FieldError) {
	if i := slices.IndexFunc(all, func(f office.FieldError) bool { return f.Field == field }); i >= 0 {
		f = all[i]
	}
	return f
}

func TestEverySettingIsJudgedOnce(t *testing.T) {
	a, folder := openAgent(t), t.TempDir()
	judged := map[string]bool{}
	for _, c := range settingstest.Cases(folder) {
		judged[c.Field] = true
		t.Run(c.Name(), func(t *testing.T) {
			s := c.With(folder)
			f := found(s.Check(), c.Field)
			if f.Code != c.Code || c.Wrong() == f.Text.IsZero() {
				t.Fatalf("found %+v, want %q", f, c.Code)
			}
			var config *agent.ConfigError
			err := a.Configure(t.Context(), s, office.Secrets{})
			if c.Wrong() {
				if !errors.As(err, &config) || found(config.Fields, c.Field) != f {
					t.Errorf("Configure says %v", err)
				}
				if strings.Contains(agent.Message(err).String(), settingstest.Secret) {
					t.Errorf("a password is repeated: %s", agent.Message(err).String())
				}
				return
			}
			if err != nil || c.Is(a.Settings()) != c.Kept {
				t.Errorf("%v, kept is %q, want %q", err, c.Is(a.Settings()), c.Kept)
			}
			// What is accepted here is accepted by those it is handed to.
			k := a.Settings()
			err = esign.Config{AuthURL: k.AuthURL, BaseURL: k.BaseURL, ClientID: k.ClientID, Scopes: k.Scopes, SignatureHeader: k.SignatureHeader}.Validate()
			if err != nil || !slices.Equal(k.Check(), nil) {
				t.Errorf("kept and then refused: %v %v", err, k.Check())
			}
			if again := k.Normal(); c.Is(again) != c.Kept {
				t.Errorf("written differently the second time: %q", c.Is(again))
			}
		})
	}
	for field := range judgeable {
		if !judged[field] {
			t.Errorf("no case for %s", field)
		}
	}
}

// judgeable are all fields but those of secrets and of what can only be on or off.
var judgeable = map[string]bool{
	office.FieldAuthURL: true, office.FieldBaseURL: true, office.FieldClientID: true, office.FieldScopes: true, office.FieldHeader: true,
	office.FieldRedirect: true, office.FieldRedirectURI: true, office.FieldTunnel: true, office.FieldNgrokDomain: true,
	office.FieldNgrokConnect: true, office.FieldNgrokCA: true, office.FieldPublicURL: true, office.FieldListen: true, office.FieldSaveTo: true,
	office.FieldTemplate: true, office.FieldNotify: true, office.FieldQuietFrom: true, office.FieldKeepEvents: true,
	office.FieldTheme: true, office.FieldLanguage: true,
	office.FieldContrast: true, office.FieldTextSize: true, office.FieldMotion: true,
}

func TestQuietHoursAreTwoTimes(t *testing.T) {
	c := settingstest.Case{}
	for _, x := range []struct {
		from, to, kept string
		field          string
		code           office.Code
	}{
		{"22:00", "7:00", "22:00 07:00", "", ""},
		{"22:00", "", "", office.FieldQuietTo, office.CodeMissing},
		{"", "7:00", "", office.FieldQuietFrom, office.CodeMissing},
		{"ten", "07:00", "", office.FieldQuietFrom, office.CodeForm},
	} {
		s := c.Settings(t.TempDir())
		s.QuietFrom, s.QuietTo = x.from, x.to
		bad := s.Check()
		if len(bad) > 1 || found(bad, x.field).Code != x.code {
			t.Errorf("%q to %q: %+v", x.from, x.to, bad)
		}
		if n := s.Normal(); x.code == "" && n.QuietFrom+" "+n.QuietTo != x.kept {
			t.Errorf("kept as %q to %q", n.QuietFrom, n.QuietTo)
		}
	}
}

func TestSecretsArePastedWithALineEnd(t *testing.T) {
	a := openAgent(t)
	s := settingstest.Case{}.Settings(t.TempDir())
	if err := a.Configure(t.Context(), s, office.Secrets{ClientSecret: " s3cret\r\n", NgrokAuthtoken: "t0ken\n"}); err != nil {
		t.Fatal(err)
	}
	err := a.Configure(t.Context(), s, office.Secrets{ClientSecret: "s3\ncret", NgrokAuthtoken: "t0\x00ken"})
	var config *agent.ConfigError
	if !errors.As(err, &config) || found(config.Fields, office.FieldClientSecret).Code != office.CodeCharacters ||
		found(config.Fields, office.FieldNgrokToken).Code != office.CodeCharacters {
		t.Errorf("said: %v", err)
	}
	if err != nil && (strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "t0")) {
		t.Errorf("a secret is repeated: %v", err)
	}
}

func TestANewFolderIsMadeAndTried(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, home)
	}
	usual, err := locations.Default()
	if err != nil {
		t.Fatal(err)
	}
	a, dir := openAgent(t), t.TempDir()
	s := settingstest.Case{}.Settings(filepath.Join(dir, "a", "b"))
	if err := a.Configure(t.Context(), s, office.Secrets{}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.SaveTo); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := s
	wrong.SaveTo = filepath.Join(file, "c")
	var config *agent.ConfigError
	if err := a.Configure(t.Context(), wrong, office.Secrets{}); !errors.As(err, &config) || config.Fields[0].Code != office.CodeNotMade {
		t.Errorf("said: %v", err)
	}
	for _, within := range []string{usual, filepath.Join(usual, "Signed")} {
		wrong.SaveTo = within
		if err := a.Configure(t.Context(), wrong, office.Secrets{}); !errors.As(err, &config) || config.Fields[0].Text != message.FolderHoldsData() {
			t.Errorf("beside the program's own data: %v", err)
		}
	}
	// A drive that is away for a while keeps nobody from changing something else.
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	s.Notify = office.NotifyNone
	if err := a.Configure(t.Context(), s, office.Secrets{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.SaveTo); err == nil {
		t.Error("a folder that is away was made anew")
	}
}

// ruled is an agent on a computer whose administrator decides what policy holds.
func ruled(t *testing.T, decided *atomic.Pointer[policy.Policy]) *agent.Agent {
	t.Helper()
	a, err := agent.Open(t.Context(), agent.Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test",
		Policy: func() policy.Policy { return *decided.Load() }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func runs(t *testing.T, a *agent.Agent) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
}

func TestAnAdministratorSetsAnOfficeUpAndNobodyChangesIt(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "Signed")
	var decided atomic.Pointer[policy.Policy]
	decided.Store(&policy.Policy{From: "/etc/countersign/policy.json", Fixed: map[string]any{
		"auth_url": "https://sign.example.com", "base_url": "https://sign.example.com", "client_id": "office", "save_to": folder,
		"tunnel": "none", "redirect": "localhost", "tomato": true}})
	a := ruled(t, &decided)
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
	if c, ok := errors.AsType[*agent.ConfigError](err); !ok || len(c.Fields) != 1 || c.Fields[0].Field != office.FieldSaveTo || agent.Message(err) != message.FixedSetting("save_to") {
		t.Errorf("%v", err)
	}
	status, err := a.Status()
	if err != nil || !slices.ContainsFunc(status.Health, func(i agent.Issue) bool {
		return i.ID == "policy" && i.Message == message.Then(message.PolicyWrong("/etc/countersign/policy.json"), message.PolicyUnusable("tomato"))
	}) {
		t.Errorf("what cannot be used is not said: %+v, %v", status.Health, err)
	}
}

func TestWhatAnAdministratorDecidesIsPutToUseAtTheStart(t *testing.T) {
	first, then := filepath.Join(t.TempDir(), "A"), filepath.Join(t.TempDir(), "B")
	var decided atomic.Pointer[policy.Policy]
	rules := func(folder string) {
		decided.Store(&policy.Policy{From: "here", Fixed: map[string]any{
			"auth_url": "https://sign.example.com", "base_url": "https://sign.example.com", "client_id": "office", "save_to": folder, "tunnel": "none", "redirect": "localhost"}})
	}
	rules(first)
	a := ruled(t, &decided)
	runs(t, a)
	for until := time.Now().Add(time.Minute); notThere(first); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the office was not set up")
		}
	}
	rules(then)
	if err := a.Configure(t.Context(), a.Settings(), office.Secrets{}); agent.Message(err) != message.FixedSetting("save_to") {
		t.Errorf("settings of before were taken: %v", err)
	}
	if s := a.Settings(); s.SaveTo != then {
		t.Errorf("saved in %s", s.SaveTo)
	}
}

func notThere(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}
