package agent

import (
	"context"
	"encoding/json"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/health"
	"countersign/internal/agent/webhook"
	"countersign/internal/office"
)

// Status is the whole state in one value: what `countersign status --json` prints and what the window and the
// tray show. Its JSON is stable and documented in README.md.
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

// PackageCounts counts packages. Saved are executed packages of which every wanted file is on disk.
type PackageCounts struct {
	Total    int `json:"total"`
	Open     int `json:"open"`
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

// What is wrong, as package health has it.
type (
	Severity = health.Severity
	Action   = health.Action
	Issue    = health.Issue
)

const (
	Info    = health.Info
	Warning = health.Warning
	Problem = health.Problem

	ActNone         = health.ActNone
	ActSignIn       = health.ActSignIn
	ActSettings     = health.ActSettings
	ActChooseFolder = health.ActChooseFolder
	ActUnlock       = health.ActUnlock
	ActTakeEndpoint = health.ActTakeEndpoint
	ActRetry        = health.ActRetry
	ActReview       = health.ActReview
	ActQuit         = health.ActQuit
	ActDismiss      = health.ActDismiss
)

// IssueKeyring is the ID of what is wrong while the key is out of reach: nothing secret can be read or kept.
var IssueKeyring = health.KeyringLocked.ID

// SignInOptions choose how a sign-in runs.
type SignInOptions = account.SignInOptions

// ConfigError is a configuration that was not accepted.
type ConfigError = office.ConfigError

// Refusal is a sample of the requests that were refused.
type Refusal = webhook.Refusal

// Refused returns the samples, newest first.
func (a *Agent) Refused() []Refusal { return a.webhook.Refused() }

// TestTunnel opens the public address of s for a moment and returns it; see webhook.Room.Test.
func (a *Agent) TestTunnel(ctx context.Context, s office.Settings, secrets office.Secrets) (publicURL string, err error) {
	return a.webhook.Test(ctx, s, secrets)
}
