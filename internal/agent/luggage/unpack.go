package luggage

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"countersign/internal/private"
)

// Packed is what is being unpacked.
type Packed struct {
	Manifest Manifest
	packed   *gzip.Reader
	in       *tar.Reader
}

// Open reads the list. Errors of r are returned as they are.
func Open(r io.Reader) (*Packed, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, judge(err)
	}
	packed.Multistream(false)
	p := &Packed{packed: packed, in: tar.NewReader(packed)}
	h, err := p.next(manifestName)
	if err != nil {
		return nil, err
	}
	if h.Size > maxManifest {
		return nil, fmt.Errorf("%w: the list is too long", ErrDamaged)
	}
	list, err := io.ReadAll(p.in)
	if err != nil {
		return nil, judge(err)
	}
	if err := json.Unmarshal(list, &p.Manifest); err != nil {
		return nil, fmt.Errorf("%w: the list: %w", ErrDamaged, err)
	}
	return p, p.Manifest.check()
}

// Into unpacks the rest into a folder that is made for it, and that belongs to its user alone.
func (p *Packed) Into(folder string) error {
	for _, dir := range []string{folder, filepath.Join(folder, documentsDir)} {
		if err := private.Folder(dir); err != nil && !errors.Is(err, private.ErrStaysOpen) {
			return err
		}
	}
	if _, err := p.file(stateName, State(folder), p.Manifest.State); err != nil {
		return err
	}
	for _, d := range p.Manifest.inside() {
		sum, err := p.file(documentsDir+"/"+d.Name, DocumentIn(folder, d.Name), d.Size)
		if err != nil {
			return err
		}
		if sum != d.SHA256 {
			return fmt.Errorf("%w: %s is not what the list says", ErrDamaged, d.Name)
		}
	}
	return p.end()
}

// end makes sure that nothing else follows, down to the last byte: until then nobody knows that it is whole.
func (p *Packed) end() error {
	if _, err := p.in.Next(); err != io.EOF {
		return errors.Join(judge(err), fmt.Errorf("%w: there is more than its list says", ErrDamaged))
	}
	n, err := io.Copy(io.Discard, io.LimitReader(p.packed, maxTail))
	switch {
	case err != nil:
		return judge(err)
	case n == maxTail:
		return fmt.Errorf("%w: something follows", ErrDamaged)
	}
	return nil
}

// maxTail is more than what ends a tar archive.
const maxTail = 64 << 10

func (p *Packed) next(name string) (*tar.Header, error) {
	h, err := p.in.Next()
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("%w: %s is missing", ErrDamaged, name)
	case err != nil:
		return nil, judge(err)
	case h.Name != name || h.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("%w: %s is not where it belongs", ErrDamaged, name)
	}
	return h, nil
}

// file unpacks the next file, which has that name and size, and returns its check sum.
func (p *Packed) file(name, path string, size int64) (sum string, err error) {
	h, err := p.next(name)
	if err != nil {
		return "", err
	}
	if h.Size != size {
		return "", fmt.Errorf("%w: %s is not as long as the list says", ErrDamaged, name)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(onDisk{f}, hash), p.in); err != nil {
		return "", judge(err)
	}
	return hex.EncodeToString(hash.Sum(nil)), f.Sync()
}

// onDisk tells errors of writing from those of reading.
type onDisk struct{ f *os.File }

func (d onDisk) Write(b []byte) (int, error) {
	n, err := d.f.Write(b)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// judge says what an error of reading means: that of the file beneath is returned as it is, any other is damage.
func judge(err error) error {
	var writing *writeError
	switch {
	case err == nil, errors.As(err, &writing):
		return err
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isFlate(err):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func isFlate(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
