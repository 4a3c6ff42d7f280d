package seal_test

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/fasttest"
	"countersign/internal/office"
	"countersign/internal/sandbox/press"
	"countersign/internal/seal"
	"countersign/internal/trytest"

	"github.com/digitorus/timestamp"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/pkcs7"
	"golang.org/x/crypto/ocsp"
)

// identity can sign with a certificate issued by root.
type identity struct {
	key, rootKey crypto.Signer
	cert, root   *x509.Certificate
}

var sealedAt = time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC)

// newIdentity creates an identity of that name; change modifies its certificate.
func newIdentity(t testing.TB, name string, key crypto.Signer, change func(*x509.Certificate)) identity {
	t.Helper()
	rootKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name + "'s authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name), NotBefore: sealedAt.AddDate(-1, 0, 0), NotAfter: sealedAt.AddDate(20, 0, 0)}
	rootDER := must(x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey))
	root = must(x509.ParseCertificate(rootDER))
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: sealedAt.AddDate(-1, 0, 0), NotAfter: sealedAt.AddDate(2, 0, 0)}
	if change != nil {
		change(cert)
	}
	der := must(x509.CreateCertificate(rand.Reader, cert, root, key.Public(), rootKey))
	cert = must(x509.ParseCertificate(der))
	return identity{key, rootKey, cert, root}
}

func ecKey(t testing.TB) crypto.Signer {
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

// seal puts the identity's seal on a PDF.
func (i identity) seal(t testing.TB, pdf []byte, more ...pkcs7.Attribute) []byte {
	t.Helper()
	prepared := must(press.Press{}.Prepare(pdf, sealedAt))
	return must(press.Fill(prepared, func(covered ...[]byte) ([]byte, error) { return i.signMore(more, covered...) }))
}

func (i identity) sign(covered ...[]byte) ([]byte, error) { return i.signMore(nil, covered...) }

// signMore signs with additional signed attributes.
func (i identity) signMore(more []pkcs7.Attribute, covered ...[]byte) ([]byte, error) {
	sum := sha256.Sum256(slices.Concat(covered...))
	d, err := pkcs7.NewSignedData()
	if err != nil {
		return nil, err
	}
	err = d.AddSignerChain(i.cert, i.key, sum[:], asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}, []*x509.Certificate{i.root}, pkcs7.SignerInfoConfig{ExtraSignedAttributes: more})
	if err != nil {
		return nil, err
	}
	return d.Finish()
}

func (i identity) trusted(now time.Time) seal.Trust {
	roots := x509.NewCertPool()
	roots.AddCert(i.root)
	return seal.Trust{Roots: roots, Now: now}
}

func judge(t testing.TB, pdf []byte, trust seal.Trust) office.Seal {
	t.Helper()
	found := must(seal.Examine(bytes.NewReader(pdf), int64(len(pdf))))
	return seal.Judge(found, trust)
}

