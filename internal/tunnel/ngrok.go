package tunnel

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NgrokConfig says how to reach ngrok and which address to ask for.
type NgrokConfig struct {
	Authtoken string
	// Domain is the public host name, with or without https://; "" is the domain ngrok assigned to the account.
	Domain     string
	ConnectURL string         // ngrok's server as host:port; "" is ngrok's own
	CAs        *x509.CertPool // what the server's certificate may be signed by; nil is ngrok's own authority alone
	// Dial connects to the server, through whatever proxy is on the way; nil goes straight. What people are told of its
	// errors is their message, where they have one.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// HeartbeatInterval and HeartbeatTolerance bound how long a silent network goes unnoticed: their sum. 0 means the
	// SDK's 10 s and 15 s.
	HeartbeatInterval  time.Duration
	HeartbeatTolerance time.Duration
	Log                *slog.Logger // nil logs nothing; the SDK's own log arrives at debug level
}

const ngrokServer = "connect.ngrok-agent.com:443"

// dialTime bounds one try to connect, proxies and their sign-in included.
const dialTime = 30 * time.Second

// Ngrok returns a tunnel through ngrok.
//
// Run ends early only for a wrong authtoken (refused twice), a domain that is not the account's, or settings that
// cannot be understood. An address in use is reported at once as DomainInUse and tried again every few seconds: after a
// sleep ngrok may hold the computer's own earlier session for a minute, so callers do well to tell people only then.
// After Run returned, goroutines of the SDK may live on for a while, because it does not look up while it waits: 2 s
// between two tries, one heartbeat interval and tolerance for a session that was lost. They hold no connection and
// reach nothing of the caller's.
func Ngrok(c NgrokConfig) Tunnel { return ngrokTunnel{c} }

type ngrokTunnel struct{ config NgrokConfig }

// Run implements Tunnel.
func (t ngrokTunnel) Run(ctx context.Context, h http.Handler, report func(State)) error {
	c := t.config
	st := newStates(report)
	if e := c.check(); e != nil {
		st.down(e)
		return e
	}
	connections := newFeed()
	srv := newServer(h, 0, c.log())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.serve(connections, nil)
	}()
	defer func() {
		srv.shutdown()
		<-served
	}()

	st.connecting(nil)
	waits := newWaits()
	for {
		began := time.Now()
		e := t.once(ctx, st, srv, connections)
		if e == nil {
			return nil
		}
		st.down(e)
		if e.permanent {
			return e
		}
		if time.Since(began) > time.Minute {
			waits.Reset()
		}
		if !pause(ctx, min(waits.NextBackOff(), longestFor(e))) {
			return nil
		}
	}
}

// once runs one link. It returns nil when ctx ended, else why the link is of no more use.
func (t ngrokTunnel) once(ctx context.Context, st *states, srv *server, connections *feed) *Error {
	l, err := openLink(t.config, connections)
	if err != nil {
		return t.config.explain(err)
	}
	defer l.close()
	e := l.watch(ctx, st)
	if e == nil {
		// Answers under way still need the session, so the server goes first.
		srv.shutdown()
	}
	return e
}

// check finds settings that cannot work before anything connects.
func (c NgrokConfig) check() *Error {
	if c.Authtoken == "" {
		return &Error{Kind: Token, permanent: true}
	}
	if host := c.host(); host != "" {
		u, err := url.Parse("https://" + host)
		if err != nil || u.Host != host || u.Hostname() == "" {
			return &Error{Kind: Setting, Address: c.Domain, permanent: true}
		}
	}
	return nil
}

// host is the domain as ngrok wants it: people paste whole addresses.
func (c NgrokConfig) host() string {
	host := strings.TrimSpace(c.Domain)
	host = strings.TrimPrefix(host, "https://")
	return strings.TrimSuffix(host, "/")
}

func (c NgrokConfig) server() string { return NgrokServer(c.ConnectURL) }

// NgrokServer is where agents connect to, as host:port: connectURL, or ngrok's own server.
func NgrokServer(connectURL string) string { return cmp.Or(connectURL, ngrokServer) }

func (c NgrokConfig) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// dial makes one try.
func (c NgrokConfig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return dial(ctx, network, address)
}

// secrets are what must not appear in any text.
func (c NgrokConfig) secrets() []string { return []string{c.Authtoken} }
