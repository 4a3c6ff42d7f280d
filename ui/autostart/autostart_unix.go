//go:build !windows && !darwin

package autostart

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const autostartName = "autostart/countersign.desktop"

// everybodys is the entry with which an administrator starts Countersign for everyone on the computer; a person's own entry takes
// precedence.
func everybodys() string {
	dirs := os.Getenv("XDG_CONFIG_DIRS")
	if dirs == "" {
		dirs = "/etc/xdg"
	}
	for _, dir := range filepath.SplitList(dirs) {
		path := filepath.Join(dir, autostartName)
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

func ownAutostart() (string, error) {
	base, err := os.UserConfigDir()
	return filepath.Join(base, autostartName), err
}

func autostarts() (bool, error) {
	own, err := ownAutostart()
	if err != nil {
		return false, err
	}
	entry, err := os.ReadFile(own)
	if all := everybodys(); errors.Is(err, fs.ErrNotExist) && all != "" {
		entry, err = os.ReadFile(all)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && startsEntry(entry), err
}

func autostart(program string) error {
	own, err := ownAutostart()
	if err != nil {
		return err
	}
	return replace(own, desktopEntry(program))
}

func noAutostart() error {
	own, err := ownAutostart()
	if err != nil {
		return err
	}
	if everybodys() != "" {
		return replace(own, notHere)
	}
	return remove(own)
}