func document(t testing.TB) []byte {
	t.Helper()
	return must(os.ReadFile("../../assets/samples/Lease Sonnenweg 4.pdf"))
}

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestWhatIsSaidOfASoundSeal(t *testing.T) {
	now := sealedAt.AddDate(0, 1, 0)
	rsaKey := must(rsa.GenerateKey(rand.Reader, 2048))
	service, clerk := newIdentity(t, "Signing service", rsaKey, nil), newIdentity(t, "Clerk", ecKey(t), nil)
	webSite := newIdentity(t, "example.com", ecKey(t), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	sealed := service.seal(t, document(t))
	catalog := regexp.MustCompile(`(\d+) 0 obj\n(<<[^\x00]*?/Type\s*/Catalog(?s:.*?)>>)\nendobj`).FindAllSubmatch(sealed, -1)
	last := catalog[len(catalog)-1]
	dss := strings.Replace(string(last[2]), "<<", "<</DSS<</Certs[9000 0 R]>>", 1)
	proven := updated(sealed, map[string]string{string(last[1]): dss, "9000": "<</Length 3>>\nstream\nabc\nendstream"})
	large := updated(sealed, map[string]string{string(last[1]): dss, "9000": fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", 64<<20, make([]byte, 64<<20))})
	for _, c := range []struct {
		name   string
		pdf    []byte
		trust  seal.Trust
		state  office.SealState
		signer string
	}{
		{"a document as it was uploaded", document(t), service.trusted(now), office.SealNone, ""},
		{"sealed with RSA", sealed, service.trusted(now), office.SealIntact, "Signing service"},
		{"sealed with an elliptic curve", clerk.seal(t, document(t)), clerk.trusted(now), office.SealIntact, "Clerk"},
		{"its certificate has expired since", sealed, service.trusted(now.AddDate(9, 0, 0)), office.SealIntact, "Signing service"},
		{"a line's end behind it", append(bytes.Clone(sealed), "\r\n"...), service.trusted(now), office.SealIntact, "Signing service"},
		{"with certificates added that prove it for longer", proven, service.trusted(now), office.SealIntact, "Signing service"},
		{"with so many added that nobody compares what was there before", large, service.trusted(now), office.SealUnjudged, "Signing service"},
		{"an office that trusts this signer", sealed, seal.Trust{Roots: x509.NewCertPool(), Pinned: []*x509.Certificate{service.cert}, Now: now}, office.SealIntact, "Signing service"},
		{"an office that trusts its authority", sealed, seal.Trust{Roots: x509.NewCertPool(), Pinned: []*x509.Certificate{service.root}, Now: now}, office.SealIntact, "Signing service"},
		{"an office that knows somebody else", sealed, clerk.trusted(now), office.SealStranger, "Signing service"},
		{"a web site's certificate seals nothing", webSite.seal(t, document(t)), webSite.trusted(now), office.SealStranger, "example.com"},
		{"sealed by two, the second one covers both", clerk.seal(t, sealed), clerk.trusted(now), office.SealIntact, "Clerk"},
		{"sealed by two, of whom the second one is unknown", clerk.seal(t, sealed), service.trusted(now), office.SealStranger, "Clerk"},
	} {
		v := judge(t, c.pdf, c.trust)
		if v.State != c.state || v.Signer != c.signer {
			t.Errorf("%s: %s, sealed by %q, want %s by %q", c.name, v.State, v.Signer, c.state, c.signer)
		}
	}
	if v := judge(t, sealed, service.trusted(now)); !v.At.Equal(sealedAt) || v.Stamped != "" || v.Issuer != "Signing service's authority" {
		t.Errorf("sealed at %s, stamped by %q, vouched for by %q", v.At, v.Stamped, v.Issuer)
	}
}

// certified is a document with an empty field, under a certifying seal, see seal.Allowance. locks are its further references.
func (i identity) certified(t testing.TB, allows seal.Allowance, locks string) []byte {
	pdf := document(t)
	m := regexp.MustCompile(`(\d+) 0 obj\n(<<[^\x00]*?/Type\s*/Catalog(?s:.*?))>>\nendobj`).FindSubmatch(pdf)
	sealed := must(press.Fill(updated(pdf, map[string]string{
		string(m[1]): string(m[2]) + "/AcroForm<</Fields[8998 0 R 8999 0 R]/SigFlags 3>>/Perms<</DocMDP 8997 0 R>>>>",
		"8997": fmt.Sprintf("<</Type/Sig/SubFilter/ETSI.CAdES.detached/Reference[<</TransformMethod/DocMDP/TransformParams<</P %d>>>>%s]/ByteRange [%s]/Contents <%s>>>",
			allows, locks, strings.Repeat(" ", 48), strings.Repeat("0", 2*press.SealSpace)),
		"8998": "<</Type/Annot/Subtype/Widget/FT/Sig/T(S)/V 8997 0 R/Rect[0 0 0 0]>>",
		"8999": "<</Type/Annot/Subtype/Widget/FT/Tx/T(Name)/Rect[10 10 90 30]>>",
	}), i.sign))
	return sealed
}

func TestWhatACertifiedDocumentAllowsIsToldFromWhatItForbids(t *testing.T) {
	service, clerk := newIdentity(t, "Signing service", ecKey(t), nil), newIdentity(t, "Clerk", ecKey(t), nil)
	trust := service.trusted(sealedAt.AddDate(0, 1, 0))
	trust.Roots.AddCert(clerk.root)
	filled := map[string]string{"8999": "<</Type/Annot/Subtype/Widget/FT/Tx/T(Name)/Rect[10 10 90 30]/V(Ana)/AP<</N 9000 0 R>>>>", "9000": "<</Length 3>>\nstream\nq Q\nendstream"}
	larger := map[string]string{"8999": "<</Type/Annot/Subtype/Widget/FT/Tx/T(Name)/Rect[10 10 590 830]/V(Ana)/AP<</N 9000 0 R>>>>", "9000": "<</Length 3>>\nstream\nq Q\nendstream"}
	page := regexp.MustCompile(`(\d+) 0 obj\n(<<[^>]*/Type\s*/Page\b(?s:.*?))endobj`).FindSubmatch(document(t))
	text := string(page[2])
	other := map[string]string{string(page[1]): regexp.MustCompile(`/Contents \d+ 0 R`).ReplaceAllString(text, "/Contents 9000 0 R"), "9000": "<</Length 12>>\nstream\n0 0 9 9 re f\nendstream"}
	noted := map[string]string{string(page[1]): strings.Replace(text, "<<", "<</Annots[9000 0 R]", 1), "9000": "<</Type/Annot/Subtype/FreeText/Rect[100 100 300 300]/Contents(9,250.00)>>"}
	for _, c := range []struct {
		name   string
		allows seal.Allowance
		locks  string
		more   map[string]string
		again  bool // the clerk seals it, too
		state  office.SealState
		signer string
	}{
		{"nothing was done", seal.AllowsNothing, "", nil, false, office.SealIntact, "Signing service"},
		{"filled in", seal.AllowsFilling, "", filled, false, office.SealFilled, "Signing service"},
		{"filled in where that is forbidden", seal.AllowsNothing, "", filled, false, office.SealChanged, "Signing service"},
		{"a field that covers the page", seal.AllowsNotes, "", larger, false, office.SealChanged, "Signing service"},
		{"a note, though it is allowed", seal.AllowsNotes, "", noted, false, office.SealChanged, "Signing service"},
		{"another page", seal.AllowsNotes, "", other, false, office.SealChanged, "Signing service"},
		{"filled in and sealed by another", seal.AllowsFilling, "", filled, true, office.SealIntact, "Clerk"},
		{"sealed by another where that is forbidden", seal.AllowsNothing, "", nil, true, office.SealChanged, "Signing service"},
		{"another page, sealed by another", seal.AllowsFilling, "", other, true, office.SealChanged, "Signing service"},
		{"filled in where some fields are locked", seal.AllowsFilling, "<</TransformMethod/FieldMDP/TransformParams<</Action/All>>>>", filled, false, office.SealChanged, "Signing service"},
	} {
		pdf := service.certified(t, c.allows, c.locks)
		if c.more != nil {
			pdf = updated(pdf, c.more)
		}
		if c.again {
			pdf = clerk.seal(t, pdf)
		}
		if v := judge(t, pdf, trust); v.State != c.state || v.Signer != c.signer {
			t.Errorf("%s: %s by %s", c.name, v.State, v.Signer)
		}
	}
}

// Anybody can get a time stamp for anything.
func TestATimeStampAloneIsNoSeal(t *testing.T) {
	authority := newIdentity(t, "Stamps", ecKey(t), func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: []byte{0x30, 10, 6, 8, 43, 6, 1, 5, 5, 7, 3, 8}}}
	})
	prepared := must(press.Press{}.Prepare(document(t), sealedAt))
	stampedBy := func(by *x509.Certificate) []byte {
		return must(press.Fill(bytes.Replace(prepared, []byte("/SubFilter/ETSI.CAdES.detached"), []byte("/SubFilter/ETSI.RFC3161       "), 1), func(covered ...[]byte) ([]byte, error) {
			sum := sha256.Sum256(slices.Concat(covered...))
			answer, err := (&timestamp.Timestamp{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Time: sealedAt, Policy: asn1.ObjectIdentifier{1, 2, 3}, AddTSACertificate: true}).
				CreateResponseWithOpts(by, authority.key, crypto.SHA256)
			if err != nil {
				return nil, err
			}
			read, err := timestamp.ParseResponse(answer)
			return read.RawToken, err
		}))
	}
	stamped := stampedBy(authority.cert)
	clerk := *authority.cert // without a key usage
	clerk.ExtraExtensions, clerk.ExtKeyUsage = nil, nil
	purposeless := stampedBy(must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, &clerk, authority.root, authority.key.Public(), authority.rootKey)))))
	for want, pdf := range map[office.SealState][]byte{
		office.SealStamped:  stamped,
		office.SealStranger: purposeless,
		office.SealChanged:  updated(stamped, map[string]string{string(regexp.MustCompile(`/Root (\d+)`).FindSubmatch(stamped)[1]): "<</Type/Catalog>>"}),
		office.SealBroken:   bytes.Replace(stamped, []byte("%PDF-1.3"), []byte("%PDF-1.4"), 1),
	} {
		if v := judge(t, pdf, authority.trusted(sealedAt.AddDate(0, 1, 0))); v.State != want {
			t.Errorf("%s, want %s", v.State, want)
		}
	}
}

