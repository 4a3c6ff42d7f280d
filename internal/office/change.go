package office

import "strings"

// Change tells watchers what kind of thing changed; they read the new state from the Agent.
type Change string

const (
	StatusChanged   Change = "status"
	PackagesChanged Change = "packages"
	ActivityChanged Change = "activity"
	OutboxChanged   Change = "outbox"
	SettingsChanged Change = "settings"
	ShowRequested   Change = "show" // a second start asked for the window
)

// ShowSubject asks for the window with something in it.
func ShowSubject(s Subject) Change { return ShowRequested + " " + Change(s) }

// Shows reports whether the window is asked for, and with what; an empty subject leaves it as it is.
func (c Change) Shows() (s Subject, asked bool) {
	if c == ShowRequested {
		return "", true
	}
	rest, asked := strings.CutPrefix(string(c), string(ShowRequested)+" ")
	return Subject(rest), asked
}
