package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Key is the office's 256-bit key. The zero Key is no key: a [Box] refuses it. Keys are compared with ==.
type Key struct {
	// Masked, because fmt prints the bytes of an unexported field in somebody's struct without asking the methods
	// below.
	masked [32]byte
}

// mask hides keys in memory from being printed; it means nothing outside this process.
var mask = randomBytes()

// randomBytes never fails: crypto/rand ends the process instead.
func randomBytes() (b [32]byte) {
	rand.Read(b[:])
	return b
}

func newKey() Key { return keyOf(randomBytes()) }

func keyOf(b [32]byte) (k Key) {
	subtle.XORBytes(k.masked[:], b[:], mask[:])
	return k
}

// bytes is a copy of the key.
func (k Key) bytes() []byte {
	b := make([]byte, len(k.masked))
	subtle.XORBytes(b, k.masked[:], mask[:])
	return b
}

// ID is a short fingerprint: the same for the same key, and of no use to find the key. Keep it beside what was
// sealed, to notice that the key was replaced.
func (k Key) ID() string {
	mac := hmac.New(sha256.New, k.bytes())
	mac.Write([]byte("countersign key id 1"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Derive is another secret of 32 bytes that follows from the key, for that purpose alone. Neither leads to the other.
func (k Key) Derive(purpose string) (derived [32]byte, err error) {
	if k == (Key{}) {
		return derived, ErrNoKey
	}
	b, err := hkdf.Key(sha256.New, k.bytes(), nil, "countersign derive "+purpose, len(derived))
	if err != nil {
		return derived, fmt.Errorf("derive a key: %w", err)
	}
	return [32]byte(b), nil
}

const hidden = "[hidden key]"

// String hides the key.
func (k Key) String() string { return hidden }

// GoString hides the key from %#v.
func (k Key) GoString() string { return hidden }

// Format hides the key from every verb.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// MarshalText hides the key from JSON and its relatives.
func (k Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the key from slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(hidden) }

// text is the form in which keepers store the key.
func (k Key) text() string { return base64.StdEncoding.EncodeToString(k.bytes()) }

var errNotAKey = errors.New("it is not 32 bytes as base64 or hex")

// parseKey reads what text wrote, and also hex, which people make with openssl rand -hex 32.
func parseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	raw, err := base64.StdEncoding.DecodeString(text)
	if len(text) == 64 {
		raw, err = hex.DecodeString(text)
	}
	var b [32]byte
	if err != nil || len(raw) != len(b) {
		return Key{}, errNotAKey // without the cause, which might quote the text
	}
	copy(b[:], raw)
	if b == [32]byte{} {
		return Key{}, errNotAKey
	}
	return keyOf(b), nil
}
