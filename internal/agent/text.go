package agent

// How long a notification may be, in characters.
const (
	maxTitle = 300
	maxBody  = 600
)
