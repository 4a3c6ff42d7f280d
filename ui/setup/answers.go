package setup

import (
	"cmp"
	"os"
	"path/filepath"

	"countersign/internal/agent"
)

// Answers are what was typed into the wizard, and how far it came. They outlive the screen, so that nothing is typed
// twice after a look at the demo or a change of language. The zero value is a wizard nobody has seen. They hold secrets
// and stay in memory.
type Answers struct {
	began    bool
	at       int // the step that is shown
	reached  int // the furthest step that may be shown
	preset   string
	settings agent.Settings
	secrets  agent.Secrets
	opened   string // what was tested when the public address last opened; see fingerprint
	address  string // the public address of that test
	finished bool   // the office keeps the settings
}

// begin takes the office's own settings as the first answers.
func (a *Answers) begin(s agent.Settings) {
	if a.began {
		return
	}
	s.SaveTo = cmp.Or(s.SaveTo, proposedFolder())
	*a = Answers{began: true, settings: s}
}

// proposedFolder is where signed documents go unless the person chooses otherwise; empty where there is no home.
func proposedFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "Documents", "Signed")
}

// fingerprint is all that decides whether the public address opens.
func (a *Answers) fingerprint() string {
	s := a.settings
	return string(s.Tunnel) + "\n" + s.NgrokDomain + "\n" + a.secrets.NgrokAuthtoken + "\n" + s.PublicURL + "\n" + s.Listen
}
