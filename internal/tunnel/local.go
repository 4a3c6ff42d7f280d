package tunnel

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// localWriteTimeout limits a request, from its header to the end of the answer, on local connections.
const localWriteTimeout = 60 * time.Second

// ExternalConfig configures a tunnel for an office with its own reverse proxy or tunnel.
type ExternalConfig struct {
	PublicURL string       // the public address; reported unchanged
	Listen    string       // host:port to which the proxy forwards, as plain HTTP with an unchanged path
	Open      OpenPort     // opens Listen; nil uses the system
	Log       *slog.Logger // nil logs nothing
}

// OpenPort opens a port of this computer like net.ListenConfig.Listen.
type OpenPort func(ctx context.Context, network, address string) (net.Listener, error)

// External returns a tunnel behind the office's own proxy. It is up while it listens; it does not check whether the proxy
// works. It retries for ever if the port is in use or the network is not ready.
func External(c ExternalConfig) Tunnel {
	return local{
		listen: c.Listen, publicURL: c.PublicURL, open: c.Open, patient: true, log: c.Log,
		check: func() *Error {
			u, err := url.Parse(c.PublicURL)
			if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" {
				return &Error{Kind: Setting, Address: c.PublicURL, permanent: true}
			}
			return nil
		},
	}
}

// LoopbackConfig configures an address that only this computer can reach.
type LoopbackConfig struct {
	Listen      string // host:port with a loopback host; "" means 127.0.0.1 and a free port
	Certificate tls.Certificate
	Log         *slog.Logger // nil logs nothing
}

// Loopback returns a tunnel to https://localhost:PORT on this computer, for the demo and for the https://localhost redirect.
// Because somebody is waiting for it, Run returns immediately if it cannot listen, even if trying again might help.
func Loopback(c LoopbackConfig) Tunnel {
	secure := &tls.Config{
		Certificates: []tls.Certificate{c.Certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	}
	return local{
		listen: c.Listen, secure: secure, log: c.Log,
		url: func(at *net.TCPAddr) string { return "https://localhost:" + portOf(at) },
		check: func() *Error {
			if len(c.Certificate.Certificate) == 0 {
				return &Error{Kind: Certificate, Address: c.Listen, permanent: true, cause: errors.New("no certificate")}
			}
			return onLoopback(c.Listen)
		},
	}
}

// Plain returns a tunnel to http://127.0.0.1:PORT for the redirect of RFC 8252 section 7.3. listen is host:port with a
// loopback host; "" means 127.0.0.1 and a free port. Like Loopback, its Run returns immediately if it cannot listen.
func Plain(listen string) Tunnel {
	return local{
		listen: listen,
		url:    func(at *net.TCPAddr) string { return "http://" + at.String() },
		check:  func() *Error { return onLoopback(listen) },
	}
}

// local is a tunnel that ends on this computer.
type local struct {
	listen    string
	publicURL string
	url       func(at *net.TCPAddr) string // instead of publicURL
	open      OpenPort                     // nil uses the system
	secure    *tls.Config
	patient   bool // retry if it cannot listen
	check     func() *Error
	log       *slog.Logger
}

func (t local) Run(ctx context.Context, h http.Handler, report func(State)) error {
	log := t.log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	st := &states{report: report}
	if e := t.check(); e != nil {
		st.down(e)
		return e
	}
	once := func() *Error { return t.once(ctx, h, st, log) }
	if t.patient {
		return st.keepOpen(ctx, once)
	}
	st.connecting(nil)
	if e := once(); e != nil {
		st.down(e)
		return e
	}
	return nil
}

// once listens and serves. It returns nil if ctx ended.
func (t local) once(ctx context.Context, h http.Handler, st *states, log *slog.Logger) *Error {
	at := t.listen
	if at == "" {
		at = "127.0.0.1:0"
	}
	open := t.open
	if open == nil {
		open = (&net.ListenConfig{}).Listen
	}
	listener, err := open(ctx, "tcp", at)
	if ctx.Err() != nil {
		if err == nil {
			listener.Close()
		}
		return nil
	}
	if err != nil {
		return listenError(at, err)
	}
	srv := newServer(h, localWriteTimeout, log)
	served := make(chan error, 1)
	go func() { served <- srv.serve(listener, t.secure) }()
	st.up(t.address(listener))
	select {
	case <-ctx.Done():
		srv.shutdown()
		<-served
		return nil
	case err := <-served:
		srv.shutdown()
		return listenError(at, err)
	}
}

func (t local) address(l net.Listener) string {
	if at, ok := l.Addr().(*net.TCPAddr); ok && t.url != nil {
		return t.url(at)
	}
	return t.publicURL
}

func listenError(at string, err error) *Error {
	busy := isInUse(err)
	return &Error{Kind: Listen, Address: at, busy: busy, permanent: !busy && !isAbsent(err), cause: err}
}

// onLoopback rejects addresses that others on the network could reach.
func onLoopback(listen string) *Error {
	if listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback()) {
		return nil
	}
	return &Error{Kind: Listen, Address: listen, permanent: true, cause: errors.New("not an address of this computer alone")}
}

func portOf(at *net.TCPAddr) string {
	_, port, _ := net.SplitHostPort(at.String())
	return port
}

// SelfSigned creates a certificate and its key (ECDSA P-256, PKCS #8) for hosts, which are names or IP addresses; the
// default is localhost, 127.0.0.1 and ::1. It is valid from an hour before now, in case of wrong clocks, until a year after.
// It is not an authority: a person who trusts it trusts only these hosts.
func SelfSigned(now time.Time, hosts ...string) (certPEM, keyPEM []byte, err error) {
	if len(hosts) == 0 {
		hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key for %s: %w", hosts[0], err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: hosts[0], Organization: []string{"Countersign on this computer"}},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate for %s: %w", hosts[0], err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key for %s: %w", hosts[0], err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	return certPEM, keyPEM, nil
}
