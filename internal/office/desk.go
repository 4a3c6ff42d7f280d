package office

import "time"

// Desk is another computer of the office to which this one passes events on.
type Desk struct {
	Name   string    `json:"name"`
	Key    string    `json:"key"` // public
	Made   time.Time `json:"made"`
	Person string    `json:"person,omitempty"` // who works there, according to its last message
}

// DeskInvite is a request for the invitation of a desk.
type DeskInvite struct {
	Name       string
	Servers    string // where the desk reaches the hub; empty for all addresses of this computer
	WithSecret bool   // the invitation contains the client secret
	Again      bool   // the desk may exist already; its former key then stops working
}

// DeskRow is a desk as shown to people.
type DeskRow struct {
	Desk
	Connected bool      `json:"connected"`
	Seen      time.Time `json:"seen,omitzero"` // last; zero for never
	Waiting   int       `json:"waiting"`       // events
}

// HubPort is the port to which other desks connect, unless the office chooses otherwise.
const HubPort = "7422"

// MaxDeskName is the maximum length of a desk's name, in characters.
const MaxDeskName = 60
