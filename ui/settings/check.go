package settings

import (
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
)

// The fields that can be wrong.
const (
	fieldAuth     = "auth"
	fieldBase     = "base"
	fieldClient   = "client"
	fieldScopes   = "scopes"
	fieldHeader   = "header"
	fieldRedirect = "redirect"
	fieldDomain   = "domain"
	fieldConnect  = "connect"
	fieldPublic   = "public"
	fieldListen   = "listen"
	fieldFolder   = "folder"
	fieldTemplate = "template"
)

// check says what is wrong with settings, by field. It judges only what can be judged without asking anybody; the
// agent has the last word.
func check(s agent.Settings) map[string]string {
	wrong := map[string]string{}
	say := func(field string, bad bool, text string) {
		if bad && wrong[field] == "" {
			wrong[field] = text
		}
	}
	address := lang.L("Write an address that begins with https://.")
	say(fieldAuth, !isWeb(s.AuthURL), address)
	say(fieldBase, !isWeb(s.BaseURL), address)
	say(fieldClient, s.ClientID == "", lang.L("Type the client id that the service gave you."))
	say(fieldScopes, len(s.Scopes) == 0, lang.L("Type at least one scope."))
	say(fieldHeader, !isToken(s.SignatureHeader), lang.L("Letters, digits and hyphens only."))
	say(fieldRedirect, s.RedirectURI != "" && !isWeb(s.RedirectURI), address)
	switch s.Tunnel {
	case agent.TunnelNgrok:
		say(fieldDomain, s.NgrokDomain == "", lang.L("Type the office's domain, for example office.ngrok.app."))
		say(fieldDomain, !isHost(s.NgrokDomain), lang.L("Only the domain, without https:// and without a path."))
		say(fieldConnect, s.NgrokConnectURL != "" && !isHostPort(s.NgrokConnectURL), lang.L("Write it as host:port."))
	case agent.TunnelExternal:
		say(fieldPublic, !isWeb(s.PublicURL) || !strings.HasPrefix(s.PublicURL, "https://"), address)
		say(fieldListen, !isHostPort(s.Listen), lang.L("Write it as host:port, for example 127.0.0.1:8080."))
	}
	say(fieldFolder, !filepath.IsAbs(s.SaveTo), lang.L("Choose the folder for signed documents."))
	say(fieldTemplate, strings.TrimSpace(s.NameTemplate) == "", lang.L("Type how saved files are named."))
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
