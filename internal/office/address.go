package office

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// CallbackPath is where the sign-in returns to, below the public address.
const CallbackPath = "/oauth/callback"

// LocalhostPort is the port the sign-in returns to with RedirectLocalhost, unless the settings name another.
const LocalhostPort = "46137"

// ReturnAddress is the redirect address to register with the service, as far as the settings determine it: "" for a tunnel
// whose address is only known once it is open.
func (s Settings) ReturnAddress() string {
	s = s.Normal()
	switch {
	case s.RedirectURI != "":
		return s.RedirectURI
	case s.Redirect == RedirectLocalhost:
		return "https://localhost:" + LocalhostPort + CallbackPath
	case s.Redirect == RedirectLoopback:
		return "http://127.0.0.1" + CallbackPath
	case s.Tunnel == TunnelExternal:
		return ExternalReturn(s)
	case s.NgrokDomain != "":
		return HTTPSHost(s.NgrokDomain) + CallbackPath
	default:
		return ""
	}
}

// ExternalReturn is where the sign-in returns to through the office's own proxy.
func ExternalReturn(s Settings) string {
	u, err := url.Parse(s.PublicURL)
	if err != nil {
		return s.PublicURL
	}
	u.Path = BasePath(s) + CallbackPath
	return u.String()
}

// BasePath is the path of the public address without a trailing slash; it is empty unless the office has its own proxy.
func BasePath(s Settings) string {
	if s.Tunnel != TunnelExternal {
		return ""
	}
	return strings.TrimSuffix(PathOf(s.PublicURL), "/")
}

// HTTPSHost is the https address of a domain, which may already be written as an address; a path is dropped.
func HTTPSHost(domain string) string {
	if u, err := url.Parse(domain); err == nil && u.Scheme != "" && u.Host != "" {
		return "https://" + u.Host
	}
	return "https://" + domain
}

// PathOf is the path of address, or "" where there is none.
func PathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// ReturnPath is the path of the return address that the settings name, as a browser requests it; "" if they name none.
func ReturnPath(s Settings) string {
	if s.RedirectURI == "" {
		return ""
	}
	return cmp.Or(PathOf(s.RedirectURI), "/") // RFC 3986, 6.2.3
}

// asciiHost is a host, with or without a port, in its ASCII form (RFC 5891): a name in another script may be made to look
// like a known one. A name without an ASCII form stays as it is, for Check to reject.
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

// HostName is the host of an address for people, with its port. A name in another script is shown after its ASCII form,
// which distinguishes it from one that looks the same.
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

// Reached returns where the service's events arrive, with the port if others use it, and where the browser returns to after
// a sign-in, as far as the settings determine them.
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

// Hosts returns the hosts that the office trusts: where people sign in and, if different, where documents go. service is
// empty if both are the same.
func (s Settings) Hosts() (signIn, service string) {
	s = s.Normal()
	signIn, service = HostName(s.AuthURL), HostName(s.BaseURL)
	if service == signIn {
		service = ""
	}
	return signIn, service
}
