package account

import (
	"countersign/internal/agent/issuer"
	"countersign/internal/esign"
	"countersign/internal/office"
)

// Current is what is set up and who is signed in, all of one moment.
type Current struct {
	Settings office.Settings
	Account  Record
	service  *service // as settings describe it; nil while there is none, or its client secret is out of reach
}

// SignedIn reports whether somebody is signed in and the service has not ended it, though the keys may be locked.
func (o Current) SignedIn() bool {
	return o.Account.SignedIn && !(o.service != nil && o.service.session.Ended())
}

// Caller names whom the client calls as: what one caller has uploaded, another one cannot use.
func (o Current) Caller() string { return string(issuer.Of(o.Settings)) + "/" + o.Account.Subject }

// Sender names as whom packages are sent: the member of an organization; empty when the service has not said who it is.
func (o Current) Sender() string {
	x := o.Account
	if x.OrganizationID == "" && x.MemberID == "" && x.Subject == "" {
		return ""
	}
	if x.MemberID != "" {
		return issuer.Home(o.Settings) + " " + x.OrganizationID + " " + x.MemberID
	}
	return issuer.Home(o.Settings) + " " + x.OrganizationID + " " + x.Subject
}

// Online returns the API client when somebody is signed in.
func (r *Service) Online() (*esign.Client, bool) {
	return r.OnlineIn(r.current.Get())
}

// OnlineIn is Online for what was current at another moment.
func (r *Service) OnlineIn(o Current) (*esign.Client, bool) {
	if o.service == nil || r.parked.Load() || !o.SignedIn() || r.keys.Locked() {
		return nil, false
	}
	return o.service.client, true
}

// SignedIn is whether somebody is signed in, though the keys may be locked for now.
func (r *Service) SignedIn() bool { return r.current.Get().SignedIn() }

// Settings returns the current settings.
func (r *Service) Settings() office.Settings { return r.current.Get().Settings }
