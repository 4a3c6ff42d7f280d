package seal

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"countersign/internal/office"

	"golang.org/x/crypto/ocsp"
)

// Trust says whose certificates to trust.
type Trust struct {
	Roots  *x509.CertPool      // nil for the system's roots
	Pinned []*x509.Certificate // additional signers or authorities that the office trusts
	Now    time.Time
}

// Judge is the verdict on a file in which Examine found f.
func Judge(f Found, t Trust) office.Seal {
	last := f.last(func(s Signature) bool { return t.trustsSigner(s, t.sealed(s)) })
	if last == nil {
		if f.Malformed > 0 {
			return office.Seal{State: office.SealBroken}
		}
		return office.Seal{State: office.SealNone}
	}
	if later := f.last(func(Signature) bool { return false }); last.Added == AddedSigned && (later.Added == AddedNothing || later.Added == AddedProof) {
		last = later // by somebody unknown, for everything there is
	}
	if i := slices.IndexFunc(f.Signatures, Signature.forbids); i >= 0 {
		last = &f.Signatures[i]
	}
	v := t.sealed(*last)
	wrong := slices.ContainsFunc(f.Signatures, func(s Signature) bool { return s.Fault == FaultDigest || s.Fault == FaultForged })
	trusted, filled := t.trustsSigner(*last, v), last.Added == AddedFilled && last.Allows >= AllowsFilling
	revoked, vouched := t.revoked(f, *last, v)
	v.Vouched = vouched && !revoked
	switch {
	case wrong:
		v.State = office.SealBroken
	case last.Fault != FaultNone:
		v.State = office.SealUnjudged
	case last.Added == AddedUnjudged || filled && !trusted:
		v.State = office.SealUnjudged
	case last.Added != AddedNothing && last.Added != AddedProof && !filled:
		v.State = office.SealChanged
	case revoked:
		v.State = office.SealRevoked
	case filled:
		v.State = office.SealFilled
	case trusted && last.IsStamp:
		v.State = office.SealStamped
	case trusted:
		v.State = office.SealIntact
	default:
		v.State = office.SealStranger
	}
	return v
}

// revoked reports whether a signature's certificate had been revoked, and whether the issuer's statement about that is in
// the file. If no authority confirms the signing time, the certificate's present state counts.
func (t Trust) revoked(f Found, s Signature, v office.Seal) (revoked, known bool) {
	certificates := parse(s.Certificates)
	if len(certificates) == 0 {
		return false, false
	}
	own, at := certificates[0], v.At
	if v.Stamped == "" {
		at = t.Now
	}
	i := slices.IndexFunc(append(certificates, t.Pinned...), func(c *x509.Certificate) bool { return own.CheckSignatureFrom(c) == nil })
	if i < 0 {
		return false, false
	}
	issuer := append(certificates, t.Pinned...)[i]
	for _, word := range f.Revoked {
		if list, err := x509.ParseRevocationList(word); err == nil && list.CheckSignatureFrom(issuer) == nil {
			isWhole := !slices.ContainsFunc(list.Extensions, func(e pkix.Extension) bool { return e.Critical }) // RFC 5280, section 5.2
			known = known || isWhole && !list.NextUpdate.Before(at)
			for _, e := range list.RevokedCertificateEntries {
				revoked = revoked || e.SerialNumber.Cmp(own.SerialNumber) == 0 && !e.RevocationTime.After(at)
			}
		} else if said, err := ocsp.ParseResponseForCert(word, own, issuer); err == nil && (said.Certificate == nil ||
			said.Certificate.Equal(issuer) || slices.Contains(said.Certificate.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning)) {
			known = known || said.Status == ocsp.Good && (!said.ThisUpdate.Before(at) || !said.NextUpdate.Before(at))
			revoked = revoked || said.Status == ocsp.Revoked && !said.RevokedAt.After(at)
		}
	}
	return revoked, known
}

// sealed is who made a signature, and when.
func (t Trust) sealed(s Signature) office.Seal {
	v := office.Seal{At: s.Claimed}
	if certificates := parse(s.Certificates); len(certificates) > 0 {
		v.Signer, v.Issuer = nameOf(certificates[0].Subject), nameOf(certificates[0].Issuer)
	}
	if authority := parse(s.Authority); t.trusts(authority, s.Stamped, x509.ExtKeyUsageTimeStamping) {
		v.At, v.Stamped = s.Stamped, nameOf(authority[0].Subject)
	}
	if s.IsStamp {
		v.At, v.Stamped = s.Stamped, v.Signer
	}
	return v
}

func (t Trust) trustsSigner(s Signature, v office.Seal) bool {
	usage := x509.ExtKeyUsageAny
	if s.IsStamp {
		usage = x509.ExtKeyUsageTimeStamping
	}
	return t.trusts(parse(s.Certificates), validAt(v, t.Now), usage)
}

// validAt is the time at which the certificate must have been valid: a seal remains valid after its certificate expires.
// Without a time stamp it is the signer's claimed time, unless that is in the future.
func validAt(v office.Seal, now time.Time) time.Time {
	if v.At.IsZero() || v.At.After(now) {
		return now
	}
	return v.At
}

