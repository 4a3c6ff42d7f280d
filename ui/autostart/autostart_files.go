//go:build !windows

package autostart

import (
	"errors"
	"io/fs"
	"os"
)

func autostarts() (bool, error) {
	own, err := ownEntry()
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

// autostart writes the entry, which the system reads at the next sign-in.
func autostart(program string) error {
	own, err := ownEntry()
	if err != nil {
		return err
	}
	return replace(own, newEntry(program))
}

func noAutostart() error {
	own, err := ownEntry()
	if err != nil {
		return err
	}
	if everybodys() != "" {
		return replace(own, notHere)
	}
	return remove(own)
}
