package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/agent"
)

func TestAnAdministratorsFileSetsUpAnother(t *testing.T) {
	admin := newShell(t)
	path := filepath.Join(t.TempDir(), "Office")
	code, stdout, stderr := admin.run("setup", "--auth-url", "https://sign.example.com", "--base-url", "https://sign.example.com/api/v1",
		"--client-id", "office", "--tunnel", "none", "--redirect", "localhost", "--export", path)
	if code != 0 || !strings.Contains(stdout, "no secret") || !strings.Contains(stdout, "https://localhost:46137/oauth/callback") {
		t.Fatalf("%d %s%s", code, stdout, stderr)
	}
	if kept := admin.status(); len(kept.Health) == 0 || !strings.Contains(kept.Health[0].Text(), "not set up") {
		t.Errorf("the export set this computer up: %+v", kept.Health)
	}
	path += agent.OfficeEnding
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "s3cret") {
		t.Errorf("%s %v", b, err)
	}
	if code, _, stderr := admin.run("setup", "--export", path, "--auth-url", "https://sign.example.com", "--base-url", "https://sign.example.com"); code != 1 || !strings.Contains(stderr, "already") {
		t.Errorf("%d %s", code, stderr)
	}
	with := filepath.Join(t.TempDir(), "With.countersign")
	t.Setenv("COUNTERSIGN_CLIENT_SECRET", "s3cret") // a command takes it out of the environment
	code, stdout, stderr = admin.run("setup", "--import", path, "--with-secret", "--export", with)
	if code != 0 || !strings.Contains(stdout, "contains the client secret") {
		t.Fatalf("%d %s%s", code, stdout, stderr)
	}
	clerk := newShell(t)
	os.Unsetenv("COUNTERSIGN_CLIENT_SECRET")
	folder := filepath.Join(t.TempDir(), "Signed")
	if code, _, stderr := clerk.run("setup", "--import", with, "--save-to", folder); code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	for _, i := range clerk.status().Health {
		if i.ID == "setup" {
			t.Errorf("not set up: %s", i.Text())
		}
	}
	again := filepath.Join(t.TempDir(), "Again.countersign")
	if code, _, stderr := clerk.run("setup", "--export", again, "--with-secret"); code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	if o, err := agent.ReadOffice(again); err != nil || o.ClientSecret != "s3cret" || o.Settings.ClientID != "office" {
		t.Errorf("%+v %v", o, err)
	}
	if code, _, stderr := clerk.run("setup", "--with-secret"); code != 2 {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := clerk.run("setup", "--import", filepath.Join(folder, "none.countersign")); code != 1 || !strings.Contains(stderr, "could not be read") {
		t.Errorf("%d %s", code, stderr)
	}
}
