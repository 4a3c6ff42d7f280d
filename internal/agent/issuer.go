package agent

import (
	"countersign/internal/esign"
	"countersign/internal/office"
)

// issuer names who gave out a secret: the signing service and the client there, or the ngrok server.
type issuer string

// sealedOf is a kind of sealed value that belongs to its issuer. There is no value without one: of names it, and the
// name is authenticated with the value, so that for another issuer it is absent, whatever the store holds.
type sealedOf string

func (s sealedOf) of(i issuer) string { return string(s) + "@" + string(i) }

// issuerOf is the signing service and the client there.
func issuerOf(s office.Settings) issuer { return issuer(configOf(s).Issuer()) }

// homeOf is the service that packages live at, whatever the client is called.
func homeOf(s office.Settings) string {
	if !s.Configured() {
		return ""
	}
	return configOf(s).Home()
}

// ngrokOf is the ngrok server that the authtoken is for.
func ngrokOf(s office.Settings) issuer {
	return issuer(esign.Config{BaseURL: "https://" + s.NgrokConnectURL}.Issuer())
}

func configOf(s office.Settings) esign.Config {
	return esign.Config{AuthURL: s.AuthURL, BaseURL: s.BaseURL, ClientID: s.ClientID, Scopes: s.Scopes, SignatureHeader: s.SignatureHeader}
}
