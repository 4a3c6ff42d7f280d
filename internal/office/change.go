package office

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
