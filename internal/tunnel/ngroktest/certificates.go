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

// Authority is a certificate authority that lives as long as the process.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority of that name.
func NewAuthority(name string) (*Authority, error) {
	a := &Authority{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key, err := a.sign(template)
	if err != nil {
		return nil, err
	}
	a.key = key
	a.certificate, err = x509.ParseCertificate(der)
	return a, err
}

// Issue makes a server's certificate for names, which are host names or IP addresses.
func (a *Authority) Issue(names ...string) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: names[0]},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, key, err := a.sign(template)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key}, nil
}

// sign makes a key and its certificate, which signs itself as long as the authority has none.
func (a *Authority) sign(template *x509.Certificate) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(now.UnixNano()), now.Add(-time.Hour), now.Add(7*24*time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return der, key, err
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// Pool is the authority's own certificate as the only one trusted.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// authority is that of an Edge, and what it has issued.
type authority struct {
	*Authority
	agentSide tls.Certificate
	wrong     tls.Certificate // for the same names, signed by an authority nobody trusts

	mu     sync.Mutex
	byName map[string]*tls.Certificate
	names  map[string]bool // what the public side may show a certificate for
	first  *tls.Certificate
}

func newAuthority(names []string) (*authority, error) {
	own, err := NewAuthority("Countersign test edge")
	if err != nil {
		return nil, err
	}
	stranger, err := NewAuthority("Nobody trusts this")
	if err != nil {
		return nil, err
	}
	a := &authority{Authority: own, byName: make(map[string]*tls.Certificate), names: make(map[string]bool)}
	local := []string{"127.0.0.1", "::1", "localhost", "connect.ngrok.test"} // a name for those who come through a proxy
	if a.agentSide, err = own.Issue(local...); err != nil {
		return nil, err
	}
	if a.wrong, err = stranger.Issue(local...); err != nil {
		return nil, err
	}
	first, err := own.Issue(names...)
	if err != nil {
		return nil, err
	}
	a.first = &first
	return a, nil
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
	issued, err := a.Issue(name)
	if err != nil {
		return nil, err
	}
	a.byName[name] = &issued
	return &issued, nil
}
