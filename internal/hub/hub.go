// Package hub is the NATS server that the desk with the public address runs for the office's other desks: one stream of
// verified events, in a folder of this computer.
//
// What it promises: without an admitted key nobody gets anything but a TLS connection; each desk has an account of its own,
// which contains only what the desk needs to read, acknowledge and ask the hub (permissions within a shared account would
// not suffice: they do not check a request's reply subject); a removed key is disconnected immediately; what was
// acknowledged to the publisher is on disk.
//
// What it must not know: what an event is, who publishes it and why. Of the stream it knows only the name. The stream may be
// lost; then the publisher fills it again.
package hub

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"golang.org/x/time/rate"
)

// Config configures a Hub. All fields but Desks are required.
type Config struct {
	Folder      string // used only by this process
	Listen      string // host:port
	Certificate tls.Certificate
	Stream      string   // its name
	Own         string   // the publisher's public key
	Desks       []string // public keys admitted from the start
	Log         *slog.Logger
}

const (
	maxStore    = 4 << 30 // bytes on disk
	maxPayload  = 2 << 20
	maxDesks    = 512
	startTime   = 10 * time.Second
	signInTime  = 3 // seconds in which a stranger must authenticate
	account     = "OFFICE"
	readPrefix  = "HUBJS." // prefix of a desk's JetStream requests, because its account has no JetStream itself
	ownRequests = "office.desk."
)

// Hub is a running server. All methods are safe for concurrent use.
type Hub struct {
	c      Config
	server *server.Server
	office *server.Account

	mu    sync.Mutex
	desks map[string]*member // by public key
}

type member struct {
	account *server.Account
	clients []uint64
}

// Start starts the server. Its error says why it cannot use the port or the folder.
func Start(c Config) (*Hub, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	if number == 0 {
		number = server.RANDOM_PORT
	} else if probe, err := net.Listen("tcp", c.Listen); err != nil { // check first: the server would only log it, and wait
		return nil, err
	} else if err := probe.Close(); err != nil {
		return nil, err
	}
	h := &Hub{c: c, desks: map[string]*member{}}
	said := &logger{log: c.Log, says: rate.NewLimiter(rate.Every(20*time.Second), 5)}
	o := &server.Options{
		ServerName: "office", Host: host, Port: number, NoSigs: true, NoLog: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: c.Folder, SyncAlways: true, JetStreamMaxMemory: 1 << 20, JetStreamMaxStore: maxStore,
		MaxPayload: maxPayload, MaxConn: 2 * maxDesks,
		TLS: true, TLSHandshakeFirst: true, TLSTimeout: signInTime, AuthTimeout: signInTime,
		TLSConfig:                  &tls.Config{Certificates: []tls.Certificate{c.Certificate}, MinVersion: tls.VersionTLS13},
		CustomClientAuthentication: h, AlwaysEnableNonce: true,
		Accounts: []*server.Account{server.NewAccount(account)},
	}
	if h.server, err = server.NewServer(o.Clone()); err != nil {
		return nil, err
	}
	h.server.SetLoggerV2(said, false, false, false)
	if h.office, err = h.server.LookupAccount(account); err != nil {
		return nil, err
	}
	for _, key := range c.Desks { // before the server listens, so that no desk is told that it is unknown
		if err := h.Admit(key); err != nil {
			return nil, err
		}
	}
	h.server.Start()
	for end := time.Now().Add(startTime); !h.server.ReadyForConnections(100 * time.Millisecond); {
		if err := said.failed(); err != nil || time.Now().After(end) {
			h.Close()
			return nil, fmt.Errorf("start the server for desks: %w", errors.Join(err, errors.New("it is not ready")))
		}
	}
	if err := h.office.EnableJetStream(nil, nil); err != nil {
		h.Close()
		return nil, fmt.Errorf("start the stream for desks: %w", err)
	}
	return h, nil
}

// Close stops the server and closes all connections.
func (h *Hub) Close() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

func (h *Hub) Address() net.Addr { return h.server.Addr() }

// InProcessConn connects this program itself.
func (h *Hub) InProcessConn() (net.Conn, error) { return h.server.InProcessConn() }

