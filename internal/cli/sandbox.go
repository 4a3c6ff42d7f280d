package cli

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"time"

	"countersign/internal/sandbox"
)

// sandboxCmd is sandbox.Options as flags.
type sandboxCmd struct {
	Listen          string            `help:"Where to listen." default:"127.0.0.1:8443" placeholder:"HOST:PORT"`
	Admin           string            `help:"Where the admin port listens; none by default." placeholder:"HOST:PORT"`
	Dir             string            `help:"Keep the state in this folder; it survives a restart." type:"path" placeholder:"DIR"`
	Address         string            `help:"The address others see, when it is not the one listened on." placeholder:"URL"`
	ClientID        string            `name:"oauth-client" help:"OAuth client id; its secret is read from COUNTERSIGN_CLIENT_SECRET." placeholder:"ID"`
	Redirect        []string          `help:"A return address registered for the client; repeat it for more." sep:"none" placeholder:"URL"`
	TokenLifetime   time.Duration     `help:"Lifetime of access tokens." default:"30m"`
	SignatureHeader string            `help:"Header that carries an event's signature." default:"X-Service-Signature"`
	Trust           string            `help:"PEM file with certificates to trust when delivering events." type:"path" placeholder:"FILE"`
	Connect         map[string]string `help:"Deliver to another address: HOST:PORT=HOST:PORT." placeholder:"FROM=TO"`
	RetryFirst      time.Duration     `help:"Pause before an event is delivered again; it doubles." default:"1s"`
	Bare            bool              `help:"Answer with exactly the fields interface.md shows."`
	NoDiscovery     bool              `help:"Offer no OpenID discovery."`
	OnlyAPIPrefix   bool              `name:"only-api-prefix" help:"Serve the API under /api/v1 alone."`
	NoAPIPrefix     bool              `name:"no-api-prefix" help:"Serve the API without /api/v1 alone."`
}

func (c *sandboxCmd) Run(r *run) error {
	o := sandbox.Options{
		Dir: c.Dir, Listen: c.Listen, AdminListen: c.Admin, PublicURL: c.Address,
		AccessTokenLifetime: c.TokenLifetime, SignatureHeader: c.SignatureHeader,
		Delivery: sandbox.DeliveryOptions{Via: c.Connect, RetryFirst: c.RetryFirst}, Press: documentPress(), Seal: true,
		Bare: c.Bare, NoDiscovery: c.NoDiscovery, OnlyAPIPrefix: c.OnlyAPIPrefix, NoAPIPrefix: c.NoAPIPrefix,
	}
	level := slog.LevelWarn
	if r.global.Debug {
		level = slog.LevelDebug
	}
	o.Log = slog.New(slog.NewTextHandler(r.err, &slog.HandlerOptions{Level: level}))
	client := sandbox.DemoClient()
	if c.ClientID != "" {
		client = sandbox.Client{ID: c.ClientID, Secret: r.secrets[clientSecretVariable], Name: "Countersign"}
	}
	client.Redirects = append(client.Redirects, c.Redirect...)
	o.Clients = []sandbox.Client{client}
	if c.Trust != "" {
		pem, err := os.ReadFile(c.Trust)
		if err != nil {
			return &failure{fmt.Sprintf("The certificates in %s could not be read.", c.Trust)}
		}
		if o.Delivery.CAs, err = x509.SystemCertPool(); err != nil {
			o.Delivery.CAs = x509.NewCertPool() // a computer without roots
		}
		if !o.Delivery.CAs.AppendCertsFromPEM(pem) {
			return &failure{fmt.Sprintf("%s holds no certificate.", c.Trust)}
		}
	}
	s, err := sandbox.Start(o)
	if err != nil {
		return &failure{fmt.Sprintf("The sandbox could not start: %v.", err)}
	}
	_ = r.out.Line("Signing service: %s", s.URL())
	if s.AdminURL() != "" {
		_ = r.out.Line("Admin port: %s", s.AdminURL())
	}
	_ = r.out.Line("OAuth client: %s", client.ID)
	<-r.ctx.Done()
	return s.Close()
}
