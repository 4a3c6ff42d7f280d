package sandbox

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/sandbox/press"

	bolt "go.etcd.io/bbolt"
)

// Server is a running service. Its methods may be called from any goroutine.
//
// Requests run on the goroutines of net/http. Beside them there are Options.DeliverWorkers goroutines that deliver
// events and, with Options.AutoSign, one for each package that somebody is about to sign. All of them end with Close.
type Server struct {
	opt     Options
	log     *slog.Logger
	dir     string
	press   press.Press
	tempDir bool
	url     string
	admin   string

	db       *bolt.DB
	key      signingKey
	formKey  []byte
	logins   logins
	faults   faults
	requests requestLog
	delivery *dispatcher
	locks    packageLocks
	pad      padding
	lists    lists
	shelf    shelf
	swept    atomic.Pointer[time.Time] // when old uploads were last looked for

	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup // background goroutines and requests being served
	servers []*http.Server
	closing sync.Once
	closed  error
}

// Start opens the state and listens. The service answers when it returns.
func Start(o Options) (*Server, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: o, log: o.Log, dir: o.Dir, tempDir: o.Dir == "", press: press.Press{Program: o.Press}}
	if err := s.openFolder(); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) openFolder() error {
	if s.tempDir {
		dir, err := os.MkdirTemp("", "countersign-sandbox-")
		if err != nil {
			return fmt.Errorf("making a temporary folder: %w", err)
		}
		s.dir = dir
	}
	for _, sub := range []string{"files", "signed"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o700); err != nil {
			return fmt.Errorf("making the sandbox folder: %w", err)
		}
		halves, _ := filepath.Glob(filepath.Join(s.dir, sub, "*.part")) // the pattern is well formed
		for _, half := range halves {
			_ = os.Remove(half) // left by a kill; it costs space, nothing else
		}
	}
	return nil
}

func (s *Server) start() (err error) {
	if s.db, err = openDB(s.dir, !s.tempDir); err != nil {
		return err
	}
	if s.formKey, err = read[[]byte](s.db, bucketKeys, keyForms); err != nil {
		return err
	}
	if err := errors.Join(s.sweepFiles(), s.sweepTokens()); err != nil {
		return fmt.Errorf("tidying the state: %w", err)
	}
	if err := s.addSamples(); err != nil {
		return fmt.Errorf("adding the sample templates: %w", err)
	}
	if s.delivery, err = newDispatcher(s); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	s.delivery.start()
	return s.playAllSigners()
}

// listen opens both ports before either is served, so that a failure leaves no goroutine.
func (s *Server) listen() error {
	main, err := s.opt.Listener, error(nil)
	if main == nil {
		main, err = net.Listen("tcp", s.opt.Listen)
	}
	if err != nil {
		return fmt.Errorf("listening on %s: %w", s.opt.Listen, err)
	}
	scheme := "http"
	if s.opt.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(s.opt.CertFile, s.opt.KeyFile)
		if err != nil {
			_ = main.Close()
			return fmt.Errorf("reading the certificate: %w", err)
		}
		main = tls.NewListener(main, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
		scheme = "https"
	}
	s.url = scheme + "://" + main.Addr().String()
	if s.opt.PublicURL != "" {
		s.url = s.opt.PublicURL
	}
	if s.opt.AdminListen != "" {
		l, err := listenLoopback(s.opt.AdminListen)
		if err != nil {
			_ = main.Close()
			return err
		}
		s.admin = "http://" + l.Addr().String()
		s.serve(l, s.adminHandler())
	}
	s.serve(main, s.handler())
	return nil
}

func (s *Server) serve(l net.Listener, h http.Handler) {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.servers = append(s.servers, srv)
	s.workers.Go(func() { _ = srv.Serve(l) }) // always http.ErrServerClosed
}

// URL is the address of the service: both {auth_url} and, with or without /api/v1, {base_url}. No trailing slash.
func (s *Server) URL() string { return s.url }

// AdminURL is the address of the admin port, "" when there is none.
func (s *Server) AdminURL() string { return s.admin }

