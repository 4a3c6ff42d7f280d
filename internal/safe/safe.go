package safe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"filippo.io/age"
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
