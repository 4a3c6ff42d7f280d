// Package luggage is what is in a sealed file of an office: a list of what is there, the data file as it was at one moment,
// and the bytes of the documents that wait to be sent, in this order, compressed.
//
// A file may come from anywhere, and be made to do harm by somebody who knows its password. What is unpacked therefore goes
// into a folder of its own, under names that are chosen here; nothing is longer than the list says, nor the list longer than
// any real one; every document has the check sum that the list says. Whoever unpacks uses nothing of it before the end was
// read.
//
// It must not know how files are sealed, what the records in the data file mean, nor what becomes of them.
package luggage

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"countersign/internal/office"
)

var (
	// ErrNewer means that a newer version packed it.
	ErrNewer = errors.New("it was packed by a newer version")

	// ErrDamaged means that it is not what Pack writes.
	ErrDamaged = errors.New("what is packed is damaged")
)

// Manifest is the list. Fields are added, and do not change their meaning, while the version stays.
type Manifest struct {
	Version      int               `json:"version"`
	ID           string            `json:"id"` // of this file alone
	Made         time.Time         `json:"made"`
	Program      string            `json:"program"`  // the version that made it
	Computer     string            `json:"computer"` // where
	Installation string            `json:"installation"`
	Secrets      map[string][]byte `json:"secrets,omitempty"` // what the office has sealed, in the clear, by its name
	State        int64             `json:"state"`             // bytes
	Documents    []Document        `json:"documents,omitempty"`
	Apart        bool              `json:"apart,omitempty"` // the documents are in files of their own, and not in this one
}

// Document is the copy of a file that waits to be sent.
type Document struct {
	Name   string `json:"name"` // of the copy
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Version is the newest version that is known.
const Version = 1

// No real one has more.
const (
	maxManifest  = 16 << 20 // bytes
	maxState     = 8 << 30  // bytes
	maxDocuments = 10_000
	maxAll       = 64 << 30 // bytes of all documents
)

// The names in it, and in the folder that it is unpacked into.
const (
	manifestName = "manifest.json"
	stateName    = "state.db"
	documentsDir = "documents"
)

// State is the data file in a folder that it was unpacked into.
func State(folder string) string { return filepath.Join(folder, stateName) }

// DocumentIn is a document there.
func DocumentIn(folder, name string) string { return filepath.Join(folder, documentsDir, name) }

// plainName is what copies are called.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}$`)

// check refuses a list that no Pack has made.
func (m Manifest) check() error {
	if m.Version > Version {
		return ErrNewer
	}
	seen, left := map[string]bool{}, int64(maxAll)
	if m.Version < 1 || m.ID == "" || m.Installation == "" || m.State < 1 || m.State > maxState || len(m.Documents) > maxDocuments {
		return ErrDamaged
	}
	for _, d := range m.Documents {
		left -= d.Size
		if !plainName.MatchString(d.Name) || seen[d.Name] || d.Size < 0 || d.Size > office.Largest || left < 0 {
			return fmt.Errorf("%w: its list of documents", ErrDamaged)
		}
		seen[d.Name] = true
	}
	return nil
}

// Size is how many bytes it takes when it is unpacked.
func (m Manifest) Size() int64 {
	size := m.State
	for _, d := range m.inside() {
		size += d.Size
	}
	return size
}

// inside are the documents that are in the file itself.
func (m Manifest) inside() []Document {
	if m.Apart {
		return nil
	}
	return m.Documents
}

// Pack writes the data file at state and the documents of the folder, as the manifest lists them, to w. It says in the
// manifest how long the data file is.
func Pack(w io.Writer, m Manifest, state, documents string) error {
	f, err := os.Open(state)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	m.Version, m.State = Version, info.Size()
	if err := m.check(); err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	if err := packList(out, m); err != nil {
		return err
	}
	if err := packFile(out, stateName, f, m.State); err != nil {
		return err
	}
	for _, d := range m.inside() {
		if err := packDocument(out, d, filepath.Join(documents, d.Name)); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}

func packList(out *tar.Writer, m Manifest) error {
	list, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(list) > maxManifest {
		return fmt.Errorf("%w: the list is too long", ErrDamaged)
	}
	if err := out.WriteHeader(header(manifestName, int64(len(list)))); err != nil {
		return err
	}
	_, err = out.Write(list)
	return err
}

func header(name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Mode: 0o600, Size: size, Typeflag: tar.TypeReg}
}

func packFile(out *tar.Writer, name string, from io.Reader, size int64) error {
	if err := out.WriteHeader(header(name, size)); err != nil {
		return err
	}
	_, err := io.CopyN(out, from, size)
	if err == io.EOF {
		err = fmt.Errorf("%s became shorter while it was read", name)
	}
	return err
}

// packDocument packs a document that is what it was: another one in its place would be sent for it.
func packDocument(out *tar.Writer, d Document, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if err := packFile(out, documentsDir+"/"+d.Name, io.TeeReader(f, sum), d.Size); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != d.SHA256 {
		return fmt.Errorf("%s is not what it was", d.Name)
	}
	return nil
}
