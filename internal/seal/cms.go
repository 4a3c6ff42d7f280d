package seal

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	_ "crypto/sha1" // old seals are recognised, though not relied upon
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"
	tag "golang.org/x/crypto/cryptobyte/asn1"
)

// What is wrong with a signature. Each is about the signature as such; whether people should believe its certificate is Judge's
// business.
var (
	errUnreadable = errors.New("the signature cannot be read")
	errMethod     = errors.New("the signature's method is not known or no longer safe")
	errDigest     = errors.New("the file is not the one that was signed")
	errForged     = errors.New("the signature was not made with its certificate")
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

	oidRSA     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidPSS     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidMGF1    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}
	oidECKey   = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	oidEd25519 = asn1.ObjectIdentifier{1, 3, 101, 112}
)

// hashes are the digests that are known, by their identifiers.
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

// schemes are the signatures that name a digest themselves, with the kind of key that makes them.
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

// signedData is a signature as CMS writes it (RFC 5652, section 5), with the one signer that a PDF's has.
type signedData struct {
	contentType  asn1.ObjectIdentifier
	content      []byte // nil where what was signed is elsewhere
	certificates []*x509.Certificate

	issuer, serial []byte // of the signer's certificate; empty when keyID names it
	keyID          []byte
	digest         crypto.Hash
	attributes     []byte // as a set, in the order in which they were signed; nil for none
	scheme         asn1.ObjectIdentifier
	parameters     cryptobyte.String
	signature      []byte
	unsigned       cryptobyte.String
}

// parseCMS reads a signature. Certificates that cannot be read are passed over.
func parseCMS(ber []byte) (*signedData, error) {
	der, err := normalize(ber)
	if err != nil {
		return nil, errUnreadable
	}
	in := cryptobyte.String(der)
	var info, explicit, all cryptobyte.String
	var kind asn1.ObjectIdentifier
	if !in.ReadASN1(&info, tag.SEQUENCE) || !info.ReadASN1ObjectIdentifier(&kind) || !kind.Equal(oidSignedData) ||
		!info.ReadASN1(&explicit, context(0)) || !explicit.ReadASN1(&all, tag.SEQUENCE) {
		return nil, errUnreadable
	}
	var d signedData
	var wrapped, inner, certificates, signers, signer cryptobyte.String
	var embedded, has bool
	if !all.SkipASN1(tag.INTEGER) || !all.SkipASN1(tag.SET) || !all.ReadASN1(&wrapped, tag.SEQUENCE) ||
		!wrapped.ReadASN1ObjectIdentifier(&d.contentType) || !wrapped.ReadOptionalASN1(&inner, &embedded, context(0)) ||
		!all.ReadOptionalASN1(&certificates, &has, context(0)) || !all.SkipOptionalASN1(context(1)) ||
		!all.ReadASN1(&signers, tag.SET) || !signers.ReadASN1(&signer, tag.SEQUENCE) || !signers.Empty() {
		return nil, errUnreadable
	}
	if embedded {
		var octets cryptobyte.String
		if !inner.ReadASN1(&octets, tag.OCTET_STRING) {
			return nil, errUnreadable
		}
		d.content = append([]byte{}, octets...)
	}
	for !certificates.Empty() {
		var one cryptobyte.String
		var t tag.Tag
		if !certificates.ReadAnyASN1Element(&one, &t) {
			return nil, errUnreadable
		}
		if c, err := x509.ParseCertificate(one); err == nil {
			d.certificates = append(d.certificates, c)
		}
	}
	return &d, d.parseSigner(signer)
}

