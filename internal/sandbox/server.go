// Package sandbox is the complete electronic signature service on this machine: the authorization server, the API, the pages
// where people sign, the events, and an admin port that makes it misbehave on request. It is the embedded service of the
// demo and of the sandbox command, and the counterpart of the tests.
//
// It promises to follow interface.md to the letter, service-facts.md where that is silent, and the RFCs where both are; to
// keep everything it was told when it is killed and restarted on the same folder; to sign the exact bytes it delivers; and
// to leave no goroutine behind after Close.
//
// It must not import any other package of this program, least of all esign: two independent readings of interface.md check
// each other. It is made for one machine and for trying things out: whoever reaches its address may act as any of its users.
package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"countersign/internal/sandbox/press"
)

// Server is a running service. Its methods may be called from any goroutine.
//
// Requests run on the goroutines of net/http, and one goroutine delivers events. All of them end with Close.
type Server struct {
	opt     Options
	dir     string
	press   press.Press
	sealer  *sealer // nil if it does not seal
	tempDir bool
	url     string
	admin   string

	db       *bolt.DB
	faults   faults
	requests requestLog
	delivery *dispatcher
	locks    packageLocks
	pad      atomic.Int64 // the size to which executed downloads are padded
	lists    lists
	shelf    shelf

	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup // background goroutines and requests being served
	servers []*http.Server
	closing sync.Once
	closed  error
}

// Start opens the state and listens. When it returns, the service answers.
func Start(o Options) (*Server, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: o, dir: o.Dir, tempDir: o.Dir == "", press: press.Press{Program: o.Press}}
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
			_ = os.Remove(half) // left behind by a kill; it only wastes space
		}
	}
	return nil
}

func (s *Server) start() (err error) {
	if s.db, err = openDB(s.dir, !s.tempDir); err != nil {
		return err
	}
	if s.opt.Seal {
		if s.sealer, err = openSealer(s.dir, s.opt.Now()); err != nil {
			return err
		}
	}
	if err := s.addSamples(); err != nil {
		return fmt.Errorf("adding the sample templates: %w", err)
	}
	if err := s.loadShelf(); err != nil {
		return fmt.Errorf("reading the packages: %w", err)
	}
	if s.delivery, err = newDispatcher(s); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	s.workers.Go(func() { s.delivery.run(s.ctx) })
	return nil
}

// listen opens both ports before serving either, so that a failure leaves no goroutine.
func (s *Server) listen() error {
	main, err := s.opt.Listener, error(nil)
	if main == nil {
		main, err = net.Listen("tcp", s.opt.Listen)
	}
	if err != nil {
		return fmt.Errorf("listening on %s: %w", s.opt.Listen, err)
	}
	s.url = cmp.Or(s.opt.PublicURL, "http://"+main.Addr().String())
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
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
	s.servers = append(s.servers, srv)
	s.workers.Go(func() { _ = srv.Serve(l) }) // always http.ErrServerClosed
}

// URL is the address of the service: both {auth_url} and, with or without /api/v1, {base_url}. No trailing slash.
func (s *Server) URL() string { return s.url }

// AdminURL is the address of the admin port, "" if there is none.
func (s *Server) AdminURL() string { return s.admin }

// Close stops the service and waits for everything it started. It may be called more than once.
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

// handler is the public port: the log, the faults, and then the routes.
func (s *Server) handler() http.Handler {
	routes := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.workers.Add(1)
		defer s.workers.Done()
		_, route := routes.Handler(r)
		note := Request{Time: time.Now(), Method: r.Method, Path: r.URL.Path, Route: strings.Replace(route, " "+apiPrefix, " ", 1)}
		if strings.HasPrefix(note.Path, "/link/") {
			note.Path = "/link/…" // the token gives access to the document
		}
		m := &meter{ResponseWriter: w}
		w.Header().Set("Date", s.opt.Now().UTC().Format(http.TimeFormat))
		rule, faulty := s.takeFault(r.Method, strings.TrimPrefix(r.URL.Path, apiPrefix))
		defer func() {
			note.Status = m.status
			s.requests.add(note)
			s.opt.Log.Debug("request", "method", note.Method, "path", note.Path, "status", note.Status)
		}()
		if faulty {
			s.misbehave(rule, m, r, routes)
			return
		}
		routes.ServeHTTP(m, r)
	})
}

const apiPrefix = "/api/v1"

