package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/secret"
)

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
