//go:build !windows && !darwin

package system

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPersonMayRefuseWhatTheComputerStarts(t *testing.T) {
	private(t)
	all := filepath.Join(os.Getenv("XDG_CONFIG_DIRS"), autostartName)
	if err := replace(all, desktopEntry("/usr/bin/countersign")); err != nil {
		t.Fatal(err)
	}
	wantAutostart(t, true)
	if err := (Autostart{}).Set(false); err != nil {
		t.Fatal(err)
	}
	wantAutostart(t, false)
	if _, err := os.Stat(all); err != nil {
		t.Error("the entry for all people is gone: ", err)
	}
	if err := (Autostart{}).Set(true); err != nil {
		t.Fatal(err)
	}
	wantAutostart(t, true)
}

func TestAutostartThatCannotBeWrittenIsAnError(t *testing.T) {
	private(t)
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Autostart{}).Set(true); err == nil {
		t.Error("a file is where the folder should be, and nothing was said")
	}
}