func TestWhatAFileSaysOfRevocationCounts(t *testing.T) {
	service := newIdentity(t, "Signing service", ecKey(t), nil)
	root := regexp.MustCompile(`(\d+) 0 obj\n(<<[^\x00]*?/Type\s*/Catalog(?s:.*?)>>)\nendobj`).FindSubmatch(document(t))
	stranger, delta := newIdentity(t, "Somebody", ecKey(t), nil), pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}
	list := func(revoked *big.Int, until time.Time, more ...pkix.Extension) []byte {
		return must(x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: sealedAt.AddDate(0, 0, -7), NextUpdate: until, ExtraExtensions: more,
			RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: revoked, RevocationTime: sealedAt.AddDate(0, 0, -2)}}}, service.root, service.rootKey))
	}
	answer := func(status int, until time.Time, by identity) []byte {
		return must(ocsp.CreateResponse(by.root, by.cert, ocsp.Response{Status: status, SerialNumber: service.cert.SerialNumber, ThisUpdate: sealedAt.AddDate(0, 0, -7), NextUpdate: until,
			RevokedAt: sealedAt.AddDate(0, 0, -2), Certificate: by.cert}, by.key))
	}
	authority := identity{service.rootKey, service.rootKey, service.root, service.root}
	customer := service // another key certified by the same authority
	customer.key = ecKey(t)
	named := func(usage ...x509.ExtKeyUsage) identity {
		cert := &x509.Certificate{SerialNumber: big.NewInt(3), NotBefore: sealedAt.AddDate(-1, 0, 0), NotAfter: sealedAt.AddDate(2, 0, 0), ExtKeyUsage: usage}
		customer.cert = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, cert, service.root, customer.key.Public(), service.rootKey))))
		return customer
	}
	now := sealedAt.AddDate(0, 1, 0)
	for _, c := range []struct {
		name    string
		word    []byte
		state   office.SealState
		vouched bool
	}{
		{"a list of others", list(big.NewInt(7), now.AddDate(0, 0, 7)), office.SealIntact, true},
		{"a list that is out of date", list(big.NewInt(7), now.AddDate(0, 0, -1)), office.SealIntact, false},
		{"a list of the newest alone", list(big.NewInt(7), now.AddDate(0, 0, 7), delta), office.SealIntact, false},
		{"a list with it", list(service.cert.SerialNumber, now.AddDate(0, 0, 7)), office.SealRevoked, false},
		{"good", answer(ocsp.Good, now.AddDate(0, 0, 7), authority), office.SealIntact, true},
		{"good until a day before", answer(ocsp.Good, now.AddDate(0, 0, -1), authority), office.SealIntact, false},
		{"not known", answer(ocsp.Unknown, now.AddDate(0, 0, 7), authority), office.SealIntact, false},
		{"revoked", answer(ocsp.Revoked, now.AddDate(0, 0, 7), authority), office.SealRevoked, false},
		{"good, as one says whom its authority named for that", answer(ocsp.Good, now.AddDate(0, 0, 7), named(x509.ExtKeyUsageOCSPSigning)), office.SealIntact, true},
		{"good, as another customer says", answer(ocsp.Good, now.AddDate(0, 0, 7), named()), office.SealIntact, false},
		{"revoked, as another authority says", answer(ocsp.Revoked, now.AddDate(0, 0, 7), stranger), office.SealIntact, false},
	} {
		sealed := service.seal(t, updated(document(t), map[string]string{string(root[1]): strings.Replace(string(root[2]), "<<", "<</DSS<</CRLs[9000 0 R]>>", 1),
			"9000": fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(c.word), c.word)}))
		if v := judge(t, sealed, service.trusted(now)); v.State != c.state || v.Vouched != c.vouched {
			t.Errorf("%s: %s, %v", c.name, v.State, v.Vouched)
		}
		if v := judge(t, service.seal(t, document(t), carrying(t, c.word)), service.trusted(now)); v.State != c.state || v.Vouched != c.vouched {
			t.Errorf("%s, in the signature: %s, %v", c.name, v.State, v.Vouched)
		}
	}
}

