//go:build shipping

package main

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheSameTreeGivesTheSameBytesElsewhere(t *testing.T) {
	first := shipped(t)
	elsewhere := filepath.Join(t.TempDir(), "another folder")
	p := first.p
	p.root, p.out = elsewhere, t.TempDir()
	// What is committed or about to be, without what a build left in the tree.
	files := must(output(t.Context(), first.p.root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard"))
	for _, name := range strings.Split(files, "\n") {
		noErr(t, os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, name)), 0o755))
		noErr(t, copyFile(filepath.Join(first.p.root, name), filepath.Join(elsewhere, name)))
	}
	noErr(t, p.release(t.Context()))
	want, got := sums(t, first.p.out), sums(t, p.out)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s differs", name)
		}
	}
	if len(want) != len(got) || len(want) != 19 {
		t.Errorf("%d files are published, %d elsewhere", len(want), len(got))
	}
	command{dir: p.out}.must(t, "sha256sum", "--check", "--strict", "SHA256SUMS")
}

func sums(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	entries := must(os.ReadDir(dir))
	found := map[string][sha256.Size]byte{}
	for _, e := range entries {
		content := must(os.ReadFile(filepath.Join(dir, e.Name())))
		found[e.Name()] = sha256.Sum256(content)
	}
	return found
}

func TestWhatIsSignedIsSignedThroughout(t *testing.T) {
	dir := t.TempDir()
	c := command{dir: dir}
	c.must(t, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Countersign test", "-days", "2",
		"-addext", "extendedKeyUsage=codeSigning", "-keyout", "key.pem", "-out", "cert.pem")
	c.must(t, "openssl", "pkcs12", "-export", "-inkey", "key.pem", "-in", "cert.pem", "-passout", "pass:for tests", "-out", "cert.pfx")
	noErr(t, os.WriteFile(filepath.Join(dir, "password"), []byte("for tests"), 0o600))
	t.Setenv("SIGN_PFX", filepath.Join(dir, "cert.pfx"))
	t.Setenv("SIGN_PASSWORD_FILE", filepath.Join(dir, "password"))
	// A small Go program replaces the real one, which takes long to pack.
	write(filepath.Join(dir, "go.mod"), []byte("module small\n"))
	write(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"))
	small := filepath.Join(dir, "small.exe")
	command{dir: dir, env: []string{"GOOS=windows", "CGO_ENABLED=0", "GOFLAGS="}}.must(t, "go", "build", "-o", small, ".")
	p := shipped(t).p
	p.out = dir
	noErr(t, p.sign(t.Context(), small))
	setup := must(p.windowsInstaller(t.Context(), small, "Countersign-setup.exe"))
	w, home := newWine(t, "")
	w.must(t, "wine", setup, "/S")
	installed := filepath.Join(home, "AppData", "Local", "Programs", "Countersign")
	for _, path := range []string{small, setup, filepath.Join(installed, "Countersign.exe"), filepath.Join(installed, "uninstall.exe")} {
		out, _ := exec.Command("osslsigncode", "verify", "-CAfile", filepath.Join(dir, "cert.pem"), path).CombinedOutput()
		if !bytes.Contains(out, []byte("CN=Countersign test")) || !bytes.Contains(out, []byte("Signature verification: ok")) {
			t.Errorf("%s: %s", path, out)
		}
	}
	t.Setenv("SIGN_PASSWORD_FILE", filepath.Join(dir, "cert.pem"))
	if err := p.sign(t.Context(), small); err == nil {
		t.Error("a wrong password was taken")
	}
}