// routes are the authorization server, the pages for people, and the operations under {base_url}, with and without /api/v1.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, page := range map[string]http.HandlerFunc{
		"GET /.well-known/openid-configuration":    s.discovery,
		"GET /.well-known/jwks":                    s.jwks,
		"GET /connect/authorize":                   s.authorize,
		"POST /connect/authorize":                  s.authorize,
		"POST /connect/token":                      s.oauthForm(s.exchange),
		"POST /connect/revoke":                     s.oauthForm(s.revoke),
		"GET /connect/userinfo":                    s.api(s.userinfo),
		"POST /connect/userinfo":                   s.api(s.userinfo),
		"GET /{$}":                                 s.indexPage,
		"GET /link/{token}":                        s.signerPage,
		"POST /link/{token}":                       s.signerChoice,
		"GET /link/{token}/documents/{documentId}": s.signerDocument,
		"/": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusNotFound, errorBody("resource_not_found", "There is nothing at this address."))
		},
	} {
		mux.HandleFunc(pattern, page)
	}
	const document = "/packages/{packageId}/documents/{documentId}/pdf/"
	for pattern, operation := range map[string]call{
		"POST /events/endpoints/set":                      s.setEndpoint,
		"GET /organizations/info":                         s.organizationInfo, // the method is not shown: both
		"POST /organizations/info":                        s.organizationInfo,
		"POST /files/upload":                              s.uploadFiles,
		"POST /packages/add":                              s.addPackage,
		"POST /packages/list":                             s.listPackages,
		"POST /templates/list":                            s.listTemplates,
		"POST /packages/rescind":                          s.rescindPackage,
		"GET /packages/{packageId}":                       s.packageAnswer("package", s.packageView),
		"GET /packages/{packageId}/status":                s.packageAnswer("status", s.statusView),
		"POST /packages/{packageId}/link/sign/{signerId}": s.signLink,
		"GET " + document + "executed/download":           s.downloadExecuted,
		"GET " + document + "cac/download":                s.downloadCAC,
		"GET /masterfiles/{packageId}/pdf/download":       s.downloadMasterFile,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		if !s.opt.NoAPIPrefix {
			mux.HandleFunc(method+" "+apiPrefix+path, s.api(operation))
		}
		if !s.opt.OnlyAPIPrefix {
			mux.HandleFunc(pattern, s.api(operation))
		}
	}
	return mux
}

// apiError is an answer that is not 200 (service-facts.md section 10; RFC 6749 sections 4.1.2.1 and 5.2).
type apiError struct {
	Status  int
	Code    string
	Message string
}

func (e *apiError) Error() string { return e.Code + ": " + e.Message }

func badRequest(code, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

func forbidden(code, message string) *apiError {
	return &apiError{http.StatusForbidden, code, message}
}

// notFound does not reveal whether the object exists for somebody else.
func notFound(kind string) *apiError {
	return &apiError{http.StatusNotFound, kind + "_not_found", "The " + kind + " does not exist or you have no permission to see it."}
}

// call is an API operation: it returns a value to encode, or an error.
type call func(w http.ResponseWriter, r *http.Request, who caller) (any, error)

// api turns an operation into a handler that checks the access token first.
func (s *Server) api(fn call) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.authenticate(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sandbox", error="invalid_token"`)
			writeJSON(w, http.StatusUnauthorized, errorBody("access_token_invalid", "The access token is missing, unknown or expired."))
			return
		}
		answer, err := fn(w, r, who)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		if answer != nil {
			writeJSON(w, http.StatusOK, answer)
		}
	}
}

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var e *apiError
	if !errors.As(err, &e) {
		s.opt.Log.Error("request failed", "method", r.Method, "route", r.Pattern, "error", err)
		e = &apiError{http.StatusInternalServerError, "service_exception_unexpected", "Something unexpected happened in the service."}
	}
	writeJSON(w, e.Status, errorBody(e.Code, e.Message))
}

func errorBody(code, message string) map[string]string {
	return map[string]string{"error": code, "message": message}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client has disconnected
}

// maxBody bounds a JSON body; file contents never travel in one.
const maxBody = 4 << 20