// Close stops the service and waits for all it started. It is safe to call more than once.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.cancel()
		ctx, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		for _, srv := range s.servers {
			if srv.Shutdown(ctx) != nil {
				_ = srv.Close()
			}
		}
		s.workers.Wait()
		if s.delivery != nil {
			s.delivery.http.CloseIdleConnections()
		}
		if s.db != nil {
			s.closed = s.db.Close()
		}
		if s.tempDir {
			s.closed = errors.Join(s.closed, os.RemoveAll(s.dir))
		}
	})
	return s.closed
}

// handler is the public port: the log, the faults, and then the routes with and without /api/v1.
func (s *Server) handler() http.Handler {
	web, api := s.webRoutes(), s.apiRoutes()
	routes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prefixed := strings.HasPrefix(r.URL.Path, apiPrefix+"/")
		if prefixed && !s.opt.NoAPIPrefix {
			stripPrefix(r)
			api.ServeHTTP(w, r)
			return
		}
		if _, pattern := web.Handler(r); pattern != "" || s.opt.OnlyAPIPrefix || prefixed {
			web.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
	// routeOf is the pattern that would serve a request.
	routeOf := func(r *http.Request) string {
		at := *r.URL
		of := *r
		of.URL = &at
		prefixed := strings.HasPrefix(at.Path, apiPrefix+"/")
		if _, pattern := web.Handler(&of); !prefixed && pattern != "" {
			return pattern
		}
		stripPrefix(&of)
		_, pattern := api.Handler(&of)
		return pattern
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.workers.Add(1)
		defer s.workers.Done()
		start, method, path := time.Now(), r.Method, r.URL.Path
		m := &meter{ResponseWriter: w}
		rule, faulty := s.faults.take(method, strings.TrimPrefix(path, apiPrefix))
		var route string
		if faulty { // which may keep it from where it is noted
			route = routeOf(r)
		}
		defer func() {
			if strings.HasPrefix(path, "/link/") {
				path = "/link/…" // the token opens the document
			}
			s.requests.add(Request{
				Time: start, Method: method, Path: path, Route: cmp.Or(r.Pattern, route), Status: m.status, Bytes: m.bytes,
				Duration: time.Since(start), Fault: rule.ID,
			})
			s.log.Debug("request", "method", method, "path", path, "status", m.status)
		}()
		if faulty {
			s.misbehave(s.ctx, rule, m, r, routes)
			return
		}
		routes.ServeHTTP(m, r)
	})
}

const apiPrefix = "/api/v1"

func stripPrefix(r *http.Request) {
	r.URL.Path = strings.TrimPrefix(r.URL.Path, apiPrefix)
	r.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, apiPrefix)
}

// apiRoutes are the operations under {base_url}.
func (s *Server) apiRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /events/endpoints/set", s.api(s.setEndpoint))
	mux.HandleFunc("GET /organizations/info", s.api(s.organizationInfo))
	mux.HandleFunc("POST /organizations/info", s.api(s.organizationInfo)) // the method is not shown: both
	mux.HandleFunc("POST /files/upload", s.api(s.uploadFiles))
	mux.HandleFunc("POST /packages/add", s.api(s.addPackage))
	mux.HandleFunc("POST /packages/list", s.api(s.listPackages))
	mux.HandleFunc("POST /templates/list", s.api(s.listTemplates))
	mux.HandleFunc("POST /packages/send", s.api(s.sendPackage))
	mux.HandleFunc("POST /packages/rescind", s.api(s.rescindPackage))
	mux.HandleFunc("GET /packages/{packageId}", s.api(s.getPackage))
	mux.HandleFunc("GET /packages/{packageId}/status", s.api(s.packageStatus))
	mux.HandleFunc("POST /packages/{packageId}/link/sign/{signerId}", s.api(s.signLink))
	mux.HandleFunc("GET /packages/{packageId}/documents/{documentId}/pdf/executed/download", s.api(s.downloadExecuted))
	mux.HandleFunc("GET /packages/{packageId}/documents/{documentId}/pdf/cac/download", s.api(s.downloadCAC))
	mux.HandleFunc("GET /masterfiles/{packageId}/pdf/download", s.api(s.downloadMasterFile))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, errorBody("resource_not_found", "There is nothing at this address."))
	})
	return mux
}
