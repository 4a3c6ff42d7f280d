// Package safe writes and reads sealed files: streams of any length that nobody can read, or change unnoticed, without the
// password or the key that they were sealed for.
//
// A file is an age file (https://age-encryption.org/v1): ChaCha20-Poly1305 in parts of 64 KiB, of which none can be left out,
// moved or added, under a file key that its header holds, sealed with what scrypt makes of a password. A key is a password that
// nobody guesses. So everything dangerous is the library's, and age itself opens the file.
//
// It promises:
//   - What Open's reader returned until io.EOF is all that was sealed, to the last byte; anything else is an error.
//   - A hostile file costs no more memory and time than a real one: the header is bounded, and so is what scrypt may be
//     asked to do.
//   - Errors hold neither the password nor what was sealed.
//
// It must not know what is sealed, where the files are, nor where a key comes from.
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

	// ErrDamaged means that the file was cut or altered.
	ErrDamaged = errors.New("the sealed file is damaged")
)

const (
	intro     = "age-encryption.org/v1\n" // which every file begins with
	maxHeader = 16 << 10                  // bytes; that of one of ours has less than 1 KiB
)

// Is reports whether what r begins with is a sealed file.
func Is(r io.Reader) bool {
	begin := make([]byte, len(intro))
	_, err := io.ReadFull(r, begin)
	return err == nil && string(begin) == intro
}

// Seal returns a writer of what is to be sealed for the key. It ends with Close, which does not close w. Without Close the
// file is cut.
func Seal(w io.Writer, key Key) (io.WriteCloser, error) {
	words, work := key.passphrase()
	recipient, err := age.NewScryptRecipient(words)
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(work)
	return age.Encrypt(w, recipient)
}

// Open returns a reader of what was sealed for the key. Its errors, and those of the reader, are the package's own, or r's.
func Open(r io.Reader, key Key) (io.Reader, error) {
	source := &source{r: bufio.NewReaderSize(r, 4<<10), left: maxHeader}
	if begin, err := source.r.Peek(len(intro)); string(begin) != intro {
		return nil, errors.Join(ErrForeign, err)
	}
	words, most := key.passphrase()
	identity, err := age.NewScryptIdentity(words)
	if err != nil {
		return nil, ErrKey // an empty one opens nothing
	}
	identity.SetMaxWorkFactor(most)
	plain, err := age.Decrypt(source, identity)
	if err != nil {
		return nil, source.judge(err)
	}
	source.open = true
	return &reader{plain, source}, nil
}

// source bounds the header, and remembers why it could not be read.
type source struct {
	r      *bufio.Reader
	left   int // until open
	open   bool
	failed error // of the file beneath; nil for its end
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

// judge says what an error of age's means.
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

// Key is what files are sealed for and opened with: a Password or a Secret.
type Key interface {
	// passphrase is what age is given, and the work that is to be done for it: the logarithm of scrypt's N.
	passphrase() (words string, work int)
}

// Password is what a person has chosen.
type Password string

// work is what trying a password costs: 128 MiB, and some four tenths of a second on a small computer.
const work = 17

func (p Password) passphrase() (string, int) { return string(p), work }

// Stretch are two secrets that follow from the password alone. Trying one costs what trying it on a file does.
func (p Password) Stretch(purpose string) (a, b Secret, err error) {
	both, err := scrypt.Key([]byte(p), []byte(purpose), 1<<work, 8, 1, len(a)+len(b))
	if err == nil {
		a, b = Secret(both), Secret(both[len(a):])
	}
	return a, b, err
}

// Secret is 32 random bytes. Nobody guesses them, however little a guess costs.
type Secret [32]byte

func (s Secret) passphrase() (string, int) { return hex.EncodeToString(s[:]), 1 }

// Format hides the secret from every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[hidden key]") }
