package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
	"countersign/internal/single"
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

func TestForgetLeavesTheDocumentsAndNothingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a person's folders cannot be chosen there; make test-shipping has the installed program do it")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	data := must(locations.Default())
	cache := must(os.UserCacheDir())
	signed := filepath.Join(home, "Signed", "Lease.pdf")
	gone := []string{data, filepath.Join(cache, "countersign")}
	for _, file := range []string{locations.State(data), filepath.Join(data, "backups", "today"),
		filepath.Join(cache, "countersign", "preview", "y"), signed} {
		noErr(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noErr(t, os.WriteFile(file, []byte("x"), 0o600))
	}
	asked := 0
	forget := func(args ...string) (int, string) {
		var said bytes.Buffer
		code := Main(append([]string{"forget"}, args...), Program{Version: "1.2.3", Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said,
			Forget: func() error { asked++; return nil }})
		return code, said.String()
	}
	if code, said := forget(); code != exitUsage {
		t.Errorf("without a word about what is lost: %d, %s", code, said)
	}
	if code, said := forget("--everything", "--data", data); code != exitUsage {
		t.Errorf("of another folder: %d, %s", code, said)
	}
	holder := must(single.Acquire(data))
	go holder.Serve(nil)
	if code, said := forget("--everything"); code != exitFailed || !strings.Contains(said, message.Running().String()) || asked > 0 {
		t.Errorf("while it runs: %d, %s", code, said)
	}
	noErr(t, holder.Close())
	for range 2 { // the second time there is nothing left
		if code, said := forget("--everything"); code != exitDone {
			t.Errorf("%d, %s", code, said)
		}
	}
	for _, path := range gone {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(signed); err != nil || asked != 2 {
		t.Errorf("the document: %v; the window was asked %d times", err, asked)
	}
}

func TestAKeyThatTheKeyringKeepsIsForgottenTheNextTime(t *testing.T) {
	data := filepath.Join(t.TempDir(), "countersign")
	noErr(t, os.Mkdir(data, 0o700))
	name := must(locations.Entry(data)) // a new office's own name, recorded only there
	noErr(t, os.WriteFile(locations.State(data), []byte("x"), 0o600))
	noErr(t, os.WriteFile(locations.Backup(data), []byte("x"), 0o600))
	locked := errors.New("the keyring is locked")
	var asked []string
	if err := forgetData(data, func(key string) error { asked = append(asked, key); return locked }); !errors.Is(err, locked) || errors.Is(err, errStays) {
		t.Fatal(err)
	}
	if locations.Holds(data) || !slices.Contains(asked, name) {
		t.Fatalf("the data stays, or its key is not meant: %q", asked)
	}
	asked = nil
	noErr(t, forgetData(data, func(key string) error { asked = append(asked, key); return nil }))
	if !slices.Contains(asked, name) {
		t.Errorf("the key stays for ever: only %q were forgotten", asked)
	}
	if _, err := os.Lstat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
}

func TestTheCacheIsRemovedUnlessItIsTheDataFolderAsOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a person's folders cannot be chosen there")
	}
	base := t.TempDir()
	t.Setenv("HOME", base)
	t.Setenv("XDG_CACHE_HOME", base)
	cache := must(os.UserCacheDir())
	folder := filepath.Join(cache, "countersign")
	noErr(t, os.MkdirAll(folder, 0o700))
	noErr(t, forgetCache(folder))
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the data folder is gone, and with it the name of its key: %v", err)
	}
	noErr(t, forgetCache(t.TempDir()))
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cache stays: %v", err)
	}
}

func TestAPressThatStartsTheProgramOpensTheWindow(t *testing.T) {
	if args := pressed([]string{"-Embedding"}); len(args) > 0 {
		t.Errorf("%q", args)
	}
	if args := pressed([]string{"--data", `D:\office`, "-Embedding"}); len(args) != 2 {
		t.Errorf("%q", args)
	}
	for _, args := range [][]string{{"Embedding"}, {"send", "-Embedding"}, {}} {
		if left := pressed(args); len(left) != len(args) {
			t.Errorf("of %q is left %q", args, left)
		}
	}
}
