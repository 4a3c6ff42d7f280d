package autostart

import (
	"os"
	"path/filepath"
)

// agentLabel is the program's identifier, as in its Info.plist.
const agentLabel = "ch.countersign.app"

// everybodys is empty: on a Mac only the person decides.
func everybodys() string { return "" }

func ownEntry() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", agentLabel+".plist"), err
}

func newEntry(program string) []byte { return launchAgent(agentLabel, program) }