// carrying is the attribute with which a signature carries a list or an answer about revocation.
func carrying(t testing.TB, word []byte) pkcs7.Attribute {
	kind := "tag:0" // a list
	if _, err := x509.ParseRevocationList(word); err != nil {
		kind = "tag:1"
	}
	part := must(asn1.MarshalWithParams([]asn1.RawValue{{FullBytes: word}}, "explicit,"+kind))
	return pkcs7.Attribute{Type: asn1.ObjectIdentifier{1, 2, 840, 113583, 1, 1, 8}, Value: []asn1.RawValue{{FullBytes: part}}}
}

func TestWhatOpenSSLSaysOfRevocationIsReadFromASignature(t *testing.T) {
	_, err := exec.LookPath("openssl")
	fasttest.Needs(t, "openssl", err)
	service := newIdentity(t, "Signing service", ecKey(t), func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().AddDate(-1, 0, 0), time.Now().AddDate(2, 0, 0)
	})
	dir := t.TempDir()
	put := func(name, kind string, der []byte) {
		noErr(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	put("root.pem", "CERTIFICATE", service.root.Raw)
	put("cert.pem", "CERTIFICATE", service.cert.Raw)
	put("key.pem", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(service.rootKey)))
	noErr(t, os.WriteFile(filepath.Join(dir, "ca.cnf"), []byte("[ca]\ndefault_ca=a\n[a]\ndatabase=index\ncrlnumber=number\ndefault_md=sha256\n"), 0o600))
	noErr(t, os.WriteFile(filepath.Join(dir, "number"), []byte("01\n"), 0o600))
	openssl := func(made string, args ...string) []byte {
		cmd := exec.Command("openssl", args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %s: %v: %s", args, err, said)
		}
		return must(os.ReadFile(filepath.Join(dir, made)))
	}
	for line, want := range map[string]struct {
		state   office.SealState
		vouched bool
	}{
		"V\t400101000000Z\t\t02\tunknown\t/CN=Signing service\n":              {office.SealIntact, true},
		"R\t400101000000Z\t200101000000Z\t02\tunknown\t/CN=Signing service\n": {office.SealRevoked, false},
	} {
		noErr(t, os.WriteFile(filepath.Join(dir, "index"), []byte(line), 0o600))
		openssl("list.pem", "ca", "-config", "ca.cnf", "-gencrl", "-keyfile", "key.pem", "-cert", "root.pem", "-crldays", "30", "-out", "list.pem")
		list := openssl("list", "crl", "-in", "list.pem", "-outform", "DER", "-out", "list")
		answer := openssl("answer", "ocsp", "-index", "index", "-CA", "root.pem", "-issuer", "root.pem", "-cert", "cert.pem", "-rsigner", "root.pem", "-rkey", "key.pem", "-ndays", "30", "-respout", "answer")
		for name, word := range map[string][]byte{"list": list, "answer": answer} {
			if v := judge(t, service.seal(t, document(t), carrying(t, word)), service.trusted(time.Now())); v.State != want.state || v.Vouched != want.vouched {
				t.Errorf("%s, %s: %s, %v", line, name, v.State, v.Vouched)
			}
		}
	}
}

