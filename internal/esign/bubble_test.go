package esign

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// bubble runs f in a synctest bubble with a provider behind in-memory connections, so that time is a fake and
// waiting costs nothing.
func bubble(t *testing.T, change func(*provider), f func(t *testing.T, p *provider, cfg Config)) {
	synctest.Test(t, func(t *testing.T) {
		p := makeProvider(t, change)
		p.url = "http://127.0.0.1:1"
		conns := make(chan net.Conn)
		server := &http.Server{Handler: p.handler, ErrorLog: log.New(io.Discard, "", 0)}
		l := &pipeListener{conns: conns, done: make(chan struct{})}
		go server.Serve(l)
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			near, far := net.Pipe()
			select {
			case conns <- far:
				return near, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		cfg := p.config()
		cfg.HTTP = &http.Client{Transport: transport}
		f(t, p, cfg)
		transport.CloseIdleConnections()
		server.Close()
	})
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func started(p *provider, cfg Config) (*Session, *vault) {
	p.mu.Lock()
	p.refresh["rt-0"] = true
	p.mu.Unlock()
	v := &vault{token: "rt-0"}
	return NewSession(cfg, v), v
}

func access(t *testing.T, s *Session) string {
	t.Helper()
	a, err := s.Access(context.Background())
	must(t, err)
	return a
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
