// Package issuer names who gave out a secret, and so whose it is: what one service gave out is never shown to another.
// It knows the settings that say so, and neither the secrets nor where they are kept.
package issuer

import (
	"countersign/internal/esign"
	"countersign/internal/office"
)

// Name is of who gave out a secret: the signing service and the client there, or the ngrok server.
type Name string

// Sealed is a kind of sealed value that belongs to its issuer. There is no value without one: Of names it, and the
// name is authenticated with the value, so that for another issuer it is absent, whatever the store holds.
type Sealed string

// The sealed values that an issuer gave out.
const (
	ClientSecret    Sealed = "client-secret"
	NgrokToken      Sealed = "ngrok-authtoken"
	Refresh         Sealed = "refresh-token"
	Endpoint        Sealed = "endpoint"          // JSON of the registration
	FormerEndpoints Sealed = "endpoint-previous" // JSON of those before, valid a little longer
	DeskKey         Sealed = "desk-key"          // of this desk, for the hub
	HubKey          Sealed = "hub-key"           // JSON of what this computer is as a hub
)

// Of names the value of that kind that i gave out.
func (s Sealed) Of(i Name) string { return string(s) + "@" + string(i) }

// Desks are the office's own, whichever service it signs with.
const Desks Name = "desks"

// Of is the signing service and the client there.
func Of(s office.Settings) Name { return Name(Config(s).Issuer()) }

// Home is the service that packages live at, whatever the client is called.
func Home(s office.Settings) string {
	if !s.Configured() {
		return ""
	}
	return Config(s).Home()
}

// Ngrok is the ngrok server that the authtoken is for.
func Ngrok(s office.Settings) Name {
	return Name(esign.Config{BaseURL: "https://" + s.NgrokConnectURL}.Issuer())
}

// Config is how the service is asked, without the client secret.
func Config(s office.Settings) esign.Config {
	return esign.Config{AuthURL: s.AuthURL, BaseURL: s.BaseURL, ClientID: s.ClientID, Scopes: s.Scopes}
}
