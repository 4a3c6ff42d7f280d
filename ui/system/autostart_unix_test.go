//go:build !windows && !darwin

package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPersonMayRefuseWhatTheComputerStarts(t *testing.T) {
	private(t)
	all := filepath.Join(os.Getenv("XDG_CONFIG_DIRS"), autostartName)
	must(t, replace(all, desktopEntry("/usr/bin/countersign")))
	wantAutostart(t, true)
	must(t, (Autostart{}).Set(false))
	wantAutostart(t, false)
	if _, err := os.Stat(all); err != nil {
		t.Error("the entry for all people is gone: ", err)
	}
	must(t, (Autostart{}).Set(true))
	wantAutostart(t, true)
}

func TestAutostartThatCannotBeWrittenIsAnError(t *testing.T) {
	private(t)
	config, err := os.UserConfigDir()
	must(t, err)
	must(t, os.WriteFile(config, nil, 0o600))
	if err := (Autostart{}).Set(true); err == nil {
		t.Error("a file is where the folder should be, and nothing was said")
	}
}

// The program's own path, and its own folder of settings, are nothing to the desktop outside.
func TestInAFlatpakTheDesktopStartsItWithFlatpak(t *testing.T) {
	private(t)
	t.Setenv("FLATPAK_ID", "ch.countersign.app")
	must(t, (Autostart{}).Set(true))
	wantAutostart(t, true)
	home, err := os.UserHomeDir()
	must(t, err)
	entry, err := os.ReadFile(filepath.Join(home, ".config", autostartName))
	if want := `Exec="flatpak" "run" "ch.countersign.app" --hidden`; err != nil || !strings.Contains(string(entry), want) {
		t.Errorf("there is no %s in %s, %v", want, entry, err)
	}
	must(t, (Autostart{}).Set(false))
	wantAutostart(t, false)
}
