package proxy

import (
	"context"
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

// alone serializes questions to a system API that takes no context, and waits for each answer as long as ctx allows. If a
// call gets no answer in time, it reports that a script could not be run. Without this, a script that never ends would be
// started again with each question, each time using up another thread and a processor for good.
func alone(ask func(to *url.URL) (Answer, error)) func(ctx context.Context, to *url.URL) (Answer, error) {
	type result struct {
		Answer
		err error
	}
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, to *url.URL) (Answer, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return Answer{Source: Unread}, ctx.Err()
		}
		done := make(chan result, 1)
		go func() {
			defer func() { <-turn }()
			answer, err := ask(to)
			done <- result{answer, err}
		}()
		select {
		case r := <-done:
			return r.Answer, r.err
		case <-ctx.Done():
			return Answer{Source: Unread}, ctx.Err()
		}
	}
}

// fromScutil reads the output of macOS' `scutil --proxy`: lines of "Key : value", and lists in braces. It does not run a
// script: that would need a script engine, running code of unknown origin.
func fromScutil(out string, to *url.URL) Answer {
	values := map[string]string{}
	var exceptions []string
	inExceptions := false
lines:
	for line := range strings.Lines(out) {
		key, value, has := strings.Cut(strings.TrimSpace(line), " : ")
		switch {
		case key == "__SCOPED__": // settings of single networks follow
			break lines
		case strings.TrimSpace(line) == "}":
			inExceptions = false
		case !has:
		case inExceptions:
			exceptions = append(exceptions, value)
		case key == "ExceptionsList":
			inExceptions = true
		default:
			values[key] = value
		}
	}
	if values["ExcludeSimpleHostnames"] == "1" {
		exceptions = append(exceptions, "<local>")
	}
	if excluded(exceptions, to) {
		return Answer{straight, System}
	}
	if fixed := fixedOf(values); fixed != nil {
		return Answer{[]*url.URL{fixed}, System}
	}
	if values["ProxyAutoConfigEnable"] == "1" || values["ProxyAutoDiscoveryEnable"] == "1" {
		return Answer{straight, Unread}
	}
	return Answer{straight, Nothing}
}

func fixedOf(values map[string]string) *url.URL {
	for _, kind := range []struct{ name, scheme string }{{"HTTPS", "http"}, {"SOCKS", "socks5"}} {
		host := values[kind.name+"Proxy"]
		if values[kind.name+"Enable"] != "1" || host == "" {
			continue
		}
		at := host
		if port := values[kind.name+"Port"]; port != "" && port != "0" {
			at = net.JoinHostPort(host, port)
		}
		if way, err := usable(&url.URL{Scheme: kind.scheme, Host: at}); err == nil {
			return way
		}
	}
	return nil
}
