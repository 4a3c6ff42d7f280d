// Package tunnel gives this computer a public HTTPS address and serves an http.Handler on it: through ngrok, behind
// the office's own reverse proxy, or on this computer alone for the demo and for sign-in redirects.
//
// It promises to keep the address open until told otherwise, to come back by itself after every loss, to say what is
// wrong in words a person understands, and to protect the handler from slow, greedy and numerous clients. Requests
// reach the handler as the client sent them: Host, path and body bytes untouched.
//
// It must not know what is served: neither the signing service, nor the agent, nor any storage. It never logs or
// returns the authtoken, not even inside an answer of ngrok that repeats it.
package tunnel

import (
	"context"
	"errors"
	"net/http"
)

// Phase is where a tunnel stands.
type Phase string

const (
	Connecting Phase = "connecting" // the first try, or the first moments after a loss
	Up         Phase = "up"         // requests to URL arrive
	Down       Phase = "down"       // at least one try failed; the tunnel keeps trying
)

// State is what a Tunnel reports.
type State struct {
	Phase Phase
	// URL is the public base URL as ngrok or the settings gave it: no slash at the end added or removed. It is empty
	// until the tunnel is up for the first time and stays known through a loss. A reconnect keeps it; only an ngrok
	// tunnel without a domain may come back under another one, if ngrok assigns one.
	URL string
	// Err is why the tunnel is not up: an *Error, or nil when there is nothing to say.
	Err error
}

// Tunnel keeps a public address open.
type Tunnel interface {
	// Run opens the address and serves h on it until ctx ends, reconnecting by itself for ever. It calls report with
	// every change, from one goroutine at a time; report must not block. h is called from many goroutines.
	//
	// Run returns nil once everything is closed after ctx ended, within 5 seconds: requests being answered get 3 of
	// them. It returns an *Error earlier only for what trying again cannot mend, such as a wrong authtoken. A Tunnel
	// may run again after Run returned, but not twice at once.
	Run(ctx context.Context, h http.Handler, report func(State)) error
}

// states passes changes on and swallows repetitions. It belongs to the goroutine that calls Run.
type states struct {
	report func(State)
	last   State
}

func newStates(report func(State)) *states { return &states{report: report} }

// connecting says that the tunnel is on its way; why is nil on the first try.
func (s *states) connecting(why *Error) { s.set(Connecting, s.last.URL, why) }

func (s *states) down(why *Error) { s.set(Down, s.last.URL, why) }

func (s *states) up(url string) { s.set(Up, url, nil) }

func (s *states) set(phase Phase, url string, why *Error) {
	next := State{Phase: phase, URL: url}
	if why != nil {
		next.Err = why
	}
	if next.Phase == s.last.Phase && next.URL == s.last.URL && sameReason(next.Err, s.last.Err) {
		return
	}
	s.last = next
	s.report(next)
}

// sameReason compares what a person would be told, not the technical cause, which differs in every try.
func sameReason(a, b error) bool {
	var left, right *Error
	if !errors.As(a, &left) || !errors.As(b, &right) {
		return a == nil && b == nil
	}
	return left.Message() == right.Message()
}