func (d *signedData) parseSigner(in cryptobyte.String) error {
	var names, issuer, serial, digest, attributes, scheme, signature cryptobyte.String
	var hasAttributes, hasUnsigned bool
	var t tag.Tag
	if !in.SkipASN1(tag.INTEGER) {
		return errUnreadable
	}
	if in.PeekASN1Tag(tag.SEQUENCE) {
		if !in.ReadASN1(&names, tag.SEQUENCE) || !names.ReadASN1Element(&issuer, tag.SEQUENCE) || !names.ReadASN1(&serial, tag.INTEGER) {
			return errUnreadable
		}
		d.issuer, d.serial = issuer, serial
	} else {
		var id cryptobyte.String
		if !in.ReadASN1(&id, tag.Tag(0).ContextSpecific()) {
			return errUnreadable
		}
		d.keyID = id
	}
	if !in.ReadASN1(&digest, tag.SEQUENCE) {
		return errUnreadable
	}
	attributesTag := context(0)
	if hasAttributes = in.PeekASN1Tag(attributesTag); hasAttributes && !in.ReadASN1Element(&attributes, attributesTag) {
		return errUnreadable
	}
	if !in.ReadASN1(&scheme, tag.SEQUENCE) || !scheme.ReadASN1ObjectIdentifier(&d.scheme) ||
		!in.ReadASN1(&signature, tag.OCTET_STRING) || !in.ReadOptionalASN1(&d.unsigned, &hasUnsigned, context(1)) {
		return errUnreadable
	}
	if !scheme.Empty() && !scheme.ReadAnyASN1Element(&d.parameters, &t) {
		return errUnreadable
	}
	d.signature = signature
	if hasAttributes {
		d.attributes = append([]byte{tagSet}, attributes[1:]...) // as it was signed (RFC 5652, section 5.4)
	}
	var err error
	d.digest, err = hashOf(digest)
	return err
}

// hashOf reads which digest an algorithm identifier names.
func hashOf(algorithm cryptobyte.String) (crypto.Hash, error) {
	var id asn1.ObjectIdentifier
	if !algorithm.ReadASN1ObjectIdentifier(&id) {
		return 0, errUnreadable
	}
	if h, known := hashes[id.String()]; known {
		return h, nil
	}
	return 0, errMethod
}

// verify checks that the signer's certificate signed content whose digest is sum, and returns that certificate; nil when it does not
// come with the signature.
func (d *signedData) verify(sum []byte) (*x509.Certificate, error) {
	signer := d.signer()
	if d.attributes == nil {
		if signer == nil || !d.contentType.Equal(oidData) { // attributes name any other type of content (RFC 5652, section 5.3)
			return signer, errUnreadable
		}
		return signer, d.checkSignature(signer, sum, nil)
	}
	var signed cryptobyte.String
	var kind asn1.ObjectIdentifier
	if value, one := d.attribute(oidMessageDigest); !one || !value.ReadASN1(&signed, tag.OCTET_STRING) {
		return signer, errUnreadable
	}
	if !bytes.Equal(signed, sum) {
		return signer, errDigest
	}
	if value, one := d.attribute(oidContentType); !one || !value.ReadASN1ObjectIdentifier(&kind) || !kind.Equal(d.contentType) {
		return signer, errUnreadable
	}
	if signer == nil {
		return nil, errUnreadable
	}
	if !d.names(signer) {
		return signer, errForged
	}
	h := d.digest.New()
	h.Write(d.attributes)
	return signer, d.checkSignature(signer, h.Sum(nil), d.attributes)
}

// signer is the certificate that the signature names; nil when it does not come with it.
func (d *signedData) signer() *x509.Certificate {
	for _, c := range d.certificates {
		if len(d.keyID) > 0 && bytes.Equal(c.SubjectKeyId, d.keyID) {
			return c
		}
		serial, err := asn1.Marshal(c.SerialNumber)
		if len(d.keyID) == 0 && err == nil && bytes.Equal(c.RawIssuer, d.issuer) && bytes.Equal(content(serial), d.serial) {
			return c
		}
	}
	return nil
}

