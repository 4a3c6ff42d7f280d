//go:build shipping

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packaged is a Windows Installer package of a version. It contains the server program instead of the one with a window,
// which takes long to compress.
func packaged(t *testing.T, version string) string {
	t.Helper()
	p := shipped(t).p
	p.version, p.out = version, t.TempDir()
	msi := must(p.windowsPackage(t.Context(), filepath.Join(shipped(t).p.out, servers[2].file("9.8.7")), "Countersign.msi"))
	return there(msi)
}

func TestThePackageForEverybodyInstallsUpdatesAndGoes(t *testing.T) {
	w, home := newWine(t, "")
	first, candidate, second := packaged(t, "1.2.0"), packaged(t, "1.3.0-rc.1"), packaged(t, "1.3.0")
	drive := filepath.Join(w.dir, "drive_c")
	program := filepath.Join(drive, "Program Files", "Countersign", "Countersign.exe")
	starts := func() bool {
		out, _ := w.run(t, "wine", "reg", "query", `HKLM\Software\Microsoft\Windows\CurrentVersion\Run`)
		return strings.Contains(out, `Countersign.exe" --hidden`)
	}
	w.must(t, "wine", "msiexec", "/i", first, "/qn")
	wantFile(t, program, true)
	if starts() {
		t.Error("it starts with Windows, and nobody asked for that")
	}
	w.must(t, "wine", "msiexec", "/x", first, "/qn")
	wantFile(t, filepath.Dir(program), false)

	w.must(t, "wine", "msiexec", "/i", first, "/qn", "AUTOSTART=1")
	serve := exec.Command("wine", program, "--key-file", `C:\key`, "serve")
	serve.Env, serve.Dir = append(os.Environ(), w.env...), w.dir
	said := must(serve.StderrPipe())
	noErr(t, serve.Start())
	must(said.Read(make([]byte, 1)))
	w.must(t, "wine", "msiexec", "/i", candidate, "/qn")
	if err := serve.Wait(); err != nil {
		t.Errorf("what ran ended with %v", err)
	}
	w.must(t, "wine", "msiexec", "/i", second, "/qn") // Windows Installer considers it the same version
	out := w.must(t, "wine", "reg", "query", `HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall`, "/s")
	if n := strings.Count(out, "DisplayName    REG_SZ    Countersign"); !starts() || n != 1 {
		t.Errorf("after the update it starts with Windows: %v; it is installed %d times\n%s", starts(), n, out)
	}
	if _, code := w.run(t, "wine", "msiexec", "/i", first, "/qn"); code == 0 {
		t.Error("an older version took the place of a newer one")
	}
	if _, code := w.run(t, "wine", shipped(t).setup, "/S"); code != 3 {
		t.Errorf("beside it the installer for one person ends with %d", code)
	}
	wantFile(t, filepath.Join(home, filepath.FromSlash(parts[0])), false)
	w.must(t, "wine", "msiexec", "/i", second, "/qn", "REINSTALL=ALL", "REINSTALLMODE=amus")
	w.must(t, "wine", "msiexec", "/x", second, "/qn")
	wantFile(t, filepath.Dir(program), false)
	if starts() {
		t.Error("it still starts with Windows")
	}
}
