package setup

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/office"
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
	kept     agent.FirstRun // what the office keeps already
	recalled bool           // nothing more is to be had from before the program ended
	secrets  office.Secrets
	settings office.Settings
	proposed string         // the folder for documents while nobody has chosen another one
	untyped  agent.FirstRun // what there was before anything was entered
	opened   string         // what was tested when the public address last opened; see fingerprint
	address  string         // the public address of that test
	finished bool           // the office keeps the settings
	failure  error          // why what was entered before could not be read; nil when it was
}

// begin takes what was entered before the program ended, else the office's own settings, as the first answers.
func (a *Answers) begin(office env.Office) {
	if a.began {
		a.propose() // the language may be another one
		return
	}
	*a = Answers{began: true, settings: office.Settings()}
	a.propose()
	a.untyped = a.entered()
	a.recalled = a.recall(office)
	a.kept = a.entered()
}

// propose has documents go to the proposed folder unless the person has chosen one.
func (a *Answers) propose() {
	before := a.proposed
	if a.settings.SaveTo != before {
		return
	}
	a.proposed = proposedFolder()
	a.settings.SaveTo = a.proposed
	if a.untyped.Settings.SaveTo == before {
		a.untyped.Settings.SaveTo = a.proposed
	}
}

// recall takes what was entered before the program ended, and reports whether there is any. What was entered since stays:
// the keyring may have been locked meanwhile.
func (a *Answers) recall(office env.Office) bool {
	f, kept, err := office.FirstRun()
	a.failure = err
	if err != nil || !kept || !a.untouched() {
		return false
	}
	now := a.settings
	a.step, a.settings, a.secrets = f.Step, f.Settings, f.Secrets
	a.settings.Language, a.settings.Theme, a.settings.Contrast, a.settings.TextSize, a.settings.Motion = now.Language, now.Theme, now.Contrast, now.TextSize, now.Motion
	a.settings.SaveTo = cmp.Or(a.settings.SaveTo, proposedFolder())
	return true
}

// untouched says whether nothing was entered yet.
func (a *Answers) untouched() bool {
	now := a.entered()
	now.Step = a.untyped.Step
	return reflect.DeepEqual(now, a.untyped)
}

// entered is what is kept of the answers.
func (a *Answers) entered() agent.FirstRun {
	return agent.FirstRun{Step: a.step, Settings: a.settings, Secrets: a.secrets}
}

// proposedFolder is where signed documents go unless the person chooses otherwise, named in the language in use; empty where there
// is no home.
func proposedFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "Documents", lang.X("name.signed", "Signed"))
}

// fingerprint is all that decides whether the public address opens.
func (a *Answers) fingerprint() string {
	s := a.settings
	return string(s.Tunnel) + "\n" + s.NgrokDomain + "\n" + a.secrets.NgrokAuthtoken + "\n" + s.PublicURL + "\n" + s.Listen
}