// readJSON decodes a request body into v. Unknown fields are ignored, an empty body is an empty object.
func readJSON(w http.ResponseWriter, r *http.Request, kind string, v any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &apiError{http.StatusRequestEntityTooLarge, kind + "_length_body", "The request is too large."}
	case err != nil:
		return badRequest(kind+"_invalid_body", "The request could not be read to its end.")
	case len(strings.TrimSpace(string(raw))) == 0:
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return badRequest(kind+"_invalid_json", "The request is not the JSON that is expected here: %v.", err)
	}
	return nil
}

// Options configure a service. The zero value is a service for a demo: a free port on 127.0.0.1, nothing kept after Close,
// one client and two people.
type Options struct {
	Dir         string // for state and documents; "" is a temporary folder, removed by Close
	Listen      string // host:port, default 127.0.0.1:0
	AdminListen string // host:port of the admin port on a loopback address; "" for none
	PublicURL   string // the address people and programs see, if it differs from the one listened on; no trailing slash

	Clients []Client // registered applications; DemoClient if empty
	Users   []User   // people who can sign in; DemoUsers if empty

	AccessTokenLifetime time.Duration // default 30 minutes
	SignatureHeader     string        // header that carries the signature of an event, default X-Service-Signature

	// Listener, when set, is used instead of Listen, and PublicURL must name it. With Delivery.Dial a whole service runs
	// without a network.
	Listener net.Listener
	Delivery DeliveryOptions

	AutoConsent bool // signs in the hinted user, or else an administrator, and consents without a page

	Bare          bool // answers exactly the fields that interface.md shows, not the public records
	NoDiscovery   bool // 404 on /.well-known/openid-configuration
	OnlyAPIPrefix bool // serves the API only under /api/v1
	NoAPIPrefix   bool // serves the API only without /api/v1

	KeyBits int // of the key that signs id_tokens, default 2048

	Press []string // the program that reads uploaded documents, see press.Press; if empty, this process
	Seal  bool     // seals the delivered PDFs

	Now func() time.Time // the clock for lifetimes and time stamps. Waiting uses real time
	Log *slog.Logger     // nil logs nothing
}

// DeliveryOptions say how events reach their endpoints.
type DeliveryOptions struct {
	// Dial, when set, makes all connections, including secure ones, instead of the system's network.
	Dial       func(ctx context.Context, network, addr string) (net.Conn, error)
	CAs        *x509.CertPool    // trusted; nil means the system's roots
	Via        map[string]string // host:port of an endpoint to the host:port to connect to instead
	RetryFirst time.Duration     // wait after the first failure, doubled after each further one, default 1 s
	RetryMax   time.Duration     // longest wait between attempts, default 5 minutes
}

// Client is a registered OAuth application.
type Client struct {
	ID        string   `json:"id"`
	Secret    string   `json:"secret"` // "" is a public client, which must use PKCE
	Name      string   `json:"name"`   // names its webhook endpoint
	Redirects []string `json:"redirects"`
}

// User is a person with an account. There are no passwords: on the sign-in page, anybody can choose a user.
type User struct {
	Email          string `json:"email"`
	FirstName      string `json:"first_name"`
	LastName       string `json:"last_name"`
	OrganizationID string `json:"organization_id"` // UUID; "" is the demo organization
	MemberID       string `json:"member_id"`       // UUID; "" is derived from the email, always the same
	Admin          bool   `json:"admin"`           // an Organization Administrator
}

// DemoClient is the default of Options.Clients. Its loopback redirects accept any port (RFC 8252 section 7.3).
func DemoClient() Client {
	return Client{
		ID: "countersign-demo", Secret: "demo-secret-not-a-secret", Name: "Countersign",
		Redirects: []string{
			"http://127.0.0.1/oauth/callback", "http://[::1]/oauth/callback",
			"http://127.0.0.1/callback", "http://[::1]/callback",
		},
	}
}

// DemoUsers are the default of Options.Users: one administrator and one ordinary member.
func DemoUsers() []User {
	return []User{
		{Email: "olivia.office@example.com", FirstName: "Olivia", LastName: "Office", Admin: true},
		{Email: "max.member@example.com", FirstName: "Max", LastName: "Member"},
	}
}

// namespace makes derived identifiers the same on every machine.
var namespace = uuid.MustParse("6f2c1f7e-2f0b-5b0c-9a47-0d6b7e3c1a55")

func derivedID(what string) string { return uuid.NewSHA1(namespace, []byte(what)).String() }

