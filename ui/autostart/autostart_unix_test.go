//go:build !windows && !darwin

package autostart

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPersonMayRefuseWhatTheComputerStarts(t *testing.T) {
	private(t)
	all := filepath.Join(os.Getenv("XDG_CONFIG_DIRS"), autostartName)
	must(t, replace(all, desktopEntry("/usr/bin/countersign")))
	wantAutostart(t, true)
	must(t, (Entry{}).Set(false))
	wantAutostart(t, false)
	if _, err := os.Stat(all); err != nil {
		t.Error("the entry for all people is gone: ", err)
	}
	must(t, (Entry{}).Set(true))
	wantAutostart(t, true)
}

func TestAutostartThatCannotBeWrittenIsAnError(t *testing.T) {
	private(t)
	config, err := os.UserConfigDir()
	must(t, err)
	must(t, os.WriteFile(config, nil, 0o600))
	if err := (Entry{}).Set(true); err == nil {
		t.Error("a file is where the folder should be, and nothing was said")
	}
}
