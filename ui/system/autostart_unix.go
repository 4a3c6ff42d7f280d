//go:build !windows && !darwin

package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const autostartName = "autostart/countersign.desktop"

// everybodys is where an administrator makes Countersign start for all people of the computer; an entry of the person's
// own counts more.
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

// flatpak is what Flatpak calls the program when it runs there, empty elsewhere. The desktop then starts it with Flatpak, and
// looks for its entry in the person's own folder, which is not the program's.
func flatpak() string { return os.Getenv("FLATPAK_ID") }

func ownAutostart() (string, error) {
	if flatpak() != "" {
		home, err := os.UserHomeDir()
		return filepath.Join(home, ".config", autostartName), err
	}
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
	if id := flatpak(); id != "" {
		return replace(own, desktopEntry("flatpak", "run", id))
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
	if err := os.Remove(own); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
