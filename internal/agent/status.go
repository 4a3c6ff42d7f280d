package agent

import (
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/webhook"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// CheckNow asks the service about everything that is not final as soon as possible, because people want to know now. An error says
// why it cannot.
func (a *Agent) CheckNow() error {
	if _, online := a.account.Online(); !online {
		return message.Error(message.NotSignedIn(), nil)
	}
	a.packages.Sweep("somebody asked")
	a.Signal(office.StatusChanged)
	return nil
}

// Status is the whole state in one value: what `countersign status --json` prints and what the window and the tray show. Its JSON is
// stable and documented in assets/docs/admin.md.
type Status struct {
	Version  string         `json:"version"`
	SignedIn bool           `json:"signed_in"`
	Account  Account        `json:"account"` // fields are empty if the service did not supply them
	Tunnel   TunnelStatus   `json:"tunnel"`
	Endpoint EndpointStatus `json:"endpoint"` // empty if no endpoint is registered
	Events   EventCounts    `json:"events"`
	Packages PackageCounts  `json:"packages"`
	Saves    JobCounts      `json:"saves"`  // files
	Outbox   OutboxCounts   `json:"outbox"` // drafts
	Health   []Issue        `json:"health"` // what is wrong

	Checked  time.Time `json:"-"` // when everything was last checked since the start; zero before
	Checking bool      `json:"-"` // everything is being checked now

	// Tried is when the service last did not answer, Next when it is asked again; zero if it answers.
	Tried, Next time.Time `json:"-"`
}

// MovedAway returns the issue that another computer has the office, if it has.
func (s Status) MovedAway() (i Issue, away bool) {
	at := slices.IndexFunc(s.Health, func(i Issue) bool { return i.Action == ActTakeBack })
	if at < 0 {
		return i, false
	}
	return s.Health[at], true
}

// TunnelStatus is the public address.
type TunnelStatus = webhook.Address

// EndpointStatus is the webhook endpoint as last confirmed by the service; ID is empty if there is none.
type EndpointStatus struct {
	ID           string        `json:"id"`
	URL          string        `json:"url"`
	RegisteredAt office.OrNull `json:"registered_at"`
}

type EventCounts struct {
	Received   int `json:"received"` // distinct authentic events stored
	Rejected   int `json:"rejected"` // since the start
	Duplicates int `json:"duplicates"`
	Pending    int `json:"pending"`
	Problems   int `json:"problems"` // authentic, but could not be processed
}

// Counts kept by the store.
type (
	PackageCounts = store.PackageCounts
	JobCounts     = store.JobCounts
)

// OutboxCounts counts drafts that are not packages yet.
type OutboxCounts struct {
	Pending int `json:"pending"`
	Unknown int `json:"unknown"` // not confirmed by the service
	Failed  int `json:"failed"`  // refused
	Held    int `json:"held"`    // a person must decide
}

// Status returns the whole state. It only counts, without reading packages or drafts, and may be called often. If they cannot be
// read, it returns the rest, with health reporting that, and an error.
func (a *Agent) Status() (Status, error) {
	s, err := data.Read(a.Data, "the status", func(tx *store.Tx) (s Status, err error) {
		events, _ := tx.EventCounts()
		s.Packages, _ = tx.PackageCounts()
		s.Saves, _ = tx.JobCounts()
		pending, _ := tx.CountDrafts(office.DraftQueued, office.DraftAdding)
		unknown, _ := tx.CountDrafts(office.DraftUnknown)
		failed, _ := tx.CountDrafts(office.DraftFailed)
		held, _ := tx.CountDrafts(office.DraftHeld)
		s.Events = EventCounts{Received: events.Received, Duplicates: events.Duplicates, Pending: events.Pending, Problems: events.Unprocessable}
		s.Outbox = OutboxCounts{pending, unknown, failed, held}
		return s, nil
	})
	o := a.account.Current()
	_, online := a.account.Online()
	s.Version, s.SignedIn, s.Account, s.Tunnel, s.Health = a.p.Version, o.SignedIn(), o.Account.Account, a.webhook.Address(), health.Distinct(a.Health.List())
	s.Checked, s.Checking = a.packages.Swept()
	s.Tried, s.Next = a.packages.Unanswered()
	s.Checking = s.Checking && online // otherwise it waits for a sign-in
	s.Endpoint.ID, s.Endpoint.URL, s.Endpoint.RegisteredAt.Time = a.webhook.Endpoint()
	s.Events.Rejected = a.webhook.Rejected()
	return s, err
}
