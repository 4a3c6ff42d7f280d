package office

import "time"

// Desk is another computer of the office, which this one hands events on to.
type Desk struct {
	Name   string    `json:"name"`
	Key    string    `json:"key"` // its public one
	Made   time.Time `json:"made"`
	Person string    `json:"person,omitempty"` // who works there, as it said last
}

// DeskRow is a desk as people see it.
type DeskRow struct {
	Desk
	Connected bool      `json:"connected"`
	Seen      time.Time `json:"seen,omitzero"` // last; zero for never
	Waiting   int       `json:"waiting"`       // events
}

// HubPort is where other desks connect unless the office says otherwise.
const HubPort = "7422"

// MaxDeskName is how many characters a desk's name has at most.
const MaxDeskName = 60
