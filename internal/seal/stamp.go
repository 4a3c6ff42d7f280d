package seal

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"time"
)

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
