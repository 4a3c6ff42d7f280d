package ngroktest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

var errNobody = errors.New("no agent serves this host")

// arrival is what a public request's proxy stream needs to know about it.
type arrival struct{ host, client string }

type arrivalKey struct{}

// newPublicServer forwards every request to the agent that has its host bound. Host, path, query and body go through
// as they came; X-Forwarded-For is appended to and X-Forwarded-Proto and -Host are set, as ngrok does.
func newPublicServer(e *Edge) *http.Server {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http" // TLS ends here; what follows runs inside the agent's session
			r.Out.URL.Host = r.In.Host
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			// A stream per request: a pooled one could belong to a session that a test just killed.
			DisableKeepAlives: true,
			// Left to itself the transport would ask for gzip on the client's behalf.
			DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				from := ctx.Value(arrivalKey{}).(arrival)
				return e.dialAgent(from)
			},
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errNobody) {
				http.Error(w, "The endpoint is offline.\r\n\r\nERR_NGROK_3200", http.StatusNotFound)
				return
			}
			http.Error(w, "The agent did not answer.\r\n\r\nERR_NGROK_3004", http.StatusBadGateway)
		},
	}
	return &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			number := e.arrived(r)
			recorder := &statusRecorder{ResponseWriter: w}
			defer func() { e.answered(number, recorder.status) }()
			from := arrival{host: r.Host, client: r.RemoteAddr}
			forward.ServeHTTP(recorder, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, from)))
		}),
	}
}

func (e *Edge) dialAgent(from arrival) (net.Conn, error) {
	e.mu.Lock()
	session, bind := e.findLocked(from.host)
	e.mu.Unlock()
	if session == nil {
		return nil, errNobody
	}
	return session.open(bind, from.client)
}

// findLocked finds who serves host. The port counts only when the bound URL names one.
func (e *Edge) findLocked(host string) (*session, *bind) {
	host = strings.ToLower(host)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	for s := range e.sessions {
		for _, b := range s.binds {
			if b.host == host || b.host == name {
				return s, b
			}
		}
	}
	return nil, nil
}

func (e *Edge) arrived(r *http.Request) (number int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Requests++
	e.requests = append(e.requests, Request{Host: r.Host, Path: r.URL.Path})
	e.bump()
	return len(e.requests) - 1
}

func (e *Edge) answered(number, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests[number].Status = status
	e.bump()
}

// Client returns an HTTP client to whom every host is this edge's public side and which trusts its certificates.
// It follows no redirects and keeps no connections; any number of goroutines may use it.
func (e *Edge) Client() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: e.Authority().Pool(), MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				var dialer net.Dialer
				return dialer.DialContext(ctx, network, e.PublicAddr())
			},
		},
	}
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	if r.status == 0 || r.status < 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the proxy flush through the recorder.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