// trusts reports whether the first certificate chains to a trusted one and permits this usage.
func (t Trust) trusts(certificates []*x509.Certificate, at time.Time, usage x509.ExtKeyUsage) bool {
	if len(certificates) == 0 {
		return false
	}
	own := certificates[0]
	if usage == x509.ExtKeyUsageAny && !signsDocuments(own) || usage != x509.ExtKeyUsageAny && !slices.Contains(own.ExtKeyUsage, usage) {
		return false // the library takes a certificate without a purpose for one for all of them
	}
	o := x509.VerifyOptions{Roots: t.Roots, Intermediates: x509.NewCertPool(), CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}}
	for _, c := range certificates[1:] {
		o.Intermediates.AddCert(c)
	}
	own.UnhandledCriticalExtensions = nil // they concern what the issuer promises about a signature, not whose it is
	if _, err := own.Verify(o); err == nil {
		return true
	}
	o.Roots = x509.NewCertPool()
	for _, c := range t.Pinned {
		if c.Equal(own) {
			return !at.Before(own.NotBefore) && !at.After(own.NotAfter)
		}
		o.Roots.AddCert(c)
	}
	_, err := own.Verify(o)
	return err == nil
}

// documentUsages are the key usages for signing documents besides e-mail: RFC 9336, Adobe, Microsoft.
var documentUsages = []asn1.ObjectIdentifier{
	{1, 3, 6, 1, 5, 5, 7, 3, 36}, {1, 2, 840, 113583, 1, 1, 5}, {1, 3, 6, 1, 4, 1, 311, 10, 3, 12},
}

// signsDocuments reports whether a certificate permits signing documents. One for a web site does not: anybody can get one.
func signsDocuments(c *x509.Certificate) bool {
	if c.KeyUsage != 0 && c.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		return false
	}
	if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool {
		return u == x509.ExtKeyUsageAny || u == x509.ExtKeyUsageEmailProtection
	}) || slices.ContainsFunc(c.UnknownExtKeyUsage, func(id asn1.ObjectIdentifier) bool {
		return slices.ContainsFunc(documentUsages, id.Equal)
	})
}

// Authority is the certificate to trust so that the file's signer, and others of the same issuer, are trusted: the issuer's
// if the file includes it, otherwise the signer's own. It goes no higher, because anybody can add certificates to a
// signature. It is nil if none can be read.
func (f Found) Authority() *x509.Certificate {
	last := f.last(func(Signature) bool { return false })
	if last == nil {
		return nil
	}
	certificates := parse(last.Certificates)
	if len(certificates) == 0 {
		return nil
	}
	for _, c := range certificates[1:] {
		if c.IsCA && certificates[0].CheckSignatureFrom(c) == nil {
			return c
		}
	}
	return certificates[0]
}

func parse(der [][]byte) (certificates []*x509.Certificate) {
	for _, raw := range der {
		if c, err := x509.ParseCertificate(raw); err == nil {
			certificates = append(certificates, c)
		} else if len(certificates) == 0 {
			return nil // falls back to the signer's own
		}
	}
	return certificates
}

// nameOf is the name of a certificate's subject or issuer.
func nameOf(n pkix.Name) string {
	return cmp.Or(slices.Concat([]string{n.CommonName}, n.Organization, []string{n.String()})...)
}

// MaxAuthorities is the maximum size of a file of authorities, in bytes, and MaxTrusted the maximum number of authorities in
// it: the largest of the EU's lists has about 10 MB and names about 500.
const (
	MaxAuthorities = 64 << 20
	MaxTrusted     = 4000
)

// errNoAuthorities means that a file contains none.
var errNoAuthorities = errors.New("it has no certificate of an authority")

// Authorities are the certificates, as DER, in a file of trusted authorities: one certificate, several as PEM, or the
// trusted list of an EU member state (ETSI TS 119 612), of which only services currently granted for qualified certificates
// or time stamps count. It does not verify a list's signature: the person vouches for its origin. Like Examine it must run
// in a restricted process.
func Authorities(file io.Reader) (found [][]byte, err error) {
	b, err := io.ReadAll(io.LimitReader(file, MaxAuthorities+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > MaxAuthorities:
		return nil, errNoAuthorities
	case bytes.Contains(b[:min(len(b), 4096)], []byte("TrustServiceStatusList")):
		found, err = listed(b)
	case bytes.Contains(b, []byte("-----BEGIN CERTIFICATE-----")):
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			found = append(found, block.Bytes)
		}
	default:
		found = [][]byte{b}
	}
	found = slices.DeleteFunc(found, func(der []byte) bool {
		_, err := x509.ParseCertificate(der)
		return err != nil
	})
	slices.SortFunc(found, bytes.Compare)
	found = slices.CompactFunc(found, bytes.Equal)
	if err == nil && (len(found) == 0 || len(found) > MaxTrusted) {
		err = errNoAuthorities
	}
	return found, err
}

// How a trusted list identifies services for qualified certificates and time stamps, and their granted status (ETSI TS 119
// 612, 5.5.1 and 5.5.4).
const (
	issuesCertificates = "/Svctype/CA/QC"
	stampsTimes        = "/Svctype/TSA/QTST"
	granted            = "/TrustedList/Svcstatus/granted"
)

// listed are the certificates in a trusted list.
func listed(list []byte) (found [][]byte, err error) {
	for d := xml.NewDecoder(bytes.NewReader(list)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		start, begins := token.(xml.StartElement)
		if !begins || start.Name.Local != "ServiceInformation" { // ServiceHistory contains former states
			continue
		}
		var service struct {
			Type         string   `xml:"ServiceTypeIdentifier"`
			Status       string   `xml:"ServiceStatus"`
			Certificates []string `xml:"ServiceDigitalIdentity>DigitalId>X509Certificate"`
		}
		if err := d.DecodeElement(&service, &start); err != nil {
			return nil, err
		}
		kind := strings.TrimSpace(service.Type)
		if !strings.HasSuffix(strings.TrimSpace(service.Status), granted) || !strings.HasSuffix(kind, issuesCertificates) && !strings.HasSuffix(kind, stampsTimes) {
			continue
		}
		for _, text := range service.Certificates {
			if der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err == nil {
				found = append(found, der)
			}
		}
	}
}
