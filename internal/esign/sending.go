package esign

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// sending watches one request go out. net/http reports from goroutines of its own.
type sending struct{ connected, wrote atomic.Bool }

// watch returns a context for the request.
func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { s.connected.Store(true) },
		WroteHeaders: func() { s.wrote.Store(true) },
	})
}

// mayHaveArrived reports whether the service may have got a request that ended without an answer. A request whose
// context ended may still be on its way to the connection at that moment (HTTP/2), so that being connected is enough.
func (s *sending) mayHaveArrived(ctx context.Context) bool {
	return s.wrote.Load() || s.connected.Load() && ctx.Err() != nil
}

// clearRefusal reports whether an answer that is no success says beyond doubt that nothing was done; see assumed.go.
// code is the service's error code, "" for an answer that is not its JSON.
func clearRefusal(res *http.Response, code string) bool {
	said := isServiceCode(code)
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return said || res.Header.Get("WWW-Authenticate") != ""
	case res.StatusCode == http.StatusTooManyRequests:
		return said || res.Header.Get("Retry-After") != ""
	case res.StatusCode == http.StatusRequestTimeout:
		return false
	}
	return res.StatusCode/100 == 4 && said
}

// isServiceCode reports whether code is one of the service's own for a request it did not carry out (service-facts.md,
// 10: words joined by "_"). What a gateway says is no such code, and an exception may have come up in the middle.
func isServiceCode(code string) bool {
	return strings.Contains(code, "_") && !strings.Contains(code, " ") && !strings.Contains(code, "_exception_")
}
