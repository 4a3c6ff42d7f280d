package agent

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/archive"
)

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

// DefaultSettings are the settings of an office that has chosen nothing yet.
func DefaultSettings() Settings {
	return Settings{
		Scopes:          []string{"profile", "openid", "offline_access", "organization"},
		SignatureHeader: "X-Service-Signature",
		Redirect:        RedirectTunnel,
		Tunnel:          TunnelNgrok,
		NameTemplate:    "{package} - {document}",
	}
}

// complete fills what was left empty with the defaults.
func (s Settings) complete() Settings {
	d := DefaultSettings()
	if len(s.Scopes) == 0 {
		s.Scopes = d.Scopes
	}
	if s.SignatureHeader == "" {
		s.SignatureHeader = d.SignatureHeader
	}
	if s.Redirect == "" {
		s.Redirect = d.Redirect
	}
	if s.Tunnel == "" {
		s.Tunnel = d.Tunnel
	}
	if s.NameTemplate == "" {
		s.NameTemplate = d.NameTemplate
	}
	return s
}

// Configured reports whether the service is known: without it there is nothing to sign in to.
func (s Settings) Configured() bool { return s.AuthURL != "" && s.BaseURL != "" && s.ClientID != "" }

// FieldError says what is wrong with one setting. Field is its JSON name, Text one sentence for people.
type FieldError struct {
	Field string
	Text  string
}

func (e FieldError) Error() string { return e.Text }

// Check returns one FieldError per setting that cannot work. It asks nobody: the folder and the addresses may
// still turn out to be out of reach.
func (s Settings) Check() []FieldError {
	var bad []FieldError
	say := func(field, format string, args ...any) {
		bad = append(bad, FieldError{field, fmt.Sprintf(format, args...)})
	}
	for _, f := range []struct{ field, name, value string }{
		{"auth_url", "sign-in address", s.AuthURL},
		{"base_url", "service address", s.BaseURL},
	} {
		if why := checkServiceURL(f.value); why != "" {
			say(f.field, "The %s %s.", f.name, why)
		}
	}
	if s.ClientID == "" {
		say("client_id", "The client id is missing. The signing service gives it out together with the client secret.")
	}
	if !validHeader(s.SignatureHeader) {
		say("signature_header", "%q is not the name of a header.", s.SignatureHeader)
	}
	s.checkTunnel(say)
	s.checkRedirect(say)
	switch {
	case s.SaveTo == "":
		say("save_to", "The folder for signed documents is not chosen yet.")
	case !filepath.IsAbs(s.SaveTo):
		say("save_to", "The folder %q needs its full path.", s.SaveTo)
	}
	if _, err := archive.Parse(s.NameTemplate); err != nil {
		say("name_template", "%s", archive.Sentence(err))
	}
	return bad
}

func (s Settings) checkTunnel(say func(field, format string, args ...any)) {
	switch s.Tunnel {
	case TunnelNgrok:
		if s.NgrokDomain != "" && strings.ContainsAny(strings.TrimPrefix(s.NgrokDomain, "https://"), "/ ") {
			say("ngrok_domain", "The ngrok domain %q should look like office.ngrok.app.", s.NgrokDomain)
		}
		if s.NgrokConnectURL != "" && !isHostPort(s.NgrokConnectURL) {
			say("ngrok_connect_url", "The ngrok server %q should look like host:port.", s.NgrokConnectURL)
		}
	case TunnelExternal:
		if why := checkPublicURL(s.PublicURL); why != "" {
			say("public_url", "The public address %s.", why)
		}
		if !isHostPort(s.Listen) {
			say("listen", "The address to listen on %q should look like 127.0.0.1:8080.", s.Listen)
		}
	case TunnelLoopback, TunnelNone:
	default:
		say("tunnel", "%q is not a kind of tunnel; choose ngrok, external or none.", s.Tunnel)
	}
}

func (s Settings) checkRedirect(say func(field, format string, args ...any)) {
	kinds := []RedirectKind{RedirectTunnel, RedirectLocalhost, RedirectLoopback, RedirectPaste}
	if !slices.Contains(kinds, s.Redirect) {
		say("redirect", "%q is not a way back from the sign-in; choose tunnel, localhost, loopback or paste.", s.Redirect)
		return
	}
	if s.Redirect == RedirectTunnel && s.Tunnel == TunnelNone {
		say("redirect", "Without a tunnel the sign-in cannot come back through it; choose localhost or paste.")
	}
	if s.Redirect == RedirectPaste && s.RedirectURI == "" && s.Tunnel == TunnelNone {
		say("redirect_uri", "To paste the address, the return address registered with the service must be given.")
	}
	if s.RedirectURI != "" {
		u, err := url.Parse(s.RedirectURI)
		if err != nil || u.Host == "" || u.Fragment != "" {
			say("redirect_uri", "The return address %q is not a web address.", s.RedirectURI)
		}
	}
}

func checkServiceURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "is missing"
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Sprintf("%q is not a web address", s)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return ""
	default:
		return fmt.Sprintf("%q must begin with https://", s)
	}
}

func checkPublicURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "is missing"
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Sprintf("%q is not a web address", s)
	case u.Scheme != "https":
		return fmt.Sprintf("%q must begin with https://", s)
	default:
		return ""
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func isHostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

// validHeader follows the token rule of RFC 9110 section 5.6.2.
func validHeader(s string) bool {
	for _, r := range s {
		if r > 127 || !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r)) {
			return false
		}
	}
	return s != ""
}

// ReturnAddress is the redirect address to register with the service, as far as the settings tell: "" for a tunnel
// whose address is only known once it is open.
func (s Settings) ReturnAddress() string {
	switch {
	case s.RedirectURI != "":
		return s.RedirectURI
	case s.Redirect == RedirectLocalhost:
		return "https://localhost:" + localhostPort + callbackPath
	case s.Redirect == RedirectLoopback:
		return "http://127.0.0.1" + callbackPath
	case s.Tunnel == TunnelExternal:
		return externalReturn(s)
	case s.NgrokDomain != "":
		return httpsHost(s.NgrokDomain) + callbackPath
	default:
		return ""
	}
}
