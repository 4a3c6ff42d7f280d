// Package secret keeps the office's one 256-bit key and seals values with it.
//
// The key is in the keyring of the operating system ([Keyring]) or, where there is none, in a file ([File]). A [Box] seals
// every other secret with it, and the caller stores the result anywhere: keyrings limit sizes, prompt, hang, and cannot
// commit together with other state.
//
// What it promises:
//
//   - A key has three states. Present: Load returns it. Absent: Load returns [ErrAbsent], after it really looked.
//     Unavailable ([ErrUnavailable]): anything else, such as locked, no bus, unreadable, or no answer within three seconds.
//     Unavailable never turns into absent.
//   - No key is ever overwritten, and only [Forget] deletes one.
//   - A key is never printed: not in logs, errors, JSON or fmt verbs.
//
// What it must not know: what is sealed, where it is stored, and the window.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

var (
	// ErrNoKey means that a Box was requested without a key.
	ErrNoKey = errors.New("there is no key")

	// ErrWrongKey means that a value was sealed with another key, which has since been replaced.
	ErrWrongKey = errors.New("the value was sealed with another key")

	// ErrDamaged means that a sealed value was changed, truncated, or sealed under another name.
	ErrDamaged = errors.New("the sealed value is damaged")
)

// A sealed value is version (1 byte), key ID (8 bytes), nonce (12 bytes), then AES-256-GCM's output. Version, key ID and
// name are authenticated, too.
const (
	boxVersion = 1
	idSize     = 8
	headSize   = 1 + idSize
)

// Box seals and opens values with one key. It may be used from any goroutine.
type Box struct {
	aead cipher.AEAD // makes its own random nonces
	head [headSize]byte
}

// NewBox makes a Box, or returns ErrNoKey for the zero Key.
func NewBox(k Key) (*Box, error) {
	if k == (Key{}) {
		return nil, ErrNoKey
	}
	// The sealing key is derived, so that it has nothing in common with what Key.ID computes from the key itself.
	derived, err := hkdf.Key(sha256.New, k.bytes(), nil, "countersign seal 1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the sealing key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("prepare sealing: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("prepare sealing: %w", err)
	}
	b := &Box{aead: aead}
	b.head[0] = boxVersion
	if _, err := hex.Decode(b.head[1:], []byte(k.ID())); err != nil {
		return nil, fmt.Errorf("prepare sealing: %w", err)
	}
	return b, nil
}

// Seal encrypts plain so that only Open with the same key and the same name returns it. Sealing the same value twice gives
// different bytes.
func (b *Box) Seal(name string, plain []byte) ([]byte, error) {
	if b == nil {
		return nil, ErrNoKey
	}
	return b.aead.Seal(append([]byte(nil), b.head[:]...), nil, plain, b.bind(name)), nil
}

// Open returns what Seal sealed under name. ErrWrongKey: it was sealed with another key. ErrDamaged: it was sealed with this
// key, but not as this value under this name.
func (b *Box) Open(name string, sealed []byte) ([]byte, error) {
	if b == nil {
		return nil, ErrNoKey
	}
	if len(sealed) < headSize || sealed[0] != boxVersion {
		return nil, fmt.Errorf("open %s: %w", name, ErrDamaged)
	}
	if [headSize]byte(sealed[:headSize]) != b.head {
		return nil, fmt.Errorf("open %s: %w", name, ErrWrongKey)
	}
	plain, err := b.aead.Open(nil, nil, sealed[headSize:], b.bind(name))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, ErrDamaged)
	}
	if plain == nil {
		plain = []byte{} // nil means "no value" to many callers
	}
	return plain, nil
}

func (b *Box) bind(name string) []byte { return append(append([]byte(nil), b.head[:]...), name...) }
