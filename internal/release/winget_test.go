package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

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