// attacks are published attacks on viewers: incremental updates, wrapped signatures, forged ones, and shadows. Each makes
// another file from a sealed one.
func attacks(t testing.TB, victim identity, sealed []byte) map[string][]byte {
	mallory := newIdentity(t, "Signing service", ecKey(t), nil) // the same name
	rangeAt := regexp.MustCompile(`/ByteRange \[0 (\d+) (\d+) (\d+)\s*\]`)
	m := rangeAt.FindSubmatchIndex(sealed)
	number := func(i int) int { n, _ := strconv.Atoi(string(sealed[m[2*i]:m[2*i+1]])); return n }
	gapStart, gapEnd := number(1), number(2)
	withRange := func(text string) []byte {
		text = "/ByteRange [" + text
		return slices.Concat(sealed[:m[0]], []byte(text+strings.Repeat(" ", m[1]-m[0]-len(text)-1)+"]"), sealed[m[1]:])
	}
	flip := func(at int) []byte { b := bytes.Clone(sealed); b[at] ^= 1; return b }
	catalog := regexp.MustCompile(`/Root (\d+) 0 R`).FindSubmatch(sealed)[1]
	page := regexp.MustCompile(`(\d+) 0 obj\n<<[^>]*/Type\s*/Page\b(?s:.*?)endobj`).FindAllSubmatch(sealed, -1)
	lastPage := page[len(page)-1]
	pageText := func(change func(string) string) string {
		_, body, _ := strings.Cut(string(lastPage[0]), "obj\n")
		return change(strings.TrimSuffix(body, "endobj"))
	}
	overlay := func(s string) string {
		return regexp.MustCompile(`/Contents[^/]*`).ReplaceAllString(s, "/Contents 9000 0 R ")
	}
	const square = "<</Length 12>>\nstream\n0 0 9 9 re f\nendstream"
	with := func(change func(string) string, more string) []byte {
		return updated(sealed, map[string]string{string(lastPage[1]): pageText(change), "9000": more})
	}
	annotated := func(s string) string {
		return regexp.MustCompile(`/Annots\s*\[`).ReplaceAllString(s, "/Annots[9000 0 R ")
	}
	overlaid := with(overlay, square)
	before := regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`).FindSubmatch(sealed)[1]
	end := bytes.LastIndex(overlaid, []byte("startxref"))
	bodies := regexp.MustCompile(`\n`+string(catalog)+` 0 obj\n<<((?s:.*?))>>\nendobj`).FindAllSubmatch(sealed, -1)
	otherPages := regexp.MustCompile(`/Pages (\d+) 0 R`).ReplaceAllString(string(bodies[len(bodies)-1][1]), "/Pages\v$1\v0\vR/DSS\v5")
	contents := func(ref string) []byte {
		return with(func(s string) string {
			return regexp.MustCompile(`/Contents (\d+) 0 R`).ReplaceAllString(s, "/Contents "+ref)
		}, square)
	}
	more := map[string][]byte{
		"a blank that is none to others":    updated(sealed, map[string]string{string(catalog): "<</Pages 9000 0 R" + otherPages + ">>", "9000": "<</Type/Pages/Kids[]/Count 0>>"}),
		"a generation that was never there": contents("$1 7 R"),
		"a reference with a sign":           contents("+$1 0 R"),
		"entries that are too short":        append(bytes.Clone(sealed), bytes.ReplaceAll(contents("$1 0 R")[len(sealed):], []byte(" n \n"), []byte(" n\n"))...),
		"two tables at the end":             slices.Concat(overlaid[:end], []byte("startxref\n"+string(before)+"\n%%EOF\n"), overlaid[end:len(overlaid)-len("%%EOF\n")]),
		"an object under another's number":  bytes.Replace(overlaid, []byte("9000 0 obj"), []byte(string(lastPage[1])+" 0 obj"), 1),
		"an object that a comment hides":    bytes.Replace(overlaid, []byte("\n9000 0 obj"), []byte("\n9000 %\n0 obj"), 1),
		"a key twice":                       with(func(s string) string { return strings.Replace(overlay(s), "<<", "<</Contents 9000 0 R", 1) }, square),
		"a key written in another way":      with(func(s string) string { return strings.Replace(s, "<<", "<</Con#74ents 9000 0 R", 1) }, square),
		"a line that says to be a stamp":    with(annotated, "<</Type/Annot/Subtype/Line/L[0 0 99 99]/Rect[0 0 99 0]/V<</SubFilter/ETSI.RFC3161>>>>"),
		"a stamp that draws":                with(annotated, "<</Type/Annot/Subtype/Widget/FT/Sig/Rect[0 0 0 0]/AP<</N 4 0 R>>/V<</SubFilter/ETSI.RFC3161>>>>"),
		"a signature field for nothing":     with(annotated, "<</Type/Annot/Subtype/Widget/FT/Sig/Rect[0 0 0 0]/V<</SubFilter/ETSI.CAdES.detached>>>>"),
		"a signature that draws":            mallory.seal(t, with(annotated, "<</Type/Annot/Subtype/Widget/FT/Sig/Rect[0 0 99 99]/AP<</N 4 0 R>>/V<</SubFilter/ETSI.CAdES.detached>>>>")),
		"filled in by another who seals":    mallory.seal(t, with(annotated, "<</Type/Annot/Subtype/Widget/FT/Tx/Rect[0 0 99 99]/V(9,250.00)>>")),
		"a type that is none":               with(func(s string) string { return strings.Replace(overlay(s), "/Type /Page", "/Type[1]", 1) }, square),
		"a junk signature behind":           slices.Concat(overlaid, []byte("9001 0 obj\n<</SubFilter/x/Contents<00>/ByteRange[0 9 13 1]>>\nendobj\n")),
		"blanks behind":                     slices.Concat(overlaid, bytes.Repeat([]byte(" "), 1<<20)),
		"a count that hides objects":        bytes.Replace(with(func(s string) string { return s }, square), []byte("/Size 9001"), []byte("/Size 5   "), 1),
		"an update of the update's trailer": bytes.Replace(overlaid, []byte("/Prev "), []byte("/Encrypt<</Filter/Standard>>/Prev "), 1),
	}
	all := map[string][]byte{
		"a byte of the document":    flip(900),
		"a byte behind the seal":    flip(len(sealed) - 20),
		"a byte of the signature":   flipHex(sealed, gapEnd-2*press.SealSpace+1800),
		"a page with other content": updated(sealed, map[string]string{string(lastPage[1]): pageText(overlay), "9000": "<</Length 12>>\nstream\n0 0 9 9 re f\nendstream"}),
		"an annotation over the text": updated(sealed, map[string]string{string(lastPage[1]): pageText(func(s string) string {
			return regexp.MustCompile(`/Annots\s*\[`).ReplaceAllString(s, "/Annots[9000 0 R ")
		}), "9000": "<</Type/Annot/Subtype/FreeText/Rect[100 100 300 300]/Contents(9,250.00)/DA(/Helv 12 Tf)>>"}),
		"another catalog":                      updated(sealed, map[string]string{string(catalog): "<</Type/Catalog/Pages 9000 0 R>>", "9000": "<</Type/Pages/Kids[]/Count 0>>"}),
		"an object that the table leaves out":  append(bytes.Clone(sealed), fmt.Sprintf("%s 0 obj\n%s\nendobj\n", lastPage[1], pageText(overlay))...),
		"something behind it without a table":  append(bytes.Clone(sealed), "9000 0 obj\n<</Type/Catalog>>\nendobj\ntrailer\n<</Root 9000 0 R>>\nstartxref\n0\n%%EOF\n"...),
		"no signature in the seal":             slices.Concat(sealed[:gapStart+1], bytes.Repeat([]byte("0"), gapEnd-gapStart-2), sealed[gapEnd-1:]),
		"a seal without a range":               withRange(""),
		"a range of nothing":                   withRange("0 0 0 0"),
		"a negative range":                     withRange("0 -1 10 10"),
		"a range that leaves out more":         withRange(fmt.Sprintf("0 %d %d %d", gapStart-40, gapEnd, len(sealed)-gapEnd)),
		"a range that begins later":            withRange(fmt.Sprintf("9 %d %d %d", gapStart-9, gapEnd, len(sealed)-gapEnd)),
		"a range that overlaps":                withRange(fmt.Sprintf("0 %d %d %d", gapEnd, gapStart, len(sealed)-gapStart)),
		"a range beyond the file":              withRange(fmt.Sprintf("0 %d %d %d", gapStart, gapEnd, len(sealed)-gapEnd+9)),
		"a wrapped signature":                  wrapped(sealed, gapStart, gapEnd, m),
		"the seal on another document":         moved(t, sealed, gapStart, gapEnd),
		"sealed anew by somebody of that name": mallory.seal(t, updated(sealed, map[string]string{string(lastPage[1]): pageText(overlay), "9000": "<</Length 12>>\nstream\n0 0 9 9 re f\nendstream"})),
		"code in the gap":                      slices.Concat(sealed[:gapStart+1], []byte("30>/X/Y<"), sealed[gapStart+9:]),
		"cut short":                            sealed[:len(sealed)-200],
	}
	maps.Copy(all, more)
	return all
}

func flipHex(sealed []byte, at int) []byte {
	b := bytes.Clone(sealed)
	if b[at] == '0' {
		b[at] = '1'
	} else {
		b[at] = '0'
	}
	return b
}

// updated appends objects to a PDF, as editors do.
func updated(pdf []byte, objects map[string]string) []byte {
	out := bytes.NewBuffer(bytes.Clone(pdf))
	before := regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`).FindSubmatch(pdf)[1]
	root := regexp.MustCompile(`/Root (\d+) 0 R`).FindAllSubmatch(pdf, -1)
	var table bytes.Buffer
	for number, text := range objects {
		fmt.Fprintf(&table, "%s 1\n%010d 00000 n \n", number, out.Len())
		fmt.Fprintf(out, "%s 0 obj\n%s\nendobj\n", number, text)
	}
	start := out.Len()
	fmt.Fprintf(out, "xref\n%strailer\n<</Size 9001/Root %s 0 R/Prev %s>>\nstartxref\n%d\n%%%%EOF\n", table.Bytes(), root[len(root)-1][1], before, start)
	return out.Bytes()
}

