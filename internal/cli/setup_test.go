package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
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
	t.Setenv("COUNTERSIGN_CLIENT_SECRET", "s3cret") // a command removes it from the environment
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

// A flag whose name differs from its setting would silently change nothing.
func TestFlagsOfSetupAreCalledAsTheirSettings(t *testing.T) {
	settings := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[office.Settings]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		settings[name] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[setupCmd]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !settings[name] {
			t.Errorf("%s is called %s", f.Name, name)
		}
	}
}

// The command rejects exactly the values that the agent rejects.
func TestSetupJudgesAsTheAgentDoes(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder) // a folder with a space before it is one beside the others
	s := newShell(t)
	for _, c := range settingstest.Cases(folder) {
		if c.Flag == "" || c.Code == office.CodeChoice { // the usage lists the allowed words
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			args := []string{"setup"}
			around := c.Settings(folder)
			for flag, value := range map[string]string{"--auth-url": around.AuthURL, "--base-url": around.BaseURL, "--client-id": around.ClientID,
				"--scope": strings.Join(around.Scopes, " "), "--signature-header": around.SignatureHeader, "--redirect": string(around.Redirect),
				"--redirect-uri": "", "--tunnel": string(around.Tunnel), "--ngrok-domain": "", "--ngrok-connect-url": "", "--public-url": around.PublicURL,
				"--listen": around.Listen, "--office": around.Office, "--office-pin": "", "--office-listen": "", "--save-to": filepath.Join(folder, "kept"), "--name-template": around.NameTemplate, "--keep-events": "90", "--keep-years": "",
				"--copy-to": "", "--due-days": "3", "--blind-copy-to": "", "--stamp-url": "", "--check-files": "0"} {
				if flag == c.Flag {
					value = c.Value
				}
				args = append(args, flag+"="+value)
			}
			code, stdout, stderr := s.run(args...)
			want, text := 0, ""
			for _, f := range c.With(folder).Check() {
				if f.Field == c.Field {
					want, text = 1, f.Text.String()
				}
			}
			if code != want || !strings.Contains(stderr, text) {
				t.Errorf("%d %s%s, want %d %s", code, stdout, stderr, want, text)
			}
			if strings.Contains(stdout+stderr, settingstest.Secret) {
				t.Errorf("a password is repeated: %s%s", stdout, stderr)
			}
		})
	}
}
