package office

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// asciiHost is a host, with or without a port, as it is asked for (RFC 5891): a name in another script, which may be made to look
// like a known one, in its ASCII form. What has none stays as it is, for Check to refuse.
func asciiHost(host string) string {
	if !strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return host
	}
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		name, port = host[:i], host[i:]
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return host
	}
	return ascii + port
}

// HostName is the host of an address as people read it, with its port: one in another script after its ASCII form, which tells it
// from one that looks the same.
func HostName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	host := asciiHost(u.Host)
	if read, err := idna.Display.ToUnicode(strings.TrimSuffix(host, ":"+u.Port())); err == nil && !strings.HasPrefix(host, read) {
		host += " (" + read + ")"
	}
	return host
}

// Reached names where the service's events arrive, with the port where others reach that, and where the browser returns after a sign-in,
// as far as the settings name them themselves.
func (s Settings) Reached() (events, returns string) {
	s = s.Normal()
	switch s.Tunnel {
	case TunnelExternal:
		events = HostName(s.PublicURL) + " (" + s.Listen + ")"
	case TunnelNgrok:
		events = s.NgrokDomain
	}
	if s.RedirectURI != "" {
		returns = HostName(s.RedirectURI)
	}
	return events, returns
}

// Hosts names whom the office trusts: where people sign in and, where that is another host, where documents go. service is empty
// where both are the same.
func (s Settings) Hosts() (signIn, service string) {
	s = s.Normal()
	signIn, service = HostName(s.AuthURL), HostName(s.BaseURL)
	if service == signIn {
		service = ""
	}
	return signIn, service
}