// wrapped moves the second part of the range to the end, and puts something else in its place.
func wrapped(sealed []byte, gapStart, gapEnd int, m []int) []byte {
	other := []byte("\n/Reason(9,250.00)>>\nendobj\n")
	at := gapEnd + len(other)
	text := fmt.Sprintf("/ByteRange [0 %d %d %d", gapStart, at, len(sealed)-gapEnd)
	head := slices.Concat(sealed[:m[0]], []byte(text+strings.Repeat(" ", m[1]-m[0]-len(text)-1)+"]"), sealed[m[1]:gapEnd])
	return slices.Concat(head, other, sealed[gapEnd:])
}

// moved puts an unchanged seal on a document with another amount.
func moved(t testing.TB, sealed []byte, gapStart, gapEnd int) []byte {
	t.Helper()
	other := must(press.Press{}.Prepare(document(t), sealedAt.Add(time.Second)))
	filled := must(press.Fill(other, func(...[]byte) ([]byte, error) { return nil, nil }))
	copy(filled[gapStart:gapEnd], sealed[gapStart:gapEnd])
	return filled
}

func TestNoAttackPassesAsUnchanged(t *testing.T) {
	victim := newIdentity(t, "Signing service", ecKey(t), nil)
	sealed := victim.seal(t, document(t))
	trust := victim.trusted(sealedAt.AddDate(0, 1, 0))
	all := attacks(t, victim, sealed)
	crowded := all["a page with other content"]
	for range 9 {
		crowded = newIdentity(t, "Signing service", ecKey(t), nil).seal(t, crowded)
	}
	all["other content below many seals"] = crowded
	for name, pdf := range all {
		if bytes.Equal(pdf, sealed) {
			t.Errorf("%s: nothing was done", name)
		}
		v := judge(t, pdf, trust)
		t.Logf("%s: %s", name, v.State)
		if v.State == office.SealIntact || v.State == office.SealNone || v.State == office.SealStranger {
			t.Errorf("%s: %s", name, v.State)
		}
	}
}

