package sandbox

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Options say how a service is started. The zero value is a service for a demo: a free port on 127.0.0.1, nothing
// kept after Close, one client and two people.
type Options struct {
	Dir         string // where state and documents live; "" is a temporary folder, removed by Close
	Listen      string // host:port, default 127.0.0.1:0
	AdminListen string // host:port of the admin port on a loopback address; "" is no admin port
	PublicURL   string // the address people and programs see, when it is not the one listened on; no trailing slash
	CertFile    string // with KeyFile, PEM files: serve HTTPS
	KeyFile     string

	Clients []Client // registered applications; none is DemoClient
	Users   []User   // people who can sign in; none is DemoUsers

	AccessTokenLifetime time.Duration // default 30 minutes
	SignatureHeader     string        // header that carries the signature of an event, default X-Service-Signature

	// Listener, when set, is served instead of Listen, and PublicURL names it. DeliverDial, when set, makes the connections
	// to endpoints, secure ones included, instead of the system's network. So a whole service runs without a network.
	Listener    net.Listener
	DeliverDial func(ctx context.Context, network, addr string) (net.Conn, error)

	DeliverCAs     *x509.CertPool    // trusted for delivery; nil means the system's roots
	DeliverVia     map[string]string // host:port of an endpoint to the host:port to connect to instead
	DeliverWorkers int               // deliveries at the same time, default 1, which keeps events in order
	DeliverTimeout time.Duration     // for one attempt, default 10 s
	RetryFirst     time.Duration     // wait after the first failure, doubled after each further one, default 1 s
	RetryMax       time.Duration     // longest wait between attempts, default 5 minutes
	RetryFor       time.Duration     // an event older than this is given up, default 72 hours

	AutoSign    time.Duration // > 0: simulated signers sign each this long after it is their turn
	AutoConsent bool          // the sign-in and consent pages answer themselves, for an unattended demo

	Bare          bool // answer with exactly the fields interface.md shows instead of the public records
	NoDiscovery   bool // 404 on /.well-known/openid-configuration
	OnlyAPIPrefix bool // serve the API under /api/v1 alone
	NoAPIPrefix   bool // serve the API without /api/v1 alone

	// PlainPaper has signature pages, certificates and covers in a font that every reader has, which has the letters of Latin-1
	// alone. They are made in a tenth of the time, for those who make thousands.
	PlainPaper bool

	KeyBits int // of the key that signs id_tokens, default 2048

	Press []string // the program that reads uploaded documents, see press.Press; none is this process

	Now func() time.Time // the clock for what the service says: lifetimes and time stamps. Waiting is done in real time
	Log *slog.Logger     // default: nowhere
}

// Client is a registered OAuth application.
type Client struct {
	ID        string   `json:"id"`
	Secret    string   `json:"secret"` // "" is a public client, which must use PKCE
	Name      string   `json:"name"`   // names its webhook endpoint
	Redirects []string `json:"redirects"`
}

// User is someone with an account. There are no passwords: whoever reaches the sign-in page chooses who to be.
type User struct {
	Email          string `json:"email"`
	FirstName      string `json:"first_name"`
	LastName       string `json:"last_name"`
	OrganizationID string `json:"organization_id"` // UUID; "" is the demo organization
	MemberID       string `json:"member_id"`       // UUID; "" is derived from the email, the same every time
	Admin          bool   `json:"admin"`           // an Organization Administrator
}

// DemoClient is the application a service without Options.Clients knows. Its loopback redirects accept any port
// (RFC 8252 section 7.3).
func DemoClient() Client {
	return Client{
		ID: "countersign-demo", Secret: "demo-secret-not-a-secret", Name: "Countersign",
		Redirects: []string{
			"http://127.0.0.1/oauth/callback", "http://[::1]/oauth/callback",
			"http://127.0.0.1/callback", "http://[::1]/callback",
		},
	}
}

// DemoUsers are the people a service without Options.Users knows: one administrator and one plain member.
func DemoUsers() []User {
	return []User{
		{Email: "olivia.office@example.com", FirstName: "Olivia", LastName: "Office", Admin: true},
		{Email: "max.member@example.com", FirstName: "Max", LastName: "Member"},
	}
}

// namespace makes identifiers that are derived rather than random the same on every machine.
var namespace = uuid.MustParse("6f2c1f7e-2f0b-5b0c-9a47-0d6b7e3c1a55")

func derivedID(what string) string { return uuid.NewSHA1(namespace, []byte(what)).String() }

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	setDefault(&o.Listen, "127.0.0.1:0")
	setDefault(&o.AccessTokenLifetime, 30*time.Minute)
	setDefault(&o.KeyBits, 2048)
	setDefault(&o.SignatureHeader, "X-Service-Signature")
	setDefault(&o.DeliverWorkers, 1)
	setDefault(&o.DeliverTimeout, 10*time.Second)
	setDefault(&o.RetryFirst, time.Second)
	setDefault(&o.RetryMax, 5*time.Minute)
	setDefault(&o.RetryFor, 72*time.Hour)
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
	if o.Listener != nil && (o.PublicURL == "" || o.CertFile != "") {
		return o, errors.New("a listener of one's own needs a public address and no certificate")
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return o, errors.New("HTTPS needs both a certificate file and a key file")
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

// first is the first of all that is wanted, and whether there is one.
func first[T any](all []T, wanted func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, wanted); i >= 0 {
		return all[i], true
	}
	return found, false
}
