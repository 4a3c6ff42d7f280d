package agent

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/archive"
)

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
	if !slices.Contains([]NotifyKind{NotifyEach, NotifyExecuted, NotifyNone}, s.complete().Notify) {
		say("notify", "%q is not a choice for notifications; choose each, executed or none.", s.Notify)
	}
	for _, f := range []struct{ field, value string }{{"quiet_from", s.QuietFrom}, {"quiet_to", s.QuietTo}} {
		if _, err := time.Parse("15:04", f.value); err != nil && (f.value != "" || s.QuietFrom+s.QuietTo != "") {
			say(f.field, "Quiet hours need a time such as 22:00.")
		}
	}
	if n := s.complete().KeepEvents; n < 1 || n > keepEventsMost {
		say("keep_events_days", "The contents of events can be kept for 1 to 3650 days.")
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
