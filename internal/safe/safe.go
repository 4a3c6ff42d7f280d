// Package safe writes and reads sealed files: streams of any length that nobody can read, or change unnoticed, without the
// password or the key that they were sealed for.
//
// A file is one line that names the format and its version, and then an age file (https://age-encryption.org/v1):
// ChaCha20-Poly1305 in parts of 64 KiB, of which none can be left out, moved or added, under a file key that its header
// holds once for each password or key. The library's own way for passwords is scrypt; ours is Argon2id (RFC 9106), as a
// recipient of our own, which age is made for. So the two dangerous pieces, the stream and the header's authentication, are
// the library's, and what is ours fits on a page.
//
// It promises:
//   - What Open's reader returned until io.EOF is all that was sealed, to the last byte; anything else is an error.
//   - A hostile file costs no more memory and time than a real one: the header is bounded, and so is what Argon2id may be
//     asked to do.
//   - Errors hold neither the password nor what was sealed.
//
// It must not know what is sealed, where the files are, nor where a key comes from.
package safe

import (
	"bufio"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

var (
	// ErrForeign means that the file is not one of ours.
	ErrForeign = errors.New("not a sealed file of Countersign")

	// ErrNewer means that a newer version sealed the file.
	ErrNewer = errors.New("the file was sealed by a newer version")

	// ErrKey means that the password or the key does not open the file.
	ErrKey = errors.New("the password or key does not open the file")

	// ErrDamaged means that the file was cut or altered.
	ErrDamaged = errors.New("the sealed file is damaged")
)

const (
	firstLine = "countersign sealed file "
	version   = 1

	maxLine   = len(firstLine) + 12
	maxHeader = 16 << 10 // bytes of age's header; one of ours has less than 1 KiB
)

// Is reports whether what r begins with is a sealed file, of whatever version.
func Is(r io.Reader) bool {
	begin := make([]byte, len(firstLine))
	_, err := io.ReadFull(r, begin)
	return err == nil && string(begin) == firstLine
}

// Seal returns a writer of what is to be sealed for each of the keys, any of which opens it. It ends with Close, which does
// not close w. Without Close the file is cut.
func Seal(w io.Writer, keys ...Key) (io.WriteCloser, error) {
	if _, err := fmt.Fprintf(w, "%s%d\n", firstLine, version); err != nil {
		return nil, err
	}
	recipients := make([]age.Recipient, len(keys))
	for i, k := range keys {
		recipients[i] = k
	}
	return age.Encrypt(w, recipients...)
}

// Open returns a reader of what was sealed for the key. Its errors, and those of the reader, are the package's own, or r's.
func Open(r io.Reader, key Opener) (io.Reader, error) {
	source := &source{r: bufio.NewReaderSize(r, 4<<10), left: int64(maxLine + maxHeader)}
	if err := readVersion(source); err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(source, key)
	if err != nil {
		return nil, source.judge(err)
	}
	source.open = true
	return &reader{plain, source}, nil
}

// readVersion reads the first line.
func readVersion(s *source) error {
	line := make([]byte, 0, maxLine)
	for one := make([]byte, 1); len(line) < maxLine; {
		if _, err := io.ReadFull(s, one); err != nil {
			return errors.Join(ErrForeign, s.failed)
		}
		if one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	number, ours := strings.CutPrefix(string(line), firstLine)
	n, err := strconv.Atoi(number)
	switch {
	case !ours, err != nil, n < 1:
		return ErrForeign
	case n > version:
		return ErrNewer
	}
	return nil
}

// source bounds the header, and remembers why it could not be read.
type source struct {
	r      *bufio.Reader
	left   int64 // until open
	open   bool
	failed error // of the file beneath; nil for its end
}

func (s *source) Read(p []byte) (int, error) {
	if !s.open {
		if s.left <= 0 {
			return 0, errLongHeader
		}
		p = p[:min(int64(len(p)), s.left)]
	}
	n, err := s.r.Read(p)
	s.left -= int64(n)
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

// reader is what was sealed.
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

// Key is what files are sealed for.
type Key interface{ age.Recipient }

// Opener is what files are opened with.
type Opener interface{ age.Identity }

// The stanzas of the header. The version of the format is that of their meaning, too.
const (
	stanzaPassword = "countersign/argon2id" // salt, passes, KiB, threads
	stanzaSecret   = "countersign/key"
)

const (
	saltSize = 16
	keySize  = chacha20poly1305.KeySize
	bodySize = chacha20poly1305.NonceSizeX + 16 + chacha20poly1305.Overhead // a nonce, and a file key sealed with it
)

// What Argon2id is asked to do: the second recommendation of RFC 9106, section 4, which is a third of a second on a small
// computer; and what a file may ask for at most.
const (
	passes, memory, threads      = 3, 64 << 10, 4 // memory in KiB
	maxPasses, maxMemory, maxThr = 10, 256 << 10, 16
)

// cost is what Argon2id is asked to do.
type cost struct {
	Passes  uint32
	Memory  uint32 // KiB
	Threads uint8
}

// check refuses what Argon2id cannot do, and what would cost more than it may.
func (c cost) check() error {
	if c.Passes < 1 || c.Passes > maxPasses || c.Threads < 1 || c.Threads > maxThr || c.Memory < 8*uint32(c.Threads) || c.Memory > maxMemory {
		return errors.New("the work for the password is out of bounds")
	}
	return nil
}

// Sealer is a password that files are sealed for.
type Sealer struct {
	cost cost
	salt [saltSize]byte
	key  []byte
}

// NewSealer derives what files are sealed with from a password. It takes some 64 MiB and a good part of a second.
func NewSealer(password string) *Sealer {
	s := &Sealer{cost: cost{passes, memory, threads}}
	rand.Read(s.salt[:])
	s.key = s.cost.derive(password, s.salt[:])
	return s
}

func (c cost) derive(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, c.Threads, keySize)
}

// Wrap is age.Recipient's.
func (s *Sealer) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	number := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
	args := []string{base64.RawStdEncoding.EncodeToString(s.salt[:]), number(s.cost.Passes), number(s.cost.Memory), number(uint32(s.cost.Threads))}
	return wrap(stanzaPassword, args, s.key, fileKey)
}

// Password opens what was sealed for a password.
func Password(password string) Opener { return passwordOpener(password) }

type passwordOpener string

// Unwrap is age.Identity's. It works for one stanza alone, whatever the header holds.
func (p passwordOpener) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	st, err := only(stanzas, stanzaPassword, 4)
	if err != nil {
		return nil, err
	}
	salt, err := base64.RawStdEncoding.DecodeString(st.Args[0])
	if err != nil || len(salt) != saltSize {
		return nil, errors.New("the header has no salt")
	}
	var n [3]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(st.Args[i+1], 10, 32); err != nil {
			return nil, errors.New("the header names no work for the password")
		}
	}
	if n[2] > maxThr {
		return nil, errors.New("the work for the password is out of bounds")
	}
	c := cost{uint32(n[0]), uint32(n[1]), uint8(n[2])}
	if err := c.check(); err != nil {
		return nil, err
	}
	return unwrap(c.derive(string(p), salt), st)
}