// attribute is the value of the one signed attribute of a type; one is false when there are none or several.
func (d *signedData) attribute(id asn1.ObjectIdentifier) (value cryptobyte.String, one bool) {
	if d.attributes == nil {
		return nil, false
	}
	return onlyAttribute(content(d.attributes), id)
}

func onlyAttribute(set cryptobyte.String, id asn1.ObjectIdentifier) (value cryptobyte.String, one bool) {
	for !set.Empty() {
		var a, values cryptobyte.String
		var kind asn1.ObjectIdentifier
		if !set.ReadASN1(&a, tag.SEQUENCE) || !a.ReadASN1ObjectIdentifier(&kind) || !a.ReadASN1(&values, tag.SET) {
			return nil, false
		}
		if !kind.Equal(id) {
			continue
		}
		if one {
			return nil, false
		}
		value, one = values, true
	}
	return value, one
}

// names reports whether the attributes that bind the certificate to the signature, where there are such, name c (RFC 5035).
func (d *signedData) names(c *x509.Certificate) bool {
	for _, id := range []asn1.ObjectIdentifier{oidSigningCert, oidSigningCertV2} {
		value, has := d.attribute(id)
		if !has {
			continue
		}
		var body, list, first, sum, algorithm cryptobyte.String
		if !value.ReadASN1(&body, tag.SEQUENCE) || !body.ReadASN1(&list, tag.SEQUENCE) || !list.ReadASN1(&first, tag.SEQUENCE) {
			return false
		}
		h := crypto.SHA1
		if id.Equal(oidSigningCertV2) {
			h = crypto.SHA256
			if first.PeekASN1Tag(tag.SEQUENCE) {
				var err error
				if !first.ReadASN1(&algorithm, tag.SEQUENCE) {
					return false
				}
				if h, err = hashOf(algorithm); err != nil {
					return false
				}
			}
		}
		hash := h.New()
		hash.Write(c.Raw)
		if !first.ReadASN1(&sum, tag.OCTET_STRING) || !bytes.Equal(sum, hash.Sum(nil)) {
			return false
		}
	}
	return true
}

// checkSignature checks the signature itself over sum; message is what sum is the digest of, for schemes that want it.
func (d *signedData) checkSignature(c *x509.Certificate, sum, message []byte) error {
	scheme, hash := d.scheme, d.digest
	if known, ok := schemes[d.scheme.String()]; ok {
		if scheme = known.key; known.hash != hash {
			return errMethod
		}
	}
	ok := false
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		switch {
		case scheme.Equal(oidRSA):
			ok = rsa.VerifyPKCS1v15(key, hash, sum, d.signature) == nil
		case scheme.Equal(oidPSS):
			if !d.sameHashInPSS() {
				return errMethod
			}
			ok = rsa.VerifyPSS(key, hash, sum, d.signature, nil) == nil
		default:
			return errMethod
		}
	case *ecdsa.PublicKey:
		if !scheme.Equal(oidECKey) {
			return errMethod
		}
		ok = ecdsa.VerifyASN1(key, sum, d.signature)
	case ed25519.PublicKey:
		if !scheme.Equal(oidEd25519) || message == nil {
			return errMethod
		}
		ok = ed25519.Verify(key, message, d.signature)
	default:
		return errMethod
	}
	if !ok {
		return errForged
	}
	if hash == crypto.SHA1 {
		return errMethod
	}
	return nil
}

