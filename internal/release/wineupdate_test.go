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