// TestOthersSayTheSame checks the sound file and the attacks with OpenSSL and Poppler: what either calls forged must not be
// intact, and what is intact they must call valid and complete.
func TestOthersSayTheSame(t *testing.T) {
	for _, tool := range []string{"openssl", "pdfsig"} {
		_, err := exec.LookPath(tool)
		fasttest.Needs(t, tool, err)
	}
	victim := newIdentity(t, "Signing service", ecKey(t), nil)
	sealed := victim.seal(t, document(t))
	trust := victim.trusted(sealedAt.AddDate(0, 1, 0))
	root := filepath.Join(t.TempDir(), "root.pem")
	noErr(t, os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: victim.root.Raw}), 0o600))
	files := attacks(t, victim, sealed)
	files["sound"] = sealed
	for name, pdf := range files {
		path := filepath.Join(t.TempDir(), "a.pdf")
		noErr(t, os.WriteFile(path, pdf, 0o600))
		said, _ := exec.Command("pdfsig", "-nocert", path).CombinedOutput() // it fails for most attacks
		valid := strings.Contains(string(said), "Signature is Valid") && strings.Contains(string(said), "Total document signed")
		is := judge(t, pdf, trust).State
		if is == office.SealIntact != (name == "sound") || is == office.SealIntact && !valid {
			t.Errorf("%s: %s, pdfsig says %s", name, is, said)
		}
	}
	m := regexp.MustCompile(`/ByteRange \[0 (\d+) (\d+) (\d+)`).FindSubmatch(sealed)
	gapStart, _ := strconv.Atoi(string(m[1]))
	gapEnd, _ := strconv.Atoi(string(m[2]))
	content, signature := filepath.Join(t.TempDir(), "content"), filepath.Join(t.TempDir(), "signature")
	noErr(t, os.WriteFile(content, slices.Concat(sealed[:gapStart], sealed[gapEnd:]), 0o600))
	der := make([]byte, (gapEnd-gapStart-2)/2)
	must(fmt.Sscanf(string(sealed[gapStart+1:gapEnd-1]), "%x", &der))
	noErr(t, os.WriteFile(signature, der, 0o600))
	out, err := exec.Command("openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", signature, "-content", content, "-CAfile", root,
		"-purpose", "any", "-attime", strconv.FormatInt(sealedAt.Unix(), 10), "-out", os.DevNull).CombinedOutput()
	if err != nil {
		t.Errorf("openssl: %v: %s", err, out)
	}
}

