package seal

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // old seals are recognised but not trusted
	"crypto/sha256"
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"time"
)

var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidTimeStamp     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
	oidSigningCert   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidSigningCertV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidRevocation    = asn1.ObjectIdentifier{1, 2, 840, 113583, 1, 1, 8}

	oidSHA256  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidRSA     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidPSS     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidMGF1    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}
	oidECKey   = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	oidEd25519 = asn1.ObjectIdentifier{1, 3, 101, 112}
)

// hashes are the known digests, by identifier.
var hashes = map[string]crypto.Hash{
	"1.3.14.3.2.26":           crypto.SHA1,
	"2.16.840.1.101.3.4.2.4":  crypto.SHA224,
	"2.16.840.1.101.3.4.2.1":  crypto.SHA256,
	"2.16.840.1.101.3.4.2.2":  crypto.SHA384,
	"2.16.840.1.101.3.4.2.3":  crypto.SHA512,
	"2.16.840.1.101.3.4.2.7":  crypto.SHA3_224,
	"2.16.840.1.101.3.4.2.8":  crypto.SHA3_256,
	"2.16.840.1.101.3.4.2.9":  crypto.SHA3_384,
	"2.16.840.1.101.3.4.2.10": crypto.SHA3_512,
}

// schemes are the signature algorithms that include a digest, with the kind of key.
var schemes = map[string]struct {
	key  asn1.ObjectIdentifier
	hash crypto.Hash
}{
	"1.2.840.113549.1.1.5":    {oidRSA, crypto.SHA1},
	"1.2.840.113549.1.1.14":   {oidRSA, crypto.SHA224},
	"1.2.840.113549.1.1.11":   {oidRSA, crypto.SHA256},
	"1.2.840.113549.1.1.12":   {oidRSA, crypto.SHA384},
	"1.2.840.113549.1.1.13":   {oidRSA, crypto.SHA512},
	"2.16.840.1.101.3.4.3.14": {oidRSA, crypto.SHA3_256},
	"2.16.840.1.101.3.4.3.15": {oidRSA, crypto.SHA3_384},
	"2.16.840.1.101.3.4.3.16": {oidRSA, crypto.SHA3_512},
	"1.2.840.10045.4.1":       {oidECKey, crypto.SHA1},
	"1.2.840.10045.4.3.1":     {oidECKey, crypto.SHA224},
	"1.2.840.10045.4.3.2":     {oidECKey, crypto.SHA256},
	"1.2.840.10045.4.3.3":     {oidECKey, crypto.SHA384},
	"1.2.840.10045.4.3.4":     {oidECKey, crypto.SHA512},
	"2.16.840.1.101.3.4.3.10": {oidECKey, crypto.SHA3_256},
	"2.16.840.1.101.3.4.3.11": {oidECKey, crypto.SHA3_384},
	"2.16.840.1.101.3.4.3.12": {oidECKey, crypto.SHA3_512},
}

// The structures of a signature (RFC 5652, sections 3 and 5), of a time stamp (RFC 3161, section 2.4.2), of what names a
// certificate (RFC 5035), of RSASSA-PSS parameters (RFC 4055, section 3.1) and of revocation information (ISO 32000-1,
// 12.8.3.3.2). Further elements of a sequence are ignored.
type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,optional,tag:0"`
	}
	signedInfo struct {
		Version      int
		Digests      asn1.RawValue
		Content      contentInfo
		Certificates asn1.RawValue `asn1:"optional,tag:0"`
		CRLs         asn1.RawValue `asn1:"optional,tag:1"`
		Signers      []signerInfo  `asn1:"set"`
	}
	signerInfo struct {
		Version    int
		Signer     asn1.RawValue
		Digest     pkix.AlgorithmIdentifier
		Attributes asn1.RawValue `asn1:"optional,tag:0"`
		Scheme     pkix.AlgorithmIdentifier
		Signature  []byte
		Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
	}
	issuerAndSerial struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	attribute struct {
		Type   asn1.ObjectIdentifier
		Values asn1.RawValue
	}
	imprint struct {
		Digest pkix.AlgorithmIdentifier
		Sum    []byte
	}
	stampInfo struct {
		Version  int
		Policy   asn1.ObjectIdentifier
		Imprint  imprint
		Serial   *big.Int
		At       asn1.RawValue
		Accuracy struct{} `asn1:"optional"`
		Ordering bool     `asn1:"optional"`
		Nonce    *big.Int `asn1:"optional"`
	}
	signingCertificate struct {
		Certificates []struct {
			Digest pkix.AlgorithmIdentifier `asn1:"optional"`
			Sum    []byte
		}
	}
	pssParameters struct {
		Digest pkix.AlgorithmIdentifier `asn1:"explicit,optional,tag:0"`
		Mask   pkix.AlgorithmIdentifier `asn1:"explicit,optional,tag:1"`
	}
	revocationInfo struct {
		CRLs  []asn1.RawValue `asn1:"explicit,optional,tag:0"`
		OCSPs []asn1.RawValue `asn1:"explicit,optional,tag:1"`
	}
)

