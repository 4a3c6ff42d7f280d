package proxy

import (
	"net"
	"net/url"
	"strings"
)

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
