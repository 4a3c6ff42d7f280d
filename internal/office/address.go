package office

import (
	"cmp"
	"net/url"
	"strings"
)

// CallbackPath is where the sign-in returns, below the public address.
const CallbackPath = "/oauth/callback"

// LocalhostPort is where the sign-in returns with RedirectLocalhost, unless the settings name another port.
const LocalhostPort = "46137"

// ReturnAddress is the redirect address to register with the service, as far as the settings tell: "" for a tunnel
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

// ExternalReturn is where the sign-in returns through the office's own proxy.
func ExternalReturn(s Settings) string {
	u, err := url.Parse(s.PublicURL)
	if err != nil {
		return s.PublicURL
	}
	u.Path = BasePath(s) + CallbackPath
	return u.String()
}

// BasePath is the path of the public address without a trailing slash; only an office's own proxy has one.
func BasePath(s Settings) string {
	if s.Tunnel != TunnelExternal {
		return ""
	}
	return strings.TrimSuffix(PathOf(s.PublicURL), "/")
}

// HTTPSHost is the address of a domain, which may be written as an address already; a path is dropped.
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

// ReturnPath is the path of the return address that s names itself, as a browser asks for it; "" where it names none.
func ReturnPath(s Settings) string {
	if s.RedirectURI == "" {
		return ""
	}
	return cmp.Or(PathOf(s.RedirectURI), "/") // RFC 3986, 6.2.3
}
