package main

import (
	"archive/zip"
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
	"go.yaml.in/yaml/v3"
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

func TestTheManifestOfWingetNamesTheFilesOfTheRelease(t *testing.T) {
	p := product{root: "../..", out: t.TempDir(), version: "1.3.0-rc.1", made: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	setup, msi := filepath.Join(p.out, "Countersign-1.3.0-rc.1-setup.exe"), filepath.Join(p.out, "Countersign-1.3.0-rc.1.msi")
	noErr(t, os.WriteFile(setup, []byte("setup"), 0o600))
	noErr(t, os.WriteFile(msi, []byte("msi"), 0o600))
	if files, err := p.winget(setup, msi); err != nil || len(files) > 0 {
		t.Errorf("without an address: %q, %v", files, err)
	}
	p.announced = announcement{address: "https://example.com/get/countersign.json", page: "https://example.com/get"}
	files := must(p.winget(setup, msi))
	read := func(name string) (m map[string]any) {
		t.Helper()
		text := must(os.ReadFile(filepath.Join(p.out, wingetID+name+".yaml")))
		noErr(t, yaml.Unmarshal(text, &m))
		for key, want := range map[string]string{"PackageIdentifier": wingetID, "PackageVersion": "1.3.0-rc.1", "ManifestVersion": "1.10.0"} {
			if m[key] != want {
				t.Errorf("%s: %s is %v", name, key, m[key])
			}
		}
		return m
	}
	if read("")["ManifestType"] != "version" || read(".locale.en-US")["ManifestType"] != "defaultLocale" || len(files) != 3 {
		t.Errorf("the files are %q", files)
	}
	for key := range map[string]bool{"Publisher": true, "PackageName": true, "License": true, "ShortDescription": true} {
		if text, is := read(".locale.en-US")[key].(string); !is || len(text) < 3 {
			t.Errorf("%s is %q", key, text)
		}
	}
	installers := read(".installer")["Installers"].([]any)
	for i, want := range []map[string]string{
		{"Scope": "user", "InstallerType": "nullsoft", "InstallerUrl": "https://example.com/get/Countersign-1.3.0-rc.1-setup.exe", "InstallerSha256": "8FB6D5F37E8055CE720BD0B1D56587F88C0071F285966BA17E72B2B12672AA73"},
		{"Scope": "machine", "InstallerType": "msi", "InstallerUrl": "https://example.com/get/Countersign-1.3.0-rc.1.msi", "ProductCode": p.productCode()},
	} {
		is := installers[i].(map[string]any)
		for key, value := range want {
			if is[key] != value {
				t.Errorf("%s is %v, want %s", key, is[key], value)
			}
		}
	}
	t.Setenv("DOWNLOAD_URL", "http://example.com")
	if _, err := p.winget(setup, msi); err == nil {
		t.Error("an address without TLS was taken")
	}
}

func TestAVersionThatWindowsInstallerCannotCompareIsRefused(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "1.3.0-rc.1": "1.3.0", "0f1e2d3": "0.0.0", "1234567": "0.0.0", "255.255.65535": "255.255.65535"} {
		if is, err := (product{version: version}).msiVersion(); err != nil || is != want {
			t.Errorf("%s is %q, %v", version, is, err)
		}
	}
	for _, version := range []string{"2026.1.0", "1.2026.0", "1.2.65536", "1.2.20261122123456789012345", "70000.0.0"} {
		if is, err := (product{version: version}).msiVersion(); err == nil {
			t.Errorf("%s is %q", version, is)
		}
	}
}

// Windows must know the same notification identifiers that the program uses.
func TestTheInstallersNameTheProgramAsItNamesItself(t *testing.T) {
	for file, want := range map[string]string{
		"../notify/desktop_windows.go": `activator = "` + activator + `"`, "../cli/office.go": `App: "` + appID + `"`,
	} {
		text := must(os.ReadFile(file))
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %s", file, want)
		}
	}
}

func TestWhatIsNewComesFromTheListOfChanges(t *testing.T) {
	const list = "# Changes\n\n**Unreleased.** Not yet\nout.\n\n**1.2.0.** Sends\nfaxes.\n\n**1.1.0.** Older.\n"
	for version, want := range map[string]string{"1.2.0": "Sends faxes.", "1.1.0": "Older.", "1.2.0-3-gabc1234": "Not yet out.", "1.3.0": "Not yet out."} {
		if got, err := changesIn(list, version); err != nil || got != want {
			t.Errorf("%s: got %q, %v", version, got, err)
		}
	}
	for _, without := range []string{"# It\n", "# Changes\n\nNothing.\n"} {
		if got, err := changesIn(without, "1.2.0"); err == nil {
			t.Errorf("of %q it made %q", without, got)
		}
	}
	if text, err := here(t).changes(); err != nil || len(text) < 20 {
		t.Errorf("ours is %q, %v", text, err)
	}
}

func TestTheTemplatesForGroupPolicyAreAmongTheFiles(t *testing.T) {
	p := product{root: "../..", made: time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)}
	path := filepath.Join(t.TempDir(), "policy.zip")
	noErr(t, p.publishPolicy(path))
	packed := must(zip.OpenReader(path))
	defer packed.Close()
	var names []string
	for _, f := range packed.File {
		names = append(names, f.Name)
		if f.UncompressedSize64 < 10_000 || !f.Modified.Equal(p.made) {
			t.Errorf("%s has %d bytes of %v", f.Name, f.UncompressedSize64, f.Modified)
		}
	}
	if want := []string{"Countersign.admx", "de-DE/Countersign.adml", "en-US/Countersign.adml"}; !slices.Equal(names, want) {
		t.Errorf("it has %q", names)
	}
}