// sameHashInPSS reports whether the parameters of RSASSA-PSS name the signer's digest, for the mask too (RFC 4055, section 3.1).
func (d *signedData) sameHashInPSS() bool {
	var all, part, algorithm, inner cryptobyte.String
	parameters, has := d.parameters, false
	digest, mask := crypto.SHA1, crypto.SHA1
	if !parameters.ReadASN1(&all, tag.SEQUENCE) {
		return false
	}
	var err error
	if !all.ReadOptionalASN1(&part, &has, context(0)) {
		return false
	}
	if has {
		if !part.ReadASN1(&algorithm, tag.SEQUENCE) {
			return false
		}
		if digest, err = hashOf(algorithm); err != nil {
			return false
		}
	}
	if !all.ReadOptionalASN1(&part, &has, context(1)) {
		return false
	}
	if has {
		var generator asn1.ObjectIdentifier
		if !part.ReadASN1(&algorithm, tag.SEQUENCE) || !algorithm.ReadASN1ObjectIdentifier(&generator) || !generator.Equal(oidMGF1) ||
			!algorithm.ReadASN1(&inner, tag.SEQUENCE) {
			return false
		}
		if mask, err = hashOf(inner); err != nil {
			return false
		}
	}
	return digest == d.digest && mask == d.digest
}

// claimed is when the signer says that it signed; zero when it does not.
func (d *signedData) claimed() (at time.Time) {
	value, one := d.attribute(oidSigningTime)
	switch {
	case !one:
	case value.PeekASN1Tag(tag.UTCTime):
		value.ReadASN1UTCTime(&at)
	default:
		value.ReadASN1GeneralizedTime(&at)
	}
	return at
}

// stamp is a time stamp of an authority (RFC 3161).
type stamp struct {
	at           time.Time
	certificates []*x509.Certificate // the authority's first
	nonce        *big.Int            // nil for none
}

// readStamp checks that a time stamp is about content whose digest sum gives, and returns it.
func readStamp(ber []byte, sum func(crypto.Hash) ([]byte, error)) (stamp, error) {
	token, err := parseCMS(ber)
	if err != nil {
		return stamp{}, err
	}
	if token.content == nil || !token.contentType.Equal(oidTSTInfo) {
		return stamp{}, errUnreadable
	}
	h := token.digest.New()
	h.Write(token.content)
	authority, err := token.verify(h.Sum(nil))
	if err != nil {
		return stamp{}, err
	}
	in := cryptobyte.String(token.content)
	var all, imprint, algorithm, stamped, at cryptobyte.String
	if !in.ReadASN1(&all, tag.SEQUENCE) || !all.SkipASN1(tag.INTEGER) || !all.SkipASN1(tag.OBJECT_IDENTIFIER) ||
		!all.ReadASN1(&imprint, tag.SEQUENCE) || !imprint.ReadASN1(&algorithm, tag.SEQUENCE) || !imprint.ReadASN1(&stamped, tag.OCTET_STRING) ||
		!all.SkipASN1(tag.INTEGER) || !all.ReadASN1(&at, tag.GeneralizedTime) {
		return stamp{}, errUnreadable
	}
	hash, err := hashOf(algorithm)
	if err != nil {
		return stamp{}, err
	}
	if hash == crypto.SHA1 {
		return stamp{}, errMethod
	}
	want, err := sum(hash)
	if err != nil {
		return stamp{}, err
	}
	if !bytes.Equal(want, stamped) {
		return stamp{}, errDigest
	}
	when, err := time.Parse("20060102150405Z", string(at)) // fractions of a second, too
	if err != nil {
		return stamp{}, errUnreadable
	}
	s := stamp{at: when, certificates: chainOf(authority, token.certificates)}
	all.SkipOptionalASN1(tag.SEQUENCE) // accuracy
	all.SkipOptionalASN1(tag.BOOLEAN)  // ordering
	if all.PeekASN1Tag(tag.INTEGER) {
		s.nonce = new(big.Int)
		all.ReadASN1Integer(s.nonce)
	}
	return s, nil
}

// chainOf puts the signer's certificate before the others.
func chainOf(signer *x509.Certificate, all []*x509.Certificate) []*x509.Certificate {
	chain := []*x509.Certificate{signer}
	for _, c := range all {
		if !c.Equal(signer) {
			chain = append(chain, c)
		}
	}
	return chain
}

func context(n int) tag.Tag { return tag.Tag(n).ContextSpecific().Constructed() }
