package agent

import (
	"encoding/json"
	"errors"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/webhook"
	"countersign/internal/store"
)

// Status is the whole state in one value: what `countersign status --json` prints and what the window and the
// tray show. Its JSON is stable and documented in assets/docs/admin.md.
type Status struct {
	Version  string         `json:"version"`
	SignedIn bool           `json:"signed_in"`
	Account  Account        `json:"account"`
	Tunnel   TunnelStatus   `json:"tunnel"`
	Endpoint EndpointStatus `json:"endpoint"`
	Events   EventCounts    `json:"events"`
	Packages PackageCounts  `json:"packages"`
	Saves    SaveCounts     `json:"saves"`
	Outbox   OutboxCounts   `json:"outbox"`
	Health   []Issue        `json:"health"`

	Checked  time.Time `json:"-"` // when everything was last asked about since the start; zero before
	Checking bool      `json:"-"` // it is being asked about now
}

// Account is who is signed in; empty strings where the service did not say.
type Account = account.Account

// TunnelStatus is the public address.
type TunnelStatus = webhook.Address

// known is nil for the zero time.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// EndpointStatus is the webhook endpoint as the service last confirmed it; ID is empty when there is none.
type EndpointStatus struct {
	ID           string    `json:"id"`
	URL          string    `json:"url"`
	RegisteredAt time.Time `json:"registered_at"`
}

// MarshalJSON writes null for a moment that is not known: every field is always there.
func (e EndpointStatus) MarshalJSON() ([]byte, error) {
	type plain EndpointStatus // without this method
	return json.Marshal(struct {
		plain
		RegisteredAt *time.Time `json:"registered_at"`
	}{plain(e), known(e.RegisteredAt)})
}

// EventCounts counts webhook requests. Received is the number of distinct authentic events stored; Problems are
// authentic events that nothing could be done with.
type EventCounts struct {
	Received   int `json:"received"`
	Rejected   int `json:"rejected"`
	Duplicates int `json:"duplicates"`
	Pending    int `json:"pending"`
	Problems   int `json:"problems"`
}

// PackageCounts counts packages. Open are those that wait for signatures, Declined those that wait in vain, because a signer
// declined, as long as they are in the list, and Saved executed ones of which every wanted file is on disk.
type PackageCounts struct {
	Total    int `json:"total"`
	Open     int `json:"open"`
	Declined int `json:"declined"`
	Executed int `json:"executed"`
	Saved    int `json:"saved"`
}

// SaveCounts counts files.
type SaveCounts struct {
	Done    int `json:"done"`
	Pending int `json:"pending"`
	Failed  int `json:"failed"`
}

// OutboxCounts counts drafts that are not yet packages.
type OutboxCounts struct {
	Pending int `json:"pending"`
	Unknown int `json:"unknown"`
	Failed  int `json:"failed"`
}

// Status returns the whole state. It reads counters, never packages or drafts, and may be called often. When they cannot be read,
// it returns the rest, with health that says so, and an error.
func (a *Agent) Status() (Status, error) {
	kept, err := data.Read(a.Data, "the status", readCounts)
	o := a.account.Current()
	_, online := a.account.Online()
	s := Status{
		Version: a.p.Version, SignedIn: o.SignedIn(), Account: o.Account.Account, Tunnel: a.webhook.Address(),
		Events: kept.events, Packages: kept.packages, Saves: kept.saves, Outbox: kept.outbox, Health: a.Health.List(),
	}
	s.Checked, s.Checking = a.packages.Swept()
	s.Checking = s.Checking && online // else it waits for somebody to sign in
	s.Endpoint.ID, s.Endpoint.URL, s.Endpoint.RegisteredAt = a.webhook.Endpoint()
	s.Events.Rejected = a.webhook.Rejected()
	return s, err
}

// counts are what Status reads.
type counts struct {
	events   EventCounts
	packages PackageCounts
	saves    SaveCounts
	outbox   OutboxCounts
}

func readCounts(tx *store.Tx) (c counts, err error) {
	events, err1 := tx.EventCounts()
	packages, err2 := tx.PackageCounts()
	jobs, err3 := tx.JobCounts()
	drafts, err4 := tx.DraftCounts()
	c.events = EventCounts{Received: events.Received, Duplicates: events.Duplicates, Pending: events.Pending, Problems: events.Odd}
	c.packages = PackageCounts(packages)
	c.saves = SaveCounts{jobs.Done, jobs.Pending, jobs.Failed}
	c.outbox = OutboxCounts{drafts.Queued + drafts.Adding, drafts.Unknown, drafts.Failed}
	return c, errors.Join(err1, err2, err3, err4)
}
