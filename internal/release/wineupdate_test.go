//go:build shipping

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeInstaller is an installer of a program that stands for ours, see testdata/updated.
func fakeInstaller(t *testing.T, version string) string {
	t.Helper()
	p := shipped(t).p
	p.out, p.version = t.TempDir(), version
	program := filepath.Join(p.out, "Countersign.exe")
	must(t, run(t.Context(), p.root, []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}, "go", "build", "-buildvcs=false",
		"-ldflags", "-X main.version="+version, "-o", program, "./internal/release/testdata/updated"))
	setup, err := p.windowsInstaller(t.Context(), program, "setup-"+version+".exe")
	must(t, err)
	return setup
}

func TestAnUpdateWaitsForTheProgramAndBringsItBack(t *testing.T) {
	w, home := newWine(t, "")
	inWindows := func(path string) string { return `Z:` + strings.ReplaceAll(path, "/", `\`) }
	w.must(t, "wine", fakeInstaller(t, "1.0.0"), "/S")
	program := filepath.Join(home, filepath.FromSlash(parts[0]))
	sendTo := filepath.Join(home, filepath.FromSlash(parts[3]))
	must(t, os.Remove(sendTo))
	w.must(t, "wine", program, "update", inWindows(fakeInstaller(t, "1.2.0")))
	note := filepath.Join(home, "came-back.txt")
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		said, err := os.ReadFile(note)
		if err == nil && len(said) > 0 {
			if string(said) != `1.2.0 --data|C:\an office` {
				t.Errorf("came back: %s", said)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatalf("it did not come back: %v", err)
		}
	}
	wantFile(t, sendTo, false)
}

// Two of them would run side by side. What a person has chosen goes along, and what lies in the new folder stays.
func TestInAnotherFolderTheInstallerMoves(t *testing.T) {
	w, home := newWine(t, "")
	w.must(t, "wine", fakeInstaller(t, "1.0.0"), "/S", "/AUTOSTART")
	sendTo := filepath.Join(home, filepath.FromSlash(parts[3]))
	must(t, os.Remove(sendTo))
	other := filepath.Join(w.dir, "drive_c", "Büro", "Подпись")
	theirs := filepath.Join(other, "opengl", "theirs.dll")
	must(t, write(theirs, []byte("MZ")))
	w.must(t, "wine", fakeInstaller(t, "1.2.0"), "/S", `/D=C:\Büro\Подпись`)
	wantFile(t, filepath.Dir(filepath.Join(home, filepath.FromSlash(parts[0]))), false)
	wantFile(t, filepath.Join(other, "Countersign.exe"), true)
	wantFile(t, sendTo, false)
	if out := w.must(t, "wine", "reg", "query", runRegistry); !strings.Contains(out, `Countersign.exe" --hidden`) || strings.Contains(out, "AppData") {
		t.Errorf("with Windows starts\n%s", out)
	}
	w.must(t, "wine", filepath.Join(other, "uninstall.exe"), "/S")
	w.must(t, "wineserver", "-w")
	wantFile(t, filepath.Join(other, "Countersign.exe"), false)
	wantFile(t, theirs, true)
}

// An older program does not read what a newer one has written.
func TestAnOlderInstallerLeavesANewerProgram(t *testing.T) {
	w, home := newWine(t, "")
	w.must(t, "wine", shipped(t).setup, "/S")
	if out, code := w.run(t, "wine", fakeInstaller(t, "1.0.0"), "/S"); code != 4 {
		t.Errorf("it ends with %d: %s", code, out)
	}
	if out := w.must(t, "wine", filepath.Join(home, filepath.FromSlash(parts[0])), "version"); !strings.Contains(out, "9.8.7") {
		t.Errorf("installed is %q", out)
	}
}
