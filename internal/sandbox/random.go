package sandbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	mrand "math/rand/v2"

	"github.com/google/uuid"
)

// chance decides what is left to chance. It comes from crypto/rand like every id and token, so that whoever makes that
// repeatable (testing/cryptotest) repeats everything the service does.
func chance() *mrand.Rand {
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails, as below
	return mrand.New(mrand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])))
}

// newToken is a secret of 256 random bits, safe in a URL.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hashed is the form in which a token is stored, so that a copy of the state is no key.
func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func newID() string { return uuid.NewString() }
