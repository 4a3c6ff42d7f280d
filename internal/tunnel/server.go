package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	maxConnections = 256
	shutdownTime   = 3 * time.Second
)

// server is the one hardened HTTP server that every kind of tunnel uses. HTTP/1.1 only: its limits are simple to
// state and ngrok speaks nothing else to an agent.
type server struct {
	http  *http.Server
	crowd *crowd
}

// newServer makes a server for h. writeTimeout is 0 for connections inside an ngrok session: an expired write
// deadline can corrupt the whole session, so streamConn bounds writes there in its own way.
func newServer(h http.Handler, writeTimeout time.Duration, log *slog.Logger) *server {
	s := &server{crowd: newCrowd(maxConnections)}
	s.http = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		WriteTimeout:      writeTimeout,
		ConnState:         s.crowd.moved,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// serve answers what l accepts until shutdown; it returns nil then, and otherwise why l ended. With a secure
// configuration it speaks TLS.
func (s *server) serve(l net.Listener, secure *tls.Config) error {
	l = s.crowd.listener(l)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shutdown lets requests that are being answered finish, for at most 3 seconds, and then closes every connection.
func (s *server) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	// http.Server waits for connections that never said a word; nobody else does.
	s.crowd.dismissSilent()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}
