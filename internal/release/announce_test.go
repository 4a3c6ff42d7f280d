package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/update"

	"aead.dev/minisign"
)

// releaseKey is a key file as a maker of releases has it, and its public key.
func releaseKey(t *testing.T) (file, public string) {
	t.Helper()
	pub, private, err := minisign.GenerateKey(nil)
	noErr(t, err)
	text := must(private.MarshalText())
	file = filepath.Join(t.TempDir(), "release.key")
	noErr(t, os.WriteFile(file, text, 0o600))
	lines := strings.Fields(pub.String())
	return file, lines[len(lines)-1]
}

// lockedKey is a key with a password, made cheap to open: minisign's own would need a gigabyte.
func lockedKey(t *testing.T) (file, public string) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "password")
	noErr(t, os.WriteFile(secret, []byte("for tests\n"), 0o600))
	t.Setenv("RELEASE_KEY_PASSWORD_FILE", secret)
	return "testdata/locked.key", "RWRwx4RWjcoOZMOM5bzxoI5zWzi9PFsUaMDIlwOC8bMGWwjKs0Cmbv1/"
}

// replaced are the files with which programs replace themselves.
var replaced = []update.File{
	{System: "windows", Arch: "amd64", Kind: update.Installer, Name: "setup.exe"}, {System: "linux", Arch: "amd64", Kind: update.Deb, Name: "a.deb"},
}

// published is a folder as a release leaves it, with those files.
func published(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "release")
	for _, f := range replaced {
		noErr(t, write(filepath.Join(dir, f.Name), []byte("this is "+f.Name)))
	}
	return dir
}

func TestAReleaseIsBelievedByTheProgramsThatKnowItsKey(t *testing.T) {
	key, public := lockedKey(t)
	_, older := releaseKey(t) // an older key, from before a key change
	dir := published(t)
	server := httptest.NewTLSServer(http.FileServer(http.Dir(filepath.Dir(dir))))
	defer server.Close()
	t.Setenv("UPDATE_URL", server.URL+"/release/countersign.json")
	t.Setenv("UPDATE_KEYS", older+" "+public)
	t.Setenv("UPDATE_PAGE", "https://example.com/get")
	t.Setenv("RELEASE_KEY", key)
	a := must(announced())
	noErr(t, a.publish(dir, "1.2.0", slices.Clone(replaced)))
	client := must(update.New(update.Source{Address: a.address, Keys: []string{public}}, server.Client()))
	m := must(client.Latest(t.Context(), time.Now()))
	if m.Version != "1.2.0" || m.Page != "https://example.com/get" || len(m.Files) != len(replaced) {
		t.Errorf("%+v", m)
	}
	for _, f := range m.Files {
		must(client.Download(t.Context(), f, filepath.Join(t.TempDir(), "update"), nil))
	}
	if flags := a.ldflags(); !strings.Contains(flags, "main.updateKeys="+older+","+public) {
		t.Errorf("built with %s", flags)
	}
	// It can be signed again before it expires, but not if a file has changed meanwhile.
	t.Setenv("UPDATE_DAYS", "700")
	noErr(t, renew(dir))
	if m, err := client.Latest(t.Context(), time.Now().AddDate(0, 0, 600)); err != nil || len(m.Files) != len(replaced) {
		t.Errorf("%+v, %v", m, err)
	}
	noErr(t, write(filepath.Join(dir, "a.deb"), []byte("else")))
	if err := renew(dir); err == nil {
		t.Error("another file was signed")
	}
}

func TestAReleaseThatNobodyWouldBelieveIsNotBegun(t *testing.T) {
	key, public := releaseKey(t)
	_, other := releaseKey(t)
	const address = "https://example.com/countersign.json"
	for name, env := range map[string][3]string{
		"no address":      {"", public, key},
		"http":            {"http://example.com/c.json", public, key},
		"no key":          {address, "", ""},
		"no public key":   {address, "abc", ""},
		"another key":     {address, other, key},
		"no file":         {address, public, filepath.Join(t.TempDir(), "none")},
		"no key's file":   {address, public, "announce.go"},
		"a folder's name": {"https://example.com/", public, key},
	} {
		t.Setenv("UPDATE_URL", env[0])
		t.Setenv("UPDATE_KEYS", env[1])
		t.Setenv("RELEASE_KEY", env[2])
		if _, err := announced(); err == nil {
			t.Errorf("%s: it would be made", name)
		}
	}
	t.Setenv("UPDATE_URL", "")
	t.Setenv("RELEASE_KEY", "")
	if a, err := announced(); err != nil || a.ldflags() != "" {
		t.Errorf("without an address: %+v, %v", a, err)
	}
}

func TestWithoutAKeyThereIsNoManifest(t *testing.T) {
	_, public := releaseKey(t)
	dir := published(t)
	t.Setenv("UPDATE_URL", "https://example.com/countersign.json")
	t.Setenv("UPDATE_KEYS", public)
	t.Setenv("RELEASE_KEY", "")
	a := must(announced())
	noErr(t, a.publish(dir, "1.2.0", slices.Clone(replaced)))
	if _, err := os.Lstat(filepath.Join(dir, "countersign.json")); !os.IsNotExist(err) {
		t.Errorf("there is one: %v", err)
	}
	if a.ldflags() == "" {
		t.Error("its programs still look for later releases")
	}
}