// Trouble is what prevents writing to the stream, such as a disk that was full. Only a restart fixes it.
func (h *Hub) Trouble() error {
	if s := h.server.Healthz(nil); s != nil && s.StatusCode != http.StatusOK {
		return errors.New(s.Error)
	}
	return nil
}

// reads are the stream requests that a desk may make.
func (h *Hub) reads(key string) []string {
	return []string{"$JS.API.CONSUMER.MSG.NEXT." + h.c.Stream + "." + key, "$JS.API.CONSUMER.INFO." + h.c.Stream + "." + key}
}

// acks is the subject on which a desk acknowledges.
func (h *Hub) acks(key string) string { return "$JS.ACK." + h.c.Stream + "." + key + ".>" }

// imported is a desk's name for a subject of the stream's account.
func imported(subject string) string { return readPrefix + subject[len("$JS.API."):] }

// Admit accepts the desk with that public key from now on.
func (h *Hub) Admit(key string) error {
	if !nkeys.IsValidPublicUserKey(key) {
		return errors.New("this is no public key of a desk")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.desks[key] != nil {
		return nil
	}
	a, fresh := h.server.LookupOrRegisterAccount("DESK_" + key)
	if !fresh { // a removed desk returns
		h.desks[key] = &member{account: a}
		return nil
	}
	var err error
	only := []*server.Account{a}
	for _, subject := range h.reads(key) { // answered by more than one message
		err = errors.Join(err, h.office.AddServiceExportWithResponse(subject, server.Streamed, only), a.AddServiceImport(h.office, imported(subject), subject))
	}
	err = errors.Join(err, h.office.AddServiceExportWithResponse(h.acks(key), server.Streamed, only), a.AddServiceImport(h.office, h.acks(key), h.acks(key)),
		h.office.AddServiceExport(ownRequests+key, only), a.AddServiceImport(h.office, ownRequests+key, ownRequests+key))
	if err == nil {
		h.desks[key] = &member{account: a}
	}
	return err
}

// Remove disconnects the desk with that key and no longer accepts it.
func (h *Hub) Remove(key string) {
	h.mu.Lock()
	gone := h.desks[key]
	delete(h.desks, key)
	h.mu.Unlock()
	if gone != nil {
		for _, id := range gone.clients {
			_ = h.server.DisconnectClientByID(id) // may already be gone
		}
	}
}

func (h *Hub) Connected(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.desks[key]
	return m != nil && slices.ContainsFunc(m.clients, h.lives)
}

func (h *Hub) lives(id uint64) bool { return h.server.GetClient(id) != nil }

// Check is server.Authentication: a client must prove that it has the key it names.
func (h *Hub) Check(c server.ClientAuthentication) bool {
	key := c.GetOpts().Nkey
	public, err := nkeys.FromPublicKey(key)
	if err != nil {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(c.GetOpts().Sig)
	if err != nil || public.Verify(c.GetNonce(), signature) != nil {
		return false
	}
	if key == h.c.Own && c.GetTLSConnectionState() == nil { // a connection from within this process
		c.RegisterUser(&server.User{Username: key, Account: h.office})
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.desks[key]
	if m == nil {
		return false
	}
	for _, id := range m.clients { // one connection for each desk: two would share its events, and each would miss the other's
		_ = h.server.DisconnectClientByID(id) // may already be gone
	}
	m.clients = []uint64{c.GetID()}
	asks := []string{h.acks(key), ownRequests + key}
	for _, subject := range h.reads(key) {
		asks = append(asks, imported(subject))
	}
	c.RegisterUser(&server.User{Username: key, Account: m.account, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: asks},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_" + key + ".>"}},
	}})
	return true
}

// logger passes the server's messages to the log, at a limited rate because strangers could fill the log, and remembers its
// fatal error.
type logger struct {
	log  *slog.Logger
	says *rate.Limiter

	mu  sync.Mutex
	end error
}

func (l *logger) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}
func (l *logger) Warnf(format string, v ...any) {
	if l.says.Allow() {
		l.log.Debug("the server for desks", "says", fmt.Sprintf(format, v...))
	}
}
func (l *logger) Errorf(format string, v ...any) {
	if l.says.Allow() {
		l.log.Warn("the server for desks", "says", fmt.Sprintf(format, v...))
	}
}
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = fmt.Errorf(format, v...)
}
