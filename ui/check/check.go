// Package check says what is wrong with settings, by field, in the words and the language of the window. It judges
// only what can be judged without asking anybody; the agent has the last word, and its agent.FieldError names the same
// fields. The wizard and the settings screen share it. It knows no widgets.
package check

import (
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
)

// The fields that can be wrong, called as in agent.Settings' JSON and in agent.FieldError.
const (
	AuthURL      = "auth_url"
	BaseURL      = "base_url"
	ClientID     = "client_id"
	ClientSecret = "client_secret"
	Scopes       = "scopes"
	Header       = "signature_header"
	Redirect     = "redirect"
	RedirectURI  = "redirect_uri"
	Tunnel       = "tunnel"
	NgrokDomain  = "ngrok_domain"
	NgrokToken   = "ngrok_authtoken"
	NgrokConnect = "ngrok_connect_url"
	PublicURL    = "public_url"
	Listen       = "listen"
	SaveTo       = "save_to"
	Template     = "name_template"
	Notify       = "notify"
	QuietFrom    = "quiet_from"
	QuietTo      = "quiet_to"
	KeepEvents   = "keep_events_days"
)

// Settings returns a sentence per field that is wrong; none when all can be kept.
func Settings(s agent.Settings) map[string]string {
	wrong := map[string]string{}
	say := func(field string, bad bool, text string) {
		if bad && wrong[field] == "" {
			wrong[field] = text
		}
	}
	address := lang.L("Enter an address that starts with https://.")
	say(AuthURL, !isWeb(s.AuthURL), address)
	say(BaseURL, !isWeb(s.BaseURL), address)
	say(ClientID, s.ClientID == "", lang.L("Type the client id that the service gave you."))
	say(Scopes, len(s.Scopes) == 0, lang.L("Type at least one scope."))
	say(Header, !isToken(s.SignatureHeader), lang.L("Letters, digits and hyphens only."))
	say(RedirectURI, s.RedirectURI != "" && !isWeb(s.RedirectURI), address)
	switch s.Tunnel {
	case agent.TunnelNgrok:
		say(NgrokDomain, s.NgrokDomain != "" && !isHost(s.NgrokDomain), lang.L("Only the domain, without https:// and without a path."))
		say(NgrokConnect, s.NgrokConnectURL != "" && !isHostPort(s.NgrokConnectURL), lang.L("Write it as host:port."))
	case agent.TunnelExternal:
		say(PublicURL, !isWeb(s.PublicURL) || !strings.HasPrefix(s.PublicURL, "https://"), address)
		say(Listen, !isHostPort(s.Listen), lang.L("Write it as host:port, for example 127.0.0.1:8080."))
	case agent.TunnelNone:
		say(Redirect, s.Redirect == agent.RedirectTunnel, lang.L("Without a public address the sign-in cannot come back through it. Choose another way."))
		say(RedirectURI, s.Redirect == agent.RedirectPaste && s.RedirectURI == "", lang.L("Type the return address that is registered with the service."))
	}
	say(SaveTo, !filepath.IsAbs(s.SaveTo), lang.L("Choose the folder for signed documents."))
	say(Template, strings.TrimSpace(s.NameTemplate) == "", lang.L("Type how saved files are named."))
	quiet := s.QuietFrom != "" || s.QuietTo != ""
	clock := lang.L("Write a time such as 22:00.")
	say(QuietFrom, quiet && !isClock(s.QuietFrom), clock)
	say(QuietTo, quiet && !isClock(s.QuietTo), clock)
	say(KeepEvents, s.KeepEvents < 0 || s.KeepEvents > 3650, lang.L("Type a number of days from 1 to 3650."))
	return wrong
}

// isWeb accepts https addresses, and http ones on this computer (RFC 8252, 7.3).
func isWeb(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && local
}

func isHost(text string) bool {
	return strings.Contains(text, ".") && !strings.ContainsAny(text, "/:@? \t")
}

func isHostPort(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n > 0 && n < 1<<16
}

// isToken accepts what an HTTP header may be called, without the signs nobody uses (RFC 9110, 5.6.2).
func isToken(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func isClock(text string) bool {
	_, err := time.Parse("15:04", text)
	return err == nil
}
