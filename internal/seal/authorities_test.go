package seal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"countersign/internal/trytest"
)

func anAuthority(t *testing.T, name string) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true}
	der := trytest.Must(x509.CreateCertificate(rand.Reader, c, c, public, private))
	return der
}

func TestAuthoritiesAreReadFromCertificatesAndTrustedLists(t *testing.T) {
	one, two, three := anAuthority(t, "one"), anAuthority(t, "two"), anAuthority(t, "three")
	service := func(kind, status string, certificates ...[]byte) string {
		text := "<tsl:TSPService><tsl:ServiceInformation><tsl:ServiceTypeIdentifier>\n http://uri.etsi.org/TrstSvc" + kind + " </tsl:ServiceTypeIdentifier><tsl:ServiceDigitalIdentity>"
		for _, der := range certificates {
			b := base64.StdEncoding.EncodeToString(der)
			text += "<tsl:DigitalId><tsl:X509Certificate>" + b[:40] + "\n\t" + b[40:] + "</tsl:X509Certificate></tsl:DigitalId>"
		}
		return text + "<tsl:DigitalId><tsl:X509SKI>AAAA</tsl:X509SKI></tsl:DigitalId></tsl:ServiceDigitalIdentity><tsl:ServiceStatus>http://uri.etsi.org/TrstSvc/TrustedList/Svcstatus/" + status +
			"</tsl:ServiceStatus></tsl:ServiceInformation><tsl:ServiceHistory><tsl:ServiceHistoryInstance><tsl:ServiceStatus>http://uri.etsi.org/TrstSvc/TrustedList/Svcstatus/granted</tsl:ServiceStatus></tsl:ServiceHistoryInstance></tsl:ServiceHistory></tsl:TSPService>"
	}
	list := `<?xml version="1.0"?><tsl:TrustServiceStatusList xmlns:tsl="http://uri.etsi.org/02231/v2#"><tsl:TSPServices>` +
		service("/Svctype/CA/QC", "granted", one, one) + service("/Svctype/TSA/QTST", "granted", two) +
		service("/Svctype/CA/QC", "withdrawn", three) + service("/Svctype/Archiv", "granted", three) + `</tsl:TSPServices></tsl:TrustServiceStatusList>`
	asPEM := func(all ...[]byte) string {
		var b bytes.Buffer
		for _, der := range all {
			trytest.NoErr(t, pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		file string
		want [][]byte
	}{
		"DER": {string(one), [][]byte{one}}, "PEM": {"a comment\n" + asPEM(one, two), [][]byte{one, two}}, "list": {list, [][]byte{one, two}},
		"half a list": {list[:len(list)/2], nil}, "nothing": {"", nil}, "text": {"-----BEGIN CERTIFICATE-----\nhello", nil}, "another XML": {"<a/>", nil},
		"an entity that grows": {`<!DOCTYPE a [<!ENTITY b "` + strings.Repeat("b", 99) + `">]><tsl:TrustServiceStatusList>&b;</tsl:TrustServiceStatusList>`, nil},
	} {
		found, err := Authorities(strings.NewReader(c.file))
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if got, want := names(found), names(c.want); err == nil && got != want {
			t.Errorf("%s names %s, want %s", name, got, want)
		}
	}
}

func names(all [][]byte) string {
	said := map[string]int{}
	for _, der := range all {
		if c, err := x509.ParseCertificate(der); err == nil {
			said[c.Subject.CommonName]++
		}
	}
	return fmt.Sprint(said)
}

func TestADateIsReadAsProgramsWriteIt(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"D:20260302130000+01'00'": noon, "D:20260302043000-07'30'": noon, "D:20260302130000+01'00": noon, "D:20260302120000Z": noon,
		"D:20260302120000Z00'00'": noon, "D:20260302120000": noon, "D:202603021200": {}, "2026-03-02": {},
	} {
		if at := pdfDate(text); !at.Equal(want) {
			t.Errorf("%s: %s", text, at)
		}
	}
}
