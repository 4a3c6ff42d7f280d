package ngroktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"
)

// authority is a certificate authority that lives as long as its Edge.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	agentSide   tls.Certificate
	wrong       tls.Certificate // for the same names, signed by an authority nobody trusts

	mu     sync.Mutex
	byName map[string]*tls.Certificate
	names  map[string]bool // what the public side may show a certificate for
	first  *tls.Certificate
}

func newAuthority(names []string) (*authority, error) {
	a, err := bareAuthority("Countersign test edge")
	if err != nil {
		return nil, err
	}
	stranger, err := bareAuthority("Nobody trusts this")
	if err != nil {
		return nil, err
	}
	local := []string{"127.0.0.1", "::1", "localhost"}
	if a.agentSide, err = a.issue(local...); err != nil {
		return nil, err
	}
	if a.wrong, err = stranger.issue(local...); err != nil {
		return nil, err
	}
	first, err := a.issue(names...)
	if err != nil {
		return nil, err
	}
	a.first = &first
	a.byName = make(map[string]*tls.Certificate)
	a.names = make(map[string]bool)
	return a, nil
}

func bareAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(7 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key}, nil
}

func (a *authority) issue(names ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: names[0]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(7 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key}, nil
}

// allow makes the public side able to show a certificate for host.
func (a *authority) allow(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[strings.ToLower(host)] = true
}

// forHello is the public side's tls.Config.GetCertificate: bound hosts get their own certificate, everything else
// the one for the configured names.
func (a *authority) forHello(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(hello.ServerName)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.names[name] {
		return a.first, nil
	}
	if known, ok := a.byName[name]; ok {
		return known, nil
	}
	issued, err := a.issue(name)
	if err != nil {
		return nil, err
	}
	a.byName[name] = &issued
	return &issued, nil
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}
