package setup

import (
	"cmp"
	"os"
	"path/filepath"

	"countersign/internal/agent"
	"countersign/ui/env"
)

// Answers are what was typed into the wizard, and how far it came. They outlive the screen, so that nothing is typed
// twice after a look at the demo or a change of language, and the program, sealed by the office: see Screen.keep. The zero
// value is a wizard nobody has seen. They hold secrets.
type Answers struct {
	began    bool
	at       int            // the step that is shown
	reached  int            // the furthest step that may be shown
	step     string         // its key
	preset   string         // the name of the service that was chosen, as the office calls it
	kept     agent.FirstRun // what the office keeps already
	settings agent.Settings
	secrets  agent.Secrets
	opened   string // what was tested when the public address last opened; see fingerprint
	address  string // the public address of that test
	finished bool   // the office keeps the settings
}

// begin takes what was entered before the program ended, else the office's own settings, as the first answers.
func (a *Answers) begin(office env.Office) {
	if a.began {
		return
	}
	*a = Answers{began: true, settings: office.Settings()}
	if f, kept := office.FirstRun(); kept {
		language, theme := a.settings.Language, a.settings.Theme
		a.step, a.preset, a.settings, a.secrets = f.Step, f.Preset, f.Settings, f.Secrets
		a.settings.Language, a.settings.Theme = language, theme
	}
	a.settings.SaveTo = cmp.Or(a.settings.SaveTo, proposedFolder())
	a.kept = a.entered()
}

// entered is what is kept of the answers.
func (a *Answers) entered() agent.FirstRun {
	return agent.FirstRun{Step: a.step, Preset: a.preset, Settings: a.settings, Secrets: a.secrets}
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
