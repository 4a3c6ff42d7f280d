package agent

// TunnelKind names a way to have a public address.
type TunnelKind string

// RedirectKind names a way for the sign-in to come back.
type RedirectKind string

const (
	TunnelNgrok    TunnelKind = "ngrok"
	TunnelExternal TunnelKind = "external" // the office's own reverse proxy
	TunnelLoopback TunnelKind = "loopback" // the demo: an HTTPS address only this computer reaches
	TunnelNone     TunnelKind = "none"     // reconcile alone

	RedirectTunnel    RedirectKind = "tunnel"
	RedirectLocalhost RedirectKind = "localhost" // https://localhost:PORT, own certificate
	RedirectLoopback  RedirectKind = "loopback"  // http://127.0.0.1:PORT (RFC 8252)
	RedirectPaste     RedirectKind = "paste"
)

// Settings are everything an office chooses. Secrets are apart, see Secrets.
type Settings struct {
	AuthURL         string   `json:"auth_url"`
	BaseURL         string   `json:"base_url"`
	ClientID        string   `json:"client_id"`
	Scopes          []string `json:"scopes"`
	SignatureHeader string   `json:"signature_header"`

	Redirect    RedirectKind `json:"redirect"`
	RedirectURI string       `json:"redirect_uri,omitempty"` // overrides the address Redirect implies

	Tunnel          TunnelKind `json:"tunnel"`
	NgrokDomain     string     `json:"ngrok_domain,omitempty"`
	NgrokConnectURL string     `json:"ngrok_connect_url,omitempty"` // host:port
	NgrokCA         string     `json:"ngrok_ca,omitempty"`          // PEM file
	PublicURL       string     `json:"public_url,omitempty"`        // external
	Listen          string     `json:"listen,omitempty"`            // external: host:port

	SaveTo       string `json:"save_to"`
	NameTemplate string `json:"name_template"`
	SaveCAC      bool   `json:"save_cac"`
	SaveMaster   bool   `json:"save_masterfile"`
}

// Secrets are what an office must not show. An empty field means "leave as it is" when saving.
type Secrets struct {
	ClientSecret   string
	NgrokAuthtoken string
}