// complete fills in the defaults and rejects invalid options.
func (o Options) complete() (Options, error) {
	setDefault(&o.Listen, "127.0.0.1:0")
	setDefault(&o.AccessTokenLifetime, 30*time.Minute)
	setDefault(&o.KeyBits, 2048)
	setDefault(&o.SignatureHeader, "X-Service-Signature")
	setDefault(&o.Delivery.RetryFirst, time.Second)
	setDefault(&o.Delivery.RetryMax, 5*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Clients) == 0 {
		o.Clients = []Client{DemoClient()}
	}
	if len(o.Users) == 0 {
		o.Users = DemoUsers()
	}
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	if o.OnlyAPIPrefix && o.NoAPIPrefix {
		return o, errors.New("the API cannot be served only with and only without /api/v1")
	}
	if o.Listener != nil && o.PublicURL == "" {
		return o, errors.New("a listener of one's own needs a public address")
	}
	for _, c := range o.Clients {
		if c.ID == "" {
			return o, errors.New("a client has no id")
		}
		for _, r := range c.Redirects {
			if why := redirectProblem(r); why != "" {
				return o, fmt.Errorf("redirect %q of client %q %s", r, c.ID, why)
			}
		}
	}
	users := make([]User, len(o.Users))
	for i, u := range o.Users {
		if u.Email == "" {
			return o, errors.New("a user has no email address")
		}
		setDefault(&u.OrganizationID, derivedID("organization"))
		setDefault(&u.MemberID, derivedID("member:"+strings.ToLower(u.Email)))
		users[i] = u
	}
	o.Users = users
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (u User) subject() string { return derivedID("subject:" + strings.ToLower(u.Email)) }

func (u User) fullName() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

func (s *Server) client(id string) (Client, bool) {
	return first(s.opt.Clients, func(c Client) bool { return c.ID == id })
}

func (s *Server) user(email string) (User, bool) {
	return first(s.opt.Users, func(u User) bool { return strings.EqualFold(u.Email, email) })
}

// first is the first wanted element, if there is one.
func first[T any](all []T, wanted func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, wanted); i >= 0 {
		return all[i], true
	}
	return found, false
}

// chance is a source of randomness. It is seeded from crypto/rand, as every id and token is, so that making that
// deterministic (testing/cryptotest) makes everything the service does repeatable.
func chance() *mrand.Rand {
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails, as below
	return mrand.New(mrand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])))
}

// newToken is a secret of 256 random bits, safe in a URL.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hashed is the form in which a token is stored, so that a copy of the state grants no access.
func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func newID() string { return uuid.NewString() }

//go:embed web/*.html web/*.css web/*.js
var webFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"css":  func() template.CSS { return template.CSS(asset("page.css")) },
	"pad":  func() template.JS { return template.JS(asset("pad.js")) },
	"when": func(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") },
}).ParseFS(webFiles, "web/*.html"))

func asset(name string) string {
	raw, err := webFiles.ReadFile("web/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(raw)
}

// show answers with a page. It loads nothing from elsewhere, and no other site may frame it.
func (s *Server) show(w http.ResponseWriter, status int, name string, data map[string]any) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	noStore(w)
	w.WriteHeader(status)
	if err := pages.ExecuteTemplate(w, name, data); err != nil {
		s.opt.Log.Debug("showing a page failed", "page", name, "error", err)
	}
}

func (s *Server) showProblem(w http.ResponseWriter, status int, title, text string) {
	s.show(w, status, "problem.html", map[string]any{"Title": title, "Text": text})
}

func (s *Server) showFailure(w http.ResponseWriter, err error) {
	s.opt.Log.Error("a page failed", "error", err)
	s.showProblem(w, http.StatusInternalServerError, "Something unexpected happened.", "The log of the service has the reason.")
}

type indexSigner struct {
	Name, Link, Word string
	Done, Turn       bool
}

// indexPage is GET /: what this service is, who can sign in, and the newest packages with their signers' pages.
func (s *Server) indexPage(w http.ResponseWriter, _ *http.Request) {
	type indexPackage struct {
		Name, State string
		Created     time.Time
		Signers     []indexSigner
	}
	const most = 100
	all, now := s.packs(), s.opt.Now()
	shown := []indexPackage{}
	for _, p := range all[:min(len(all), most)] {
		in := indexPackage{Name: p.Name, State: p.stateAt(now), Created: p.TimeCreated}
		for _, sg := range p.Signers {
			word, done, turn := p.standing(&sg, now)
			in.Signers = append(in.Signers, indexSigner{sg.fullName(), "/link/" + sg.LinkToken, word, done, turn})
		}
		shown = append(shown, in)
	}
	s.show(w, http.StatusOK, "index.html", map[string]any{
		"Title": "Signing service", "URL": s.url, "Clients": s.opt.Clients, "Users": s.opt.Users,
		"Packages": shown, "More": len(all) - len(shown),
	})
}

