package proxy

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

var errForm = errors.New("not the address of a proxy")

// usable is a proxy's address with one of the schemes that dialing supports.
func usable(proxy *url.URL) (*url.URL, error) {
	own := *proxy
	switch own.Scheme = strings.ToLower(own.Scheme); own.Scheme {
	case "http", "https", "socks5":
	case "socks", "socks5h", "socks4", "socks4a":
		own.Scheme = "socks5" // the name is resolved by the proxy in any case
	default:
		return nil, errForm
	}
	if own.Hostname() == "" {
		return nil, errForm
	}
	return &own, nil
}

// parseWay reads the address of a proxy, with or without a scheme.
func parseWay(s string) (*url.URL, error) {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errForm
	}
	return usable(u)
}

// waysFromURLs reads the answers of the desktops' resolvers: "http://proxy:8080", "socks5://proxy:1080", "direct://".
func waysFromURLs(list []string) (ways []*url.URL) {
	for _, s := range list {
		if strings.HasPrefix(s, "direct:") {
			ways = append(ways, nil)
		} else if way, err := parseWay(s); err == nil {
			ways = append(ways, way)
		}
	}
	return ways
}

// waysFromList reads Windows' notation of proxies for TLS servers: "proxy:8080", "http=a:80;https=b:80;socks=c:1080", or
// several of one kind to be tried in order, separated by semicolons or spaces.
func waysFromList(list string) []*url.URL {
	byKind := map[string][]*url.URL{}
	for entry := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune("; \t\r\n", r) }) {
		kind, address, has := strings.Cut(entry, "=")
		if !has {
			kind, address = "", entry
		}
		kind = strings.ToLower(kind)
		if strings.EqualFold(address, "direct") {
			byKind[kind] = append(byKind[kind], nil)
			continue
		}
		if kind == "socks" && !strings.Contains(address, "://") {
			address = "socks5://" + address
		}
		if way, err := parseWay(address); err == nil {
			byKind[kind] = append(byKind[kind], way)
		}
	}
	for _, kind := range []string{"https", "", "socks"} {
		if len(byKind[kind]) > 0 {
			return byKind[kind]
		}
	}
	return nil
}

// excluded reports whether a system proxy's exceptions cover this address: names with "*", networks such as "169.254/16",
// "<local>" for names without a dot; each optionally with a scheme and a port.
func excluded(exceptions []string, to *url.URL) bool {
	host := strings.ToLower(to.Hostname())
	port := to.Port()
	if port == "" {
		port = "443"
	}
	for _, pattern := range exceptions {
		pattern = strings.ToLower(strings.TrimSpace(pattern))
		if scheme, rest, has := strings.Cut(pattern, "://"); has {
			if scheme != to.Scheme {
				continue
			}
			pattern = rest
		}
		if h, p, err := net.SplitHostPort(pattern); err == nil {
			if p != port {
				continue
			}
			pattern = h
		}
		switch {
		case pattern == "":
		case pattern == "<local>":
			if !strings.Contains(host, ".") && !strings.Contains(host, ":") {
				return true
			}
		case strings.Contains(pattern, "/"):
			if inNetwork(pattern, host) {
				return true
			}
		case strings.HasPrefix(pattern, "."):
			if strings.HasSuffix(host, pattern) {
				return true
			}
		default:
			if ok, err := path.Match(strings.Trim(pattern, "[]"), host); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// inNetwork reads networks that may omit trailing zeros: 10/8.
func inNetwork(pattern, host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	base, bits, _ := strings.Cut(pattern, "/")
	for !strings.Contains(base, ":") && strings.Count(base, ".") < 3 {
		base += ".0"
	}
	prefix, err := netip.ParsePrefix(base + "/" + bits)
	return err == nil && prefix.Contains(ip)
}

func splitExceptions(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("; \t\r\n", r) })
}
