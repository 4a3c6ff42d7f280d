package secret

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
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

// Sentence turns an error of this package into one plain sentence for people: what happened and what to do.
func Sentence(err error) string {
	var u *UnavailableError
	switch {
	case errors.As(err, &u):
		return u.sentence()
	case errors.Is(err, ErrAbsent):
		return "Countersign has no key yet; it creates one during setup."
	case errors.Is(err, ErrPresent):
		return "There is a key already; it was left as it is."
	case errors.Is(err, ErrWrongKey):
		return "The key was replaced since your sign-in was saved; sign in again."
	case errors.Is(err, ErrDamaged):
		return "A stored secret is damaged. Enter it again in Settings."
	default:
		return "Countersign cannot get at its key; look in the log for the reason."
	}
}

func (e *UnavailableError) sentence() string {
	switch e.Reason {
	case Locked:
		return "The keyring is locked or has not been set up; unlock it and try again."
	case NoBus:
		return "There is no desktop session to reach the keyring through; start Countersign from the desktop, or use a key file."
	case NoService:
		return "No keyring is running on this computer; install one, such as GNOME Keyring, or use a key file."
	case TimedOut:
		return "The keyring does not answer; look for a window that asks for its password."
	case Malformed:
		if e.Path != "" {
			return fmt.Sprintf("The key file %s does not hold a key; put the right file back.", e.Path)
		}
		return "The keyring's entry for Countersign does not hold a key; put the right one back or remove it."
	case TooOpen:
		if runtime.GOOS == "windows" {
			return fmt.Sprintf("The key file %s can be read by other users of this computer; leave nobody but yourself under Security in its properties.", e.Path)
		}
		return fmt.Sprintf("The key file %s can be read by other users of this computer; make it private with chmod 600.", e.Path)
	case Unreadable:
		return fmt.Sprintf("The key file %s cannot be used; check that it and its folder are yours.", e.Path)
	case NotKept, Conflict:
		return "The keyring did not store the new key; try again."
	default:
		return "The keyring did not give out the key; unlock it and try again."
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
