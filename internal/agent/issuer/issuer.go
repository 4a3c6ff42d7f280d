// Package issuer names who issued a secret and thus to whom it may be shown: what one service issued is never shown to another. It
// knows the settings that determine this, but neither the secrets nor where they are kept.
package issuer

import (
	"countersign/internal/esign"
	"countersign/internal/office"
)

// Name identifies the issuer of a secret: the signing service with the client there, or the ngrok server.
type Name string

// Sealed is a kind of sealed value that belongs to its issuer. Of returns the value's name, which includes the issuer and is
// authenticated with the value, so that for another issuer it is absent, whatever the store contains.
type Sealed string

// The kinds of sealed values:
const (
	ClientSecret    Sealed = "client-secret"
	NgrokToken      Sealed = "ngrok-authtoken"
	Refresh         Sealed = "refresh-token"
	Endpoint        Sealed = "endpoint"          // JSON of the registration
	FormerEndpoints Sealed = "endpoint-previous" // JSON of the earlier ones, valid a little longer
	DeskKey         Sealed = "desk-key"          // this desk's key for the hub
	HubKey          Sealed = "hub-key"           // JSON of this computer's identity as a hub
)

// Of names the value of that kind issued by i.
func (s Sealed) Of(i Name) string { return string(s) + "@" + string(i) }

// Desks are issued by the office itself, whichever service it uses.
const Desks Name = "desks"

// Of returns the issuer for the signing service and the client there.
func Of(s office.Settings) Name { return Name(Config(s).Issuer()) }

// Home returns the service at which packages live, whatever the client.
func Home(s office.Settings) string {
	if !s.Configured() {
		return ""
	}
	return Config(s).Home()
}

// Ngrok returns the ngrok server for which the authtoken is valid.
func Ngrok(s office.Settings) Name {
	return Name(esign.Config{BaseURL: "https://" + s.NgrokConnectURL}.Issuer())
}

// Config returns how to call the service, without the client secret.
func Config(s office.Settings) esign.Config {
	return esign.Config{AuthURL: s.AuthURL, BaseURL: s.BaseURL, ClientID: s.ClientID, Scopes: s.Scopes}
}