// read decodes the first value of der.
func read(der []byte, value any) bool {
	_, err := asn1.Unmarshal(der, value)
	return err == nil
}

// signedData is a signature with a single signer, as in a PDF.
type signedData struct {
	signerInfo
	contentType  asn1.ObjectIdentifier
	content      []byte // nil if the signed content is elsewhere
	certificates []*x509.Certificate
	digest       crypto.Hash
	attributes   []byte // as a set, in the signed order; nil for none
}

// parseCMS parses a signature. It skips unreadable certificates.
func parseCMS(ber []byte) (*signedData, error) {
	der, err := normalize(ber)
	var outer contentInfo
	var all signedInfo
	if err != nil || !read(der, &outer) || !outer.Type.Equal(oidSignedData) || !read(outer.Content.Bytes, &all) || len(all.Signers) != 1 {
		return nil, FaultUnreadable
	}
	d := signedData{signerInfo: all.Signers[0], contentType: all.Content.Type}
	if embedded := all.Content.Content.Bytes; len(embedded) > 0 && !read(embedded, &d.content) {
		return nil, FaultUnreadable
	}
	for rest := all.Certificates.Bytes; len(rest) > 0; {
		var one asn1.RawValue
		if rest, err = asn1.Unmarshal(rest, &one); err != nil {
			return nil, FaultUnreadable
		}
		if c, err := x509.ParseCertificate(one.FullBytes); err == nil {
			d.certificates = append(d.certificates, c)
		}
	}
	if signed := d.Attributes.FullBytes; len(signed) > 0 {
		d.attributes = append([]byte{tagSet}, signed[1:]...) // in the form that was signed (RFC 5652, section 5.4)
	}
	d.digest, err = hashOf(d.Digest)
	return &d, err
}

// hashOf is the digest for an algorithm identifier.
func hashOf(algorithm pkix.AlgorithmIdentifier) (crypto.Hash, error) {
	if h, known := hashes[algorithm.Algorithm.String()]; known {
		return h, nil
	}
	return 0, FaultMethod
}

// hashOr is hashOf, with a default for an identifier without a digest.
func hashOr(algorithm pkix.AlgorithmIdentifier, or crypto.Hash) (crypto.Hash, error) {
	if algorithm.Algorithm == nil {
		return or, nil
	}
	return hashOf(algorithm)
}

// verify checks that the signer's certificate signed content with digest sum. It returns that certificate; nil if the
// signature does not include it.
func (d *signedData) verify(sum []byte) (*x509.Certificate, error) {
	signer := d.signer()
	if d.attributes == nil {
		if signer == nil || !d.contentType.Equal(oidData) { // other types of content require attributes (RFC 5652, section 5.3)
			return signer, FaultUnreadable
		}
		return signer, d.checkSignature(signer, sum, nil)
	}
	var signed []byte
	var kind asn1.ObjectIdentifier
	if !d.attribute(oidMessageDigest, &signed) {
		return signer, FaultUnreadable
	}
	if !bytes.Equal(signed, sum) {
		return signer, FaultDigest
	}
	if !d.attribute(oidContentType, &kind) || !kind.Equal(d.contentType) {
		return signer, FaultUnreadable
	}
	if signer == nil {
		return nil, FaultUnreadable
	}
	if !d.names(signer) {
		return signer, FaultForged
	}
	h := d.digest.New()
	h.Write(d.attributes)
	return signer, d.checkSignature(signer, h.Sum(nil), d.attributes)
}

