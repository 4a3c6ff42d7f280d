package autostart

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// agentLabel is the program's identifier, as in its Info.plist.
const agentLabel = "ch.countersign.app"

func agentFile() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", agentLabel+".plist"), err
}

func autostarts() (bool, error) {
	path, err := agentFile()
	if err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// autostart writes the agent; launchd reads the folder at the next sign-in.
func autostart(program string) error {
	path, err := agentFile()
	if err != nil {
		return err
	}
	return replace(path, launchAgent(agentLabel, program))
}

func noAutostart() error {
	path, err := agentFile()
	if err != nil {
		return err
	}
	return remove(path)
}
