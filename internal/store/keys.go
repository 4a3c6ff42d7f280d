package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/office"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// idKey is the key of an identifier from outside. A very long one is kept under its hash; the record itself carries
// the whole. Bytes that are not UTF-8 are refused: JSON would change them, and the record would not be found again
// under the identifier it carries.
func idKey(id string) ([]byte, error) {
	switch {
	case id == "":
		return nil, fmt.Errorf("%w: it is empty", ErrBadID)
	case !utf8.ValidString(id):
		return nil, fmt.Errorf("%w: it is not text", ErrBadID)
	case len(id) <= office.MaxID:
		return []byte(id), nil
	}
	sum := sha256.Sum256([]byte(id))
	return append([]byte{0}, sum[:]...), nil
}

// stamp is office.Stamp as eight bytes that sort like it.
func stamp(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, office.Stamp(t)) }

// stampTime is the time of a key that begins with stamp; the zero time for 0.
func stampTime(key []byte) time.Time { return office.StampTime(binary.BigEndian.Uint64(key)) }

// after is the least stamp that comes after t: keys before it are due at t.
func after(t time.Time) []byte {
	key := stamp(t)
	return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(key)+1)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func cursorOf(key []byte) office.Cursor {
	return office.Cursor(base64.RawURLEncoding.EncodeToString(key))
}

func cursorKey(c office.Cursor) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return nil, fmt.Errorf("list position %q: %w", string(c), err)
	}
	return key, nil
}

// targetKey is the same for two names that any file system may take for one: it ignores case, Unicode normalisation,
// the kind of slash, and dots and spaces at the end of an element (Windows drops them). That it takes a few names for
// the same that are not costs no more than a number in a file name.
func targetKey(folder, target string) []byte {
	sum := sha256.Sum256([]byte(fold(filepath.Clean(folder)) + "\x00" + fold(target)))
	return sum[:]
}

func fold(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if ascii(name) {
		name = strings.ToLower(name) // the same, many times faster
	} else {
		name = foldText(name)
	}
	elements := strings.Split(path.Clean(name), "/")
	for i, e := range elements {
		elements[i] = strings.TrimRight(e, ". ")
	}
	return strings.Join(elements, "/")
}

func foldText(name string) string {
	return norm.NFD.String(cases.Fold().String(strings.ToUpper(norm.NFD.String(name))))
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