// signer is the certificate that the signature names; nil if the signature does not include it.
func (d *signedData) signer() *x509.Certificate {
	var named issuerAndSerial
	byName := read(d.Signer.FullBytes, &named)
	byKey := d.Signer.Class == asn1.ClassContextSpecific && d.Signer.Tag == 0 && len(d.Signer.Bytes) > 0
	for _, c := range d.certificates {
		if byKey && bytes.Equal(c.SubjectKeyId, d.Signer.Bytes) ||
			byName && bytes.Equal(c.RawIssuer, named.Issuer.FullBytes) && c.SerialNumber.Cmp(named.Serial) == 0 {
			return c
		}
	}
	return nil
}

// attribute decodes the value of the only signed attribute of a type; false if there are none or several.
func (d *signedData) attribute(id asn1.ObjectIdentifier, value any) bool {
	return d.attributes != nil && onlyAttribute(content(d.attributes), id, value)
}

func onlyAttribute(set []byte, id asn1.ObjectIdentifier, value any) (one bool) {
	for len(set) > 0 {
		var a attribute
		var err error
		if set, err = asn1.Unmarshal(set, &a); err != nil {
			return false
		}
		if a.Type.Equal(id) {
			if one || !read(a.Values.Bytes, value) {
				return false
			}
			one = true
		}
	}
	return one
}

// names reports whether c matches the attributes, if any, that bind the certificate to the signature.
func (d *signedData) names(c *x509.Certificate) bool {
	for _, a := range []struct {
		id    asn1.ObjectIdentifier
		usual crypto.Hash
	}{{oidSigningCert, crypto.SHA1}, {oidSigningCertV2, crypto.SHA256}} {
		var any asn1.RawValue
		if !d.attribute(a.id, &any) {
			continue
		}
		var list signingCertificate
		if !read(any.FullBytes, &list) || len(list.Certificates) == 0 {
			return false
		}
		h, err := hashOr(list.Certificates[0].Digest, a.usual)
		if err != nil {
			return false
		}
		hash := h.New()
		hash.Write(c.Raw)
		if !bytes.Equal(list.Certificates[0].Sum, hash.Sum(nil)) {
			return false
		}
	}
	return true
}

// checkSignature verifies the signature over sum; message is the input of that digest, for schemes that need it.
func (d *signedData) checkSignature(c *x509.Certificate, sum, message []byte) error {
	scheme, hash := d.Scheme.Algorithm, d.digest
	if known, ok := schemes[scheme.String()]; ok {
		if scheme = known.key; known.hash != hash {
			return FaultMethod
		}
	}
	ok := false
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		var err error
		switch {
		case scheme.Equal(oidRSA):
			err = rsa.VerifyPKCS1v15(key, hash, sum, d.Signature)
		case scheme.Equal(oidPSS) && d.sameHashInPSS():
			err = rsa.VerifyPSS(key, hash, sum, d.Signature, nil)
		default:
			return FaultMethod
		}
		if ok = err == nil; !ok && !errors.Is(err, rsa.ErrVerification) { // the key is unsafe
			return FaultMethod
		}
	case *ecdsa.PublicKey:
		if !scheme.Equal(oidECKey) {
			return FaultMethod
		}
		ok = ecdsa.VerifyASN1(key, sum, d.Signature)
	case ed25519.PublicKey:
		if !scheme.Equal(oidEd25519) || message == nil {
			return FaultMethod
		}
		ok = ed25519.Verify(key, message, d.Signature)
	default:
		return FaultMethod
	}
	if !ok {
		return FaultForged
	}
	if hash == crypto.SHA1 {
		return FaultMethod
	}
	return nil
}

// sameHashInPSS reports whether the RSASSA-PSS parameters use the signer's digest, including for the mask.
func (d *signedData) sameHashInPSS() bool {
	var p pssParameters
	if !read(d.Scheme.Parameters.FullBytes, &p) {
		return false
	}
	digest, err := hashOr(p.Digest, crypto.SHA1)
	mask := crypto.SHA1
	if inner := (pkix.AlgorithmIdentifier{}); err == nil && p.Mask.Algorithm != nil {
		if !p.Mask.Algorithm.Equal(oidMGF1) || !read(p.Mask.Parameters.FullBytes, &inner) {
			return false
		}
		mask, err = hashOf(inner)
	}
	return err == nil && digest == d.digest && mask == d.digest
}

