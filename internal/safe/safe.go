// Package safe writes and reads sealed files: streams of any length that nobody can read, or change unnoticed, without the
// password or key for which they were sealed.
//
// A file is an age file (https://age-encryption.org/v1): ChaCha20-Poly1305 in chunks of 64 KiB, none of which can be
// omitted, moved or added, under a file key. The header contains the file key, encrypted with what scrypt derives from a
// password. A key is treated as a password that nobody can guess. So all critical cryptography is in the library, and age
// itself can open the file.
//
// It promises:
//   - What Open's reader returns until io.EOF is everything that was sealed, to the last byte; anything else is an error.
//   - A hostile file costs no more memory and time than a real one: the size of the header and the cost of scrypt are
//     limited.
//   - Errors contain neither the password nor what was sealed.
//
// It must not know what is sealed, where the files are, and where a key comes from.
package safe

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"golang.org/x/crypto/scrypt"
)

var (
	ErrForeign = errors.New("not a sealed file")

	// ErrKey means that the password or the key does not open the file.
	ErrKey = errors.New("the password or key does not open the file")

	// ErrDamaged means that the file was truncated or altered.
	ErrDamaged = errors.New("the sealed file is damaged")
)

const (
	intro     = "age-encryption.org/v1\n" // the first line of every file
	maxHeader = 16 << 10                  // bytes; ours have less than 1 KiB
)

// Is reports whether r begins like a sealed file.
func Is(r io.Reader) bool {
	begin := make([]byte, len(intro))
	_, err := io.ReadFull(r, begin)
	return err == nil && string(begin) == intro
}

// Seal returns a writer that seals for the key. Close finishes the file but does not close w. Without Close the file is
// truncated.
func Seal(w io.Writer, key Key) (io.WriteCloser, error) {
	words, work := key.passphrase()
	recipient, err := age.NewScryptRecipient(words)
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(work)
	return age.Encrypt(w, recipient)
}

// Open returns a reader of what was sealed for the key. Its errors, and those of the reader, are this package's or r's.
func Open(r io.Reader, key Key) (io.Reader, error) {
	source := &source{r: bufio.NewReaderSize(r, 4<<10), left: maxHeader}
	if begin, err := source.r.Peek(len(intro)); string(begin) != intro {
		return nil, errors.Join(ErrForeign, err)
	}
	words, most := key.passphrase()
	identity, err := age.NewScryptIdentity(words)
	if err != nil {
		return nil, ErrKey // an empty password opens nothing
	}
	identity.SetMaxWorkFactor(most)
	plain, err := age.Decrypt(source, identity)
	if err != nil {
		return nil, source.judge(err)
	}
	source.open = true
	return &reader{plain, source}, nil
}

// source limits the header, and remembers why reading failed.
type source struct {
	r      *bufio.Reader
	left   int // bytes, until open
	open   bool
	failed error // r's error; nil at its end
}

func (s *source) Read(p []byte) (int, error) {
	if !s.open && s.left <= 0 {
		return 0, errLongHeader
	}
	n, err := s.r.Read(p)
	s.left -= n
	if err != nil && err != io.EOF {
		s.failed = err
	}
	return n, err
}

var errLongHeader = errors.New("its header is too long")

// judge translates an error of age.
func (s *source) judge(err error) error {
	var nobody *age.NoIdentityMatchError
	switch {
	case s.failed != nil:
		return s.failed
	case errors.As(err, &nobody):
		return ErrKey
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

type reader struct {
	plain  io.Reader
	source *source
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.plain.Read(p)
	if err != nil && err != io.EOF {
		err = r.source.judge(err)
	}
	return n, err
}

// Key is what files are sealed and opened with: a Password or a Secret.
type Key interface {
	// passphrase is the passphrase for age, and its work factor: the logarithm of scrypt's N.
	passphrase() (words string, work int)
}

// Password is chosen by a person.
type Password string

// Work is the cost of trying a password, the logarithm of scrypt's N: 128 MiB, and about 0.4 s on a small computer. Only tests of
// other packages change it, to save time.
var Work = 17

func (p Password) passphrase() (string, int) { return string(p), Work }

// Stretch derives two secrets from the password alone. Trying a password this way costs as much as trying it on a file.
func (p Password) Stretch(purpose string) (a, b Secret, err error) {
	both, err := scrypt.Key([]byte(p), []byte(purpose), 1<<Work, 8, 1, len(a)+len(b))
	if err == nil {
		a, b = Secret(both), Secret(both[len(a):])
	}
	return a, b, err
}

// Secret is 32 random bytes. Nobody can guess them, however cheap a guess is.
type Secret [32]byte

func (s Secret) passphrase() (string, int) { return hex.EncodeToString(s[:]), 1 }

// Format hides the secret from every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[hidden key]") }