// standing is a signer's state in a word.
func (p *pack) standing(sg *signer, now time.Time) (word string, done, turn bool) {
	switch {
	case sg.State == signerDeclined:
		return "declined", false, false
	case p.signedBy(sg.SignerID):
		return "signed", true, false
	case p.hasTurn(sg.SignerID, now):
		return "to sign", false, true
	}
	return "waiting", false, false
}

// Request is one line of the request log. Queries, bodies, headers and the tokens of signing links are not kept.
type Request struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Route  string    `json:"route"`  // the pattern that matched, without /api/v1; / if none did
	Status int       `json:"status"` // 0: the connection was cut before an answer
}

// maxRequests bounds the log.
const maxRequests = 2000

// requestLog may be used from any goroutine.
type requestLog struct {
	mu   sync.Mutex
	last []Request
}

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) >= maxRequests {
		l.last = append(l.last[:0], l.last[maxRequests/2:]...)
	}
	l.last = append(l.last, r)
}

// Requests returns the newest requests, oldest first.
func (s *Server) Requests() []Request {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return slices.Clone(s.requests.last)
}

// meter records the answer.
type meter struct {
	http.ResponseWriter
	status int
}

func (m *meter) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	return m.ResponseWriter.Write(p)
}

func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// Every record is one JSON value in one bbolt bucket, so a kill at any instruction leaves the last whole transaction.
const (
	bucketKeys       = "keys"       // keyRS256
	bucketCodes      = "codes"      // hash of the code -> authCode
	bucketGrants     = "grants"     // grant id -> grant: the family of tokens one sign-in gave
	bucketAccess     = "access"     // hash of the token -> accessToken
	bucketRefresh    = "refresh"    // hash of the token -> refreshToken
	bucketEndpoints  = "endpoints"  // organization|client -> endpoint
	bucketFiles      = "files"      // file id -> file
	bucketPackages   = "packages"   // package id -> pack
	bucketLinks      = "links"      // link token -> link
	bucketDeliveries = "deliveries" // sequence -> delivery
	bucketTemplates  = "templates"  // template id -> packTemplate
)

var buckets = []string{
	bucketKeys, bucketCodes, bucketGrants, bucketAccess, bucketRefresh,
	bucketEndpoints, bucketFiles, bucketPackages, bucketLinks, bucketDeliveries, bucketTemplates,
}

var errNotFound = errors.New("not found")

// openDB opens the state in dir. With durable it survives a power failure; otherwise the system decides when to write.
func openDB(dir string, durable bool) (*bolt.DB, error) {
	path := filepath.Join(dir, "sandbox.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 3 * time.Second, NoSync: !durable, NoFreelistSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("the folder %q is in use by another sandbox", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the state in %q: %w", dir, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(b)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("preparing the state in %q: %w", dir, err)
	}
	return db, nil
}

// get reads one record, or errNotFound.
func get[T any](tx *bolt.Tx, bucket, key string) (T, error) {
	var v T
	raw := tx.Bucket([]byte(bucket)).Get([]byte(key))
	if raw == nil {
		return v, errNotFound
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("reading %s %q: %w", bucket, key, err)
	}
	return v, nil
}

func put(tx *bolt.Tx, bucket, key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", bucket, err)
	}
	return tx.Bucket([]byte(bucket)).Put([]byte(key), raw)
}

func remove(tx *bolt.Tx, bucket, key string) error {
	return tx.Bucket([]byte(bucket)).Delete([]byte(key))
}

// each calls fn with every record of a bucket in key order. fn must not write to the bucket.
func each[T any](tx *bolt.Tx, bucket string, fn func(key string, v T) error) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(k, raw []byte) error {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("reading %s %q: %w", bucket, k, err)
		}
		return fn(string(k), v)
	})
}

// read is get in its own transaction.
func read[T any](db *bolt.DB, bucket, key string) (v T, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		v, err = get[T](tx, bucket, key)
		return err
	})
	return v, err
}