// Secret is 32 random bytes that files are sealed for and opened with.
type Secret [32]byte

// Wrap is age.Recipient's.
func (s Secret) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	key, err := s.derive()
	if err != nil {
		return nil, err
	}
	return wrap(stanzaSecret, nil, key, fileKey)
}

// Unwrap is age.Identity's.
func (s Secret) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	st, err := only(stanzas, stanzaSecret, 0)
	if err != nil {
		return nil, err
	}
	key, err := s.derive()
	if err != nil {
		return nil, err
	}
	return unwrap(key, st)
}

func (s Secret) derive() ([]byte, error) {
	return hkdf.Key(sha256.New, s[:], nil, "countersign sealed file key 1", keySize)
}

// String hides the secret.
func (s Secret) String() string { return "[hidden key]" }

// Format hides the secret from every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// only is the one stanza of that kind. A header with none is for somebody else; one with several is none of ours.
func only(stanzas []*age.Stanza, kind string, args int) (found *age.Stanza, err error) {
	for _, st := range stanzas {
		if st.Type != kind {
			continue
		}
		if found != nil {
			return nil, errors.New("the header says the same twice")
		}
		found = st
	}
	switch {
	case found == nil:
		return nil, age.ErrIncorrectIdentity
	case len(found.Args) != args || len(found.Body) != bodySize:
		return nil, errors.New("the header is not as it should be")
	}
	return found, nil
}

// wrap seals a file key under a key that seals many, each with a random nonce.
func wrap(kind string, args []string, key, fileKey []byte) ([]*age.Stanza, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, chacha20poly1305.NonceSizeX, bodySize)
	rand.Read(nonce)
	return []*age.Stanza{{Type: kind, Args: args, Body: aead.Seal(nonce, nonce, fileKey, nil)}}, nil
}

func unwrap(key []byte, st *age.Stanza) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	fileKey, err := aead.Open(nil, st.Body[:aead.NonceSize()], st.Body[aead.NonceSize():], nil)
	if err != nil {
		return nil, age.ErrIncorrectIdentity
	}
	return fileKey, nil
}
