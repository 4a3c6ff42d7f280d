package secret

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"countersign/internal/message"
)

// Keeper is a place for the one key. Its methods may be called from any goroutine.
type Keeper interface {
	// Load returns the key; ErrAbsent when there is certainly none; ErrUnavailable (an *UnavailableError) when that
	// cannot be told or the key cannot be read now.
	Load(ctx context.Context) (Key, error)

	// Create makes a key, keeps it, and returns it once it has been read back. It never overwrites: ErrPresent when
	// there is a key already (Load it), ErrUnavailable when that cannot be told or the key could not be kept. After
	// ErrUnavailable the key may or may not be there: Load tells, later.
	Create(ctx context.Context) (Key, error)
}

var (
	// ErrAbsent means that there is no key yet.
	ErrAbsent = errors.New("there is no key yet")

	// ErrPresent means that Create found a key and left it alone.
	ErrPresent = errors.New("there is a key already")

	// ErrUnavailable means that the key cannot be read now. Whatever it has sealed must be left alone.
	ErrUnavailable = errors.New("the key is not available")
)

// Reason says why a key is unavailable.
type Reason string

const (
	Locked     Reason = "locked"      // the keyring is locked, or nobody has set it up
	NoBus      Reason = "no_bus"      // Linux: no D-Bus session
	NoService  Reason = "no_service"  // no keyring is installed or running
	TimedOut   Reason = "timed_out"   // no answer in time; often a prompt that waits for an answer
	Malformed  Reason = "malformed"   // something is kept there, but not a key
	Unreadable Reason = "unreadable"  // the key file cannot be read or written
	TooOpen    Reason = "too_open"    // the key file can be read by other users
	Refused    Reason = "refused"     // the keyring said no in a way not listed here
	NotKept    Reason = "not_kept"    // a new key was written, but not found again
	Conflict   Reason = "conflicting" // a new key was written, but another one was found
)

// UnavailableError carries why a key is unavailable. errors.Is(err, ErrUnavailable) holds.
type UnavailableError struct {
	Reason Reason
	Path   string // of the key file; empty for a keyring
	err    error  // the cause, may be nil

	// Answered is closed when a keyring that did not answer in time has given the key after all, as when a person answers
	// its prompt: Load then returns it at once. It is nil when there is nothing to wait for.
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

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.err }

// Message is what people are told of an error of this package.
func Message(err error) message.Message {
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, ErrAbsent):
		return message.NoKeyYet()
	case errors.Is(err, ErrPresent):
		return message.KeyThere()
	case errors.Is(err, ErrWrongKey):
		return message.KeyReplacedSince()
	case errors.Is(err, ErrDamaged):
		return message.SecretDamaged()
	default:
		return message.KeyUnreachable()
	}
}

// Message is what people are told.
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

// Memory returns a Keeper that forgets its key with the process, for the demo.
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
