// Package update finds out whether there is a newer version of the program and fetches it. The address and the public keys
// for it are built into the program by whoever makes the releases.
//
// At the address there is a small manifest (see Manifest), and at the same address plus ".minisig" its signature by
// minisign(1): Ed25519. The files of the release lie beside the manifest.
//
// It promises to use nothing before its signature has been verified: it trusts nothing else from the address or from the
// network in between, not even a length. A manifest is valid until it expires. A file is valid if its length and its SHA-256
// are those in the manifest. Everything it receives is limited in size and time, and comes only by https.
//
// It must not know which versions were known before (agent/updates refuses to go back), nor when anybody asks.
package update

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"

	"countersign/internal/message"
	"countersign/internal/private"
)

// silence is how long a server may pause in the middle of a file.
const silence = time.Minute

// Download fetches a file of the release into folder, which it creates anew, and only private to this user, because a program
// loads libraries from the folder it is started from. progress may be nil; it gets the number of bytes so far. An incomplete
// file is removed.
func (u *Client) Download(ctx context.Context, f File, folder string, progress func(got int64)) (path string, err error) {
	if err := Clear(folder); err != nil {
		return "", message.Error(message.UpdateNotKept(), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Clear(folder))
		}
	}()
	switch err := private.NewFolder(folder); {
	case errors.Is(err, private.ErrStaysOpen), errors.Is(err, fs.ErrExist): // another process created it first
		return "", message.Error(message.UpdateNotPrivate(), err)
	case err != nil:
		return "", message.Error(message.UpdateNotKept(), err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(silence, func() { stop(errors.New("the server fell silent")) })
	defer watch.Stop()
	body, err := u.open(ctx, u.address.ResolveReference(&url.URL{Path: f.Name}))
	if err != nil {
		return "", err
	}
	defer body.Close()
	path = filepath.Join(folder, f.Name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", message.Error(message.UpdateNotKept(), err)
	}
	read := &counted{from: body, tell: func(got int64) {
		watch.Reset(silence)
		if progress != nil {
			progress(min(got, f.Size))
		}
	}}
	_, errCopy := io.Copy(file, io.LimitReader(read, f.Size+1))
	errClose := file.Close()
	switch {
	case read.err != nil:
		return "", unreachable(errors.Join(read.err, context.Cause(ctx)))
	case errCopy != nil, errClose != nil:
		return "", message.Error(message.UpdateNotKept(), errors.Join(errCopy, errClose))
	}
	return path, Verify(path, f)
}

// Verify checks that the file at path is the one in the manifest, by length and SHA-256.
func Verify(path string, f File) error {
	file, err := Hold(path, f)
	if err != nil {
		return err
	}
	return file.Close()
}

// Hold opens the file at path if it is the one in the manifest. On Windows nobody can change, rename or remove it until it
// is closed, and Windows does not move a folder with an open file.
func Hold(path string, f File) (*os.File, error) {
	file, err := hold(path)
	if err != nil {
		return nil, message.Error(message.UpdateDamaged(), fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, f.Size+1))
	want, errWant := hex.DecodeString(f.SHA256)
	if err != nil || errWant != nil || n != f.Size || !bytes.Equal(sum.Sum(nil), want) {
		file.Close()
		return nil, message.Error(message.UpdateDamaged(), errors.Join(ErrDamaged, err))
	}
	return file, nil
}

// Clear removes folder with everything that was fetched into it. It fails if another program still uses a file there, such
// as an installer that has just started this one.
func Clear(folder string) error { return os.RemoveAll(folder) }

// counted counts the bytes read, and remembers why reading ended.
type counted struct {
	from io.Reader
	tell func(got int64)
	got  int64
	err  error // except io.EOF
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.from.Read(p)
	if c.got += int64(n); n > 0 {
		c.tell(c.got)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// Product is what a manifest is for. So a key that also signs other things cannot get them installed here.
const Product = "countersign"

// Manifest names the newest version and its files. Its JSON is at the address of a Source.
type Manifest struct {
	Product string    `json:"product"`
	Version string    `json:"version"` // semver.org without a v: "1.2.0", "1.3.0-rc.1"
	Signed  time.Time `json:"signed"`
	Expires time.Time `json:"expires"`        // then it is no longer believed: somebody could be withholding newer ones
	Page    string    `json:"page,omitempty"` // an https address for downloading the program by hand
	Files   []File    `json:"files"`
}

// File is one of a release's files. There may be systems, processors and kinds that this version does not know.
type File struct {
	System string `json:"system"` // as GOOS
	Arch   string `json:"arch"`   // as GOARCH
	Kind   string `json:"kind"`
	Name   string `json:"name"` // beside the manifest
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hexadecimal
}

const (
	Installer = "installer" // for Windows
	Deb       = "deb"
	RPM       = "rpm"
	Tar       = "tar"
	Server    = "server" // the server program, a single file
)

func (m Manifest) File(system, arch, kind string) (f File, known bool) {
	for _, f := range m.Files {
		if f.System == system && f.Arch == arch && f.Kind == kind {
			return f, true
		}
	}
	return File{}, false
}

// Limits of a manifest.
const (
	maxFiles   = 100
	maxFile    = 1 << 30
	maxPage    = 500
	maxWord    = 40
	maxForward = 800 * 24 * time.Hour // from signature to expiry
)

// fileName matches a name that is only a name, on any system and in any address.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,120}[A-Za-z0-9]$`)

// Check returns an error for what a manifest must not say, whoever signed it.
func (m Manifest) Check() error {
	switch {
	case m.Product != Product:
		return fmt.Errorf("it is for %q", m.Product)
	case !IsVersion(m.Version):
		return fmt.Errorf("%q is no version", m.Version)
	case m.Signed.IsZero(), !m.Expires.After(m.Signed), m.Expires.Sub(m.Signed) > maxForward:
		return errors.New("it has no time in which it counts")
	case m.Page != "" && !isPage(m.Page):
		return errors.New("its page is no https address")
	case len(m.Files) > maxFiles:
		return errors.New("it has too many files")
	}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		switch {
		case f.System == "" || len(f.System) > maxWord, f.Arch == "" || len(f.Arch) > maxWord, f.Kind == "" || len(f.Kind) > maxWord:
			return errors.New("a file is for no system")
		case !fileName.MatchString(f.Name):
			return fmt.Errorf("%q is no name of a file", f.Name)
		case f.Size <= 0 || f.Size > maxFile:
			return fmt.Errorf("%s cannot have %d bytes", f.Name, f.Size)
		case err != nil || len(sum) != 32:
			return fmt.Errorf("%s has no SHA-256", f.Name)
		}
	}
	return nil
}

func isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(address) <= maxPage
}

// Limits of what is fetched.
const (
	maxManifest  = 256 << 10
	maxSignature = 4 << 10
	askLimit     = 30 * time.Second // manifest and signature together
)

// The kinds of failures; each error carries a message for people.
var (
	ErrUnreachable = errors.New("no manifest came")
	ErrNotSigned   = errors.New("the manifest is not signed with a known key")
	ErrExpired     = errors.New("the manifest has expired")
	ErrMalformed   = errors.New("the manifest is signed, and says what it must not")
	ErrDamaged     = errors.New("the file is not the one in the manifest")
)

// Source is built into a program: where its releases are announced, and the public keys (minisign's, base64), one of which
// must have signed them. The zero Source is that of a program without announced releases.
type Source struct {
	Address string
	Keys    []string
}

// ParseSource reads what the linker set: an address, and keys separated by commas or spaces.
func ParseSource(address, keys string) Source {
	return Source{Address: strings.TrimSpace(address), Keys: strings.FieldsFunc(keys, func(r rune) bool { return r == ',' || r == ' ' })}
}

// Client fetches from a Source. Safe for concurrent use.
type Client struct {
	address *url.URL
	keys    []minisign.PublicKey
	http    *http.Client
}

// New returns a client that uses c's transport; nil means http.DefaultClient. For the zero Source it returns nil and no
// error; it fails for a Source whose announcements could never be verified.
func New(s Source, c *http.Client) (*Client, error) {
	if s.Address == "" {
		return nil, nil
	}
	address, err := url.Parse(s.Address)
	if err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil || strings.HasSuffix(address.Path, "/") {
		return nil, fmt.Errorf("%q is no https address of a file", s.Address)
	}
	if len(s.Keys) == 0 {
		return nil, errors.New("there is an address for updates, and no key")
	}
	u := &Client{address: address}
	for _, text := range s.Keys {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("%q is no public key of minisign: %w", text, err)
		}
		u.keys = append(u.keys, key)
	}
	if c == nil {
		c = http.DefaultClient
	}
	// No time-out for a whole answer: a large file takes as long as the network needs.
	u.http = &http.Client{Transport: c.Transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Scheme != "https" {
			return errors.New("a redirect away from https")
		}
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	return u, nil
}

// Latest fetches the manifest and returns it if it is signed and not expired.
func (u *Client) Latest(ctx context.Context, now time.Time) (Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	beside := *u.address
	beside.Path, beside.RawPath = beside.Path+".minisig", ""
	signature, err := u.fetch(ctx, &beside, maxSignature)
	if err != nil {
		return Manifest{}, err
	}
	text, err := u.fetch(ctx, u.address, maxManifest)
	if err != nil {
		return Manifest{}, err
	}
	return u.read(text, signature, now)
}

func (u *Client) read(text, signature []byte, now time.Time) (m Manifest, err error) {
	if !u.signed(text, signature) {
		return Manifest{}, message.Error(message.UpdateNotSigned(), ErrNotSigned)
	}
	if err = json.Unmarshal(text, &m); err == nil { // it ignores what it does not know
		err = m.Check()
	}
	if err != nil {
		return Manifest{}, message.Error(message.UpdateNotSigned(), fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	if !now.Before(m.Expires) {
		return Manifest{}, message.Error(message.UpdateExpired(), ErrExpired)
	}
	return m, nil
}

func (u *Client) signed(text, signature []byte) bool {
	return slices.ContainsFunc(u.keys, func(key minisign.PublicKey) bool { return minisign.Verify(key, text, signature) })
}

func (u *Client) fetch(ctx context.Context, address *url.URL, limit int64) ([]byte, error) {
	body, err := u.open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case int64(len(content)) > limit:
		return nil, unreachable(errors.New("it does not end"))
	}
	return content, nil
}

func (u *Client) open(ctx context.Context, address *url.URL) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, unreachable(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // the length must be that of the file itself
	req.Header.Set("Cache-Control", "no-cache")
	resp, err := u.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, unreachable(errors.New(resp.Status))
	}
	return resp.Body, nil
}

func unreachable(cause error) error {
	return message.Error(message.UpdateUnreachable(), fmt.Errorf("%w: %w", ErrUnreachable, cause))
}

// Address is where a file of the release is.
func (u *Client) Address(f File) string {
	return u.address.ResolveReference(&url.URL{Path: f.Name}).String()
}

// maxVersion is longer than any real version.
const maxVersion = 64

// IsVersion reports whether v is a comparable version: three numbers, and perhaps a pre-release (https://semver.org, without
// build metadata, which is not compared).
func IsVersion(v string) bool {
	return len(v) <= maxVersion && semver.IsValid("v"+v) && semver.Canonical("v"+v) == "v"+v
}

// Plain extracts the version from what a program prints, "1.2.0 (0a1b2c3d4e5f)"; it is empty for a build that is no release.
func Plain(said string) string {
	v, _, _ := strings.Cut(said, " ")
	if v = strings.TrimPrefix(v, "v"); !IsVersion(v) {
		return ""
	}
	return v
}

// Newer reports whether version a is newer than b. Anything that is not a version is older than every version.
func Newer(a, b string) bool { return semver.Compare("v"+a, "v"+b) > 0 }
