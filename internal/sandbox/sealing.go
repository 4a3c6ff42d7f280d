package sandbox

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/pkcs7"

	"countersign/internal/sandbox/press"
)

// sealer seals the PDFs that the service delivers (PAdES B-T, ETSI EN 319 142-1), with its own certificates: a root, a
// signer and a time-stamping authority (RFC 3161). They are created once for a data folder.
type sealer struct {
	key       *rsa.PrivateKey // shared by all three
	root      *x509.Certificate
	signer    *x509.Certificate
	authority *x509.Certificate
}

// openSealer reads the certificates in a folder, creating them if they are missing.
func openSealer(dir string, now time.Time) (*sealer, error) {
	path := filepath.Join(dir, "seal.der")
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if kept, err = makeSealer(now); err == nil {
			err = writeFile(path, kept)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the seal: %w", err)
	}
	var parts struct{ Key, Certificates []byte }
	if _, err := asn1.Unmarshal(kept, &parts); err != nil {
		return nil, fmt.Errorf("opening the seal: %w", err)
	}
	key, err := x509.ParsePKCS1PrivateKey(parts.Key)
	if err != nil {
		return nil, fmt.Errorf("opening the seal: %w", err)
	}
	certificates, err := x509.ParseCertificates(parts.Certificates)
	if err != nil || len(certificates) != 3 {
		return nil, fmt.Errorf("opening the seal: it has %d certificates: %w", len(certificates), err)
	}
	return &sealer{key, certificates[0], certificates[1], certificates[2]}, nil
}

func makeSealer(now time.Time) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "Signing service sandbox CA"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	certificates := [3]*x509.Certificate{
		root,
		{Subject: pkix.Name{CommonName: "Signing service sandbox"}, KeyUsage: x509.KeyUsageContentCommitment},
		{Subject: pkix.Name{CommonName: "Signing service sandbox, time stamps"}, ExtraExtensions: []pkix.Extension{stampsOnly()}},
	}
	var all []byte
	for i, c := range certificates {
		c.SerialNumber, c.BasicConstraintsValid = big.NewInt(int64(i+1)), true
		c.NotBefore, c.NotAfter = now.AddDate(0, 0, -1), now.AddDate(20, 0, 0)
		der, err := x509.CreateCertificate(rand.Reader, c, root, &key.PublicKey, key)
		if err != nil {
			return nil, err
		}
		all = append(all, der...)
	}
	return asn1.Marshal(struct{ Key, Certificates []byte }{x509.MarshalPKCS1PrivateKey(key), all})
}

// stampsOnly is the critical key purpose that RFC 3161, section 2.3, requires of an authority.
func stampsOnly() pkix.Extension {
	value, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		panic(err) // the identifier above would be wrong
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: value}
}

var (
	oidSHA256      = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidSigningCert = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47} // RFC 5035, section 3
	oidTimeStamp   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
)

// sign creates a time-stamped seal over the covered bytes.
func (s *sealer) sign(at time.Time, covered ...[]byte) ([]byte, error) {
	digest := sha256.Sum256(slices.Concat(covered...))
	own := sha256.Sum256(s.signer.Raw)
	named := struct{ List []struct{ Hash []byte } }{[]struct{ Hash []byte }{{own[:]}}}
	make := func(unsigned ...pkcs7.Attribute) ([]byte, error) {
		d, err := pkcs7.NewSignedData()
		if err != nil {
			return nil, err
		}
		if err := d.AddSignerChain(s.signer, s.key, digest[:], oidSHA256, []*x509.Certificate{s.root}, pkcs7.SignerInfoConfig{
			ExtraSignedAttributes: []pkcs7.Attribute{{Type: oidSigningCert, Value: named}}, ExtraUnsignedAttributes: unsigned,
		}); err != nil {
			return nil, err
		}
		return d.Finish()
	}
	bare, err := make()
	if err != nil {
		return nil, err
	}
	parsed, err := pkcs7.Parse(bare)
	if err != nil {
		return nil, err
	}
	token, err := s.stamp(at, parsed.Signers[0].EncryptedDigest)
	if err != nil {
		return nil, err
	}
	return make(pkcs7.Attribute{Type: oidTimeStamp, Value: asn1.RawValue{FullBytes: token}}) // RSA signatures are deterministic
}

// stamp creates a time stamp for a signature.
func (s *sealer) stamp(at time.Time, signature []byte) ([]byte, error) {
	sum := sha256.Sum256(signature)
	answer, err := (&timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Time: at.UTC(), Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 32473, 1},
		AddTSACertificate: true, Certificates: []*x509.Certificate{s.root},
	}).CreateResponseWithOpts(s.authority, s.key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	parsed, err := timestamp.ParseResponse(answer)
	if err != nil {
		return nil, err
	}
	return parsed.RawToken, nil
}

// sealed is a document with the service's seal if Options.Seal is set; one that cannot be sealed is returned unchanged.
func (s *Server) sealed(document []byte, at time.Time) []byte {
	if s.sealer == nil {
		return document
	}
	prepared, err := s.press.Prepare(document, at)
	if err != nil {
		s.opt.Log.Info("a document could not be sealed", "error", err)
		return document
	}
	sealed, err := press.Fill(prepared, func(covered ...[]byte) ([]byte, error) { return s.sealer.sign(at, covered...) })
	if err != nil {
		s.opt.Log.Error("sealing a document failed", "error", err)
		return document
	}
	return sealed
}

// SealRoot is the root certificate of the service's seals; nil if it makes none.
func (s *Server) SealRoot() *x509.Certificate {
	if s.sealer == nil {
		return nil
	}
	return s.sealer.root
}
