package agent

import "countersign/internal/esign"

// issuer names who gave out a secret: the signing service and the client there, or the ngrok server.
type issuer string

// sealedOf is a kind of sealed value that belongs to its issuer. There is no value without one: of names it, and the
// name is authenticated with the value, so that for another issuer it is absent, whatever the store holds.
type sealedOf string

func (s sealedOf) of(i issuer) string { return string(s) + "@" + string(i) }

// issuer is the signing service and the client there.
func (s Settings) issuer() issuer { return issuer(s.config().Issuer()) }

// home is the service that packages live at, whatever the client is called.
func (s Settings) home() string {
	if !s.Configured() {
		return ""
	}
	return s.config().Home()
}

// ngrok is the ngrok server that the authtoken is for.
func (s Settings) ngrok() issuer {
	return issuer(esign.Config{BaseURL: "https://" + s.NgrokConnectURL}.Issuer())
}

func (s Settings) config() esign.Config {
	return esign.Config{AuthURL: s.AuthURL, BaseURL: s.BaseURL, ClientID: s.ClientID, Scopes: s.Scopes, SignatureHeader: s.SignatureHeader}
}
