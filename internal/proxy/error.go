package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"countersign/internal/message"
)

// Error is a proxy that does not let us through. Its text holds no user, password or token.
type Error struct {
	Proxy  string // host:port
	To     string // where to, as host:port
	Status int    // the proxy's answer, 0 if it gave none
	// Page is where the proxy sends browsers to, if it does so instead of letting us through.
	Page string

	unreadable bool  // a setting cannot be understood
	err        error // why there was no answer
}

// Error is for the log.
func (e *Error) Error() string {
	switch {
	case e.unreadable:
		return "the proxy in the environment cannot be understood"
	case e.err != nil:
		return fmt.Sprintf("proxy %s: %v", e.Proxy, e.err)
	}
	return fmt.Sprintf("proxy %s answered %d", e.Proxy, e.Status)
}

// Unwrap is the network's error.
func (e *Error) Unwrap() error { return e.err }

// WantsBrowser says whether the proxy asks for a sign-in in the browser (RFC 6585 section 6, or a redirect).
func (e *Error) WantsBrowser() bool {
	return e.Status == http.StatusNetworkAuthenticationRequired || e.Status/100 == 3
}

// Message is what people are told.
func (e *Error) Message() message.Message {
	switch {
	case e.unreadable:
		return message.ProxyUnreadable()
	case e.WantsBrowser():
		return message.NetworkWantsBrowser()
	case e.Status == http.StatusProxyAuthRequired:
		return message.ProxyWantsSignIn(e.Proxy)
	case e.Status >= 500:
		return message.ProxyCannotReach(e.Proxy, e.To)
	case e.Status == 0 && !refusedBySOCKS(e.err):
		return message.ProxySilent(e.Proxy)
	}
	return message.ProxyBlocks(e.Proxy, e.To)
}

// refusedBySOCKS says whether a SOCKS proxy was there, and said no.
func refusedBySOCKS(err error) bool {
	var outer, inner *net.OpError
	return errors.As(err, &outer) && strings.HasPrefix(outer.Op, "socks") && !errors.As(outer.Err, &inner)
}