// claimed is the signing time according to the signer; zero if absent.
func (d *signedData) claimed() (at time.Time) {
	if !d.attribute(oidSigningTime, &at) {
		return time.Time{}
	}
	return at
}

// stamp is an authority's time stamp (RFC 3161).
type stamp struct {
	at           time.Time
	certificates []*x509.Certificate // the authority's first
	nonce        *big.Int            // nil for none
}

// readStamp checks that a time stamp is about content with the digest from sum, and returns it.
func readStamp(ber []byte, sum func(crypto.Hash) ([]byte, error)) (stamp, error) {
	token, err := parseCMS(ber)
	if err != nil {
		return stamp{}, err
	}
	if token.content == nil || !token.contentType.Equal(oidTSTInfo) {
		return stamp{}, FaultUnreadable
	}
	h := token.digest.New()
	h.Write(token.content)
	authority, err := token.verify(h.Sum(nil))
	if err != nil {
		return stamp{}, err
	}
	var info stampInfo
	if !read(token.content, &info) {
		return stamp{}, FaultUnreadable
	}
	hash, err := hashOf(info.Imprint.Digest)
	if err != nil {
		return stamp{}, err
	}
	if hash == crypto.SHA1 {
		return stamp{}, FaultMethod
	}
	want, err := sum(hash)
	if err != nil {
		return stamp{}, err
	}
	if !bytes.Equal(want, info.Imprint.Sum) {
		return stamp{}, FaultDigest
	}
	when, err := time.Parse("20060102150405Z", string(info.At.Bytes)) // accepts fractions of a second, too
	if err != nil {
		return stamp{}, FaultUnreadable
	}
	return stamp{when, chainOf(authority, token.certificates), info.Nonce}, nil
}

// chainOf puts the signer's certificate first.
func chainOf(signer *x509.Certificate, all []*x509.Certificate) []*x509.Certificate {
	chain := []*x509.Certificate{signer}
	for _, c := range all {
		if !c.Equal(signer) {
			chain = append(chain, c)
		}
	}
	return chain
}

// Stamp is an authority's statement that something existed at a time (RFC 3161).
type Stamp struct {
	Token     []byte
	At        time.Time
	Authority string
}

// StampRequest makes a request for a time stamp for something with that SHA-256; nonce identifies the answer.
func StampRequest(sum [sha256.Size]byte) (request []byte, nonce *big.Int, err error) {
	if nonce, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	request, err = asn1.Marshal(struct {
		Version      int
		Imprint      imprint
		Nonce        *big.Int
		Certificates bool
	}{1, imprint{pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}, sum[:]}, nonce, true})
	return request, nonce, err
}

var (
	errRefused  = errors.New("the authority has not stamped it")
	errNonce    = errors.New("the stamp answers another question")
	ErrStranger = errors.New("nobody here knows the authority")
)

// ReadStamp verifies the answer to a request. It accepts only stamps of trusted authorities.
func (t Trust) ReadStamp(answer []byte, sum [sha256.Size]byte, nonce *big.Int) (Stamp, error) {
	var all struct {
		Status struct{ Granted int }
		Token  asn1.RawValue `asn1:"optional"`
	}
	if !read(answer, &all) {
		return Stamp{}, FaultUnreadable
	}
	token := all.Token.FullBytes
	if all.Status.Granted > 1 || len(token) == 0 { // 1 means "with modifications"
		return Stamp{}, errRefused
	}
	s, err := readStamp(token, func(h crypto.Hash) ([]byte, error) {
		if h != crypto.SHA256 {
			return nil, FaultMethod
		}
		return sum[:], nil
	})
	switch {
	case err != nil:
		return Stamp{}, err
	case !t.trusts(s.certificates, s.at, x509.ExtKeyUsageTimeStamping):
		return Stamp{}, ErrStranger
	case s.nonce == nil || s.nonce.Cmp(nonce) != 0:
		return Stamp{}, errNonce
	}
	return Stamp{token, s.at, nameOf(s.certificates[0].Subject)}, nil
}
