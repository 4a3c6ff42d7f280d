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
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"countersign/internal/message"
)

// Keeper stores the one key. Its methods may be called from any goroutine.
type Keeper interface {
	// Load returns the key; ErrAbsent if there is certainly none; ErrUnavailable (an *UnavailableError) if that is uncertain
	// or the key cannot be read now.
	Load(ctx context.Context) (Key, error)

	// Create generates a key, stores it, and returns it once it has been read back. It never overwrites: it returns
	// ErrPresent if there is a key already (Load it), and ErrUnavailable if that is uncertain or the key could not be
	// stored. After ErrUnavailable the key may or may not have been stored: Load will tell.
	Create(ctx context.Context) (Key, error)
}

var (
	ErrAbsent = errors.New("there is no key yet")

	// ErrPresent means that Create found a key and did not change it.
	ErrPresent = errors.New("there is a key already")

	// ErrUnavailable means that the key cannot be read now. Leave alone whatever it has sealed.
	ErrUnavailable = errors.New("the key is not available")
)

// Reason says why a key is unavailable.
type Reason string

const (
	Locked     Reason = "locked"      // the keyring is locked, or was never set up
	NoBus      Reason = "no_bus"      // Linux: no D-Bus session
	NoService  Reason = "no_service"  // no keyring is installed or running
	TimedOut   Reason = "timed_out"   // no answer in time; often a prompt that waits for an answer
	Malformed  Reason = "malformed"   // what is stored there is not a key
	Unreadable Reason = "unreadable"  // the key file cannot be read or written
	TooOpen    Reason = "too_open"    // the key file can be read by other users
	Refused    Reason = "refused"     // the keyring refused in a way not listed here
	NotKept    Reason = "not_kept"    // a new key was written, but not found afterwards
	Conflict   Reason = "conflicting" // a new key was written, but another one was found afterwards
)

// UnavailableError says why a key is unavailable. errors.Is(err, ErrUnavailable) holds.
type UnavailableError struct {
	Reason Reason
	Path   string // of the key file; empty for a keyring
	err    error  // the cause, may be nil

	// Answered is closed when a keyring that did not answer in time has returned the key after all, for example because a
	// person answered its prompt: Load then returns it immediately. It is nil if there is nothing to wait for.
	Answered <-chan struct{}
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("%v (%s)", ErrUnavailable, e.Reason)
	if e.Path != "" {
		text += ": " + e.Path
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// Is makes errors.Is(err, ErrUnavailable) hold.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

func (e *UnavailableError) Unwrap() error { return e.err }

func (e *UnavailableError) Message() message.Message {
	switch e.Reason {
	case Locked:
		return message.KeyringLocked()
	case NoBus:
		return message.KeyringNoSession()
	case NoService:
		return message.KeyringMissing()
	case TimedOut:
		return message.KeyringSilent()
	case Malformed:
		if e.Path != "" {
			return message.KeyFileNoKey(e.Path)
		}
		return message.KeyringNoKey()
	case TooOpen:
		if runtime.GOOS == "windows" {
			return message.KeyFileOpenOnWindows(e.Path)
		}
		return message.KeyFileOpen(e.Path)
	case Unreadable:
		return message.KeyFileUnusable(e.Path)
	case NotKept, Conflict:
		return message.KeyringForgot()
	default:
		return message.KeyringRefused()
	}
}

// createWith writes a new key if load finds none, and returns it once load has found it.
func createWith(load func() (Key, error), write func(Key) error, unavailable func(Reason) error) (Key, error) {
	switch _, err := load(); {
	case err == nil:
		return Key{}, ErrPresent
	case !errors.Is(err, ErrAbsent):
		return Key{}, err
	}
	k := newKey()
	if err := write(k); err != nil {
		return Key{}, err
	}
	kept, err := load()
	switch {
	case errors.Is(err, ErrAbsent):
		return Key{}, unavailable(NotKept)
	case err != nil:
		return Key{}, err
	case kept != k:
		return Key{}, unavailable(Conflict)
	}
	return k, nil
}

// Memory returns a Keeper that keeps the key only in this process, for the demo.
func Memory() Keeper { return &memory{} }

type memory struct {
	mu  sync.Mutex
	key Key
}

func (m *memory) Load(context.Context) (Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == (Key{}) {
		return Key{}, ErrAbsent
	}
	return m.key, nil
}

func (m *memory) Create(context.Context) (Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key != (Key{}) {
		return Key{}, ErrPresent
	}
	m.key = newKey()
	return m.key, nil
}

// Key is the office's 256-bit key. The zero Key is no key: a [Box] refuses it. Keys are compared with ==.
type Key struct {
	// Masked, because for an unexported field inside somebody's struct fmt prints the bytes without calling the methods
	// below.
	masked [32]byte
}

// mask keeps keys in memory from being printed; it is meaningless outside this process.
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

func (k Key) bytes() []byte {
	b := make([]byte, len(k.masked))
	subtle.XORBytes(b, k.masked[:], mask[:])
	return b
}

// ID is a short fingerprint of the key from which the key cannot be found. Store it with what was sealed, to notice that the
// key was replaced.
func (k Key) ID() string {
	mac := hmac.New(sha256.New, k.bytes())
	mac.Write([]byte("countersign key id 1"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Derive returns another secret of 32 bytes, derived from the key for one purpose. Neither can be computed from the other.
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

// Format hides the key from every verb.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// MarshalText hides the key from JSON and its relatives, and from slog.
func (k Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

func (k Key) text() string { return base64.StdEncoding.EncodeToString(k.bytes()) }

var errNotAKey = errors.New("it is not 32 bytes as base64 or hex")

// parseKey reads what text wrote, and also hex, which people create with openssl rand -hex 32.
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
