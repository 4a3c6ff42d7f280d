//go:build !windows && !darwin

package autostart

import (
	"cmp"
	"os"
	"path/filepath"
)

const autostartName = "autostart/countersign.desktop"

// everybodys is the entry with which an administrator starts Countersign for everyone on the computer; a person's own entry takes
// precedence.
func everybodys() string {
	for _, dir := range filepath.SplitList(cmp.Or(os.Getenv("XDG_CONFIG_DIRS"), "/etc/xdg")) {
		path := filepath.Join(dir, autostartName)
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

func ownEntry() (string, error) {
	base, err := os.UserConfigDir()
	return filepath.Join(base, autostartName), err
}

func newEntry(program string) []byte { return desktopEntry(program) }