// Readers unpack an object stream with odd parameters in different ways: if one of them shows another page, the document is
// not unchanged; nor is it with a table that claims millions of entries without any bytes.
func TestStreamsThatReadersUnpackDifferently(t *testing.T) {
	victim := newIdentity(t, "Signing service", ecKey(t), nil)
	sealed := victim.seal(t, document(t))
	trust := victim.trusted(sealedAt.AddDate(0, 1, 0))
	page := string(regexp.MustCompile(`(?s)3 0 obj\s*(<</Annots.*?>>)\s*endobj`).FindSubmatch(sealed)[1])
	other := strings.Fields("<< /Type /Page /Parent 1 0 R /MediaBox [0 0 595 842] /Contents 9000 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>")
	const first = 40
	forged := func(table, parameters string, objects []byte) []byte {
		var packed, entries bytes.Buffer
		z := zlib.NewWriter(&packed)
		z.Write(objects)
		z.Close()
		out := bytes.NewBuffer(bytes.Clone(sealed))
		before := regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`).FindSubmatch(sealed)[1]
		root := regexp.MustCompile(`/Root (\d+) 0 R`).FindAllSubmatch(sealed, -1)
		at := map[int]int{}
		put := func(number int, s string) {
			at[number] = out.Len()
			fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", number, s)
		}
		text := "BT /F1 40 Tf 60 600 Td (Rent is 9999) Tj ET"
		put(9000, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text))
		put(9001, "12")
		put(9003, fmt.Sprintf("<</Type/ObjStm/N 2/First %d/Filter/FlateDecode/DecodeParms%s/Length %d>>\nstream\n%s\nendstream", first, parameters, packed.Len(), packed.String()))
		at[9005] = out.Len()
		entry := func(kind byte, a, b int) {
			entries.Write([]byte{kind, byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a), byte(b >> 8), byte(b)})
		}
		entry(2, 9003, 1)
		entry(2, 9003, 0)
		for _, number := range []int{9000, 9001, 9003, 9005} {
			entry(1, at[number], 0)
		}
		fmt.Fprintf(out, "9005 0 obj\n<</Type/XRef%s/Size 9006/Root %s 0 R/Prev %s/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
			table, root[len(root)-1][1], before, entries.Len(), entries.String(), at[9005])
		return out.Bytes()
	}
	const table = "/W[1 4 2]/Index[3 1 8500 1 9000 2 9003 1 9005 1]"
	padded := func(s string, to int) []byte { return append([]byte(s), strings.Repeat(" ", to-len(s))...) }

	raw := append(padded(" 8500 0 3 2000 ", first), '(') // the other page, in nine of ten bytes of a string
	for _, c := range []byte(strings.Repeat(" ", 10) + strings.Join(other, " ") + strings.Repeat(" ", 40)) {
		if len(raw)%10 == 0 {
			raw = append(raw, '0')
		}
		raw = append(raw, c)
	}
	raw = append(padded(string(append(raw, ')')), first+2000), page+"          "...)

	rows := append(padded("8500 0 3 9000 ", first), "(              "...) // the other page in a string, where the rows' predictor bytes are spaces
	for _, word := range other {
		for len(rows)%10+len(word) > 10 {
			rows = append(rows, ' ')
		}
		rows = append(append(rows, word...), ' ')
	}
	rows = append(padded(string(rows)+"                        )", first+9000), page...)
	rows = padded(string(rows), (len(rows)+9)/10*10)
	var predicted []byte
	for at := 0; at < len(rows); at += 10 {
		predicted = append(append(predicted, 0), rows[at:at+10]...)
	}
	for name, pdf := range map[string][]byte{
		"a predictor that stands elsewhere":       forged(table, "<</Predictor 9001 0 R/Columns 9>>", raw),
		"parameters in a list for a filter alone": forged(table, "[<</Predictor 12/Columns 10>>]", predicted),
		"parameters under their short name":       forged(table, "<<>>/DP<</Predictor 12/Columns 9>>", raw),
		"a row that is cut short":                 forged(table, "<</Predictor 12/Columns 10>>", append(predicted, 0, '9')),
		"a table of millions in no bytes":         forged("/W[0 0 0]/Index[1 2000000000]", "<<>>", nil),
	} {
		if v := judge(t, pdf, trust); v.State != office.SealChanged {
			t.Errorf("%s: %s", name, v.State)
		}
	}
}
