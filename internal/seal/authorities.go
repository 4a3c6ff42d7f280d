package seal

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

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
