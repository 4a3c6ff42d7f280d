package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Key is the office's 256-bit key. The zero Key is no key: a [Box] refuses it. Keys are compared with ==.
type Key struct{ b [32]byte }

// newKey makes a random key. crypto/rand does not fail.
func newKey() Key {
	var k Key
	rand.Read(k.b[:])
	return k
}

// ID is a short fingerprint: the same for the same key, and of no use to find the key. Keep it beside what was sealed, to
// notice that the key was replaced.
func (k Key) ID() string {
	mac := hmac.New(sha256.New, k.b[:])
	mac.Write([]byte("countersign key id 1"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
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
func (k Key) text() string { return base64.StdEncoding.EncodeToString(k.b[:]) }

var errNotAKey = errors.New("it is not 32 bytes as base64 or hex")

// parseKey reads what text wrote, and also hex, which people make with openssl rand -hex 32.
func parseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	raw, err := base64.StdEncoding.DecodeString(text)
	if len(text) == 64 {
		raw, err = hex.DecodeString(text)
	}
	var k Key
	if err != nil || len(raw) != len(k.b) {
		return Key{}, errNotAKey // without the cause, which might quote the text
	}
	copy(k.b[:], raw)
	if k == (Key{}) {
		return Key{}, errNotAKey
	}
	return k, nil
}
