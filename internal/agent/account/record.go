package account

import (
	"slices"
	"time"

	"countersign/internal/agent/issuer"
)

// DocSettings names the document with the settings, and Doc the one with the Record of who is signed in.
const (
	DocSettings = "settings"
	Doc         = "account"
)

// DocOf names the document with the Record of an issuer that is not in use.
func DocOf(i issuer.Name) string { return Doc + "@" + string(i) }

// Account is who is signed in; empty strings where the service did not say.
type Account struct {
	Email          string `json:"email"`
	OrganizationID string `json:"organization_id"`
	MemberID       string `json:"member_id"`
}

// Record is who is signed in, as the store keeps it.
type Record struct {
	Account
	Subject  string    `json:"subject"`
	Scopes   []string  `json:"scopes"`
	SignedIn bool      `json:"signed_in"`
	Since    time.Time `json:"since,omitzero"` // the first sign-in; packages finished before it are not fetched
	Lapsed   bool      `json:"lapsed"`         // signed in once, and the service ended it
	Fleeting bool      `json:"fleeting"`       // without offline_access: the sign-in ends with the program
}

// May reports whether the account has that scope.
func (x Record) May(scope string) bool { return slices.Contains(x.Scopes, scope) }

// resumed is the account as a new run finds it: a sign-in without offline_access lived in memory and ended with the
// last one.
func (x Record) resumed() Record {
	if x.SignedIn && x.Fleeting {
		x.SignedIn, x.Lapsed = false, true
	}
	return x
}

// ended is what stays known of an account that nobody is signed in to.
func (x Record) ended() Record {
	return Record{Account: Account{OrganizationID: x.OrganizationID}, Since: x.Since}
}
